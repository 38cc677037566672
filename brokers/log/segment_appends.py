"""Appends of many equal batches at once; the cost depends on the segments that they fill.

Each batch is treated as log_segments.py treats one batch. This module computes how many batches fit into a segment before
one of the four conditions closes it. Index entries are then added at regular intervals, so that they can be counted, too.

Source: as log_segments.py; the tests compare the results with it, batch by batch.
"""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.log_segments import (
    MAX_RELATIVE_OFFSET,
    JitterNumbers,
    RecordBatch,
    RecordBatchTooLargeError,
    Roll,
    Segment,
    closed_segment,
    decide_roll,
    drawn_roll_jitter_ms,
    offset_index_capacity,
    roll_reasons,
    time_index_capacity,
    waited_ms,
    with_batch,
)
from kcsim.brokers.records import Run


class BatchSeries(msgspec.Struct, frozen=True):
    """Batches of equal size that follow each other without a gap.

    Attributes:
        count: of batches; at least one.
        size: bytes of each batch.
        records: in each batch.
        first_offset: of the first batch.
        max_timestamp: of each batch.
    """

    count: int
    size: int
    records: int
    first_offset: int
    max_timestamp: int

    def batch(self, index: int) -> RecordBatch:
        first = self.first_offset + index * self.records
        return RecordBatch(self.size, first + self.records - 1, first, self.max_timestamp)

    def without(self, batches: int) -> "BatchSeries":
        """Return the series without its first batches; at least one batch must remain."""
        first = self.first_offset + batches * self.records
        return BatchSeries(self.count - batches, self.size, self.records, first, self.max_timestamp)


def batches_of(run: Run, config: LogConfig) -> list[BatchSeries]:
    """Return the batches in which a producer's run is written: one batch if allowed, else batches of the largest size.

    A run that is a batch of bytes already stays one.

    Raises: RecordBatchTooLargeError.
    """
    if run.batch is not None:
        if run.size > config.segment_bytes:
            raise RecordBatchTooLargeError(run.size, config.segment_bytes)
        return [BatchSeries(1, run.size, run.count, run.base_offset, run.timestamp_ms)]
    is_one_batch = run.count == 1 or run.size <= config.max_message_bytes
    largest = min(config.max_message_bytes, config.segment_bytes)
    most = run.count if is_one_batch else max(1, largest // run.record_bytes)
    size = most * run.record_bytes
    if size > config.segment_bytes:
        raise RecordBatchTooLargeError(size, config.segment_bytes)
    full, left = divmod(run.count, most)
    parts = [BatchSeries(full, size, most, run.base_offset, run.timestamp_ms)]
    if left:
        parts.append(BatchSeries(1, left * run.record_bytes, left, run.end_offset - left, run.timestamp_ms))
    return parts


class SegmentRolled(NamedTuple):
    """A segment that was closed, and the batch that required it.

    Attributes:
        closed: the segment before that batch.
        waited_ms: the age that the segment would have had with that batch.
    """

    roll: Roll
    closed: Segment
    batch: RecordBatch
    waited_ms: int


class Grown(NamedTuple):
    """The changes of a log's end by an append: closed segments, the active segment, and the rolls."""

    closed: tuple[Segment, ...]
    active: Segment
    rolls: tuple[SegmentRolled, ...]


def append_series(active: Segment, series: BatchSeries, config: LogConfig, now_ms: int, numbers: JitterNumbers) -> Grown:
    """Append all batches to a log that ends where the series begins; the log is rolled where necessary.

    Args:
        numbers: the source of each new segment's jitter, if the settings require one.

    Raises: RecordBatchTooLargeError.
    """
    if series.size > config.segment_bytes:
        raise RecordBatchTooLargeError(series.size, config.segment_bytes)
    closed: list[Segment] = []
    rolls: list[SegmentRolled] = []
    while True:
        first = series.batch(0)
        roll = decide_roll(active, first, series.first_offset, config, now_ms)
        if roll is not None:
            rolls.append(SegmentRolled(roll, active, first, waited_ms(active, first, now_ms)))
            if not roll.replaces_active:
                closed.append(closed_segment(active))
            jitter_ms = drawn_roll_jitter_ms(config, numbers)
            active = Segment(roll.base_offset, created_ms=now_ms, modified_ms=now_ms, roll_jitter_ms=jitter_ms)
        taken = _fitting_after_first(active, series, config, now_ms)
        active = with_batches(active, series, taken, config, now_ms)
        if taken == series.count:
            return Grown(tuple(closed), active, tuple(rolls))
        series = series.without(taken)


def with_batches(segment: Segment, series: BatchSeries, count: int, config: LogConfig, now_ms: int) -> Segment:
    """Return the segment after the first `count` batches of the series are appended; at least one."""
    held = with_batch(segment, series.batch(0), config, now_ms)
    if count == 1:
        return held
    added = _IndexGrowth.of(held, series.size, config)
    entries = added.entries_after(count - 1)
    has_time_entry = entries and held.largest_timestamp > held.last_time_entry
    return replace(
        held,
        size=held.size + (count - 1) * series.size,
        offset_index_entries=held.offset_index_entries + entries,
        time_index_entries=held.time_index_entries + (1 if has_time_entry else 0),
        last_time_entry=held.largest_timestamp if has_time_entry else held.last_time_entry,
        bytes_since_index_entry=added.bytes_since_entry_after(count - 1),
    )


def _fitting_after_first(segment: Segment, series: BatchSeries, config: LogConfig, now_ms: int) -> int:
    """Return how many batches fit into a segment that takes the first in any case."""
    if series.count == 1:
        return 1
    held = with_batch(segment, series.batch(0), config, now_ms)
    # All batches have the same timestamp: the segment's age is the same for all batches after the first.
    if roll_reasons(held, series.batch(1), config, now_ms):
        return 1
    added = _IndexGrowth.of(held, series.size, config)
    free = offset_index_capacity(config.segment_index_bytes).full_at - held.offset_index_entries
    free_for_time = time_index_capacity(config.segment_index_bytes).full_at - held.time_index_entries
    limits = [
        series.count - 1,
        (config.segment_bytes - held.size) // series.size,
        added.batches_until(free),
        (held.base_offset + MAX_RELATIVE_OFFSET - series.batch(0).last_offset) // series.records,
    ]
    if free_for_time == 1 and held.largest_timestamp > held.last_time_entry:
        limits.append(added.batches_until(1))
    return 1 + min(limits)


class _IndexGrowth(NamedTuple):
    """The intervals at which the offset index gets entries while equal batches are appended.

    Attributes:
        before_first: batches before the one that gets the next entry.
        between: batches from one entry to the next.
    """

    before_first: int
    between: int
    size: int
    bytes_since_entry: int

    @classmethod
    def of(cls, segment: Segment, size: int, config: LogConfig) -> "_IndexGrowth":
        missing = config.index_interval_bytes - segment.bytes_since_index_entry
        before_first = 0 if missing < 0 else missing // size + 1
        return cls(before_first, config.index_interval_bytes // size + 1, size, segment.bytes_since_index_entry)

    def entries_after(self, batches: int) -> int:
        return 0 if batches <= self.before_first else (batches - 1 - self.before_first) // self.between + 1

    def batches_until(self, entries: int) -> int:
        """Return how many batches are appended until the index has this many more entries; at least one entry."""
        return self.before_first + (entries - 1) * self.between + 1

    def bytes_since_entry_after(self, batches: int) -> int:
        entries = self.entries_after(batches)
        if not entries:
            return self.bytes_since_entry + batches * self.size
        return (batches - self.batches_until(entries) + 1) * self.size
