"""A replica's log that is in files as well: whatever changes in memory is written at once.

What was appended is in the operating system's cache, so that it outlives the process; `flush.messages` decides when it is
synced to the device.

Source: Kafka 2.8, Log.append, truncateTo, flush; LeaderEpochFileCache, PartitionMetadataFile.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from kcsim.brokers.config import LogConfig
from kcsim.brokers.log.leader_epochs import EpochEntry, LeaderEpochCache
from kcsim.brokers.log.log_retention import RetentionRule
from kcsim.brokers.log.log_segments import JitterNumbers, Segment
from kcsim.brokers.log.replica_log import AppendInfo, ReplicaLog, Truncated
from kcsim.brokers.log.segment_appends import BatchSeries
from kcsim.brokers.records import Run
from kcsim.brokers.stored_logs.checkpoint_files import read_epochs, read_properties, write_epochs, write_properties
from kcsim.brokers.stored_logs.segment_files import CutOff, LoadedSegment, SegmentFiles
from kcsim.brokers.wire.batches_of_runs import batches_of
from kcsim.vocabulary import TopicPartition

EPOCHS = "leader-epoch-checkpoint"
TOPIC_ID = "partition.metadata"


class StoredLeaderEpochs(LeaderEpochCache):
    """The leader epochs of a log, written to their checkpoint file with each change."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        super().__init__(read_epochs(path))
        self._path = path

    def _set(self, entries: tuple[EpochEntry, ...]) -> None:
        if entries != self.entries:
            super()._set(entries)
            write_epochs(self._path, entries)


class StoredReplicaLog(ReplicaLog):
    """A replica's log in a directory of its own, which exists.

    Raises: StorageError from every change; MalformedFileError.
    """

    __slots__ = ("_directory", "_files", "_unsynced")

    def __init__(self, tp: TopicPartition, directory: Path, config: LogConfig, numbers: JitterNumbers) -> None:
        super().__init__(tp, config, numbers)
        self._directory = directory
        self._files = SegmentFiles(directory)
        self._unsynced = 0
        self.epochs = StoredLeaderEpochs(directory / EPOCHS)
        self.topic_id = (read_properties(directory / TOPIC_ID, ":") or {}).get("topic_id")

    # --- the start

    def begin(self) -> None:
        """Write the first, empty segment."""
        self._files.keep([0])

    def load(self, log_start_offset: int, high_watermark: int) -> list[CutOff]:
        """Read the records from the files.

        Args:
            log_start_offset, high_watermark: the checkpointed ones.

        Returns: what was damaged, and was cut off.
        """
        loaded, cut_off = self._files.load()
        if not loaded:
            self.begin()
            return cut_off
        self._restore(loaded, log_start_offset)
        self.checkpointed_high_watermark = high_watermark
        return cut_off

    def _restore(self, loaded: Sequence[LoadedSegment], log_start_offset: int) -> None:
        runs = [run for segment in loaded for run in segment.runs]
        first = loaded[0].base_offset
        self.log_end_offset = loaded[-1].base_offset
        for run in runs:
            ReplicaLog._add(self, run)
        self.log_start_offset = min(max(first, log_start_offset), self.log_end_offset)
        if runs or first:
            *closed, active = (self._restored(segment) for segment in loaded)
            self._closed, self._active = tuple(closed), active
        self.epochs.truncate_from_end(self.log_end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)

    def _restored(self, loaded: LoadedSegment) -> Segment:
        size = sum(run.size for run in loaded.runs)
        entries = size // self.config.index_interval_bytes
        newest_ms = max((run.timestamp_ms for run in loaded.runs), default=Segment(0).largest_timestamp)
        return Segment(
            loaded.base_offset,
            created_ms=loaded.modified_ms,
            modified_ms=loaded.modified_ms,
            size=size,
            first_batch_max_timestamp=loaded.runs[0].timestamp_ms if loaded.runs else None,
            largest_timestamp=newest_ms,
            offset_index_entries=entries,
            time_index_entries=entries,
            last_time_entry=newest_ms,
            bytes_since_index_entry=size % self.config.index_interval_bytes,
        )

    # --- changes

    def keep_topic_id(self, topic_id: str | None) -> None:
        super().keep_topic_id(topic_id)
        if topic_id is not None:
            write_properties(self._directory / TOPIC_ID, {"version": 0, "topic_id": topic_id}, ": ")

    def _append(self, runs: Iterable[Run], batches: Iterable[BatchSeries], now_ms: int) -> AppendInfo:
        appended = super()._append(runs, batches, now_ms)
        self._write_from(appended.first_offset)
        self._unsynced += appended.last_offset - appended.first_offset + 1
        if self._unsynced >= self.config.flush_messages:
            self.sync()
        return appended

    def truncate_to(self, offset: int) -> Truncated:
        truncated = super().truncate_to(offset)
        if truncated.removed and self._active is not None and self._active.base_offset <= offset:
            self._keep_files()
            self._write_from(self._files.cut(self._active.base_offset, offset))
        return truncated

    def truncate_fully_and_start_at(self, offset: int) -> Truncated:
        truncated = super().truncate_fully_and_start_at(offset)
        self._files.keep([])
        self._files.keep([offset])
        return truncated

    def apply_retention(self, now_ms: int) -> dict[RetentionRule, tuple[Segment, ...]]:
        deleted = super().apply_retention(now_ms)
        if deleted:
            self._keep_files()
        return deleted

    def _write_from(self, offset: int) -> None:
        """Append what is in memory from an offset on, which is the end of the files, to the segments' files."""
        ends = [following.base_offset for _, following in pairwise(self.segments)] + [self.log_end_offset]
        for segment, end in zip(self.segments, ends, strict=True):
            if end > offset:
                runs = self._between(max(segment.base_offset, offset), end)
                self._files.append(segment.base_offset, batches_of(runs))

    def _keep_files(self) -> None:
        self._files.keep([segment.base_offset for segment in self.segments])

    def sync(self) -> None:
        """Sync what was appended to the device."""
        self._files.sync()
        self._unsynced = 0

    def close(self) -> None:
        """Sync and close the files."""
        self._files.close()

    def delete_files(self) -> None:
        """Delete the replica's files, and its directory if nothing else is in it."""
        self._files.close()
        self._files.keep([])
        for name in (EPOCHS, TOPIC_ID):
            (self._directory / name).unlink(missing_ok=True)
        if self._directory.is_dir() and not any(self._directory.iterdir()):
            self._directory.rmdir()
