"""Requests about records: every version, every error that a client can cause on a healthy cluster."""

import asyncio
from collections.abc import Iterable
from typing import Any

from kcsim.brokers.record_batches import HEADER, Codec, header_of
from kcsim.brokers.wire.apis.offsets import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from kcsim.brokers.wire.apis.producer_ids import INIT_PRODUCER_ID
from kcsim.brokers.wire.apis.records import FETCH, PRODUCE
from tests.brokers.differential.operations import Recorder
from tests.brokers.differential.raw_client import produce, with_checksum

TOPIC, STRICT, SMALL, STAMPED = "orders", "strict", "small", "stamped"
"""Topics with partition 0 on brokers 1, 2, 3 in this order; STRICT has a min.insync.replicas of 4, SMALL a max.message.bytes
of 200, STAMPED a message.timestamp.type of LogAppendTime."""
LEADER, FOLLOWER = 1, 2
FIRST_MS = 1_700_000_000_000
NO_EPOCH = -1


def record(number: int, timestamp_delta: int, value: bytes) -> bytes:
    """Return a record without key and headers; all numbers below 64."""
    content = bytes([0, timestamp_delta << 1, number << 1, 1, len(value) << 1]) + value + b"\x00"
    return bytes([len(content) << 1]) + content


def batch(count: int = 3, at_ms: int = FIRST_MS, size: int = 8, **changes: int) -> bytes:
    """Return a batch of records, 10 ms apart. Args: changes: other fields of its header."""
    records = b"".join(record(number, number * 10 % 60, bytes([65 + number]) * size) for number in range(count))
    last = max(number * 10 % 60 for number in range(count))
    plain = HEADER.pack(0, 49 + len(records), -1, 2, 0, 0, count - 1, at_ms, at_ms + last, -1, -1, -1, count) + records
    changed = HEADER.pack(*header_of(plain)._replace(**changes)) + records
    return changed if "checksum" in changes else with_checksum(changed)


def idempotent(producer_id: int, sequence: int, epoch: int = 0, count: int = 1) -> bytes:
    return batch(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


async def produce_operations(recorder: Recorder) -> None:
    ask = recorder.ask
    for version in range(3, 10):
        await ask(f"produce, version {version}", LEADER, PRODUCE, version, **produce(TOPIC, 0, batch()))
    for acks in (1, -1, 2, -2):
        await ask(f"produce, acks {acks}", LEADER, PRODUCE, 9, **produce(TOPIC, 0, batch(), acks))
    refused = {
        "to a follower": (FOLLOWER, produce(TOPIC, 0, batch())),
        "to an unknown topic": (LEADER, produce("nowhere", 0, batch())),
        "to an unknown partition": (LEADER, produce(TOPIC, 7, batch())),
        "with too few in-sync replicas": (LEADER, produce(STRICT, 0, batch())),
        "of no bytes": (LEADER, produce(TOPIC, 0, b"")),
        "of two batches": (LEADER, produce(TOPIC, 0, batch() + batch())),
        "of a batch that is too large": (LEADER, produce(SMALL, 0, batch(20))),
        "with a wrong checksum": (LEADER, produce(TOPIC, 0, batch(checksum=1))),
        "with magic 3": (LEADER, produce(TOPIC, 0, batch(magic=3))),
        "of a control batch": (LEADER, produce(TOPIC, 0, batch(attributes=0x20))),
        "with a wrong count": (LEADER, produce(TOPIC, 0, batch(record_count=2))),
        "with a wrong last offset": (LEADER, produce(TOPIC, 0, batch(last_offset_delta=5))),
        "of an idempotent producer without a sequence": (LEADER, produce(TOPIC, 0, idempotent(900, -1))),
    }
    for name, (broker, values) in refused.items():
        await ask(f"produce {name}", broker, PRODUCE, 9, **values)
    await ask("produce with acks 0 to a follower", FOLLOWER, PRODUCE, 9, **produce(TOPIC, 0, batch(), acks=0))
    zstd = batch(attributes=Codec.ZSTD)
    await ask("produce zstd, version 6", LEADER, PRODUCE, 6, **produce(TOPIC, 0, zstd))


async def idempotence_operations(recorder: Recorder) -> None:
    sent = {
        "the first batch": idempotent(7_000, 0),
        "the second": idempotent(7_000, 1),
        "the second again": idempotent(7_000, 1),
        "a gap": idempotent(7_000, 5),
        "a batch that is half new": idempotent(7_000, 1, count=2),
        "three records": idempotent(7_000, 2, count=3),
        "the first again": idempotent(7_000, 0),
        "one more": idempotent(7_000, 5),
        "one more again": idempotent(7_000, 5),
        "another one": idempotent(7_000, 6),
        "and another": idempotent(7_000, 7),
        "the first again, the sixth last batch": idempotent(7_000, 0),
        "the second again, now the fifth last": idempotent(7_000, 1),
        "the next epoch, not from 0": idempotent(7_000, 3, epoch=1),
        "the next epoch": idempotent(7_000, 0, epoch=1),
        "the epoch before": idempotent(7_000, 8),
        "a producer that begins at 4": idempotent(7_001, 4),
    }
    for name, records in sent.items():
        await recorder.ask(f"idempotent: {name}", LEADER, PRODUCE, 9, **produce(TOPIC, 0, records))


def fetch(topic: str, partition: int, offset: int, **given: Any) -> dict[str, Any]:
    """Return the fields of a Fetch for one partition. Args: given: fields of the request or of the partition."""
    part = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    part |= {"current_leader_epoch": NO_EPOCH, "last_fetched_epoch": NO_EPOCH, "log_start_offset": -1}
    asked: dict[str, Any] = {"replica_id": -1, "max_wait": 200, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0}
    asked |= {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": ""}
    part |= {name: value for name, value in given.items() if name in part}
    asked |= {name: value for name, value in given.items() if name in asked}
    return {**asked, "topics": ({"topic": topic, "partitions": (part,)},)}


async def until_follower_knows(recorder: Recorder, high_watermark: int) -> None:
    """Wait until the follower has learned of a high watermark, which takes it one fetch more than the leader."""
    while True:
        message = await recorder.client.call(FOLLOWER, FETCH, 12, **fetch(TOPIC, 0, 0))
        if message.responses[0].partitions[0].high_watermark == high_watermark:
            return
        await asyncio.sleep(0.1)


async def fetch_operations(recorder: Recorder) -> None:
    """All records that the other operations have written are there."""
    ask = recorder.ask
    for version in range(4, 13):
        await ask(f"fetch, version {version}", LEADER, FETCH, version, **fetch(TOPIC, 0, 0))
    message = await ask("fetch to the end", LEADER, FETCH, 12, **fetch(TOPIC, 0, 0))
    end = message.responses[0].partitions[0].high_watermark
    await until_follower_knows(recorder, end)
    for offset in range(-1, end + 2):
        await ask(f"fetch from {offset}", LEADER, FETCH, 12, **fetch(TOPIC, 0, offset, max_bytes=150))
    others: dict[str, tuple[int, dict[str, Any]]] = {
        "from a follower": (FOLLOWER, fetch(TOPIC, 0, 0)),
        "from an unknown topic": (LEADER, fetch("nowhere", 0, 0)),
        "from an unknown partition": (LEADER, fetch(TOPIC, 7, 0)),
        "with an older epoch": (LEADER, fetch(TOPIC, 0, 0, current_leader_epoch=-2)),
        "with the epoch": (LEADER, fetch(TOPIC, 0, 0, current_leader_epoch=0)),
        "with a newer epoch": (LEADER, fetch(TOPIC, 0, 0, current_leader_epoch=9)),
        "of committed transactions": (LEADER, fetch(TOPIC, 0, 0, isolation_level=1)),
        "of one byte of the partition": (LEADER, fetch(TOPIC, 0, 0, partition_max_bytes=1)),
        "of no byte": (LEADER, fetch(TOPIC, 0, 0, max_bytes=0)),
        "at the end without waiting": (LEADER, fetch(TOPIC, 0, end, max_wait=0)),
        "of an empty partition": (LEADER, fetch(STRICT, 0, 0)),
        "with a session that is unknown": (LEADER, fetch(TOPIC, 0, 0, session_id=77, session_epoch=3)),
        "of a closed session that is unknown": (LEADER, fetch(TOPIC, 0, 0, session_id=77, session_epoch=-1)),
        "without a session but with its epoch": (LEADER, fetch(TOPIC, 0, 0, session_epoch=3)),
    }
    for name, (broker, values) in others.items():
        await ask(f"fetch {name}", broker, FETCH, 12, **values)


async def session_operations(recorder: Recorder) -> None:
    """Incremental fetches: each answer has only what is new since the one before."""

    async def ask(name: str, values: dict[str, Any]) -> Any:
        return await recorder.ask(f"session: {name}", LEADER, FETCH, 12, **values)

    opened = await ask("opened", fetch(TOPIC, 0, 0, session_epoch=0, partition_max_bytes=200))
    session = opened.session_id
    nothing: dict[str, Any] = {"topics": ()}
    await ask("the same again", {**fetch(TOPIC, 0, 0), **nothing, "session_id": session, "session_epoch": 1})
    await ask("from the second batch", fetch(TOPIC, 0, 3, session_id=session, session_epoch=2, partition_max_bytes=200))
    await ask("the epoch before", {**fetch(TOPIC, 0, 3), **nothing, "session_id": session, "session_epoch": 1})
    end = opened.responses[0].partitions[0].high_watermark
    await ask("at the end", fetch(TOPIC, 0, end, session_id=session, session_epoch=3))
    await ask("still at the end", {**fetch(TOPIC, 0, 0), **nothing, "session_id": session, "session_epoch": 4})
    await recorder.ask("session: one record more", LEADER, PRODUCE, 9, **produce(TOPIC, 0, batch(1)))
    await ask("the record", {**fetch(TOPIC, 0, 0), **nothing, "session_id": session, "session_epoch": 5})
    await ask("another partition too", fetch(STRICT, 0, 0, session_id=session, session_epoch=6))
    forgotten = ({"topic": TOPIC, "partitions": (0,)},)
    without = {**fetch(TOPIC, 0, 0), **nothing, "forgotten_topics_data": forgotten}
    await ask("without the first", {**without, "session_id": session, "session_epoch": 7})
    await ask("an unknown topic too", fetch("nowhere", 0, 0, session_id=session, session_epoch=8))
    await ask("closed", fetch(TOPIC, 0, end, session_id=session, session_epoch=-1))
    await ask("after it was closed", {**fetch(TOPIC, 0, 0), **nothing, "session_id": session, "session_epoch": 9})
    await ask("epochs skipped", {**fetch(TOPIC, 0, 0), **nothing, "session_id": session, "session_epoch": 20})


async def append_time_operations(recorder: Recorder) -> None:
    """The leader's time is the time of records."""
    ask = recorder.ask
    for version in (3, 5, 8, 9):
        await ask(f"append time: produce, version {version}", LEADER, PRODUCE, version, **produce(STAMPED, 0, batch()))
    for name in ("first", "again"):
        await ask(f"append time: idempotent, {name}", LEADER, PRODUCE, 9, **produce(STAMPED, 0, idempotent(7_100, 0)))
    await ask("append time: fetch", LEADER, FETCH, 12, **fetch(STAMPED, 0, 0))
    for timestamp in (0, FIRST_MS + 10, FIRST_MS + 10**12):
        values = list_offsets(STAMPED, 0, timestamp)
        await ask(f"append time: first since {timestamp - FIRST_MS}", LEADER, LIST_OFFSETS, 6, **values)


def list_offsets(topic: str, partition: int, timestamp: int, epoch: int = NO_EPOCH) -> dict[str, Any]:
    part = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp, "max_num_offsets": 1}
    return {"replica_id": -1, "isolation_level": 0, "topics": ({"name": topic, "partitions": (part,)},)}


def epoch_end(topic: str, partition: int, epoch: int, known: int = NO_EPOCH) -> dict[str, Any]:
    part = {"partition": partition, "current_leader_epoch": known, "leader_epoch": epoch}
    return {"replica_id": -1, "topics": ({"topic": topic, "partitions": (part,)},)}


async def offset_operations(recorder: Recorder) -> None:
    ask = recorder.ask
    for version in range(7):
        for name, timestamp in (("latest", -1), ("earliest", -2)):
            await ask(f"{name}, version {version}", LEADER, LIST_OFFSETS, version, **list_offsets(TOPIC, 0, timestamp))
    times: Iterable[int] = (0, FIRST_MS, FIRST_MS + 1, FIRST_MS + 10, FIRST_MS + 20, FIRST_MS + 21, FIRST_MS + 90)
    for version in (1, 6):
        for timestamp in times:
            name = f"first since {timestamp - FIRST_MS}, version {version}"
            await ask(name, LEADER, LIST_OFFSETS, version, **list_offsets(TOPIC, 0, timestamp))
    others = {
        "of a follower": (FOLLOWER, list_offsets(TOPIC, 0, -1)),
        "of an unknown topic": (LEADER, list_offsets("nowhere", 0, -1)),
        "of an unknown partition": (LEADER, list_offsets(TOPIC, 7, -1)),
        "with the epoch": (LEADER, list_offsets(TOPIC, 0, -1, 0)),
        "with a newer epoch": (LEADER, list_offsets(TOPIC, 0, -1, 4)),
        "of an empty partition": (LEADER, list_offsets(STRICT, 0, -1)),
        "since a time of an empty partition": (LEADER, list_offsets(STRICT, 0, 5)),
        "at time -3": (LEADER, list_offsets(TOPIC, 0, -3)),
    }
    for name, (broker, values) in others.items():
        await ask(f"offset {name}", broker, LIST_OFFSETS, 6, **values)
    for version in range(5):
        for epoch in (0, 1):
            values = epoch_end(TOPIC, 0, epoch)
            await ask(f"end of epoch {epoch}, version {version}", LEADER, OFFSET_FOR_LEADER_EPOCH, version, **values)
    for name, topic, partition, broker, known in (
        ("of a follower", TOPIC, 0, FOLLOWER, NO_EPOCH),
        ("of an unknown topic", "nowhere", 0, LEADER, NO_EPOCH),
        ("of an unknown partition", TOPIC, 7, LEADER, NO_EPOCH),
        ("with a newer epoch", TOPIC, 0, LEADER, 5),
    ):
        await ask(f"end of epoch 0 {name}", broker, OFFSET_FOR_LEADER_EPOCH, 4, **epoch_end(topic, partition, 0, known))


async def producer_id_operations(recorder: Recorder) -> None:
    values = {"transactional_id": None, "transaction_timeout": 60_000, "producer_id": -1, "producer_epoch": -1}
    for version in range(5):
        await recorder.ask(f"producer id, version {version}", FOLLOWER, INIT_PRODUCER_ID, version, **values)
