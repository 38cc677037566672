"""The ids of topics that clients see: those of our brokers, and those of Apache Kafka, asked the same in one run."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.topics import CREATE_TOPICS, DELETE_TOPICS
from tests.brokers.cluster.environments import SETTINGS
from tests.brokers.differential.raw_client import ALL_BROKERS, RawClient, raw_client
from tests.brokers.differential.two_clusters import BROKERS, kafkas, ours
from tests.requirements import require

CONTROLLER, OTHER = BROKERS[0], BROKERS[1]
TIMEOUT_MS = 60_000
WITHIN_S = 120.0
UNKNOWN = UUID("11111111-1111-4111-8111-111111111111")

pytestmark = [pytest.mark.kafka, pytest.mark.live, pytest.mark.slow]


async def created(client: RawClient, name: str, validate_only: bool = False) -> Any:
    """Create a topic, and return its result."""
    topic = {"name": name, "num_partitions": 1, "replication_factor": 3, "assignments": (), "configs": ()}
    answer = await client.call(
        CONTROLLER, CREATE_TOPICS, 7, topics=(topic,), timeout=TIMEOUT_MS, validate_only=validate_only
    )
    (result,) = answer.topics
    return result


async def seen(client: RawClient, broker: int, version: int) -> UUID | None:
    """Return the id of the topic orders in a broker's metadata, once the broker knows the topic."""
    asked = {**ALL_BROKERS, "topics": [{"name": "orders", "topic_id": None}]}
    async with asyncio.timeout(WITHIN_S):
        while True:
            (topic,) = (await client.call(broker, METADATA, version, **asked)).topics
            if topic.error_code.name == "none":
                found: UUID | None = topic.topic_id
                return found
            await asyncio.sleep(0.1)


async def deleted(client: RawClient, name: str | None, topic_id: UUID | None) -> tuple[str, str | None, UUID | None]:
    topics = [{"name": name, "topic_id": topic_id}]
    answer = await client.call(CONTROLLER, DELETE_TOPICS, 6, topics=topics, timeout=TIMEOUT_MS)
    (result,) = answer.responses
    return result.error_code.name, result.name, result.topic_id


async def ask(cluster: Cluster | ProcessCluster, servers: str) -> dict[str, Any]:
    """Return what a cluster says of ids; an id is compared with that which the creation has returned."""
    async with raw_client(servers) as client:
        async with asyncio.timeout(WITHIN_S):
            while not client.addresses.keys() >= set(BROKERS):
                await asyncio.sleep(0.1)
                await client.discover(servers)
        validated = await created(client, "orders", validate_only=True)
        topic_id = (await created(client, "orders")).topic_id
        answers: dict[str, Any] = {
            "only validated": (validated.error_code.name, validated.topic_id),
            "has an id": topic_id is not None,
            "created twice": (await created(client, "orders")).topic_id,
        }
        for broker in (CONTROLLER, OTHER):
            for version in (10, 11):
                answers[f"metadata {version} of {broker}"] = await seen(client, broker, version) == topic_id
        answers["deleted by an unknown id"] = await deleted(client, None, UNKNOWN)
        error, name, _ = await deleted(client, "orders", topic_id or UNKNOWN)
        answers["deleted by name and id"] = (error, name)
        if topic_id is not None:
            error, name, named_id = await deleted(client, None, topic_id)
            answers["deleted by its id"] = (error, name, named_id == topic_id)
            again = (await created(client, "orders")).topic_id
            answers["another id"] = again is not None and again != topic_id
        return answers


@pytest.mark.parametrize("version", ["2.6", "2.8"])
def test_clients_see_the_ids_of_topics_as_on_kafka(version: str) -> None:
    require("java", "kafka")
    settings = {**SETTINGS, PROTOCOL_VERSION: version}
    theirs, mine = kafkas(ask, settings), ours(ask, settings)
    assert theirs["has an id"] == (version == "2.8")
    assert mine == theirs
