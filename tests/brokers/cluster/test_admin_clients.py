"""Kafka's admin clients change a live cluster over TCP."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaException, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.vocabulary import TopicPartition
from tests.brokers.admin.requests_of_admin_clients import reassign
from tests.brokers.cluster.environments import (
    WITHIN_MS,
    controller_of,
    kill_and_expire,
    start_and_elect,
    until_ready,
)
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, metadata, play_with_ports
from tests.brokers.differential.raw_client import raw_client
from tests.brokers.wire.plain_messages import plain

TIMEOUT_S = 60
ORDERS_0 = TopicPartition("orders", 0)

pytestmark = pytest.mark.live


async def outcomes(futures: Mapping[Any, Future[Any]]) -> dict[Any, str | None]:
    """Wait for the results of a call. Return the names of errors, None for success."""
    found: dict[Any, str | None] = {}
    for key, future in futures.items():
        try:
            await asyncio.wait_for(asyncio.wrap_future(future), WITHIN_S)
            found[key] = None
        except KafkaException as error:
            found[key] = error.args[0].name()
    return found


async def create(client: AdminClient, topics: list[NewTopic]) -> dict[Any, str | None]:
    return await outcomes(client.create_topics(topics, operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S))


async def until_seen(client: AdminClient, holds: Callable[[Any], bool]) -> None:
    """Wait until the metadata of any broker are as expected: a request waits for those of one broker only."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if holds(await metadata(client)):
                return
            await asyncio.sleep(0.1)


def replica_counts(topic: Any) -> dict[int, int]:
    return {number: len(partition.replicas) for number, partition in topic.partitions.items()}


def play_with_client(script: Callable[[Cluster, AdminClient], Coroutine[Any, Any, None]]) -> None:
    """Run a script on three brokers with TCP ports, with a controller, and a client of them."""

    async def play(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await script(cluster, client_of(cluster))

    play_with_ports(play)


def test_topics_are_created_grown_and_deleted() -> None:
    async def script(cluster: Cluster, client: AdminClient) -> None:
        wanted = [NewTopic("orders", 3, 3), NewTopic("audit", 1, 1, config={"retention.ms": "1000"}), NewTopic("a b", 1, 1)]
        assert await create(client, wanted) == {"orders": None, "audit": None, "a b": "TOPIC_EXCEPTION"}
        assert await create(client, [NewTopic("orders", 3, 3)]) == {"orders": "TOPIC_ALREADY_EXISTS"}
        grown = client.create_partitions([NewPartitions("orders", 5)], operation_timeout=TIMEOUT_S)
        assert await outcomes(grown) == {"orders": None}
        three_each = dict.fromkeys(range(5), 3)
        await until_seen(client, lambda seen: replica_counts(seen.topics["orders"]) == three_each)
        gone = client.delete_topics(["audit", "nothing"], operation_timeout=TIMEOUT_S)
        assert await outcomes(gone) == {"audit": None, "nothing": "UNKNOWN_TOPIC_OR_PART"}
        await until_seen(client, lambda seen: set(seen.topics) == {"orders"})

    play_with_client(script)


def test_a_client_finds_the_next_controller() -> None:
    """Until it has read the metadata again, it waits for the dead one."""

    async def script(cluster: Cluster, client: AdminClient) -> None:
        assert await create(client, [NewTopic("orders", 2, 2)]) == {"orders": None}
        await kill_and_expire(cluster, controller_of(cluster))
        await cluster.wait_until(until_ready(cluster, 2), WITHIN_MS)
        await until_seen(client, lambda seen: f"broker-{seen.controller_id}" == controller_of(cluster))
        assert await create(client, [NewTopic("payments", 2, 2)]) == {"payments": None}
        assert await outcomes(client.delete_topics(["payments"], operation_timeout=TIMEOUT_S)) == {"payments": None}

    play_with_client(script)


def test_settings_are_set_and_deleted_and_take_effect() -> None:
    async def script(cluster: Cluster, client: AdminClient) -> None:
        assert await create(client, [NewTopic("orders", 1, 1)]) == {"orders": None}
        entry = ConfigEntry("retention.ms", "1000", incremental_operation=AlterConfigOpType.SET)
        orders = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[entry])
        nothing = ConfigResource(ConfigResource.Type.TOPIC, "nothing", incremental_configs=[entry])
        changed = client.incremental_alter_configs([orders, nothing], request_timeout=TIMEOUT_S)
        assert await outcomes(changed) == {orders: None, nothing: "UNKNOWN_TOPIC_OR_PART"}
        (log,) = [log for log in cluster.replica_logs(ORDERS_0).values() if log is not None]
        await cluster.wait_until(lambda: None if log.config.retention_ms == 1000 else "not applied", WITHIN_MS)

    play_with_client(script)


def test_records_are_deleted_on_all_replicas() -> None:
    async def script(cluster: Cluster, client: AdminClient) -> None:
        assert await create(client, [NewTopic("orders", 1, 3)]) == {"orders": None}
        addresses = ",".join(f"{host}:{port}" for host, port in cluster.bootstrap)
        producer = Producer({"bootstrap.servers": addresses, "acks": "all", "log_level": 0})
        for number in range(10):
            producer.produce("orders", str(number), partition=0)
        assert await asyncio.to_thread(producer.flush, WITHIN_S) == 0
        before = Position("orders", 0, 7)
        after = Position("orders", 0, 99)
        assert await outcomes(client.delete_records([before], operation_timeout=TIMEOUT_S)) == {before: None}
        assert {log.log_start_offset for log in cluster.replica_logs(ORDERS_0).values()} == {7}
        assert await outcomes(client.delete_records([after])) == {after: "OFFSET_OUT_OF_RANGE"}

    play_with_client(script)


def test_leaders_are_elected() -> None:
    async def script(cluster: Cluster, client: AdminClient) -> None:
        assert await create(client, [NewTopic("orders", 1, replica_assignment=[[2, 3]])]) == {"orders": None}
        assert cluster.bootstrap_servers is not None
        controller = int(controller_of(cluster).removeprefix("broker-"))
        move = reassign("the preferred leader", {"orders": {0: (3, 2)}})
        async with raw_client(cluster.bootstrap_servers) as raw:
            answer = plain(await raw.call(controller, move.api_key, move.version, **move.values))
        assert answer["responses"][0]["partitions"] == [{"partition_index": 0, "error_code": "none", "error_message": None}]
        orders, nothing = Position("orders", 0), Position("nothing", 0)
        elected = await asyncio.wrap_future(client.elect_leaders(ElectionType.PREFERRED, [orders, nothing]))
        assert {one: error and error.name() for one, error in elected.items()} == {
            orders: None,
            nothing: "UNKNOWN_TOPIC_OR_PART",
        }
        await until_seen(client, lambda seen: seen.topics["orders"].partitions[0].leader == 3)

    play_with_client(script)
