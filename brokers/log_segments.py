"""When a partition's log goes on in a new segment.

A log is a list of segments, of which only the last, the active one, is written. Whether it has to be rolled is asked before
every append, about the batch that is to be written; a log that nobody writes to never rolls. A segment here is what these
decisions need to know of one: no records, no files.

Left out: the transaction index, which plays no part. Retention is in log_retention.py.
Source: Kafka 2.8, Log.append, Log.roll, LogSegment.shouldRoll, OffsetIndex, TimeIndex; reference log_segments.md 1 to 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple, Protocol

MAX_RELATIVE_OFFSET = 2**31 - 1
"""Indexes store offsets as differences from the segment's base offset, in four bytes with a sign."""
OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
NO_TIMESTAMP = -1
"""Of a batch in an old format, or one whose producer gave none."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one partition's log: Kafka's names on a topic, and its defaults. Sizes in bytes."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4_096
    retention_ms: int = 604_800_000  # negative: for ever
    retention_bytes: int = -1  # negative: no limit
    cleanup_policy: tuple[str, ...] = ("delete",)
    max_compaction_lag_ms: int = 2**63 - 1
    max_message_bytes: int = 1_048_588  # of the largest batch that a producer may send

    @property
    def max_segment_ms(self) -> int:
        """How long a segment is written to at most; with compaction, never so long that a record waits too long for it."""
        if "compact" in self.cleanup_policy:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms


@dataclass(frozen=True, slots=True)
class Batch:
    """What is appended at once; never split over segments.

    Attributes:
        size: bytes.
        first_offset: None if unknown, as in old formats.
        max_timestamp: ms since 1970, the largest of its records'; NO_TIMESTAMP if they have none.
    """

    size: int
    last_offset: int
    first_offset: int | None = None
    max_timestamp: int = NO_TIMESTAMP


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment. Times in ms, sizes in bytes.

    Attributes:
        created_ms: when it was made, or loaded by the restart of its broker.
        modified_ms: when its file was last written.
        size: of its data file.
        first_batch_max_timestamp: the largest timestamp of its first batch, which need not be the smallest of the segment;
            NO_TIMESTAMP if that batch has none, None while there is no batch.
        largest_timestamp: NO_TIMESTAMP if no record has one.
        roll_jitter_ms: by how much earlier than others it is rolled for its age.
        offset_index_entries, time_index_entries: how many entries its indexes have.
        last_time_entry: timestamp of the newest entry of the time index; NO_TIMESTAMP while there is none.
        bytes_since_index_entry: appended since the newest entry of the offset index.
    """

    base_offset: int
    created_ms: int = 0
    modified_ms: int = 0
    size: int = 0
    first_batch_max_timestamp: int | None = None
    largest_timestamp: int = NO_TIMESTAMP
    roll_jitter_ms: int = 0
    offset_index_entries: int = 0
    time_index_entries: int = 0
    last_time_entry: int = NO_TIMESTAMP
    bytes_since_index_entry: int = 0

    @property
    def file_name(self) -> str:
        """Of its data file; those of the indexes differ in the suffix."""
        return f"{self.base_offset:020}.log"


# --- indexes ---------------------------------------------------------------------------------------------------------------


class IndexCapacity(NamedTuple):
    """How many entries an index file has room for, and with how many it counts as full."""

    slots: int
    full_at: int


def offset_index_capacity(index_bytes: int) -> IndexCapacity:
    """Of an offset index whose file may have `index_bytes`."""
    slots = index_bytes // OFFSET_ENTRY_BYTES
    return IndexCapacity(slots, slots)


def time_index_capacity(index_bytes: int) -> IndexCapacity:
    """Of a time index whose file may have `index_bytes`: the last slot is kept for the entry made when it is closed."""
    slots = index_bytes // TIME_ENTRY_BYTES
    return IndexCapacity(slots, max(slots - 1, 0))


def fits_relative_offset(base_offset: int, offset: int) -> bool:
    """Whether a segment's indexes can hold this offset."""
    return 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET


# --- rolling ---------------------------------------------------------------------------------------------------------------


class RollReason(StrEnum):
    """Why a segment is rolled, in the order in which reasons are told."""

    SIZE = "size"
    TIME = "time"
    OFFSET_INDEX_FULL = "offset_index_full"
    TIME_INDEX_FULL = "time_index_full"
    OFFSET_OVERFLOW = "offset_overflow"


def waited_ms(segment: Segment, batch: Batch, now_ms: int) -> int:
    """How old the segment would become with this batch.

    Goes by the records' timestamps, and by the clock only where the first batch has none. May be negative.
    """
    first = segment.first_batch_max_timestamp
    if first is None or first < 0:
        return now_ms - segment.created_ms
    return batch.max_timestamp - first


def roll_reasons(segment: Segment, batch: Batch, config: LogConfig, now_ms: int) -> tuple[RollReason, ...]:
    """Say why the active segment cannot take this batch; empty if it can.

    A segment may be exactly segment.bytes long, and exactly as old as it may become. An empty one is never too old.
    """
    holds = {
        RollReason.SIZE: segment.size > config.segment_bytes - batch.size,
        RollReason.TIME: segment.size > 0
        and waited_ms(segment, batch, now_ms) > config.max_segment_ms - segment.roll_jitter_ms,
        RollReason.OFFSET_INDEX_FULL: segment.offset_index_entries
        >= offset_index_capacity(config.segment_index_bytes).full_at,
        RollReason.TIME_INDEX_FULL: segment.time_index_entries >= time_index_capacity(config.segment_index_bytes).full_at,
        RollReason.OFFSET_OVERFLOW: not fits_relative_offset(segment.base_offset, batch.last_offset),
    }
    return tuple(reason for reason, does_hold in holds.items() if does_hold)


class RandomNumbers(Protocol):
    """Where random numbers come from; random.Random is one."""

    def randrange(self, stop: int, /) -> int: ...


def drawn_roll_jitter_ms(config: LogConfig, numbers: RandomNumbers) -> int:
    """Draw the jitter of a new segment, so that partitions made together are not rolled together. 0 draws nothing."""
    return numbers.randrange(min(config.segment_jitter_ms, config.segment_ms)) if config.segment_jitter_ms else 0


@dataclass(frozen=True, slots=True)
class Roll:
    """The active segment is to be closed, and the log goes on in another.

    Attributes:
        base_offset: of the new segment; may lie beyond the log's end, where compaction left a gap on the leader.
        replaces_active: the active segment is empty and has this base offset itself: it is deleted and made anew.
    """

    reasons: tuple[RollReason, ...]
    base_offset: int
    replaces_active: bool


def decide_roll(active: Segment, batch: Batch, log_end_offset: int, config: LogConfig, now_ms: int) -> Roll | None:
    """Decide what has to happen before this batch is appended. None: nothing. An append of nothing rolls nothing."""
    reasons = roll_reasons(active, batch, config, now_ms)
    if not batch.size or not reasons:
        return None
    first = batch.last_offset - MAX_RELATIVE_OFFSET if batch.first_offset is None else batch.first_offset
    base_offset = max(first, log_end_offset)
    replaces_active = base_offset == active.base_offset
    assert not (replaces_active and active.size), f"segment {base_offset} exists already and is not empty"
    return Roll(reasons, base_offset, replaces_active)


# --- what becomes of the segments ------------------------------------------------------------------------------------------


class RecordBatchTooLargeError(ValueError):
    """A batch that no segment could hold. Nothing was appended."""

    def __init__(self, size: int, segment_bytes: int) -> None:
        super().__init__(f"a batch of {size} bytes does not fit into a segment, which has {segment_bytes} at most")
        self.size, self.segment_bytes = size, segment_bytes


class Appended(NamedTuple):
    """The segments of a log after an append, and the roll before it if there was one."""

    segments: tuple[Segment, ...]
    log_end_offset: int
    roll: Roll | None


def append_batch(
    segments: Sequence[Segment], log_end_offset: int, batch: Batch, config: LogConfig, now_ms: int, next_roll_jitter_ms: int
) -> Appended:
    """Append a batch to a log, rolled first if need be.

    Args:
        segments: at least one; the last is active.
        next_roll_jitter_ms: of the segment that this append may make; unused without a roll.

    Raises: RecordBatchTooLargeError.
    """
    if not batch.size:
        return Appended(tuple(segments), log_end_offset, None)
    if batch.size > config.segment_bytes:
        raise RecordBatchTooLargeError(batch.size, config.segment_bytes)
    *closed, active = segments
    roll = decide_roll(active, batch, log_end_offset, config, now_ms)
    if roll is not None:
        if not roll.replaces_active:
            closed.append(closed_segment(active))
        active = Segment(roll.base_offset, created_ms=now_ms, modified_ms=now_ms, roll_jitter_ms=next_roll_jitter_ms)
    return Appended((*closed, with_batch(active, batch, config, now_ms)), batch.last_offset + 1, roll)


def with_batch(segment: Segment, batch: Batch, config: LogConfig, now_ms: int) -> Segment:
    """The segment once the batch is in it, its indexes included.

    An index entry is due when more than index.interval.bytes were appended since the last one. It points to the batch at
    hand, whose own bytes count from then on: so the first batch never gets one.
    """
    largest = max(segment.largest_timestamp, batch.max_timestamp)
    is_entry_due = segment.bytes_since_index_entry > config.index_interval_bytes
    # Timestamps in the time index only grow; one that does not is left out.
    is_time_entry_due = is_entry_due and largest > segment.last_time_entry
    return Segment(  # not by replace(), which takes most of the time of an append
        base_offset=segment.base_offset,
        created_ms=segment.created_ms,
        modified_ms=now_ms,
        size=segment.size + batch.size,
        first_batch_max_timestamp=segment.first_batch_max_timestamp if segment.size else batch.max_timestamp,
        largest_timestamp=largest,
        roll_jitter_ms=segment.roll_jitter_ms,
        offset_index_entries=segment.offset_index_entries + is_entry_due,
        time_index_entries=segment.time_index_entries + is_time_entry_due,
        last_time_entry=largest if is_time_entry_due else segment.last_time_entry,
        bytes_since_index_entry=batch.size if is_entry_due else segment.bytes_since_index_entry + batch.size,
    )


def closed_segment(segment: Segment) -> Segment:
    """The segment once it is no longer active: its time index ends with its largest timestamp."""
    if segment.largest_timestamp <= segment.last_time_entry:
        return segment
    return replace(segment, time_index_entries=segment.time_index_entries + 1, last_time_entry=segment.largest_timestamp)
