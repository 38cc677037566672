"""Faults of the network act on the TCP connections of Kafka's clients, as they do on connections within the run."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.injected_errors import ErrorInjection
from kcsim.brokers.network.link_conditions import CLIENTS, Links
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.records import PRODUCE
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.environments import SIMULATED, play, start_and_elect
from tests.brokers.cluster.test_client_ports import play_with_ports
from tests.brokers.differential.raw_client import ALL_BROKERS, CLIENT_ID, RawClient, produce, raw_client
from tests.brokers.differential.record_operations import batch

ORDERS = TopicPartition("orders", 0)
OUTSIDE, LEADER = frozenset({CLIENTS}), frozenset({"broker-1"})
BOTH = Links(OUTSIDE, LEADER, both_ways=True)
THERE, BACK = Links(OUTSIDE, LEADER), Links(LEADER, OUTSIDE)
MOMENT_S = 1.0
WITHIN_S = 60.0
CLOSED = (asyncio.IncompleteReadError, ConnectionError)

pytestmark = pytest.mark.live


def with_client(script: Callable[[Cluster, RawClient], Awaitable[None]]) -> list[Event]:
    """Run a script with a client of three brokers, of which the first leads the only partition. Return all events."""

    async def run(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await cluster.topics.create(NewTopic("orders", assignment=[(BrokerId(1),)]), random.Random(1))
        async with raw_client(cluster.bootstrap_servers or "") as client, asyncio.timeout(WITHIN_S):
            await until_led(client)
            await script(cluster, client)

    log, _ = play_with_ports(run)
    return list(log.events)


async def until_led(client: RawClient) -> None:
    while True:
        seen = await client.call(1, METADATA, 8, **{**ALL_BROKERS, "topics": [{"name": "orders", "topic_id": None}]})
        if [one.leader_id for topic in seen.topics for one in topic.partitions] == [1]:
            return
        await asyncio.sleep(0.05)


def appended(cluster: Cluster) -> int:
    """Return how many records the leader has."""
    return cluster.replica_logs(ORDERS)[BrokerId(1)].log_end_offset


async def until_appended(cluster: Cluster, count: int) -> None:
    while True:
        if appended(cluster) >= count:
            return
        await asyncio.sleep(0.02)


async def write(client: RawClient) -> int:
    """Write three records, and return the offset of the first."""
    result = await written(client)
    assert result.error_code == ErrorCode.NONE
    return int(result.base_offset)


async def outcome(client: RawClient) -> int:
    """Try to write three records, and return the error."""
    return int((await written(client)).error_code)


async def written(client: RawClient) -> Any:
    answer = await client.call(1, PRODUCE, 9, **produce("orders", 0, batch()))
    ((result,),) = (topic.partition_responses for topic in answer.responses)
    return result


async def stays_unanswered(task: "asyncio.Task[Any]") -> bool:
    await asyncio.wait([task], timeout=MOMENT_S)
    return not task.done()


def network_events(events: list[Event], kind: EventKind) -> list[tuple[str, str | None, str | None, str | None]]:
    return [(event.node, event.target, event.event, event.rule) for event in events if event.kind is kind]


def test_what_a_client_sends_into_a_cut_arrives_once_it_is_healed() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.partition(THERE)
        writing = asyncio.create_task(write(client))
        assert await stays_unanswered(writing)
        assert appended(cluster) == 0
        cluster.network_faults.heal()
        assert await writing == 0

    events = with_client(script)
    node = f"client {CLIENT_ID}"
    assert network_events(events, EventKind.NETWORK_STALLED) == [(node, "broker-1", "Produce", "cut")]
    assert [event.node for event in events if event.kind is EventKind.NETWORK_RESUMED] == [node]


def test_an_answer_that_is_cut_off_leaves_the_client_without_knowledge_of_what_was_written() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.partition(BACK)
        writing = asyncio.create_task(write(client))
        await until_appended(cluster, 3)
        assert await stays_unanswered(writing)
        assert cluster.acknowledged_records.partitions == []
        cluster.network_faults.heal()
        assert await writing == 0
        assert cluster.acknowledged_records.partitions == [ORDERS]

    events = with_client(script)
    assert network_events(events, EventKind.NETWORK_STALLED) == [
        ("broker-1", f"client {CLIENT_ID}", "answer to Produce", "cut")
    ]


def test_what_was_sent_before_a_client_gave_up_is_still_written() -> None:
    """So a client that sends its records again after a time-out writes them twice, unless it is idempotent."""

    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.partition(THERE)
        writing = asyncio.create_task(write(client))
        assert await stays_unanswered(writing)
        writing.cancel()
        client.close()
        await asyncio.sleep(MOMENT_S)
        cluster.network_faults.heal()
        async with raw_client(cluster.bootstrap_servers or "") as again:
            await until_appended(cluster, 3)
            assert await write(again) == 3

    with_client(script)


def test_a_cut_that_refuses_breaks_connections_and_closes_the_port_until_it_is_healed() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        assert await write(client) == 0
        cluster.network_faults.partition(BOTH, refuses=True)
        with pytest.raises(CLOSED):
            await write(client)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*client.addresses[1])
        assert await client.call(2, METADATA, 8, **ALL_BROKERS)
        cluster.network_faults.heal()
        while True:
            try:
                assert await write(client) == 3
                break
            except ConnectionRefusedError:  # the port is opened a moment later
                await asyncio.sleep(0.02)

    with_client(script)


def test_one_client_is_cut_off_and_the_others_are_not() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.partition(Links(frozenset({"client other"}), LEADER, both_ways=True))
        assert await write(client) == 0
        cluster.network_faults.partition(Links(frozenset({f"client {CLIENT_ID}"}), LEADER, both_ways=True))
        writing = asyncio.create_task(write(client))
        assert await stays_unanswered(writing)
        assert not cluster.network_faults.is_well()
        cluster.network_faults.heal(BOTH)
        assert cluster.network_faults.is_well()
        assert await writing == 3

    with_client(script)


def test_links_of_clients_are_slow_by_time_and_by_rate() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.slow(BOTH, 300)
        assert await duration_s(write(client)) >= 0.6
        cluster.network_faults.heal()
        cluster.network_faults.limit_rate(THERE, 2 * len(batch()))
        assert await duration_s(write(client)) >= 0.5
        cluster.network_faults.heal()

    with_client(script)


async def duration_s(awaited: Awaitable[Any]) -> float:
    begin = time.monotonic()
    await awaited
    return time.monotonic() - begin


def test_connections_of_clients_are_broken() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.break_connections(BOTH)
        with pytest.raises(CLOSED):
            await write(client)
        with pytest.raises(ClusterError, match="break-connections has no effect: no connection is open between clients and"):
            cluster.network_faults.break_connections(BOTH)
        assert await write(client) == 0
        reader, _ = client.streams[1]
        cluster.network_faults.break_connections(BOTH)
        with pytest.raises(ConnectionResetError):
            await reader.read(1)

    with_client(script)


def test_a_connection_breaks_before_the_answer_to_the_third_request() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        cluster.network_faults.break_once_delivered(BOTH, "Produce", let_through=2)
        assert [await write(client), await write(client)] == [0, 3]
        with pytest.raises(CLOSED):
            await write(client)
        await until_appended(cluster, 9)
        assert await write(client) == 9

    events = with_client(script)
    assert network_events(events, EventKind.NETWORK_CONNECTION_BROKEN) == [
        (f"client {CLIENT_ID}", "broker-1", "Produce", "armed")
    ]


def test_answers_carry_an_injected_error() -> None:
    async def script(cluster: Cluster, client: RawClient) -> None:
        to_clients = Links(None, OUTSIDE)
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.answer_faults.inject(ErrorInjection("Produce", error, to_clients, times=2))
        assert [await outcome(client), await outcome(client), await outcome(client)] == [error, error, ErrorCode.NONE]
        assert appended(cluster) == 3
        late = ErrorCode.REQUEST_TIMED_OUT
        cluster.answer_faults.inject(ErrorInjection("Produce", late, to_clients, "orders", 0, is_carried_out=True))
        assert await outcome(client) == late
        assert appended(cluster) == 6
        assert await write(client) == 6

    events = with_client(script)
    confirmed = [event.detail for event in events if event.kind is EventKind.FAULT_CONFIRMED]
    who = f"broker-1 answers Produce of client {CLIENT_ID} with"
    assert confirmed == [
        f"{who} NOT_LEADER_OR_FOLLOWER, 1 of 2",
        f"{who} NOT_LEADER_OR_FOLLOWER, 2 of 2",
        f"{who} REQUEST_TIMED_OUT, 1 of 1",
    ]


def test_faults_cannot_name_clients_where_no_client_can_be() -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        with pytest.raises(ClusterError, match="no client from outside reaches this cluster: its brokers have no TCP ports"):
            cluster.network_faults.partition(BOTH)
        with pytest.raises(ClusterError, match="what is sent between broker-1 and broker-2 has no size"):
            cluster.network_faults.limit_rate(Links(LEADER, frozenset({"broker-2"}), both_ways=True), 1_000)

    play(script, on=SIMULATED, brokers=2)
