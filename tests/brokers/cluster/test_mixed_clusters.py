"""Brokers of ours and of Apache Kafka in one cluster, with a controller of either, replicate from each other."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Assigned

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
from tests.brokers.cluster.environments import WITHIN_MS, Settings, find, kill_and_expire, spec_of
from tests.brokers.cluster.with_kafka import ClusterWithKafka
from tests.requirements import KAFKA_3_9_1, require

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]
OURS, KAFKAS = ("broker-1", "broker-2"), 3
ORDERS = [TopicPartition("orders", number) for number in range(3)]
"""Each broker leads one of them."""


class MixedCluster(ClusterWithKafka):
    """Brokers 1 and 2 are ours, broker 3 is Kafka's."""

    def __init__(self, cluster: Cluster, kafka: KafkaBroker, znodes: Znodes) -> None:
        super().__init__(cluster, kafka, znodes, ORDERS)

    async def start(self, first: str) -> None:
        """Start all brokers and create the topic. Args: first: the side whose broker becomes the controller."""
        if first == "kafkas":
            await self.start_kafka()
            await self.until_controller({KAFKAS})
        await self.cluster.start([OURS[0]])
        if first == "ours":
            await self.until_controller({1})
        await self.cluster.start([OURS[1]])
        if first == "ours":
            await self.start_kafka()
        assignment = [tuple(BrokerId((leader + place) % 3 + 1) for place in range(3)) for leader in range(3)]
        await self.cluster.topics.create(NewTopic("orders", assignment=assignment), random.Random(1))
        await self.until_isrs({1, 2, KAFKAS})

    def differences(self) -> str | None:
        """Return the partitions whose replicas are not yet equal, byte by byte; None if all are."""
        different = [str(tp) for tp in ORDERS if len(set(self._bytes_of(tp).values())) != 1]
        return ", ".join(different) or None

    def _bytes_of(self, tp: TopicPartition) -> dict[int, bytes]:
        found = {
            int(broker): b"".join(run.batch or b"" for run in log.runs)
            for broker, log in self.cluster.replica_logs(tp).items()
        }
        segments = sorted((self.kafka.log_dirs[0] / str(tp)).glob("*.log"))
        return {**found, KAFKAS: b"".join(segment.read_bytes() for segment in segments)}

    async def watch(self, condition: Callable[[], str | None]) -> None:
        """Wait, bounded, in small steps, for what is no event."""
        for _ in range(WITHIN_MS // 50):
            if condition() is None:
                return
            await self.cluster.runtime.sleep_ms(50)
        raise AssertionError(condition())

    def consumed(self, partition: int, count: int) -> list[bytes]:
        """Return the values that a consumer reads from the beginning."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": "g", "log_level": 0})
        consumer.assign([Assigned("orders", partition, 0)])
        try:
            messages = consumer.consume(count, WITHIN_MS / 1000)
        finally:
            consumer.close()
        return [value for message in messages if (value := message.value()) is not None]


def settings_of(protocol_version: str) -> Settings:
    return {"inter.broker.protocol.version": protocol_version, "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS}


def play_mixed(script: Callable[[MixedCluster], Any], protocol_version: str, znodes: Znodes, directory: Path) -> EventLog:
    settings, home = settings_of(protocol_version), None
    if protocol_version == "3.9":
        require("kafka-3.9.1")
        home = KAFKA_3_9_1
    with_ports = spec_of((1, 2), settings, "embedded").with_free_client_ports()
    spec = replace(with_ports, control_plane_over_tcp=True, replication_over_tcp=True)

    async def main(cluster: Cluster) -> None:
        kafka = KafkaBroker(find_kafka(home), KafkaBrokerSpec(KAFKAS, znodes.connect, settings), directory / "broker-3")
        try:
            await script(MixedCluster(cluster, kafka, znodes))
        finally:
            await kafka.close()

    choice = ZooKeeperChoice.parse(znodes.connect)
    return run_in_environment(choice, spec, RunInfo("test", 0, "external"), main)


@pytest.mark.parametrize(
    ("protocol_version", "first"),
    [
        ("2.6", "ours"),
        ("2.8", "kafkas"),
        ("3.9", "ours"),
        pytest.param("2.6", "kafkas", marks=pytest.mark.nightly),
        pytest.param("2.8", "ours", marks=pytest.mark.nightly),
        pytest.param("3.9", "kafkas", marks=pytest.mark.nightly),
    ],
)
def test_acknowledged_records_survive_kills_on_either_side(
    protocol_version: str, first: str, znodes: Znodes, tmp_path: Path
) -> None:
    """Each side's broker is killed and comes back; all replicas are equal, byte by byte.

    Where Kafka's broker is the first controller, one of ours takes over when it is killed.
    """

    async def script(mixed: MixedCluster) -> None:
        await mixed.start(first)
        producer = Acknowledged(mixed.bootstrap_servers)
        await producer.produce("orders", 90, partitions=3)
        await mixed.kafka.kill()
        await mixed.until_controller({1, 2})
        await mixed.until_isrs({1, 2})
        await producer.produce("orders", 90, partitions=3)
        await mixed.start_kafka()
        await mixed.until_isrs({1, 2, KAFKAS})
        await kill_and_expire(mixed.cluster, OURS[1])
        await mixed.until_isrs({1, KAFKAS})
        await producer.produce("orders", 90, partitions=3)
        await mixed.cluster.start([OURS[1]])
        await mixed.until_isrs({1, 2, KAFKAS})
        await mixed.watch(mixed.differences)
        for partition in range(3):
            assert await asyncio.to_thread(mixed.consumed, partition, 90) == producer.values(partition)
            assert len(producer.values(partition)) == 90

    log = play_mixed(script, protocol_version, znodes, tmp_path)
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []
