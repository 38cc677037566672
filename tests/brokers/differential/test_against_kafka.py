"""Our brokers answer clients as the brokers of Apache Kafka do: the same requests to a cluster of each, in one run."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.controller.admin.topics import NewTopic
from kcsim.vocabulary import BrokerId
from tests.brokers.differential import metadata_operations, record_operations
from tests.brokers.differential.operations import Operations, Recorder
from tests.brokers.differential.raw_client import ALL_BROKERS, RawClient, raw_client
from tests.brokers.differential.two_clusters import BROKERS, kafkas, ours
from tests.requirements import require

WITHIN_S = 120.0
KEPT = {"retention.ms": "-1"}
"""The records' timestamps are of 2023: Kafka would delete them 30 s after the start of a broker."""
TOPICS: Mapping[str, Mapping[str, str]] = {
    record_operations.TOPIC: {},
    record_operations.STRICT: {"min.insync.replicas": "4"},
    record_operations.SMALL: {"max.message.bytes": "200"},
    record_operations.STAMPED: {"message.timestamp.type": "LogAppendTime"},
}
SCRIPTS: Sequence[Operations] = (
    metadata_operations.metadata_operations,
    metadata_operations.version_operations,
    record_operations.produce_operations,
    record_operations.idempotence_operations,
    record_operations.fetch_operations,
    record_operations.session_operations,
    record_operations.offset_operations,
    record_operations.append_time_operations,
    record_operations.producer_id_operations,
)
DEVIATIONS: Mapping[str, str] = {}
"""Operations whose answers differ, and why."""

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]


async def answers_of(cluster: Cluster | ProcessCluster, servers: str) -> dict[str, Any]:
    """Create the topics, play all scripts, and return the answers."""
    for topic, config in TOPICS.items():
        replicas = tuple(map(BrokerId, BROKERS))
        await cluster.topics.create(NewTopic(topic, assignment=[replicas], config={**KEPT, **config}), random.Random(1))
    async with raw_client(servers) as client:
        await until_known_everywhere(client)
        recorder = Recorder(client)
        for script in SCRIPTS:
            await script(recorder)
        return recorder.answers


async def until_known_everywhere(client: RawClient) -> None:
    """Wait until every broker knows all topics, with their leaders and full ISRs."""
    wanted = {**ALL_BROKERS, "topics": [{"name": topic, "topic_id": None} for topic in TOPICS]}
    async with asyncio.timeout(WITHIN_S):
        for broker in BROKERS:
            while True:
                known = [
                    one for topic in (await client.call(broker, METADATA, 8, **wanted)).topics for one in topic.partitions
                ]
                if len(known) == len(TOPICS) and all(len(one.isr_nodes) == len(BROKERS) for one in known):
                    break
                await asyncio.sleep(0.1)


def test_clients_are_answered_as_by_kafka() -> None:
    require("java", "kafka")
    theirs, mine = kafkas(answers_of), ours(answers_of)
    assert list(mine) == list(theirs)
    different = {name for name in theirs if mine[name] != theirs[name]}
    assert {name: (theirs[name], mine[name]) for name in different - DEVIATIONS.keys()} == {}
    assert DEVIATIONS.keys() <= different, "a deviation that is none any more"
    assert len(theirs) > 100
