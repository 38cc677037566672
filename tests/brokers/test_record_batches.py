"""What a broker reads from batches in Kafka's format, held against batches that real clients sent, as kio reads them."""

import struct
from functools import cache

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch

from kcsim.brokers.record_batches import (
    CHECKSUM_STARTS_AT,
    HEADER,
    BrokenRecordsError,
    Codec,
    first_record_since,
    header_of,
    placed_at,
    stamped,
)
from kcsim.brokers.wire.apis.records import PRODUCE
from kcsim.brokers.wire.frames import decode_request
from tests.brokers.wire.recorded_frames import recorded_exchanges


@cache
def sent_batches() -> tuple[bytes, ...]:
    """Return all batches that real producers sent."""
    requests = [decode_request(one.request).message for one in recorded_exchanges() if one.api_key == PRODUCE]
    parts = [part.records for request in requests for topic in request.topic_data for part in topic.partition_data]
    return tuple(records for records in parts if records)


def plain_batches() -> list[bytes]:
    return [batch for batch in sent_batches() if header_of(batch).codec == Codec.NONE]


def test_there_are_batches_of_every_kind() -> None:
    headers = [header_of(batch) for batch in sent_batches()]
    assert len(headers) > 20
    assert {header.codec for header in headers} >= {Codec.NONE, Codec.ZSTD}
    assert {header.producer_id >= 0 for header in headers} == {True, False}
    assert {header.is_transactional for header in headers} == {True, False}


def test_the_header_is_what_kio_reads() -> None:
    for batch in plain_batches():
        theirs, size = read_batch(batch, 0)
        ours = header_of(batch)
        assert size == len(batch)
        assert (ours.base_offset, ours.length, ours.leader_epoch, ours.checksum, ours.attributes) == (
            theirs.base_offset,
            theirs.batch_length,
            theirs.partition_leader_epoch,
            theirs.crc,
            theirs.attributes,
        )
        assert (ours.last_offset_delta, ours.base_timestamp, ours.max_timestamp, ours.record_count) == (
            theirs.last_offset_delta,
            theirs.base_timestamp,
            theirs.max_timestamp,
            len(theirs.records),
        )
        assert (ours.producer_id, ours.producer_epoch, ours.base_sequence) == (
            theirs.producer_id,
            theirs.producer_epoch,
            theirs.base_sequence,
        )


def test_a_placed_batch_keeps_what_its_checksum_covers() -> None:
    for batch in sent_batches():
        placed = placed_at(batch, 2**40, 7)
        assert (header_of(placed).base_offset, header_of(placed).leader_epoch) == (2**40, 7)
        assert placed[CHECKSUM_STARTS_AT - 5 :] == batch[CHECKSUM_STARTS_AT - 5 :]
        assert len(placed) == len(batch)


def test_the_first_record_since_a_time_is_found() -> None:
    for batch in plain_batches():
        header = header_of(batch)
        assert first_record_since(batch, 0) == (header.base_offset, header.base_timestamp)
        assert first_record_since(batch, header.max_timestamp + 1) is None


def record(timestamp_delta: int, offset_delta: int) -> bytes:
    content = bytes([0, timestamp_delta << 1, offset_delta << 1, 1, 1, 0])
    return bytes([len(content) << 1]) + content


def batch_of(records: bytes, count: int, codec: Codec = Codec.NONE) -> bytes:
    """Return a batch at offset 100 whose times are 1000 and on."""
    return HEADER.pack(100, 49 + len(records), 0, 2, 0, codec, count - 1, 1_000, 1_020, -1, -1, -1, count) + records


def test_times_need_not_be_in_order() -> None:
    batch = batch_of(record(5, 0) + record(20, 1) + record(10, 2), 3)
    assert first_record_since(batch, 1_006) == (101, 1_020)
    assert first_record_since(batch, 1_005) == (100, 1_005)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_the_leaders_time_is_that_of_all_records_of_a_stamped_batch(codec: Codec) -> None:
    batch = batch_of(record(5, 0) + record(20, 1), 2, codec)
    stamped_one = stamped(batch, 9_000)
    header, before = header_of(stamped_one), header_of(batch)
    checksum = crc32c(stamped_one[CHECKSUM_STARTS_AT:])
    assert header == before._replace(max_timestamp=9_000, attributes=codec | 8, checksum=checksum)
    assert (header.has_append_time, before.has_append_time, stamped_one[61:]) == (True, False, batch[61:])
    assert (first_record_since(stamped_one, 9_000), first_record_since(stamped_one, 9_001)) == ((100, 9_000), None)


def test_a_compressed_batch_is_not_unpacked() -> None:
    assert first_record_since(batch_of(b"?", 3, Codec.LZ4), 1_006) == (100, 1_020)


@pytest.mark.parametrize("records", [b"", record(1, 0), b"\x02" + record(1, 0), b"\xff" * 12, bytes([1]) + record(1, 0)[1:]])
def test_records_that_cannot_be_read_are_refused(records: bytes) -> None:
    with pytest.raises(BrokenRecordsError):
        first_record_since(batch_of(records, 2), 1_020)


@given(st.binary(max_size=80), st.integers(0, 5))
def test_any_bytes_are_read_or_refused(records: bytes, count: int) -> None:
    try:
        found = first_record_since(batch_of(records, count), 1_001)
    except BrokenRecordsError:
        return
    assert found is None or found[1] >= 1_001


def test_too_few_bytes_are_no_header() -> None:
    with pytest.raises(struct.error):
        header_of(bytes(HEADER.size - 1))
