"""Real producers and consumers write to the brokers of a live run and read from them, through the loss of leaders."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.log.record_memory import LIMIT_VARIABLE
from kcsim.brokers.records import Run
from kcsim.brokers.wire.apis.records import PRODUCE
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import BrokerId
from kcsim.vocabulary import TopicPartition as Partition
from tests.brokers.cluster.environments import WITHIN_MS, find, kill_and_expire, start_and_elect, until_idle
from tests.brokers.cluster.test_client_ports import WITHIN_S, client_of, play_with_ports, until_seen
from tests.brokers.differential.raw_client import produce, raw_client
from tests.brokers.differential.record_operations import batch
from tests.brokers.test_record_batches import batch_of, record

RECORDS = 300
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]

pytestmark = pytest.mark.live


def servers_of(cluster: Cluster) -> str:
    return ",".join(f"{host}:{port}" for host, port in cluster.bootstrap)


async def with_topic(cluster: Cluster, partitions: int = 2) -> None:
    """Start the cluster, and create the topic orders on all brokers."""
    await start_and_elect(cluster)
    await cluster.topics.create(NewTopic("orders", partitions, 3), random.Random(1))
    async with asyncio.timeout(WITHIN_S):
        await until_seen(client_of(cluster), cluster)


def written(servers: str, values: list[bytes], **config: object) -> dict[bytes, tuple[int, int]]:
    """Produce to orders, and return partition and offset of each record that was acknowledged, by its value."""
    producer = Producer({"bootstrap.servers": servers, "message.timeout.ms": WITHIN_MS, "log_level": 0, **config})
    acknowledged: dict[bytes, tuple[int, int]] = {}

    def delivered(error: Any, message: Message) -> None:
        if error is None:
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            acknowledged[value] = partition, -1 if offset is None else offset

    for value in values:
        producer.produce("orders", value=value, key=value, headers={"n": value}, on_delivery=delivered)
    assert producer.flush(WITHIN_S) == 0
    return acknowledged


def read(servers: str, starts: Mapping[int, int], count: int) -> dict[tuple[int, int], Message]:
    """Read at least this many records of orders from these offsets on; by partition and offset."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False, "log_level": 0})
    consumer.assign([TopicPartition("orders", partition, offset) for partition, offset in starts.items()])
    found: dict[tuple[int, int], Message] = {}
    try:
        while len(found) < count:
            messages = consumer.consume(count, WITHIN_S)
            assert messages, f"{len(found)} of {count} records within {WITHIN_S} s"
            for message in messages:
                assert message.error() is None, message.error()
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                found[partition, offset] = message
    finally:
        consumer.close()
    return found


def values(first: int, count: int = RECORDS) -> list[bytes]:
    return [b"order %d" % number for number in range(first, first + count)]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_what_is_written_is_read_with_key_and_headers(acks: str) -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster)
        servers = servers_of(cluster)
        sent = await asyncio.to_thread(written, servers, values(0), acks=acks)
        assert len(sent) == RECORDS
        found = await asyncio.to_thread(read, servers, {0: 0, 1: 0}, RECORDS)
        if acks != "0":
            assert {place: message.value() for place, message in found.items()} == {p: value for value, p in sent.items()}
        assert {message.value() for message in found.values()} == set(sent)
        for message in found.values():
            assert message.key() == message.value()
            assert message.headers() == [("n", message.value())]

    play_with_ports(script)


def test_every_compression_goes_through_and_all_replicas_have_the_same_bytes() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        servers = servers_of(cluster)
        for number, codec in enumerate(CODECS):
            config = {"acks": "all", "compression.type": codec, "enable.idempotence": codec == "lz4"}
            assert len(await asyncio.to_thread(written, servers, values(RECORDS * number), **config)) == RECORDS
        found = await asyncio.to_thread(read, servers, {0: 0}, RECORDS * len(CODECS))
        assert [message.value() for _, message in sorted(found.items())] == values(0, RECORDS * len(CODECS))
        logs = {broker: log.runs for broker, log in cluster.replica_logs(Partition("orders", 0)).items()}
        assert list(logs) == [1, 2, 3]
        assert logs[BrokerId(1)] == logs[BrokerId(2)] == logs[BrokerId(3)]
        assert all(isinstance(run, Run) and run.batch for run in logs[BrokerId(1)])

    play_with_ports(script)


def test_nothing_acknowledged_by_all_is_lost_with_its_leader() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster)
        servers = servers_of(cluster)
        config = {"acks": "all", "enable.idempotence": True, "linger.ms": 5}
        before = await asyncio.to_thread(written, servers, values(0), **config)
        writing = asyncio.create_task(asyncio.to_thread(written, servers, values(RECORDS), **config))
        state = cluster.state.of_topics.states[Partition("orders", 0)]
        await kill_and_expire(cluster, f"broker-{state.leader_and_isr.leader}")
        during = await writing
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        sent = before | during
        assert len(sent) == 2 * RECORDS
        found = await asyncio.to_thread(read, servers, {0: 0, 1: 0}, len(sent))
        assert {place: message.value() for place, message in found.items()} == {p: value for value, p in sent.items()}

    play_with_ports(script)


def test_what_only_the_leader_had_is_lost_with_it_and_the_ledger_counts_exactly_that() -> None:
    """The followers do not copy anything until the leader is dead; the records were acknowledged with acks=1."""

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        servers, tp = servers_of(cluster), Partition("orders", 0)
        leader = cluster.state.of_topics.states[tp].leader_and_isr.leader
        followers = [f"broker-{broker}" for broker in (1, 2, 3) if broker != leader]
        before = await asyncio.to_thread(written, servers, values(0), acks=1)
        await cluster.wait_until(until_copied(cluster, tp, len(before)), WITHIN_MS)
        for follower in followers:
            await cluster.slow_follower(follower, 0)
        lost = await asyncio.to_thread(written, servers, values(RECORDS), acks=1)
        await kill_and_expire(cluster, f"broker-{leader}")
        await cluster.wait_until(until_idle(cluster.log), WITHIN_MS)
        for follower in followers:
            await cluster.slow_follower(follower, None)
        after = await asyncio.to_thread(written, servers, values(2 * RECORDS), acks=1)
        found = await asyncio.to_thread(read, servers, {0: 0}, len(before) + len(after))
        assert {message.value() for message in found.values()} == {*before, *after}
        counts = Workload(cluster, {}).counts()[tp]
        assert (counts.acknowledged, counts.lost, counts.lost_everywhere) == (3 * RECORDS, len(lost), 0)

    play_with_ports(script)


def until_copied(cluster: Cluster, tp: Partition, end: int) -> Callable[[], str | None]:
    """Return a condition: all replicas have the records before this offset."""

    def condition() -> str | None:
        ends = {broker: log.log_end_offset for broker, log in cluster.replica_logs(tp).items()}
        return None if set(ends.values()) == {end} else f"logs end at {ends}"

    return condition


def test_records_of_simulated_producers_reach_real_consumers() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        workload = Workload(cluster, {"a": ProducerSpec("a", ("orders",), record_bytes=100)})
        await workload.produce(["a"], 50)
        found = await asyncio.to_thread(read, servers_of(cluster), {0: 0}, 50)
        assert {place: message.value() for place, message in found.items()} == {
            (0, number): (b"a %d" % number).ljust(100) for number in range(50)
        }

    play_with_ports(script)


def test_offsets_are_found_by_time() -> None:
    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        servers = servers_of(cluster)

        def ask() -> None:
            producer = Producer({"bootstrap.servers": servers, "log_level": 0})
            for number in range(10):
                producer.produce("orders", b"x", timestamp=1_000 + number * 10)
            producer.flush(WITHIN_S)
            consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "log_level": 0})
            assert consumer.get_watermark_offsets(TopicPartition("orders", 0), WITHIN_S) == (0, 10)
            for time_ms, offset in ((0, 0), (1_000, 0), (1_001, 1), (1_090, 9), (1_091, -1)):
                (answer,) = consumer.offsets_for_times([TopicPartition("orders", 0, time_ms)], WITHIN_S)
                assert (answer.error, answer.offset) == (None, offset), time_ms
            consumer.close()

        await asyncio.to_thread(ask)

    play_with_ports(script)


def test_records_without_acknowledgement_that_are_refused_close_the_connection() -> None:
    """A broker that does not lead the partition has no other way to say so."""

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, partitions=1)
        leader = cluster.state.of_topics.states[Partition("orders", 0)].leader_and_isr.leader
        other = next(broker for broker in (1, 2, 3) if broker != leader)
        async with raw_client(servers_of(cluster)) as client:
            with pytest.raises(asyncio.IncompleteReadError):
                await client.call(other, PRODUCE, 9, **produce("orders", 0, batch_of(record(0, 0), 1), acks=0))

    log, _ = play_with_ports(script)
    (closed,) = find(log, EventKind.CLIENT_CONNECTION_CLOSED)
    assert closed.detail == "records with acks=0 are refused: orders-0: NOT_LEADER_OR_FOLLOWER"


def test_a_producer_is_refused_with_the_reason_when_the_memory_for_records_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1")

    async def script(cluster: Cluster) -> None:
        await with_topic(cluster, 1)
        values = [bytes([number]) * 100_000 for number in range(20)]
        acknowledged = await asyncio.to_thread(written, servers_of(cluster), values, **{"batch.size": 110_000})
        assert len(acknowledged) == 3  # key, value and header have 100,000 bytes each
        async with raw_client(servers_of(cluster)) as client:
            leader = cluster.state.of_topics.states[Partition("orders", 0)].leader_and_isr.leader
            assert leader is not None
            full = produce("orders", 0, batch(20, size=40))
            for _ in range(2_000):
                answer = await client.call(leader, PRODUCE, 9, **full)
                ((result,),) = (topic.partition_responses for topic in answer.responses)
                if result.error_code.name != "none":
                    break
        assert (result.error_code.name, result.error_message) == (
            "policy_violation",
            "the records of clients would take up more than 1 MiB, the limit of KCSIM_RECORD_MEMORY_MIB",
        )

    play_with_ports(script)
