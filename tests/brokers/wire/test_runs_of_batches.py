"""The records that a follower appends are those that its leader has."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.groups.group_log import WRITER
from kcsim.brokers.groups.group_metadata import OffsetRecord, OffsetTombstone
from kcsim.brokers.groups.offsets_topic_records import key_and_value
from kcsim.brokers.record_batches import HEADER, NO_PRODUCER_ID, header_of, numbered
from kcsim.brokers.records import Run
from kcsim.brokers.wire.batch_checks import produced_batch
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.brokers.wire.runs_of_batches import CorruptRecordsError, runs_of
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.brokers.test_record_batches import sent_batches

E3 = LeaderEpoch(3)


@given(
    st.integers(0, 2**40),
    st.integers(1, 300),
    st.integers(0, 2**40),
    st.integers(0, 4_000_000_000_000),
    st.integers(1, 300),
)
def test_simulated_records_are_the_same_again(
    base_offset: int, count: int, sequence: int, timestamp_ms: int, size: int
) -> None:
    """Also their writer, which may have blanks in its name, and their size, which may be less than that of its name."""
    run = Run(base_offset, count, E3, "producer a", sequence, timestamp_ms, size)
    assert runs_of(batches_of([run]), base_offset) == (run,)


def test_records_of_groups_are_the_same_again() -> None:
    tp, now_ms = TopicPartition("orders", 0), 1_700_000_000_000
    records = tuple(key_and_value(one, now_ms) for one in (OffsetRecord("g", tp, 7), OffsetTombstone("g", tp)))
    run = Run(40, 2, E3, WRITER, 40, now_ms, 200, records)
    assert runs_of(batches_of([run]), 40) == (run,)


def sent_by_clients() -> list[tuple[Run, bytes]]:
    """Return batches of real clients as a leader appends them one after the other, and their bytes in its log."""
    appended, offset = [], 0
    for sent in sent_batches():
        batch = produced_batch(sent, "app", "10.0.0.1:5000")
        if batch.error:
            continue
        sequence = batch.first_sequence if batch.is_idempotent else offset
        time_ms, size = batch.timestamp_ms, batch.record_bytes
        run = Run(offset, batch.count, E3, batch.writer, sequence, time_ms, size, (), sent).appended_at(offset, E3)
        assert run.batch is not None
        appended.append((run, run.batch))
        offset = run.end_offset
    assert len(appended) > 10
    return appended


def test_batches_of_clients_are_the_same_but_for_the_client() -> None:
    appended = sent_by_clients()
    runs = runs_of(b"".join(batch for _, batch in appended), 0)
    assert [run.batch for run in runs] == [batch for _, batch in appended]
    for run, (leaders, _) in zip(runs, appended, strict=True):
        assert (run.base_offset, run.count, run.first_sequence) == (
            leaders.base_offset,
            leaders.count,
            leaders.first_sequence,
        )
        assert (run.leader_epoch, run.timestamp_ms, run.record_bytes) == (E3, leaders.timestamp_ms, leaders.record_bytes)
        assert run.writer == run.producer == leaders.producer
        assert run.writer == f"#{header_of(run.batch or b'').producer_id}" or run.writer == "@"


def several(appended: list[tuple[Run, bytes]]) -> tuple[Run, bytes]:
    """Return a batch of several records."""
    return next((run, batch) for run, batch in appended if run.count > 2)


def test_what_was_appended_before_is_left_out() -> None:
    run, batch = several(sent_by_clients())
    (rest,) = runs_of(batch, run.base_offset + 1)
    assert (rest.base_offset, rest.end_offset, rest.first_sequence, rest.batch) == (
        run.base_offset + 1,
        run.end_offset,
        run.first_sequence + 1,
        batch,
    )
    assert runs_of(batch, run.end_offset) == ()


def test_a_part_of_a_batch_at_the_end_is_dropped() -> None:
    """Kafka sends bytes of its files, up to a limit that may be within a batch."""
    (first, one), (_, other), *_ = sent_by_clients()
    for length in (1, HEADER.size, len(other) - 1):
        assert [run.base_offset for run in runs_of(one + other[:length], 0)] == [first.base_offset]


def test_records_that_a_cleaner_has_removed_still_have_offsets() -> None:
    run, batch = several(sent_by_clients())
    header = header_of(batch)
    fewer = HEADER.pack(*header._replace(record_count=header.record_count - 1, checksum=0)) + batch[HEADER.size :]
    (left,) = runs_of(with_checksum(fewer), run.base_offset)
    assert (left.count, left.end_offset) == (run.count, run.end_offset)


def test_a_client_may_have_sent_what_looks_like_simulated_records() -> None:
    """A sequence without a producer id is not forbidden: without `writer number` as its value the batch stays as it is."""
    run, batch = next((run, batch) for run, batch in sent_by_clients() if header_of(batch).producer_id == NO_PRODUCER_ID)
    marked = with_checksum(HEADER.pack(*header_of(batch)._replace(base_sequence=20)) + batch[HEADER.size :])
    (kept,) = runs_of(marked, run.base_offset)
    assert kept.batch == marked


def with_checksum(batch: bytes) -> bytes:
    """Return a batch with the checksum of its bytes."""
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


@pytest.mark.parametrize("place", [8, 16, 17, 30])
def test_damaged_batches_are_refused(place: int) -> None:
    """In their length, format, checksum and content."""
    _, batch = sent_by_clients()[0]
    damaged = bytearray(batch)
    damaged[place] ^= 0x80
    with pytest.raises(CorruptRecordsError):
        runs_of(bytes(damaged), 0)


def test_the_sequence_of_an_epoch_follows_that_of_the_epoch_before() -> None:
    batch = next(batch for _, batch in sent_by_clients() if header_of(batch).producer_id != NO_PRODUCER_ID)
    header = header_of(batch)._replace(producer_epoch=2, base_sequence=0)
    (run,) = runs_of(with_checksum(HEADER.pack(*header) + batch[HEADER.size :]), header.base_offset)
    assert run.first_sequence == numbered(2, 0)
