"""What Kafka's clients learn of a running cluster over TCP: settings that change, topics that they create by asking."""

import asyncio
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from tests.brokers.cluster.environments import SETTINGS, WITHIN_MS, Script, Settings, spec_of, start_and_elect

pytestmark = pytest.mark.live

WITHIN_S = WITHIN_MS / 1000


def play_with_ports(script: Script, settings: Settings) -> None:
    """Run a script on three brokers with TCP ports, on a model of ZooKeeper."""
    spec = spec_of((1, 2, 3), {**SETTINGS, **settings}, "model").with_free_client_ports()
    run_in_environment(ZooKeeperChoice.parse("model"), spec, RunInfo("test", 0, "model"), script)


def test_a_topic_that_a_producer_asks_for_is_created_with_the_broker_s_defaults() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        client = Producer({"bootstrap.servers": cluster.bootstrap_servers})

        def partitions() -> dict[int, list[int]]:
            seen = client.list_topics("clicks", timeout=WITHIN_S).topics["clicks"]
            return {p.id: p.replicas for p in seen.partitions.values() if p.leader > 0}

        async with asyncio.timeout(WITHIN_S):
            while True:
                found = await asyncio.to_thread(partitions)
                if found:
                    break
                await asyncio.sleep(0.1)
        assert {partition: len(set(replicas)) for partition, replicas in found.items()} == {0: 2, 1: 2, 2: 2, 3: 2}

    play_with_ports(script, {"num.partitions": 4, "default.replication.factor": 2})


def test_a_changed_setting_of_all_brokers_is_described_with_its_source() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers or ""})

        def described() -> Any:
            resource = ConfigResource(ResourceType.BROKER, "2")
            return client.describe_configs([resource])[resource].result(WITHIN_S)["log.retention.ms"]

        before = await asyncio.to_thread(described)
        assert (before.value, before.source) == (None, ConfigSource.DEFAULT_CONFIG.value)
        await cluster.topics.change_broker_defaults({"log.retention.ms": "7200000"})
        async with asyncio.timeout(WITHIN_S):
            while True:
                after = await asyncio.to_thread(described)
                if after.value is not None:
                    break
                await asyncio.sleep(0.1)
        assert (after.value, after.source) == ("7200000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value)

    play_with_ports(script, {})
