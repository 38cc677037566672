"""Batches of records as a client sends them: what a broker takes, and what it refuses with which error."""

import pytest
from crc32c import crc32c

from kcsim.brokers.record_batches import CHECKSUM_STARTS_AT, HEADER, Codec, header_of
from kcsim.brokers.requests import NO_SEQUENCE, ProduceBatch
from kcsim.brokers.wire.batch_checks import produced_batch, refusal_of
from kcsim.controller.requests import ErrorCode
from tests.brokers.test_record_batches import sent_batches

PLAIN = next(batch for batch in sent_batches() if header_of(batch).producer_id < 0 and not header_of(batch).attributes)


def changed(batch: bytes = PLAIN, **fields: int) -> bytes:
    """Return a batch with other values in its header, and the checksum that belongs to them unless it is given."""
    packed = HEADER.pack(*header_of(batch)._replace(**fields)) + batch[HEADER.size :]
    if "checksum" in fields:
        return packed
    return packed[:17] + crc32c(packed[CHECKSUM_STARTS_AT:]).to_bytes(4, "big") + packed[CHECKSUM_STARTS_AT:]


def produced(records: bytes) -> ProduceBatch:
    return produced_batch(records, "checkout", "10.0.0.1:5000")


def test_every_batch_that_a_real_client_sent_is_taken_but_those_of_transactions() -> None:
    for batch in sent_batches():
        taken, header = produced(batch), header_of(batch)
        assert refusal_of(batch, 9) is None
        assert taken.error == (ErrorCode.INVALID_TXN_STATE if header.is_transactional else ErrorCode.NONE)
        if not taken.error:
            assert (taken.count, taken.timestamp_ms, taken.batch) == (header.record_count, header.max_timestamp, batch)


def test_a_producer_without_an_id_is_known_by_its_address_and_numbers_nothing() -> None:
    taken = produced(PLAIN)
    assert (taken.writer, taken.first_sequence, taken.is_idempotent) == ("checkout@10.0.0.1:5000", NO_SEQUENCE, False)


def test_the_sequence_of_an_epoch_follows_that_of_the_epoch_before() -> None:
    taken = produced(changed(producer_id=17, producer_epoch=2, base_sequence=5))
    assert (taken.writer, taken.first_sequence, taken.is_idempotent) == ("checkout#17", 2 * 2**31 + 5, True)
    assert taken.producer_epoch == 2


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (PLAIN[:60], ErrorCode.INVALID_RECORD),
        (PLAIN[:-1], ErrorCode.INVALID_RECORD),
        (PLAIN + PLAIN, ErrorCode.INVALID_RECORD),
        (changed(magic=1), ErrorCode.INVALID_RECORD),
        (changed(magic=3), ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_what_is_no_batch_is_refused_before_its_partition_is_looked_at(records: bytes, error: ErrorCode) -> None:
    refusal = refusal_of(records, 9)
    assert refusal is not None
    assert refusal.error is error


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (changed(checksum=0), ErrorCode.CORRUPT_MESSAGE),
        (PLAIN[:-1] + bytes([PLAIN[-1] ^ 1]), ErrorCode.CORRUPT_MESSAGE),
        (changed(attributes=0x20), ErrorCode.INVALID_RECORD),
        (changed(attributes=0x10), ErrorCode.INVALID_TXN_STATE),
        (changed(attributes=7), ErrorCode.INVALID_RECORD),
        (changed(record_count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (changed(record_count=1, last_offset_delta=1), ErrorCode.INVALID_RECORD),
        (changed(producer_id=17, producer_epoch=0, base_sequence=-1), ErrorCode.INVALID_RECORD),
    ],
)
def test_what_the_leader_of_its_partition_refuses(records: bytes, error: ErrorCode) -> None:
    assert produced(records).error is error


def test_zstd_needs_a_client_that_knows_it() -> None:
    batch = changed(attributes=Codec.ZSTD)
    refusal = refusal_of(batch, 6)
    assert refusal is not None
    assert refusal.error is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert refusal_of(batch, 7) is None
