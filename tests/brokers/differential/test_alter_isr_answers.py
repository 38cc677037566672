"""How controllers answer AlterIsr requests that no leader would send: ours, and those of Apache Kafka, asked the same."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.brokers.wire.apis.controller_requests import ALTER_ISR
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.capabilities import Release
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.environments import SETTINGS, WITHIN_MS
from tests.brokers.differential.answers import comparable
from tests.brokers.differential.raw_client import raw_client
from tests.brokers.differential.two_clusters import BROKERS, kafkas, ours
from tests.requirements import KAFKA_3_9_1, require

CONTROLLER = LEADER = BROKERS[0]
NO_BROKER = 9

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]

REPLICAS: Mapping[str, tuple[int, ...]] = {"two-replicas": (1, 2)}
"""Topics whose only partition does not have replicas on all brokers."""
ASKED: Mapping[str, Mapping[str, Any]] = {
    "same": {"isr": [1, 2, 3]},
    "shrunk": {"isr": [1, 2]},
    "leader-epoch-is-older": {"isr": [1, 2], "leader_epoch": -1},
    "leader-epoch-is-newer": {"isr": [1, 2], "leader_epoch": 5},
    "leader-epoch-is-newer-same-isr": {"isr": [1, 2, 3], "leader_epoch": 5},
    "version-is-newer": {"isr": [1, 2], "version": 7},
    "version-is-newer-same-isr": {"isr": [1, 2, 3], "version": 7},
    "version-is-older": {"isr": [1, 2], "version": -1},
    "empty": {"isr": []},
    "names-no-broker": {"isr": [1, 2, NO_BROKER]},
    "without-the-leader": {"isr": [2, 3]},
    "other-order": {"isr": [3, 2, 1]},
    "two-replicas": {"isr": [1, 2, 3]},
    "of-a-follower": {"isr": [1, 2], "broker": 2},
}
"""Topic -> what is asked for its only partition: by the leader, with the leader epoch and the version that it knows, 0."""


def request(topics: Sequence[tuple[str, int, Mapping[str, Any]]], broker: int, broker_epoch: int) -> dict[str, Any]:
    """Return the fields of a request. Args: topics: topic, partition, and what is asked for it."""
    return {
        "broker_id": broker,
        "broker_epoch": broker_epoch,
        "topics": [
            {
                "topic_name": topic,
                "partitions": [
                    {
                        "partition_index": partition,
                        "leader_epoch": asked.get("leader_epoch", 0),
                        "new_isr": asked["isr"],
                        "partition_epoch": asked.get("version", 0),
                    }
                ],
            }
            for topic, partition, asked in topics
        ],
    }


async def ask(cluster: Cluster | ProcessCluster, servers: str) -> dict[str, Any]:
    for topic in ASKED:
        replicas = tuple(map(BrokerId, REPLICAS.get(topic, BROKERS)))
        await cluster.topics.create(NewTopic(topic, assignment=[replicas]), random.Random(1))
    await cluster.wait_until(lambda: _not_elected(cluster), WITHIN_MS)
    epochs = {broker: cluster.state.registered[broker] for broker in BROKERS}
    answers: dict[str, Any] = {}

    async def alter(name: str, broker: int, epoch: int, *topics: tuple[str, int, Mapping[str, Any]]) -> None:
        answer = await client.call(CONTROLLER, ALTER_ISR, 0, **request(topics, broker, epoch))
        answers[name] = comparable(answer)

    async with raw_client(servers) as client:
        for topic, asked in ASKED.items():
            broker = asked.get("broker", LEADER)
            await alter(topic, broker, epochs[broker], (topic, 0, asked))
        same = {"isr": [1, 2, 3]}
        await alter("again", LEADER, epochs[LEADER], ("shrunk", 0, {"isr": [1, 2]}))
        await alter("unknown topic", LEADER, epochs[LEADER], ("absent", 0, same))
        await alter("unknown partition", LEADER, epochs[LEADER], ("same", 7, same))
        await alter("older broker epoch", LEADER, epochs[LEADER] - 1, ("same", 0, same))
        await alter("newer broker epoch", LEADER, epochs[LEADER] + 1000, ("same", 0, same))
        await alter("no broker epoch", LEADER, -1, ("same", 0, same))
        await alter("unknown broker", NO_BROKER, 5, ("same", 0, same))
        await alter("nothing", LEADER, epochs[LEADER])
    if isinstance(cluster, ProcessCluster):
        await cluster.settle()
    answers["states"] = {topic: cluster.state.of_topics.states[TopicPartition(topic, 0)].leader_and_isr for topic in ASKED}
    return answers


def _not_elected(cluster: Cluster | ProcessCluster) -> str | None:
    missing = [topic for topic in ASKED if cluster.state.of_topics.leader(TopicPartition(topic, 0)) is None]
    return f"no leaders of {missing}" if missing else None


@pytest.mark.parametrize(
    ("needed", "home", "version"),
    [("kafka", None, "2.8"), ("kafka-3.9.1", KAFKA_3_9_1, "2.8"), ("kafka-3.9.1", KAFKA_3_9_1, "3.9")],
)
def test_the_controller_answers_alter_isr_as_kafka_s(needed: str, home: Path | None, version: str) -> None:
    """Kafka 3.1.2 and 3.2.3 were asked once, and answered as 2.8.2; 3.3.2 and 3.4.1 as 3.9.1."""
    require("java", needed)
    release = None if home is None else Release("3.9")
    settings = {**SETTINGS, PROTOCOL_VERSION: version}
    theirs, mine = kafkas(ask, settings, home), ours(ask, settings, release)
    assert mine == theirs
