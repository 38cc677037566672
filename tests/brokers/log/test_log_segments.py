"""Rolling of a log to a new segment. Source: docs/kafka/log_segments.md 1 to 4; Kafka's LogTest and LogSegmentTest.

Recorded examples are in tests/vectors/log_roll.json; the rules, and the state of the segments, are tested here.
"""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import (
    MAX_RELATIVE_OFFSET,
    NO_TIMESTAMP,
    RecordBatch,
    RecordBatchTooLargeError,
    RollReason,
    Segment,
    closed_segment,
    decide_roll,
    drawn_roll_jitter_ms,
    fits_relative_offset,
    offset_index_capacity,
    roll_reasons,
    time_index_capacity,
    with_batch,
)
from tests.brokers.log.single_appends import Appended, append_batch

DAY = 86_400_000
DEFAULTS = LogConfig()
NOW = 1_700_000_000_000
HOLDING = Segment(100, created_ms=NOW, size=1_000, first_batch_max_timestamp=NOW, largest_timestamp=NOW)
"""A segment that holds records."""


def batch(size: int = 100, first_offset: int | None = 110, offsets: int = 1, at_ms: int = NOW) -> RecordBatch:
    last = 110 if first_offset is None else first_offset + offsets - 1
    return RecordBatch(size, last, first_offset, at_ms)


def appended(
    log: Appended, of: RecordBatch, config: LogConfig = DEFAULTS, now_ms: int = NOW, jitter_ms: int = 0
) -> Appended:
    return append_batch(log.segments, log.log_end_offset, of, config, now_ms, jitter_ms)


EMPTY_LOG = Appended((Segment(0, created_ms=NOW),), 0, None)


# --- the four conditions ---------------------------------------------------------------------------------------------------


def test_the_defaults_are_kafkas() -> None:
    """docs/kafka/log_segments.md 4."""
    assert (DEFAULTS.segment_bytes, DEFAULTS.segment_ms, DEFAULTS.segment_jitter_ms) == (1_073_741_824, 7 * DAY, 0)
    assert (DEFAULTS.segment_index_bytes, DEFAULTS.index_interval_bytes) == (10_485_760, 4_096)
    assert (DEFAULTS.retention_ms, DEFAULTS.retention_bytes, DEFAULTS.cleanup_policy) == (7 * DAY, -1, ("delete",))
    assert DEFAULTS.max_compaction_lag_ms == 9_223_372_036_854_775_807


@pytest.mark.parametrize(("size", "reasons"), [(23, ()), (24, ()), (25, (RollReason.SIZE,))])
def test_a_segment_may_be_filled_to_the_byte_and_no_further(size: int, reasons: tuple[RollReason, ...]) -> None:
    """1 (1): the log is rolled before the append that would exceed the limit."""
    assert roll_reasons(HOLDING, batch(size), LogConfig(segment_bytes=1_024), NOW) == reasons


@pytest.mark.parametrize(("waited", "reasons"), [(7 * DAY, ()), (7 * DAY + 1, (RollReason.TIME,))])
def test_time_counts_from_the_first_batch_to_the_incoming_one(waited: int, reasons: tuple[RollReason, ...]) -> None:
    """1 (2): by the records' timestamps; the clock stands still here."""
    assert roll_reasons(HOLDING, batch(at_ms=NOW + waited), DEFAULTS, NOW) == reasons


def test_replayed_old_records_never_roll_by_time() -> None:
    """1: decreasing timestamps give a negative wait, whatever the clock says."""
    assert roll_reasons(HOLDING, batch(at_ms=NOW - DAY), DEFAULTS, NOW + 100 * DAY) == ()


@pytest.mark.parametrize(("now_ms", "reasons"), [(NOW + 7 * DAY, ()), (NOW + 7 * DAY + 1, (RollReason.TIME,))])
def test_without_timestamps_the_clock_counts_from_the_making_of_the_segment(
    now_ms: int, reasons: tuple[RollReason, ...]
) -> None:
    untimed = structs.replace(HOLDING, first_batch_max_timestamp=NO_TIMESTAMP)
    assert roll_reasons(untimed, batch(at_ms=NOW + 100 * DAY), DEFAULTS, now_ms) == reasons


def test_an_empty_segment_is_never_too_old() -> None:
    assert roll_reasons(Segment(100, created_ms=0), batch(), DEFAULTS, NOW) == ()


def test_jitter_makes_a_segment_roll_earlier_for_its_age_and_for_nothing_else() -> None:
    early = structs.replace(HOLDING, roll_jitter_ms=DAY)
    assert roll_reasons(early, batch(at_ms=NOW + 6 * DAY), DEFAULTS, NOW) == ()
    assert roll_reasons(early, batch(at_ms=NOW + 6 * DAY + 1), DEFAULTS, NOW) == (RollReason.TIME,)


def test_compaction_lets_no_record_wait_longer_than_max_compaction_lag() -> None:
    """1: the smaller of the two times applies; only with compaction."""
    lag = LogConfig(max_compaction_lag_ms=DAY)
    assert lag.max_segment_ms == 7 * DAY
    assert replace(lag, cleanup_policy=("compact", "delete")).max_segment_ms == DAY
    assert replace(lag, cleanup_policy=("compact",), segment_ms=1).max_segment_ms == 1


@pytest.mark.parametrize(
    ("offset_entries", "time_entries", "reasons"),
    [
        (1_310_719, 873_811, ()),
        (1_310_720, 0, (RollReason.OFFSET_INDEX_FULL,)),
        (0, 873_812, (RollReason.TIME_INDEX_FULL,)),
    ],
)
def test_full_indexes_roll(offset_entries: int, time_entries: int, reasons: tuple[RollReason, ...]) -> None:
    """3: the last slot of the time index is kept for the closing entry."""
    segment = structs.replace(HOLDING, offset_index_entries=offset_entries, time_index_entries=time_entries)
    assert roll_reasons(segment, batch(), DEFAULTS, NOW) == reasons


@pytest.mark.parametrize(
    ("index_bytes", "offsets", "times"), [(8, (1, 1), (0, 0)), (12, (1, 1), (1, 0)), (31, (3, 3), (2, 1))]
)
def test_index_sizes_are_rounded_down_to_whole_entries(
    index_bytes: int, offsets: tuple[int, int], times: tuple[int, int]
) -> None:
    assert offset_index_capacity(index_bytes) == offsets
    assert time_index_capacity(index_bytes) == times


@pytest.mark.parametrize(
    ("last_offset", "reasons"),
    [
        (99, (RollReason.OFFSET_OVERFLOW,)),
        (100, ()),
        (100 + MAX_RELATIVE_OFFSET, ()),
        (101 + MAX_RELATIVE_OFFSET, (RollReason.OFFSET_OVERFLOW,)),
    ],
)
def test_offsets_must_fit_into_four_bytes_beside_the_base_offset(last_offset: int, reasons: tuple[RollReason, ...]) -> None:
    """1 (4): by the last offset of the batch; a negative difference does not fit either."""
    assert roll_reasons(HOLDING, RecordBatch(100, last_offset, max_timestamp=NOW), DEFAULTS, NOW) == reasons


def test_all_reasons_are_reported_in_the_order_of_the_conditions() -> None:
    segment = structs.replace(HOLDING, offset_index_entries=9, time_index_entries=9)
    config = LogConfig(segment_bytes=1_000, segment_ms=1, segment_index_bytes=24)
    assert roll_reasons(segment, RecordBatch(1, 1, max_timestamp=NOW + 2), config, NOW) == tuple(RollReason)


# --- the new segment -------------------------------------------------------------------------------------------------------

SMALL = LogConfig(segment_bytes=1_000)


def test_nothing_is_decided_for_a_batch_that_fits() -> None:
    assert decide_roll(HOLDING, batch(), 110, DEFAULTS, NOW) is None


def test_an_append_of_nothing_rolls_nothing() -> None:
    assert decide_roll(HOLDING, batch(size=0, at_ms=NOW + 100 * DAY), 110, DEFAULTS, NOW) is None
    assert appended(EMPTY_LOG, batch(size=0)) == EMPTY_LOG


@pytest.mark.parametrize(
    ("incoming", "base_offset"),
    [
        (batch(first_offset=110), 110),
        (batch(first_offset=5_000), 5_000),  # compaction left a gap on the leader
        (RecordBatch(100, 110, None, NOW), 110),
        (RecordBatch(100, 500 + MAX_RELATIVE_OFFSET, None, NOW), 500),
    ],
)
def test_the_new_segment_begins_with_the_batch_and_never_below_the_logs_end(incoming: RecordBatch, base_offset: int) -> None:
    """2: this holds for a known and an unknown first offset."""
    roll = decide_roll(HOLDING, incoming, 110, SMALL, NOW)
    assert roll is not None
    assert (roll.base_offset, roll.replaces_active) == (base_offset, False)


def test_an_empty_active_segment_with_the_same_base_offset_is_made_anew() -> None:
    """2: a full index rolls the segment although it is empty; two segments cannot have the same name."""
    no_index = LogConfig(segment_index_bytes=0)
    after = appended(EMPTY_LOG, batch(first_offset=0), no_index, now_ms=NOW + 5)
    assert [segment.base_offset for segment in after.segments] == [0]
    assert after.segments[0].created_ms == NOW + 5
    assert after.roll is not None
    assert after.roll.replaces_active


def test_a_batch_far_ahead_leaves_an_empty_segment_behind() -> None:
    """Source: Kafka's LogTest.testTruncateToEmptySegment."""
    after = appended(EMPTY_LOG, batch(first_offset=MAX_RELATIVE_OFFSET + 200))
    assert [(segment.base_offset, segment.size) for segment in after.segments] == [(0, 0), (MAX_RELATIVE_OFFSET + 200, 100)]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    with pytest.raises(RecordBatchTooLargeError, match=r"a batch of 1001 bytes .* 1000 at most"):
        appended(EMPTY_LOG, batch(1_001), SMALL)


def test_the_segment_before_a_roll_is_closed() -> None:
    """2: its time index gets a last entry."""
    log = appended(EMPTY_LOG, batch(600, first_offset=0), SMALL)
    log = appended(log, batch(600, first_offset=1), SMALL)
    assert [segment.last_time_entry for segment in log.segments] == [NOW, NO_TIMESTAMP]


def test_a_rolled_segment_takes_the_jitter_that_was_drawn_for_it() -> None:
    log = appended(EMPTY_LOG, batch(600, first_offset=0), SMALL, jitter_ms=1)
    log = appended(log, batch(600, first_offset=1), SMALL, jitter_ms=77)
    assert [segment.roll_jitter_ms for segment in log.segments] == [0, 77]


def test_segments_are_named_by_their_base_offset() -> None:
    assert Segment(42).file_name == "00000000000000000042.log"


def test_the_first_batch_of_a_segment_fixes_the_timestamp_that_time_counts_from() -> None:
    """1: the largest timestamp of that batch, which need not be the smallest of the segment."""
    log = appended(EMPTY_LOG, batch(first_offset=0, at_ms=NOW + 50))
    log = appended(log, batch(first_offset=1, at_ms=NOW + 10))
    assert log.segments[-1].first_batch_max_timestamp == NOW + 50
    assert log.segments[-1].largest_timestamp == NOW + 50


def test_jitter_is_drawn_below_both_settings_and_not_at_all_without_one() -> None:
    """1: a random number modulo the smaller of segment.jitter.ms and segment.ms."""
    drawn = {drawn_roll_jitter_ms(LogConfig(segment_ms=5, segment_jitter_ms=3), Random(seed)) for seed in range(50)}
    assert drawn == {0, 1, 2}
    drawn = {drawn_roll_jitter_ms(LogConfig(segment_ms=2, segment_jitter_ms=30), Random(seed)) for seed in range(50)}
    assert drawn == {0, 1}
    untouched, reference = Random(1), Random(1)
    assert drawn_roll_jitter_ms(DEFAULTS, untouched) == 0
    assert untouched.getstate() == reference.getstate()


# --- indexes ---------------------------------------------------------------------------------------------------------------


def test_an_index_entry_is_due_after_more_than_the_interval_and_never_for_the_first_batch() -> None:
    """3: entries are at least interval + 1 bytes apart."""
    config, segment, entries = LogConfig(index_interval_bytes=200), Segment(0), []
    for offset in range(7):
        segment = with_batch(segment, batch(100, first_offset=offset, at_ms=NOW + offset), config, NOW)
        entries.append(segment.offset_index_entries)
    assert entries == [0, 0, 0, 1, 1, 1, 2]
    assert segment.time_index_entries == 2


def test_a_time_entry_is_left_out_unless_the_largest_timestamp_has_grown() -> None:
    config, segment = LogConfig(index_interval_bytes=0), Segment(0)
    for offset, at_ms in enumerate([NOW, NOW, NOW, NOW - 5, NOW + 1]):
        segment = with_batch(segment, batch(first_offset=offset, at_ms=at_ms), config, NOW)
    assert (segment.offset_index_entries, segment.time_index_entries) == (4, 2)


def test_closing_a_segment_ends_its_time_index_with_its_largest_timestamp_once() -> None:
    """2: this is the reason why the last slot is kept."""
    closed = closed_segment(HOLDING)
    assert (closed.time_index_entries, closed.last_time_entry) == (1, NOW)
    assert closed_segment(closed) == closed


# --- properties ------------------------------------------------------------------------------------------------------------

CONFIGS = st.builds(
    LogConfig,
    segment_bytes=st.integers(50, 400),
    segment_ms=st.integers(1, 50),
    segment_index_bytes=st.integers(12, 60),
    index_interval_bytes=st.integers(0, 100),
)
WRITES = st.lists(
    st.tuples(st.integers(1, 50), st.integers(1, 3), st.integers(0, 5), st.integers(-1, 200), st.integers(0, 30)),
    max_size=30,
)
"""Size, number of offsets, gap before the batch, timestamp, time since the previous batch."""


@given(config=CONFIGS, writes=WRITES, jitter_ms=st.integers(0, 10))
def test_no_append_breaks_a_limit_of_a_segment(
    config: LogConfig, writes: list[tuple[int, int, int, int, int]], jitter_ms: int
) -> None:
    log, now_ms, written = EMPTY_LOG, NOW, 0
    for size, offsets, gap, at_ms, waited in writes:
        now_ms += waited
        first = log.log_end_offset + gap
        before = log.segments
        log = appended(log, batch(size, first, offsets, at_ms), config, now_ms, jitter_ms)
        written += size
        assert log.log_end_offset == first + offsets
        assert (log.roll is None) == (not roll_reasons(before[-1], batch(size, first, offsets, at_ms), config, now_ms))
    assert sum(segment.size for segment in log.segments) == written
    bases = [segment.base_offset for segment in log.segments]
    assert bases == sorted(set(bases))
    for segment in log.segments:
        assert segment.size <= config.segment_bytes
        assert segment.offset_index_entries <= offset_index_capacity(config.segment_index_bytes).slots
        assert segment.time_index_entries <= time_index_capacity(config.segment_index_bytes).slots


@given(st.integers(), st.integers())
def test_an_offset_fits_exactly_when_four_bytes_with_a_sign_hold_its_difference(base_offset: int, offset: int) -> None:
    try:
        stored = (offset - base_offset).to_bytes(4, "big", signed=True)
    except OverflowError:
        stored = None
    assert fits_relative_offset(base_offset, offset) == (stored is not None and offset >= base_offset)
