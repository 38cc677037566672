"""Kafka's verifiable producer through random faults: it prints which values are acknowledged, and they are there once.

By default it does not send a record again. With acks=1 records may be lost, as many as the ledger says. The ledger also
knows acknowledgements that were written to a connection whose end the producer saw before it had read them.
"""

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from kcsim.brokers.apache_kafka.commands import jvm
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.zk.servers.guarded_process import exit_status
from kcsim.zk.servers.guarded_processes import GuardedProcesses
from tests.brokers.cluster.random_faults import PARTITIONS, inject_faults, read_all, with_orders
from tests.brokers.cluster.test_client_ports import WITHIN_S, play_with_ports
from tests.requirements import require

NAME = "verifiable-producer"
MAIN_CLASS = "org.apache.kafka.tools.VerifiableProducer"
RATE = 200
"""Records a second."""
SENT_AGAIN = {"retries": "1000000", "delivery.timeout.ms": "120000"}

pytestmark = [pytest.mark.live, pytest.mark.kafka, pytest.mark.slow]


@dataclass(frozen=True)
class DeliverySettings:
    """How the producer writes: its acks, and its other settings."""

    acks: int
    settings: Mapping[str, str]


DELIVERIES = {
    "idempotent": DeliverySettings(-1, SENT_AGAIN | {"enable.idempotence": "true"}),
    "all replicas": DeliverySettings(-1, {}),
    "all replicas, sent again": DeliverySettings(-1, SENT_AGAIN | {"enable.idempotence": "false"}),
    "leader": DeliverySettings(1, {}),
}


Acknowledged = Mapping[int, tuple[int, int]]
"""The partition and offset of each acknowledged value."""


class VerifiableProducer:
    """A running verifiable producer."""

    def __init__(self, servers: str, delivery: DeliverySettings) -> None:
        self._processes = GuardedProcesses(what="kafka")
        directory = self._processes.directory
        file = directory / "producer.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in delivery.settings.items()))
        words = f"--bootstrap-server {servers} --topic orders --throughput {RATE} --acks {delivery.acks}"
        command = jvm(find_kafka(None), directory, MAIN_CLASS, [*words.split(), "--producer.config", str(file)])
        self._out = directory / "out"
        self._processes.start(NAME, command, self._out, errors=directory / "err")

    @property
    def printed(self) -> str:
        return self._out.read_text()

    async def until_acknowledged(self) -> None:
        """Wait for the first acknowledgement."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                if "producer_send_success" in self.printed:
                    return
                await asyncio.sleep(0.05)

    async def stop(self) -> Acknowledged:
        """Let it send no more and end, and return what was acknowledged to it."""
        self._processes.terminate(NAME)
        assert await exit_status(self._processes, NAME, WITHIN_S) == 143
        lines = list(map(json.loads, self.printed.splitlines()))
        of = {name: [line for line in lines if line["name"] == name] for name in ("producer_send_success", "tool_data")}
        acknowledged = {int(line["value"]): (line["partition"], line["offset"]) for line in of["producer_send_success"]}
        (summary,) = of["tool_data"]
        assert summary["acked"] == len(acknowledged)
        return acknowledged

    def close(self) -> None:
        self._processes.close()


@dataclass(frozen=True)
class Outcome:
    """What has become of the records of one timetable.

    Attributes:
        lost: acknowledged values that a consumer does not find where they were acknowledged.
        copies: records that a consumer finds again.
        in_order: whether each partition has its records in the order in which they were sent.
        counts: what the ledger says.
    """

    acknowledged: Acknowledged
    lost: list[int]
    copies: int
    in_order: bool
    counts: RecordCounts


def play_random(seed: int, delivery: DeliverySettings) -> Outcome:
    """Let the producer write through one timetable, and read all."""
    numbers = random.Random(seed)
    outcomes = []

    async def script(cluster: Cluster) -> None:
        servers = await with_orders(cluster, numbers)
        producer = VerifiableProducer(servers, delivery)
        try:
            await producer.until_acknowledged()
            await inject_faults(cluster, numbers)
            acknowledged = await producer.stop()
        finally:
            producer.close()
        found = await read_all(cluster, servers)
        values = [[value for (p, _), value in sorted(found.items()) if p == partition] for partition in range(PARTITIONS)]
        outcomes.append(
            Outcome(
                acknowledged,
                lost=[value for value, place in acknowledged.items() if found.get(place) != value],
                copies=len(found) - len(set(found.values())),
                in_order=values == [sorted(of_partition) for of_partition in values],
                counts=sum(Workload(cluster, {}).counts().values(), start=RecordCounts()),
            )
        )

    play_with_ports(script)
    (outcome,) = outcomes
    return outcome


SEEDS = [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 10))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["all replicas", "idempotent"])
def test_what_all_replicas_acknowledged_is_there_once_and_in_order(name: str, seed: int) -> None:
    require("java", "kafka")
    outcome = play_random(seed, DELIVERIES[name])
    assert outcome.acknowledged
    assert (outcome.lost, outcome.copies, outcome.in_order) == ([], 0, True)
    assert (outcome.counts.lost, outcome.counts.duplicated) == (0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_sent_again_without_idempotence_is_there_as_often_as_the_ledger_says(seed: int) -> None:
    require("java", "kafka")
    outcome = play_random(seed, DELIVERIES["all replicas, sent again"])
    assert outcome.acknowledged
    assert (outcome.lost, outcome.counts.lost) == ([], 0)
    assert outcome.counts.duplicated == outcome.copies


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ledger_counts_what_only_the_leader_had_acknowledged_and_is_lost(seed: int) -> None:
    require("java", "kafka")
    outcome = play_random(seed, DELIVERIES["leader"])
    assert outcome.acknowledged
    unread = outcome.counts.acknowledged - len(outcome.acknowledged)
    assert 0 <= outcome.counts.lost - len(outcome.lost) <= unread
    assert (outcome.counts.duplicated, outcome.copies) == (0, 0)
