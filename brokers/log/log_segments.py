"""The decision to roll a partition's log to a new segment, and the effect of an append on segments.

A log is a list of segments, of which only the last, the active one, is written. Before every append it is decided, for the
batch to be written, whether the log must be rolled; a log without writes never rolls. A segment here holds the state that
these decisions need: no records, no files.

Left out: the transaction index, which has no effect here. Retention is in log_retention.py. Source: Kafka 2.8, Log.append,
Log.roll, LogSegment.shouldRoll, OffsetIndex, TimeIndex; docs/kafka/log_segments.md 1 to 4.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from kcsim.brokers.config import LogConfig

MAX_RELATIVE_OFFSET = 2**31 - 1
"""Indexes store offsets as differences from the segment's base offset, in four bytes with a sign."""
OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
NO_TIMESTAMP = -1
"""Timestamp of a batch in an old format, or of a batch whose producer set none."""


class RecordBatch(msgspec.Struct, frozen=True):
    """The unit of an append; never split over segments.

    Attributes:
        size: bytes.
        first_offset: None if unknown, as in old formats.
        max_timestamp: ms since 1970, the largest of its records'; NO_TIMESTAMP if they have none.
    """

    size: int
    last_offset: int
    first_offset: int | None = None
    max_timestamp: int = NO_TIMESTAMP


class Segment(msgspec.Struct, frozen=True):
    """One segment. Times in ms, sizes in bytes.

    Attributes:
        created_ms: when it was created, or loaded at a restart of its broker.
        modified_ms: when its file was last written.
        size: of its data file.
        first_batch_max_timestamp: the largest timestamp of its first batch, which need not be the smallest of the segment;
            NO_TIMESTAMP if that batch has none, None while there is no batch.
        largest_timestamp: NO_TIMESTAMP if no record has one.
        roll_jitter_ms: how much earlier than without jitter it is rolled because of its age.
        offset_index_entries, time_index_entries: the number of entries of its indexes.
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
        """The name of its data file; the index files differ in the suffix."""
        return f"{self.base_offset:020}.log"


# --- indexes ---------------------------------------------------------------------------------------------------------------


class IndexCapacity(NamedTuple):
    """The number of entries that an index file has room for, and the number at which it counts as full."""

    slots: int
    full_at: int


@cache
def offset_index_capacity(index_bytes: int) -> IndexCapacity:
    """Return the capacity of an offset index whose file may have `index_bytes`."""
    slots = index_bytes // OFFSET_ENTRY_BYTES
    return IndexCapacity(slots, slots)


@cache
def time_index_capacity(index_bytes: int) -> IndexCapacity:
    """Return the capacity of a time index whose file may have `index_bytes`.

    The last slot is kept for the entry that is added when the segment is closed.
    """
    slots = index_bytes // TIME_ENTRY_BYTES
    return IndexCapacity(slots, max(slots - 1, 0))


def fits_relative_offset(base_offset: int, offset: int) -> bool:
    """Return whether a segment's indexes can hold this offset."""
    return 0 <= offset - base_offset <= MAX_RELATIVE_OFFSET


# --- rolling ---------------------------------------------------------------------------------------------------------------


class RollReason(StrEnum):
    """The reason why a segment is rolled; members are in the order in which reasons are reported."""

    SIZE = "size"
    TIME = "time"
    OFFSET_INDEX_FULL = "offset_index_full"
    TIME_INDEX_FULL = "time_index_full"
    OFFSET_OVERFLOW = "offset_overflow"


def waited_ms(segment: Segment, batch: RecordBatch, now_ms: int) -> int:
    """Return the age of the segment with this batch.

    It is computed from the records' timestamps, and from the clock only if the first batch has none. May be negative.
    """
    first = segment.first_batch_max_timestamp
    if first is None or first < 0:
        return now_ms - segment.created_ms
    return batch.max_timestamp - first


def roll_reasons(segment: Segment, batch: RecordBatch, config: LogConfig, now_ms: int) -> tuple[RollReason, ...]:
    """Return the reasons why the active segment cannot take this batch; empty if it can.

    A segment may have exactly segment.bytes, and exactly the maximum age. An empty segment is never too old.
    """
    reasons = []
    if segment.size > config.segment_bytes - batch.size:
        reasons.append(RollReason.SIZE)
    if segment.size > 0 and waited_ms(segment, batch, now_ms) > config.max_segment_ms - segment.roll_jitter_ms:
        reasons.append(RollReason.TIME)
    if segment.offset_index_entries >= offset_index_capacity(config.segment_index_bytes).full_at:
        reasons.append(RollReason.OFFSET_INDEX_FULL)
    if segment.time_index_entries >= time_index_capacity(config.segment_index_bytes).full_at:
        reasons.append(RollReason.TIME_INDEX_FULL)
    if not fits_relative_offset(segment.base_offset, batch.last_offset):
        reasons.append(RollReason.OFFSET_OVERFLOW)
    return tuple(reasons)


class JitterNumbers(Protocol):
    """A source of random numbers; random.Random is one."""

    def randrange(self, stop: int, /) -> int: ...


def drawn_roll_jitter_ms(config: LogConfig, numbers: JitterNumbers) -> int:
    """Draw the jitter of a new segment, so that partitions created together are not rolled together.

    If segment.jitter.ms is 0, nothing is drawn.
    """
    return numbers.randrange(min(config.segment_jitter_ms, config.segment_ms)) if config.segment_jitter_ms else 0


@dataclass(frozen=True, slots=True)
class Roll:
    """A roll: the active segment is closed, and the log continues in another.

    Attributes:
        base_offset: of the new segment; may be beyond the log's end, where compaction left a gap on the leader.
        replaces_active: the active segment is empty and has this base offset itself: it is deleted and created again.
    """

    reasons: tuple[RollReason, ...]
    base_offset: int
    replaces_active: bool


def decide_roll(active: Segment, batch: RecordBatch, log_end_offset: int, config: LogConfig, now_ms: int) -> Roll | None:
    """Decide whether the log is rolled before this batch is appended; None: no. An empty batch never rolls the log."""
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
    """A batch that is larger than any segment may be. Nothing was appended."""

    def __init__(self, size: int, segment_bytes: int) -> None:
        super().__init__(f"a batch of {size} bytes does not fit into a segment, which has {segment_bytes} at most")
        self.size, self.segment_bytes = size, segment_bytes


def with_batch(segment: Segment, batch: RecordBatch, config: LogConfig, now_ms: int) -> Segment:
    """Return the segment, with its indexes, after the batch is appended.

    An index entry is added when more than index.interval.bytes were appended since the last one. It points to the current
    batch, whose own bytes count from then on: so the first batch never gets an entry.
    """
    largest = max(segment.largest_timestamp, batch.max_timestamp)
    is_entry_due = segment.bytes_since_index_entry > config.index_interval_bytes
    # Timestamps in the time index only increase; one that does not is left out.
    is_time_entry_due = is_entry_due and largest > segment.last_time_entry
    return Segment(  # not by replace(), which takes longer
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
    """Return the segment after it is closed: its time index ends with its largest timestamp."""
    if segment.largest_timestamp <= segment.last_time_entry:
        return segment
    return replace(segment, time_index_entries=segment.time_index_entries + 1, last_time_entry=segment.largest_timestamp)
