"""The log of one replica: its records, its start and end offsets, its high watermark.

Records are runs (records.py), so the size of a log depends on its history: an append and a read touch runs and segments, not
single records. A log that was never written to has neither runs nor segments; the first append creates the first segment, as
if it had existed from the start.

Left out: flushing and recovery: a crash loses no appended record. Files are written by log_files.py, if at all. The
positions of index entries: a log that is truncated within a segment keeps its share of them by size. The timestamps within a
run: every part read from a run has the run's timestamp, or the largest of its segment if that is smaller. The time of a
truncation: a segment that is emptied counts as created when the log was last written to.

Source: Kafka 2.8, Log; docs/kafka/log_segments.md, docs/kafka/requests.md 6 and 7.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import NamedTuple, Protocol

from msgspec import structs

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.leader_epochs import EpochEndOffset, LeaderEpochCache
from kcsim.brokers.log.log_retention import LogState, RetentionPass, RetentionRule, apply_retention
from kcsim.brokers.log.log_segments import JitterNumbers, RecordBatchTooLargeError, Segment, drawn_roll_jitter_ms
from kcsim.brokers.log.segment_appends import BatchSeries, SegmentRolled, append_series, batches_of
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

_base_offset = attrgetter("base_offset")


class OffsetOutOfRangeError(ValueError):
    """A read from an offset that is before the log's start or after its end."""

    def __init__(self, tp: TopicPartition, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"{tp}: offset {offset} is not in the log, which goes from {log_start_offset} to {log_end_offset}")
        self.tp, self.offset = tp, offset
        self.log_start_offset, self.log_end_offset = log_start_offset, log_end_offset


class UnexpectedAppendOffsetError(ValueError):
    """Fetched records that do not continue the log. Nothing was appended."""

    def __init__(self, tp: TopicPartition, offset: int, log_end_offset: int) -> None:
        super().__init__(f"{tp}: records from offset {offset} on do not continue the log, which ends at {log_end_offset}")
        self.tp, self.offset, self.log_end_offset = tp, offset, log_end_offset


class AppendInfo(NamedTuple):
    """The result of an append. After an empty append the last offset is the one before the first.

    Attributes:
        rolls: the segments that were closed, oldest first.
    """

    first_offset: int
    last_offset: int
    rolls: tuple[SegmentRolled, ...] = ()


@dataclass(frozen=True, slots=True)
class Truncated:
    """The truncated records, oldest first; none if the log did not extend beyond the truncation offset."""

    removed: tuple[Run, ...] = ()

    @property
    def count(self) -> int:
        return sum(run.count for run in self.removed)


class KeptFiles(Protocol):
    """The files of a log, in which it outlives the process."""

    def append(self, runs: Sequence[Run]) -> None: ...
    def truncate(self, offset: int) -> None: ...
    def rewrite(self) -> None: ...
    def write_epochs(self) -> None: ...
    def write_topic_id(self) -> None: ...
    def write_high_watermark(self) -> None: ...
    def write_start_offset(self) -> None: ...


class NoRandomNumbers:
    """The source of random numbers for logs without segment.jitter.ms; it must not be used."""

    def randrange(self, stop: int, /) -> int:
        raise AssertionError("segment.jitter.ms is set for a log that was made without random numbers")


DEFAULT_CONFIG = LogConfig()
NO_RANDOM_NUMBERS = NoRandomNumbers()


class ReplicaLog:
    """One replica's log. Offsets begin at 0; `log_end_offset` is the offset of the next record.

    Args:
        numbers: the source of each segment's random jitter.

    Attributes:
        config: may be replaced; applies from the next append or retention pass on.
        log_dir: the log directory in which its disk keeps it.
        high_watermark: between log start and end; set by replication, and adjusted when the log is truncated.
        checkpointed_high_watermark: the value that a restarted process would know.
        epochs: the start offset of each leader epoch.
        topic_id: of the topic whose records these are; None if it is not known.
        files: in which the log outlives the process; None: it does not.
    """

    __slots__ = (
        "_active",
        "_closed",
        "_numbers",
        "_runs",
        "checkpointed_high_watermark",
        "config",
        "epochs",
        "files",
        "high_watermark",
        "log_dir",
        "log_end_offset",
        "log_start_offset",
        "topic_id",
        "tp",
    )

    def __init__(
        self,
        tp: TopicPartition,
        config: LogConfig = DEFAULT_CONFIG,
        numbers: JitterNumbers = NO_RANDOM_NUMBERS,
        log_dir: str = "",
    ) -> None:
        self.tp = tp
        self.config = config
        self.log_dir = log_dir
        self.topic_id: str | None = None
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.checkpointed_high_watermark = 0
        self.epochs = LeaderEpochCache()
        self.files: KeptFiles | None = None
        self._numbers = numbers
        # From the first segment's base offset on, which may be below the log start offset. None: never written to.
        self._runs: list[Run] | None = None
        self._closed: tuple[Segment, ...] = ()
        self._active: Segment | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """All records from the log start offset on, oldest first."""
        return self._between(self.log_start_offset, self.log_end_offset)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Oldest first; the last is the active one. None before the first append."""
        return self._closed if self._active is None else (*self._closed, self._active)

    @property
    def size(self) -> int:
        """Size of all segments in bytes."""
        return sum(segment.size for segment in self.segments)

    @property
    def has_bytes(self) -> bool:
        """Whether the oldest or the latest records are bytes of a client from outside the run."""
        runs = self._runs
        return runs is not None and len(runs) > 0 and (runs[0].batch is not None or runs[-1].batch is not None)

    @property
    def state(self) -> LogState:
        """The log's state for retention."""
        return LogState(self.segments, self.log_start_offset, self.high_watermark, self.log_end_offset)

    @property
    def latest_epoch(self) -> LeaderEpoch | None:
        return self.epochs.latest_epoch

    def end_offset_for(self, leader_epoch: LeaderEpoch) -> EpochEndOffset:
        """Return the end offset of the largest known epoch up to this one (LeaderEpochCache has the details)."""
        return self.epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """Record that a leader epoch begins with the next record."""
        self.epochs.assign(leader_epoch, self.log_end_offset)
        if self.files is not None:
            self.files.write_epochs()

    def take_topic_id(self, topic_id: str) -> None:
        """Record the id of the topic whose records these are."""
        self.topic_id = topic_id
        if self.files is not None:
            self.files.write_topic_id()

    def checkpoint_high_watermark(self) -> None:
        """Let the next process know the present high watermark."""
        self.checkpointed_high_watermark = self.high_watermark
        if self.files is not None:
            self.files.write_high_watermark()

    # --- appending

    def append_as_leader(self, runs: Iterable[Run], leader_epoch: LeaderEpoch, now_ms: int) -> AppendInfo:
        """Append produced records; offsets and leader epoch are assigned here, whatever the runs have.

        Each run is a batch. A run larger than max.message.bytes stands for as many batches of that size, or of segment.bytes
        if that is smaller, as are necessary.

        Args:
            now_ms: ms since 1970.

        Raises: RecordBatchTooLargeError; nothing is appended then.
        """
        first_offset = self.log_end_offset
        placed = []
        for run in runs:
            placed.append(run.appended_at(first_offset, leader_epoch))
            first_offset += run.count
        split = [batches_of(run, self.config) for run in placed]  # raises before anything is written
        return self._append(placed, [series for each in split for series in each], now_ms)

    def append_as_follower(self, runs: Sequence[Run], now_ms: int) -> AppendInfo:
        """Append the records of one fetch at once: the segments treat them as one batch.

        Args:
            now_ms: ms since 1970.

        Raises: UnexpectedAppendOffsetError, RecordBatchTooLargeError; nothing is appended then.
        """
        expected = self.log_end_offset
        for run in runs:
            if run.base_offset != expected:
                raise UnexpectedAppendOffsetError(self.tp, run.base_offset, expected)
            expected = run.end_offset
        size = sum(run.size for run in runs)
        if size > self.config.segment_bytes:
            raise RecordBatchTooLargeError(size, self.config.segment_bytes)
        if not runs:
            return AppendInfo(expected, expected - 1)
        newest_ms = max(run.timestamp_ms for run in runs)
        as_one = BatchSeries(1, size, expected - self.log_end_offset, self.log_end_offset, newest_ms)
        return self._append(runs, [as_one], now_ms)

    def _append(self, runs: Sequence[Run], batches: Iterable[BatchSeries], now_ms: int) -> AppendInfo:
        first_offset = self.log_end_offset
        active = self._active or self._new_segment(first_offset, now_ms)
        rolls: tuple[SegmentRolled, ...] = ()
        for series in batches:
            grown = append_series(active, series, self.config, now_ms, self._numbers)
            active = grown.active
            self._closed += grown.closed
            rolls += grown.rolls
        self._active = active
        for run in runs:
            self._add(run)
        if self.files is not None:
            self.files.append(runs)
        return AppendInfo(first_offset, self.log_end_offset - 1, rolls)

    def _add(self, run: Run) -> None:
        self.epochs.assign(run.leader_epoch, run.base_offset)
        if self._runs is None:
            self._runs = []
        if self._runs and self._runs[-1].can_be_followed_by(run):
            self._runs[-1] = self._runs[-1].followed_by(run)
        else:
            self._runs.append(run)
        self.log_end_offset = run.end_offset

    def _new_segment(self, base_offset: int, now_ms: int) -> Segment:
        jitter_ms = drawn_roll_jitter_ms(self.config, self._numbers)
        return Segment(base_offset, created_ms=now_ms, modified_ms=now_ms, roll_jitter_ms=jitter_ms)

    # --- reading

    def read(self, fetch_offset: int, max_bytes: int, upper: int) -> tuple[Run, ...]:
        """Return records of one segment from `fetch_offset` on, up to max_bytes; at least one record if there is any.

        A batch of bytes is returned whole, or, if it begins before `fetch_offset`, to its end.

        Args:
            upper: the offset before which to stop: high watermark for a consumer, log end offset for a follower.

        Raises: OffsetOutOfRangeError.
        """
        if not self.log_start_offset <= fetch_offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(self.tp, fetch_offset, self.log_start_offset, self.log_end_offset)
        if fetch_offset >= min(upper, self.log_end_offset):
            return ()
        segment, segment_end = self._segment_of(fetch_offset)
        end = min(upper, segment_end)
        found: list[Run] = []
        for run in self._from(fetch_offset):
            count = min(run.end_offset, end) - run.base_offset
            taken = _fitting(run, count, max_bytes, is_first=not found)
            if taken:
                found.append(_dated(run.until(run.base_offset + taken), segment))
            if taken < count or run.end_offset >= end:
                break
            max_bytes -= run.size
        return tuple(found)

    def _from(self, offset: int) -> Iterator[Run]:
        """Yield the records from `offset` on, which must be in the log."""
        assert self._runs is not None
        index = bisect_right(self._runs, offset, key=_base_offset) - 1
        yield self._runs[index].from_offset(offset)
        yield from islice(self._runs, index + 1, None)

    def _between(self, start: int, end: int) -> tuple[Run, ...]:
        """Return the records from `start` up to the one before `end`; both must be within the stored records."""
        if not self._runs or start >= end:
            return ()
        first = bisect_right(self._runs, start, key=_base_offset) - 1
        last = bisect_right(self._runs, end - 1, lo=first, key=_base_offset)
        found = self._runs[first:last]
        found[-1] = found[-1].until(end)
        found[0] = found[0].from_offset(start)
        return tuple(found)

    def _segment_of(self, offset: int) -> tuple[Segment, int]:
        """Return the segment that contains this offset, and the offset after the segment's last."""
        assert self._active is not None
        if offset >= self._active.base_offset:
            return self._active, self.log_end_offset
        index = bisect_right(self._closed, offset, key=_base_offset) - 1
        following = self._closed[index + 1] if index + 1 < len(self._closed) else self._active
        return self._closed[index], following.base_offset

    # --- truncation

    def truncate_to(self, offset: int) -> Truncated:
        """Truncate the log to `offset`, if it extends beyond it. The high watermark is lowered if necessary.

        Epochs that began at `offset` or later are removed in any case.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(offset)
            if self.files is not None:
                self.files.write_epochs()
            return Truncated()
        if self._active is None or offset < self._first_base_offset:
            return self.truncate_fully_and_start_at(offset)
        removed = self._between(max(offset, self.log_start_offset), self.log_end_offset)
        *closed, active = (segment for segment in self.segments if segment.base_offset <= offset)
        self._runs = list(self._between(self._first_base_offset, offset))
        self._closed, self._active = tuple(closed), self._cut(active, offset)
        self.epochs.truncate_from_end(offset)
        self._end_at(offset, min(offset, self.log_start_offset))
        if self.files is not None:
            self.files.truncate(offset)
        return Truncated(removed)

    def truncate_fully_and_start_at(self, offset: int) -> Truncated:
        """Delete all records; the log continues, empty, at `offset`."""
        removed = self.runs
        self._runs, self._closed = None, ()
        if self._active is not None:
            self._active = self._new_segment(offset, self._active.modified_ms)
        self.epochs.clear()
        self._end_at(offset, offset)
        if self.files is not None:
            self.files.rewrite()
        return Truncated(removed)

    @property
    def _first_base_offset(self) -> int:
        first = self._closed[0] if self._closed else self._active
        return first.base_offset if first is not None else self.log_end_offset

    def _end_at(self, offset: int, log_start_offset: int) -> None:
        self.log_start_offset, self.log_end_offset = log_start_offset, offset
        self.high_watermark = max(log_start_offset, min(self.high_watermark, offset))

    def _cut(self, segment: Segment, offset: int) -> Segment:
        """Return the segment truncated to `offset`."""
        left = self._between(segment.base_offset, offset)
        assert self._active is not None
        if not left:
            return self._new_segment(segment.base_offset, self._active.modified_ms)
        size = sum(run.size for run in left)
        newest_ms = min(segment.largest_timestamp, max(run.timestamp_ms for run in left))
        return structs.replace(
            segment,
            size=size,
            largest_timestamp=newest_ms,
            offset_index_entries=segment.offset_index_entries * size // segment.size,
            time_index_entries=segment.time_index_entries * size // segment.size,
            last_time_entry=min(segment.last_time_entry, newest_ms),
            bytes_since_index_entry=0,
        )

    # --- log start offset

    def increment_log_start_offset(self, offset: int) -> bool:
        """Raise the log start offset, to the leader's or as requested. Return whether it was lower before.

        The next retention pass deletes the segments below it. It must not exceed the high watermark.
        """
        assert offset <= self.high_watermark, f"{self.tp}: {offset} is above the high watermark {self.high_watermark}"
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        if self.files is not None:
            self.files.write_start_offset()
            self.files.write_epochs()
        return True

    def apply_retention(self, now_ms: int) -> dict[RetentionRule, tuple[Segment, ...]]:
        """Delete the segments that may be deleted. Return them by rule, without the rules that deleted none.

        Args:
            now_ms: ms since 1970.
        """
        if self._active is None:
            return {}
        passed = apply_retention(self.state, self.config, now_ms)
        deleted = {rule: segments for rule, segments in passed.deleted.items() if segments}
        if deleted:
            self._take(passed)
        return deleted

    def _take(self, passed: RetentionPass) -> None:
        *closed, active = passed.log.segments
        if active is not self._active:  # all were deleted
            active = self._new_segment(active.base_offset, active.created_ms)
        self._runs = list(self._between(passed.log.segments[0].base_offset, self.log_end_offset))
        self._closed, self._active = tuple(closed), active
        self.log_start_offset = passed.log.log_start_offset
        self.epochs.truncate_from_start(self.log_start_offset)
        if self.files is not None:
            self.files.rewrite()

    def restart(self) -> None:
        """Reset the high watermark to its checkpoint, as a new process reads it."""
        self.high_watermark = max(self.log_start_offset, min(self.checkpointed_high_watermark, self.log_end_offset))


def _fitting(run: Run, count: int, max_bytes: int, *, is_first: bool) -> int:
    """Return how many of the first `count` records of a run fit; at least one of the first run, or the whole batch."""
    if run.batch is not None:
        return run.count if count == run.count and (is_first or run.size <= max_bytes) else 0
    return min(count, max(max_bytes // run.record_bytes, 1 if is_first else 0))


def _dated(run: Run, segment: Segment) -> Run:
    """Limit a run's timestamp to the largest timestamp of the segment that it is read from."""
    largest = segment.largest_timestamp
    return run if run.timestamp_ms <= largest else structs.replace(run, timestamp_ms=largest)
