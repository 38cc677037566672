"""Many equal batches appended at once have the same result as single appends. Source: docs/kafka/log_segments.md 1 to 3."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import (
    RecordBatchTooLargeError,
    Roll,
    RollReason,
    Segment,
    drawn_roll_jitter_ms,
)
from kcsim.brokers.log.segment_appends import BatchSeries, append_series, batches_of
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch
from tests.brokers.log.single_appends import Appended, append_batch

NOW = 1_700_000_000_000
ROOMY = LogConfig(segment_bytes=1 << 40, index_interval_bytes=1 << 40)
GIB = 1 << 30


def one_by_one(segment: Segment, series: BatchSeries, config: LogConfig, numbers: Random) -> tuple[Appended, list[Roll]]:
    """Append the batches one by one, as log_segments.py does: slow, with the same result."""
    log, rolls = Appended((segment,), series.first_offset, None), list[Roll]()
    for index in range(series.count):
        before = numbers.getstate()
        jitter_ms = drawn_roll_jitter_ms(config, numbers)
        log = append_batch(log.segments, log.log_end_offset, series.batch(index), config, NOW, jitter_ms)
        if log.roll is None:
            numbers.setstate(before)
        else:
            rolls.append(log.roll)
    return log, rolls


SEGMENTS = st.builds(
    Segment,
    base_offset=st.integers(0, 50),
    created_ms=st.sampled_from([NOW, NOW - 60]),
    size=st.integers(0, 400),
    first_batch_max_timestamp=st.sampled_from([-1, NOW - 100, NOW]),
    largest_timestamp=st.sampled_from([-1, NOW - 100, NOW + 5]),
    roll_jitter_ms=st.integers(0, 30),
    offset_index_entries=st.integers(0, 4),
    time_index_entries=st.integers(0, 4),
    last_time_entry=st.sampled_from([-1, NOW - 100, NOW + 5]),
    bytes_since_index_entry=st.integers(0, 150),
).map(lambda s: s if s.size else structs.replace(s, first_batch_max_timestamp=None, bytes_since_index_entry=0))
SERIES = st.builds(
    BatchSeries,
    count=st.integers(1, 40),
    size=st.integers(1, 100),
    records=st.integers(1, 9),
    first_offset=st.integers(51, 60),
    max_timestamp=st.sampled_from([-1, NOW - 50, NOW, NOW + 10]),
)
CONFIGS = st.builds(
    LogConfig,
    segment_bytes=st.integers(100, 1_500),
    segment_ms=st.sampled_from([40, 1_000]),
    segment_jitter_ms=st.sampled_from([0, 20]),
    segment_index_bytes=st.integers(0, 120),
    index_interval_bytes=st.integers(0, 200),
    cleanup_policy=st.sampled_from([("delete",), ("compact",)]),
    max_compaction_lag_ms=st.sampled_from([10, 100]),
)


@given(SEGMENTS, SERIES, CONFIGS)
def test_a_series_leaves_the_segments_that_its_batches_leave(
    segment: Segment, series: BatchSeries, config: LogConfig
) -> None:
    grown = append_series(segment, series, config, NOW, Random(1))
    slowly, rolls = one_by_one(segment, series, config, Random(1))
    assert (*grown.closed, grown.active) == slowly.segments
    assert [rolled.roll for rolled in grown.rolls] == rolls


def test_a_billion_records_cost_the_segments_they_fill() -> None:
    """100 GB in batches of 1,000 records of 100 bytes; a segment is closed with as many whole batches as fit."""
    series = BatchSeries(count=10**6, size=100_000, records=1_000, first_offset=0, max_timestamp=NOW)
    grown = append_series(Segment(0, created_ms=NOW), series, LogConfig(), NOW, Random(1))
    whole = GIB // 100_000
    assert {segment.size for segment in grown.closed} == {whole * 100_000}
    assert len(grown.closed) == 10**6 // whole == len(grown.rolls)
    assert grown.active.base_offset == len(grown.closed) * whole * 1_000
    assert {rolled.roll.reasons for rolled in grown.rolls} == {(RollReason.SIZE,)}


@pytest.mark.parametrize(
    ("records", "batches", "new_base"),
    [
        (2**30, 3, 2**31),
        (3, 715_827_883, 2**31 - 2),  # the last offset of the last batch is 2^31 itself, one too many
    ],
)
def test_offsets_overflow_in_the_middle_of_a_series(records: int, batches: int, new_base: int) -> None:
    """1 (4): a batch whose last offset is 2^31 or more away from the base goes into a new segment."""
    series = BatchSeries(count=batches, size=1, records=records, first_offset=0, max_timestamp=NOW)
    grown = append_series(Segment(0, created_ms=NOW), series, ROOMY, NOW, Random(1))
    assert [rolled.roll.base_offset for rolled in grown.rolls] == [new_base]
    assert grown.rolls[0].roll.reasons == (RollReason.OFFSET_OVERFLOW,)


@pytest.mark.parametrize(("index_bytes", "batches"), [(80, 11), (88, 12)])
def test_a_full_offset_index_closes_the_segment(index_bytes: int, batches: int) -> None:
    """3: the index has an entry for every batch but the first, so it takes one batch more than the index has slots."""
    config = replace(ROOMY, segment_index_bytes=index_bytes, index_interval_bytes=0)
    series = BatchSeries(count=batches + 1, size=10, records=1, first_offset=0, max_timestamp=-1)
    grown = append_series(Segment(0, created_ms=NOW), series, config, NOW, Random(1))
    assert [rolled.batch.first_offset for rolled in grown.rolls] == [batches]
    assert grown.rolls[0].roll.reasons == (RollReason.OFFSET_INDEX_FULL,)


def test_an_index_without_slots_lets_no_segment_have_two_batches() -> None:
    config = replace(ROOMY, segment_index_bytes=0)
    series = BatchSeries(count=3, size=10, records=1, first_offset=0, max_timestamp=NOW)
    grown = append_series(Segment(0, created_ms=NOW), series, config, NOW, Random(1))
    assert [segment.base_offset for segment in (*grown.closed, grown.active)] == [0, 1, 2]
    assert [rolled.roll.replaces_active for rolled in grown.rolls] == [True, False, False]


def test_a_batch_that_no_segment_holds_is_refused() -> None:
    series = BatchSeries(count=3, size=101, records=1, first_offset=0, max_timestamp=NOW)
    with pytest.raises(RecordBatchTooLargeError, match="101 bytes does not fit"):
        append_series(Segment(0), series, LogConfig(segment_bytes=100), NOW, Random(1))


@pytest.mark.parametrize(("record_bytes", "batches"), [(300, [3, 1]), (600, [1] * 4), (1_200, [1] * 4)])
def test_a_batch_has_as_many_records_as_fit_and_at_least_one(record_bytes: int, batches: list[int]) -> None:
    run = Run(0, 4, LeaderEpoch(0), "w", 0, NOW, record_bytes)
    series = batches_of(run, replace(ROOMY, max_message_bytes=1_000))
    assert [of.records for of in series for _ in range(of.count)] == batches
