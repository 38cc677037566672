"""Kafka's verifiable producer through random faults: it prints which values are acknowledged, and they are there once.

By default it does not send a record again. With acks=1 records may be lost, as many as the ledger says. The ledger also
knows acknowledgements that were written to a connection whose end the producer saw before it had read them.
"""

import random
from dataclasses import dataclass

import pytest

from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from tests.brokers.cluster.random_faults import PARTITIONS, inject_faults, read_all, with_orders
from tests.brokers.cluster.test_client_ports import play_with_ports
from tests.brokers.cluster.verifiable_producer import SENT_AGAIN, Acknowledged, DeliverySettings, VerifiableProducer
from tests.requirements import require

pytestmark = [pytest.mark.live, pytest.mark.kafka, pytest.mark.slow]


DELIVERIES = {
    "idempotent": DeliverySettings(-1, SENT_AGAIN | {"enable.idempotence": "true"}),
    "all replicas": DeliverySettings(-1, {}),
    "all replicas, sent again": DeliverySettings(-1, SENT_AGAIN | {"enable.idempotence": "false"}),
    "leader": DeliverySettings(1, {}),
}


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
        producer = VerifiableProducer(find_kafka(None), servers, delivery)
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
