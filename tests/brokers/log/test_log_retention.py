"""Deletion of old segments. Source: docs/kafka/log_segments.md 5; Kafka's LogTest.

Recorded examples are in tests/vectors/log_roll.json; the rules are tested here.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_retention import RULES_2_8, RULES_3, LogState, RetentionRule, apply_retention, next_retention_ms
from kcsim.brokers.log.log_segments import NO_TIMESTAMP, Segment

NOW = 1_000_000
FOR_EVER = LogConfig(retention_ms=-1, retention_bytes=-1)


def segment(base_offset: int, size: int = 100, at_ms: int = NOW, modified_ms: int = 0) -> Segment:
    return Segment(base_offset, size=size, largest_timestamp=at_ms, modified_ms=modified_ms)


def log_of(*segments: Segment, start: int = 0, end: int = 30, high_watermark: int | None = None) -> LogState:
    return LogState(segments, start, end if high_watermark is None else high_watermark, end)


def bases(segments: tuple[Segment, ...]) -> list[int]:
    return [segment.base_offset for segment in segments]


THREE = log_of(segment(0), segment(10), segment(20))


def test_nothing_goes_without_a_limit() -> None:
    passed = apply_retention(THREE, FOR_EVER, 10**15)
    assert passed.log == THREE
    assert passed.deleted == {RetentionRule.TIME: (), RetentionRule.SIZE: (), RetentionRule.START_OFFSET: ()}


@pytest.mark.parametrize(("age", "left"), [(1_000, [0, 10, 20]), (1_001, [10, 20])])
def test_time_must_be_exceeded(age: int, left: list[int]) -> None:
    """Rule 1: strictly more than retention.ms since the largest timestamp of the segment."""
    log = log_of(segment(0, at_ms=NOW - age), segment(10), segment(20))
    assert bases(apply_retention(log, replace(FOR_EVER, retention_ms=1_000), NOW).log.segments) == left


def test_one_record_from_the_future_keeps_its_segment_and_all_later_ones() -> None:
    log = log_of(segment(0, at_ms=0), segment(10, at_ms=NOW * 2), segment(20, at_ms=0))
    assert bases(apply_retention(log, replace(FOR_EVER, retention_ms=0), NOW).log.segments) == [10, 20]


def test_without_timestamps_the_last_write_to_the_file_counts() -> None:
    old, fresh = (segment(base, at_ms=NO_TIMESTAMP, modified_ms=ms) for base, ms in ((0, 0), (10, NOW)))
    assert bases(apply_retention(log_of(old, fresh), replace(FOR_EVER, retention_ms=5), NOW).log.segments) == [10]


@pytest.mark.parametrize(("limit", "left"), [(301, [0, 10, 20]), (201, [0, 10, 20]), (200, [10, 20]), (100, [20])])
def test_the_log_never_falls_below_its_size_limit(limit: int, left: list[int]) -> None:
    """Rule 2: it may exceed the limit by almost one segment."""
    assert bases(apply_retention(THREE, replace(FOR_EVER, retention_bytes=limit), NOW).log.segments) == left


def test_segments_below_the_log_start_offset_go_even_if_the_log_is_only_compacted() -> None:
    """Rule 3 holds where the next segment begins at the log start offset or below it."""
    compacted = LogConfig(retention_ms=0, retention_bytes=0, cleanup_policy=("compact",))
    assert bases(apply_retention(replace(THREE, log_start_offset=9), compacted, NOW * 2).log.segments) == [0, 10, 20]
    assert bases(apply_retention(replace(THREE, log_start_offset=10), compacted, NOW * 2).log.segments) == [10, 20]
    assert bases(apply_retention(replace(THREE, log_start_offset=25), compacted, NOW * 2).log.segments) == [20]


@pytest.mark.parametrize(("high_watermark", "left"), [(9, [0, 10, 20]), (10, [10, 20]), (29, [20]), (30, [30])])
def test_what_is_not_below_the_high_watermark_stays(high_watermark: int, left: list[int]) -> None:
    log = replace(THREE, high_watermark=high_watermark)
    assert bases(apply_retention(log, replace(FOR_EVER, retention_ms=0), NOW * 2).log.segments) == left


def test_when_everything_may_go_the_log_continues_empty_at_its_end() -> None:
    """Offsets never restart at 0."""
    passed = apply_retention(THREE, replace(FOR_EVER, retention_ms=0), NOW * 2, next_roll_jitter_ms=7)
    assert passed.deleted[RetentionRule.TIME] == THREE.segments
    assert passed.log.segments == (Segment(30, created_ms=NOW * 2, modified_ms=NOW * 2, roll_jitter_ms=7),)
    assert passed.log.log_start_offset == passed.log.log_end_offset == 30


def test_an_empty_last_segment_stays() -> None:
    empty = segment(30, size=0, at_ms=NO_TIMESTAMP)
    passed = apply_retention(log_of(segment(0, at_ms=0), empty), replace(FOR_EVER, retention_ms=0), NOW)
    assert passed.log.segments == (empty,)
    assert bases(passed.deleted[RetentionRule.TIME]) == [0]


def test_of_a_log_that_was_never_written_to_nothing_is_ever_due() -> None:
    """Such a log may replace another that had segments to delete: its topic was deleted, and created again."""
    assert next_retention_ms(log_of(end=0), replace(FOR_EVER, retention_ms=0), NOW) is None


def test_the_last_segment_does_not_go_for_the_log_start_offset() -> None:
    """Rule 3 needs a next segment, even when all records are below the offset."""
    assert bases(apply_retention(replace(THREE, log_start_offset=30), FOR_EVER, NOW).log.segments) == [20]


def test_the_log_start_offset_follows_the_first_segment_and_never_goes_back() -> None:
    by_time = replace(FOR_EVER, retention_ms=0)
    log = log_of(segment(0, at_ms=0), segment(10, at_ms=NOW), segment(20))
    assert apply_retention(log, by_time, NOW).log.log_start_offset == 10
    assert apply_retention(replace(log, log_start_offset=15), by_time, NOW).log.log_start_offset == 15


def test_the_order_of_the_rules_shows_when_one_clears_the_way_for_another() -> None:
    """Kafka's LogTest.testRetentionIdempotency: the start offset's rule comes last in 2.8, and first in later versions."""
    log = log_of(segment(0), segment(10, at_ms=0), segment(20), start=10)
    by_time = replace(FOR_EVER, retention_ms=900)
    assert bases(apply_retention(log, by_time, NOW, RULES_2_8).log.segments) == [10, 20]
    assert bases(apply_retention(log, by_time, NOW, RULES_3).log.segments) == [20]


LOGS = st.lists(st.tuples(st.integers(1, 100), st.integers(-1, 100)), min_size=1, max_size=6).flatmap(
    lambda parts: st.builds(
        LogState,
        st.just(tuple(segment(10 * n, size, at_ms) for n, (size, at_ms) in enumerate(parts))),
        log_start_offset=st.integers(0, 10 * len(parts)),
        high_watermark=st.integers(0, 10 * len(parts)),
        log_end_offset=st.just(10 * len(parts)),
    )
)
CONFIGS = st.builds(LogConfig, retention_ms=st.integers(-1, 100), retention_bytes=st.integers(-1, 300))


@given(log=LOGS, config=CONFIGS, now_ms=st.integers(0, 200))
def test_a_pass_deletes_a_run_from_the_oldest_on_and_nothing_the_high_watermark_has_not_reached(
    log: LogState, config: LogConfig, now_ms: int
) -> None:
    passed = apply_retention(log, config, now_ms)
    gone = [base for segments in passed.deleted.values() for base in bases(segments)]
    assert gone == bases(log.segments)[: len(gone)]
    assert len(gone) * 10 <= log.high_watermark
    assert passed.log.segments
    assert passed.log.log_start_offset >= log.log_start_offset
    if passed.deleted[RetentionRule.SIZE]:
        assert passed.log.size >= config.retention_bytes or passed.deleted[RetentionRule.START_OFFSET]


@given(log=LOGS, config=CONFIGS, now_ms=st.integers(0, 200), rules=st.sampled_from([RULES_2_8, RULES_3]))
def test_passes_end(log: LogState, config: LogConfig, now_ms: int, rules: tuple[RetentionRule, ...]) -> None:
    """At one point in time one or two passes complete the deletion; the next pass finds nothing."""
    settled = apply_retention(apply_retention(log, config, now_ms, rules).log, config, now_ms, rules).log
    assert apply_retention(settled, config, now_ms, rules).log == settled


# --- time of the next check ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "config", "due"),
    [
        (THREE, FOR_EVER, None),
        (THREE, replace(FOR_EVER, retention_ms=1_000), NOW + 1_001),
        (log_of(segment(0, at_ms=NOW * 2), segment(10)), replace(FOR_EVER, retention_ms=1_000), NOW * 2 + 1_001),
        (log_of(segment(0, at_ms=0), segment(10)), replace(FOR_EVER, retention_ms=1_000), NOW),
        (THREE, replace(FOR_EVER, retention_bytes=200, retention_ms=1_000), NOW),
        (THREE, replace(FOR_EVER, retention_bytes=201), None),
        (replace(THREE, log_start_offset=10), FOR_EVER, NOW),
        (THREE, replace(FOR_EVER, retention_ms=0, cleanup_policy=("compact",)), None),
        (log_of(segment(30, size=0, at_ms=0)), replace(FOR_EVER, retention_ms=0), None),
    ],
)
def test_the_next_pass_that_may_delete_something_is_known(log: LogState, config: LogConfig, due: int | None) -> None:
    assert next_retention_ms(log, config, NOW) == due


@given(log=LOGS, config=CONFIGS, now_ms=st.integers(0, 200), later_ms=st.integers(0, 200))
def test_a_pass_before_that_deletes_nothing(log: LogState, config: LogConfig, now_ms: int, later_ms: int) -> None:
    due = next_retention_ms(log, config, now_ms)
    if due is None or now_ms <= later_ms < due:
        assert apply_retention(log, config, max(now_ms, later_ms)).log == log
