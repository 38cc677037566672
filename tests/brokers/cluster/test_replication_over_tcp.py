"""Followers fetch from their leaders over TCP: what producers were acknowledged is on all replicas, through kills of any."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Assigned

from kcsim.brokers.clients.clients import ClusterClient
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.log.log_comparison import divergence
from kcsim.brokers.requests import ACKS_ALL, ProduceBatch, ProduceRequest
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import OFFSETS_TOPIC, BrokerId, TopicPartition
from tests.brokers.cluster.acknowledged import Acknowledged
from tests.brokers.cluster.environments import (
    SETTINGS,
    WITHIN_MS,
    Script,
    Settings,
    find,
    kill_and_expire,
    spec_of,
    start_and_elect,
)

ORDERS_0 = TopicPartition("orders", 0)
BY_PROTOCOL = [{**SETTINGS, "inter.broker.protocol.version": version} for version in ("2.6", "2.7", "2.8", "3.9")]

pytestmark = pytest.mark.live


def play_over_tcp(script: Script, settings: Settings = SETTINGS, on: str = "model") -> EventLog:
    """Run a script on three brokers between which all requests go over TCP.

    A port that was free may be taken by another process before its broker starts; then others are tried.
    """
    for attempts_left in (2, 1, 0):
        spec = replace(
            spec_of((1, 2, 3), settings, on).with_free_client_ports(), control_plane_over_tcp=True, replication_over_tcp=True
        )
        try:
            return run_in_environment(ZooKeeperChoice.parse(on), spec, RunInfo("test", 0, on), script)
        except ClusterError as error:
            if "is in use" not in str(error) or not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")


def producer_on(cluster: Cluster, *, idempotent: bool = True) -> Acknowledged:
    return Acknowledged(bootstrap_servers(cluster), idempotent=idempotent)


def bootstrap_servers(cluster: Cluster) -> str:
    return ",".join(f"{host}:{port}" for host, port in cluster.bootstrap)


def until_isr(cluster: Cluster, isr: set[int], but: int | None = None) -> Callable[[], str | None]:
    """Return a condition: the partition has a leader, another one than `but`, and this ISR."""

    def condition() -> str | None:
        state = cluster.state.of_topics.states.get(ORDERS_0)
        if state is None or state.leader_and_isr.leader in (None, but) or set(state.leader_and_isr.isr) != isr:
            return f"{state}, not yet {isr}"
        return None

    return condition


async def watch(cluster: Cluster, condition: Callable[[], str | None]) -> None:
    """Wait, bounded, in small steps, for what is no event: a high watermark, a broker's metadata."""
    for _ in range(WITHIN_MS // 20):
        if condition() is None:
            return
        await cluster.runtime.sleep_ms(20)
    raise AssertionError(condition())


def until_known(cluster: Cluster) -> Callable[[], str | None]:
    """Return a condition: every broker can tell a client about the partition."""

    def condition() -> str | None:
        unaware = [name for name in cluster.broker_names if ORDERS_0 not in cluster.broker(name).metadata]
        return f"{unaware} do not know {ORDERS_0}" if unaware else None

    return condition


def until_equal(cluster: Cluster, tp: TopicPartition = ORDERS_0) -> Callable[[], str | None]:
    """Return a condition: all three replicas have the same records, and the same high watermark at their ends."""

    def condition() -> str | None:
        logs = list(cluster.replica_logs(tp).values())
        ends = {(log.log_start_offset, log.high_watermark, log.log_end_offset) for log in logs}
        return None if len(logs) == 3 and len(ends) == 1 else f"{ends} of {len(logs)} logs"

    return condition


def assert_equal(cluster: Cluster, tp: TopicPartition = ORDERS_0) -> None:
    """Assert that the logs of a partition are equal, byte by byte."""
    first, *others = cluster.replica_logs(tp).values()
    assert first.log_end_offset > 0
    for other in others:
        assert divergence(first, other) is None
        assert [run.batch for run in other.runs] == [run.batch for run in first.runs]
        assert other.size == first.size


async def consumed(cluster: Cluster, count: int) -> list[bytes]:
    """Return the values that a consumer reads from the beginning."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers(cluster), "group.id": "g", "log_level": 0})
    consumer.assign([Assigned("orders", 0, 0)])
    try:
        messages = await asyncio.to_thread(consumer.consume, count, WITHIN_MS / 1000)
    finally:
        await asyncio.to_thread(consumer.close)
    return [value for message in messages if (value := message.value()) is not None]


async def create_orders(cluster: Cluster) -> None:
    replicas = tuple(BrokerId(number) for number in (1, 2, 3))
    await cluster.topics.create(NewTopic("orders", assignment=[replicas]), random.Random(1))
    await cluster.wait_until(until_isr(cluster, {1, 2, 3}), WITHIN_MS)


@pytest.mark.parametrize(
    ("settings", "on"),
    [*((settings, "model") for settings in BY_PROTOCOL), (SETTINGS, "embedded")],
    ids=lambda given: given if isinstance(given, str) else given.get("inter.broker.protocol.version", "default"),
)
def test_acknowledged_records_survive_the_kill_of_a_follower_and_of_the_leader(settings: Settings, on: str) -> None:
    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await create_orders(cluster)
        producer = producer_on(cluster)
        await producer.produce("orders", 50)
        await kill_and_expire(cluster, "broker-2")
        await producer.produce("orders", 50)
        await cluster.start(["broker-2"])
        await cluster.wait_until(until_isr(cluster, {1, 2, 3}), WITHIN_MS)
        await kill_and_expire(cluster, "broker-1")
        await cluster.wait_until(until_isr(cluster, {2, 3}, but=1), WITHIN_MS)
        await producer.produce("orders", 50)
        await cluster.start(["broker-1"])
        await cluster.wait_until(until_isr(cluster, {1, 2, 3}), WITHIN_MS)
        await producer.produce("orders", 1)
        await watch(cluster, until_equal(cluster))
        assert_equal(cluster)
        assert await consumed(cluster, 151) == producer.values()
        assert len(producer.values()) == 151

    log = play_over_tcp(script, settings)
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []


def test_a_group_goes_on_where_it_was_after_the_loss_of_its_coordinator() -> None:
    """The offsets are in the log of __consumer_offsets, which its followers have got as bytes."""
    offsets_0 = TopicPartition(OFFSETS_TOPIC, 0)

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await create_orders(cluster)
        await producer_on(cluster, idempotent=False).produce("orders", 20)
        assert len(await read_in_group(cluster, 12)) == 12
        coordinator = cluster.state.of_topics.states[offsets_0].leader_and_isr.leader
        await kill_and_expire(cluster, f"broker-{coordinator}")
        assert await read_in_group(cluster, 8) == [f"{number}".encode() for number in range(12, 20)]
        await cluster.start([f"broker-{coordinator}"])
        await cluster.wait_until(until_isr(cluster, {1, 2, 3}), WITHIN_MS)
        await watch(cluster, until_equal(cluster, offsets_0))
        first, *others = cluster.replica_logs(offsets_0).values()
        assert all(divergence(first, other) is None for other in others)

    log = play_over_tcp(script, {**SETTINGS, "offsets.topic.num.partitions": 1, "group.initial.rebalance.delay.ms": 0})
    assert find(log, EventKind.CLIENT_CONNECTION_CLOSED) == []


async def read_in_group(cluster: Cluster, count: int) -> list[bytes]:
    """Return the values that the next member of a group reads and commits; it is alone, and leaves then."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers(cluster),
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["orders"])
    try:
        messages = await asyncio.to_thread(consumer.consume, count, WITHIN_MS / 1000)
        await asyncio.to_thread(lambda: consumer.commit(message=messages[-1], asynchronous=False))
    finally:
        await asyncio.to_thread(consumer.close)
    return [value for message in messages if (value := message.value()) is not None]


@pytest.mark.parametrize("settings", BY_PROTOCOL[:2], ids=lambda settings: settings["inter.broker.protocol.version"])
def test_a_log_that_diverges_is_truncated(settings: Settings) -> None:
    """The old leader has records that no follower got; the new one does not have them.

    Before 2.7 the follower asks for the end of its epoch; then the answer to its fetch says it.
    """

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await create_orders(cluster)
        await producer_on(cluster).produce("orders", 10)
        for follower in ("broker-2", "broker-3"):
            await cluster.pause(follower)
        host, port = cluster.bootstrap[0]
        lost = Producer({"bootstrap.servers": f"{host}:{port}", "acks": 1, "log_level": 0})
        for value in ("answers the fetches that wait", "lost"):
            lost.produce("orders", value)
            assert await asyncio.to_thread(lost.flush, WITHIN_MS / 1000) == 0
        await kill_and_expire(cluster, "broker-1")
        for follower in ("broker-2", "broker-3"):
            await cluster.resume(follower)
        await cluster.wait_until(until_isr(cluster, {2, 3}, but=1), WITHIN_MS)
        await producer_on(cluster).produce("orders", 5)
        await cluster.start(["broker-1"])
        await cluster.wait_until(until_isr(cluster, {1, 2, 3}), WITHIN_MS)
        await producer_on(cluster).produce("orders", 1)
        await watch(cluster, until_equal(cluster))
        assert_equal(cluster)
        assert b"lost" not in await consumed(cluster, 17)

    log = play_over_tcp(script, settings)
    (cut,) = find(log, EventKind.RECORDS_TRUNCATED, node="broker-1")
    assert (cut.offset, cut.end_offset, cut.rule) == (11, 12, "leader epoch")
    followed = find(log, EventKind.BECAME_FOLLOWER, node="broker-1", topic="orders")
    assert cut.cause == followed[-1].seq


def test_simulated_records_are_the_same_on_all_replicas() -> None:
    """Their writers and numbers are known on every replica, as where they are passed by reference."""

    async def script(cluster: Cluster) -> None:
        await start_and_elect(cluster)
        await create_orders(cluster)
        await watch(cluster, until_known(cluster))
        client = ClusterClient(cluster.client_process("producer-a"), cluster.bootstrap, ["orders"])
        for first in (0, 1_000):
            now_ms = cluster.epoch_ms + cluster.runtime.now_ms()
            batch = ProduceBatch("a", first, 1_000, 100, now_ms, is_idempotent=False)
            answer = await client.send_to_leader(ORDERS_0, ProduceRequest("a", ACKS_ALL, WITHIN_MS, {ORDERS_0: batch}), 0)
            assert answer.results[ORDERS_0].error is ErrorCode.NONE
        await watch(cluster, until_equal(cluster))
        for log in cluster.replica_logs(ORDERS_0).values():
            (run,) = log.runs
            assert (run.writer, run.first_sequence, run.count, run.record_bytes, run.batch) == ("a", 0, 2_000, 100, None)

    play_over_tcp(script)
