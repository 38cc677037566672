"""The deletion of old segments of a partition's log.

One pass applies three rules, one after the other. Each walks from the oldest segment and stops at the first segment that it
does not apply to. So one record with a timestamp in the future keeps its segment, and all later ones, until that time.

Left out: compaction, and the two steps of a deletion (files renamed at once, removed file.delete.delay.ms later). Source:
Kafka 2.8, Log.deleteOldSegments, deletableSegments and deleteSegments; docs/kafka/log_segments.md 5.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import Segment


class RetentionRule(StrEnum):
    """The reason why a segment may be deleted."""

    TIME = "time"  # its largest timestamp is more than retention.ms ago
    SIZE = "size"  # without it the log still has at least retention.bytes
    START_OFFSET = "start_offset"  # all of it lies below the log start offset


RULES_2_8 = (RetentionRule.TIME, RetentionRule.SIZE, RetentionRule.START_OFFSET)
RULES_3 = (RetentionRule.START_OFFSET, RetentionRule.SIZE, RetentionRule.TIME)
"""RULES_2_8 and RULES_3: the rules in the order of each version of Kafka.

The order matters when one rule deletes the segment at which another rule stopped in the same pass.
"""


@dataclass(frozen=True, slots=True)
class LogState:
    """A log's state for retention: segments from the oldest to the active one, and its offsets."""

    segments: tuple[Segment, ...]
    log_start_offset: int
    high_watermark: int
    log_end_offset: int

    @property
    def size(self) -> int:
        """Size of all segments in bytes."""
        return sum(segment.size for segment in self.segments)


class RetentionPass(NamedTuple):
    """The segments that one pass deletes, by rule in the order of application, and the remaining log."""

    deleted: Mapping[RetentionRule, tuple[Segment, ...]]
    log: LogState


def apply_retention(
    log: LogState,
    config: LogConfig,
    now_ms: int,
    rules: Sequence[RetentionRule] = RULES_2_8,
    next_roll_jitter_ms: int = 0,
) -> RetentionPass:
    """Apply all rules once.

    If all segments are deleted, the log continues in a new empty segment at its end: offsets never restart.

    Args:
        config: without `delete` in cleanup.policy, only the rule on the log start offset applies.
        rules: in the order of Kafka's version.
        next_roll_jitter_ms: of the segment that may be created.
    """
    deleted: dict[RetentionRule, tuple[Segment, ...]] = dict.fromkeys(rules, ())
    for rule in rules:
        if rule is RetentionRule.START_OFFSET or "delete" in config.cleanup_policy:
            deleted[rule] = _deletable(rule, log, config, now_ms)
            log = _without(log, len(deleted[rule]), now_ms, next_roll_jitter_ms)
    return RetentionPass(deleted, log)


def next_retention_ms(log: LogState, config: LogConfig, now_ms: int) -> int | None:
    """Return when a pass may next delete something, if the log does not change; None: never.

    The result is never before now_ms. It ignores the high watermark: at that time a pass may find that a segment must stay.

    Args:
        now_ms: as in the result, ms since 1970.
    """
    oldest = next(_candidates(log), None)
    if oldest is None:
        return None  # never written to; perhaps a new log that replaces a deleted one
    if oldest.is_last and oldest.segment.size == 0:
        return None
    due = []
    if _holds(RetentionRule.START_OFFSET, oldest, log, config, now_ms):
        due.append(now_ms)
    if "delete" in config.cleanup_policy:
        if _holds(RetentionRule.SIZE, oldest, log, config, now_ms):
            due.append(now_ms)
        if config.retention_ms >= 0:
            due.append(max(now_ms, _newest_ms(oldest.segment) + config.retention_ms + 1))
    return min(due, default=None)


class _Candidate(NamedTuple):
    """A segment, under the assumption that all segments before it are deleted."""

    segment: Segment
    upper_end: int  # base offset of the segment after it, or the log's end
    is_last: bool
    size_left: int  # bytes of the log without it and those before it


def _candidates(log: LogState) -> Iterator[_Candidate]:
    if not log.segments:
        return
    size_left = log.size
    ends = [segment.base_offset for segment in log.segments[1:]] + [log.log_end_offset]
    for segment, upper_end in zip(log.segments, ends, strict=True):
        size_left -= segment.size
        yield _Candidate(segment, upper_end, segment is log.segments[-1], size_left)


def _deletable(rule: RetentionRule, log: LogState, config: LogConfig, now_ms: int) -> tuple[Segment, ...]:
    """Return the oldest segments to which the rule applies, as long as all their records are below the high watermark."""
    found = []
    for candidate in _candidates(log):
        is_last_and_empty = candidate.is_last and candidate.segment.size == 0
        is_above_high_watermark = log.high_watermark < candidate.upper_end
        if is_last_and_empty or is_above_high_watermark or not _holds(rule, candidate, log, config, now_ms):
            break
        found.append(candidate.segment)
    return tuple(found)


def _holds(rule: RetentionRule, candidate: _Candidate, log: LogState, config: LogConfig, now_ms: int) -> bool:
    match rule:
        case RetentionRule.TIME:
            return 0 <= config.retention_ms < now_ms - _newest_ms(candidate.segment)
        case RetentionRule.SIZE:
            return 0 <= config.retention_bytes <= candidate.size_left
        case RetentionRule.START_OFFSET:
            return not candidate.is_last and candidate.upper_end <= log.log_start_offset


def _newest_ms(segment: Segment) -> int:
    """Return the largest timestamp of a segment's records; if they have none, the time of the last write to its file."""
    return segment.largest_timestamp if segment.largest_timestamp >= 0 else segment.modified_ms


def _without(log: LogState, count: int, now_ms: int, next_roll_jitter_ms: int) -> LogState:
    if not count:
        return log
    anew = Segment(log.log_end_offset, created_ms=now_ms, modified_ms=now_ms, roll_jitter_ms=next_roll_jitter_ms)
    remaining = log.segments[count:] or (anew,)
    return replace(log, segments=remaining, log_start_offset=max(log.log_start_offset, remaining[0].base_offset))
