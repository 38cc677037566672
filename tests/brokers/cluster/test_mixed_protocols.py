"""Brokers of two protocol versions in one cluster, ours and Kafka's: what a rolling upgrade has, and what does not work."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kcsim.brokers.apache_kafka.broker_process import KafkaBroker
from kcsim.brokers.apache_kafka.installation import find_kafka
from kcsim.brokers.apache_kafka.properties import KafkaBrokerSpec
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.apache_kafka.real_brokers import SESSION_TIMEOUT_MS, Znodes
from tests.brokers.cluster.acknowledged import Acknowledged
from tests.brokers.cluster.environments import WITHIN_MS, Settings, find, spec_of, until_found
from tests.brokers.cluster.with_kafka import ClusterWithKafka
from tests.requirements import KAFKA_3_9_1, require

pytestmark = [pytest.mark.kafka, pytest.mark.live]
OURS, KAFKAS = 1, 2
ORDERS = [TopicPartition("orders", number) for number in range(2)]
"""Each broker leads one of them, and both have replicas."""


class MixedPair(ClusterWithKafka):
    """Broker 1 is ours, broker 2 is Kafka's."""

    def __init__(self, cluster: Cluster, kafka: KafkaBroker, znodes: Znodes) -> None:
        super().__init__(cluster, kafka, znodes, ORDERS)

    async def start(self, first: int) -> None:
        """Start both brokers, and create the topic. Args: first: the broker that becomes the controller."""
        for broker in sorted((OURS, KAFKAS), key=lambda broker: broker != first):
            await (self.cluster.start(["broker-1"]) if broker == OURS else self.start_kafka())
            await self.until_controller({first})
        assignment = [(BrokerId(OURS), BrokerId(KAFKAS)), (BrokerId(KAFKAS), BrokerId(OURS))]
        await self.cluster.topics.create(NewTopic("orders", assignment=assignment), random.Random(1))


def play_pair(
    script: Callable[[MixedPair], Awaitable[None]],
    versions: tuple[str, str],
    znodes: Znodes,
    directory: Path,
    home: Path | None = None,
) -> EventLog:
    """Run a script. Args: versions: inter.broker.protocol.version of our broker, and of Kafka's."""
    ours, kafkas = (settings_of(version) for version in versions)
    with_ports = spec_of([OURS], ours, "embedded").with_free_client_ports()
    spec = replace(with_ports, control_plane_over_tcp=True, replication_over_tcp=True)

    async def main(cluster: Cluster) -> None:
        kafka = KafkaBroker(find_kafka(home), KafkaBrokerSpec(KAFKAS, znodes.connect, kafkas), directory / "broker-2")
        try:
            await script(MixedPair(cluster, kafka, znodes))
        finally:
            await kafka.close()

    return run_in_environment(ZooKeeperChoice.parse(znodes.connect), spec, RunInfo("test", 0, "external"), main)


def settings_of(protocol_version: str) -> Settings:
    return {"inter.broker.protocol.version": protocol_version, "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS}


@pytest.mark.parametrize(
    ("versions", "first"),
    [
        pytest.param(("2.8", "2.6"), KAFKAS, marks=pytest.mark.slow),
        pytest.param(("2.6", "2.8"), OURS, marks=pytest.mark.nightly),
        pytest.param(("2.8", "2.6"), OURS, marks=pytest.mark.nightly),
        pytest.param(("2.6", "2.8"), KAFKAS, marks=pytest.mark.nightly),
    ],
)
def test_brokers_of_two_protocol_versions_are_a_cluster_as_in_a_rolling_upgrade(
    versions: tuple[str, str], first: int, znodes: Znodes, tmp_path: Path
) -> None:
    """A leader at 2.8 asks a controller at 2.6 for its ISR; one at 2.6 writes it, and notifies a controller at 2.8."""

    async def script(pair: MixedPair) -> None:
        await pair.start(first)
        await pair.until_isrs({OURS, KAFKAS})
        producer = Acknowledged(pair.bootstrap_servers)
        await producer.produce("orders", 20, partitions=2)
        await pair.kafka.kill()
        await pair.until_isrs({OURS})
        await pair.start_kafka()
        await pair.until_isrs({OURS, KAFKAS})
        await producer.produce("orders", 20, partitions=2)

    log = play_pair(script, versions, znodes, tmp_path)
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []
    assert find(log, EventKind.REQUEST_REFUSED, error="UNSUPPORTED_VERSION") == []


@pytest.mark.nightly
def test_a_controller_of_a_newer_release_is_refused_in_one_line(znodes: Znodes, tmp_path: Path) -> None:
    """Kafka's controller at 3.9 sends UpdateMetadata 8, whatever the broker knows, and repeats it ten times a second."""
    require("kafka-3.9.1")

    async def script(pair: MixedPair) -> None:
        await pair.start(KAFKAS)
        refused = until_found(pair.cluster.log, EventKind.REQUEST_REFUSED, error="UNSUPPORTED_VERSION")
        await pair.cluster.wait_until(refused, WITHIN_MS)
        state = f"/brokers/topics/orders/partitions/{ORDERS[0].partition}/state"
        await pair.znodes.until(state, lambda state: state is not None, "a state of the partition")
        await pair.cluster.runtime.sleep_ms(2_000)  # in which the controller tries again
        assert [dict(pair.cluster.replica_logs(tp)) for tp in ORDERS] == [{}, {}]

    log = play_pair(script, ("2.8", "3.9"), znodes, tmp_path, KAFKA_3_9_1)
    (refused,) = find(log, EventKind.REQUEST_REFUSED, node="broker-1")
    assert (refused.event, refused.broker_id) == ("UpdateMetadata", KAFKAS)
    assert "Kafka 2.8, the release of this broker, does not know version 8" in (refused.detail or "")
