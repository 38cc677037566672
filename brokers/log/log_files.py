"""The files in which a broker's records outlive its process, in the format of Kafka's log directories.

A directory has a folder of each replica, with the batches in one .log file, leader-epoch-checkpoint and partition.metadata;
beside the folders are replication-offset-checkpoint and log-start-offset-checkpoint. Records are in their file before they
are acknowledged. A killed process leaves them there; a machine that stops may lose them, since nothing is flushed.

Left out: indexes, and a file per segment: segments are formed anew when a log is read, as if its records had been written
then.

Source: Kafka 2.8, LogManager, LogSegment, LeaderEpochCheckpointFile, OffsetCheckpointFile, PartitionMetadataFile.
"""

import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from kcsim.brokers.log.leader_epochs import EpochEntry, LeaderEpochCache
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.vocabulary import LeaderEpoch, TopicPartition

EPOCHS, METADATA = "leader-epoch-checkpoint", "partition.metadata"
HIGH_WATERMARKS, START_OFFSETS = "replication-offset-checkpoint", "log-start-offset-checkpoint"
VERSION = "0"

EncodeRuns = Callable[[Iterable[Run]], bytes]
DecodeRuns = Callable[[bytes, int], Sequence[Run]]
"""Returns the records in some batches, from an offset on."""


class LogDirectory:
    """The files of one log directory.

    Args:
        path: created if it does not exist.
        encode: returns the batches of runs.
        decode: returns the runs of batches.
    """

    def __init__(self, path: Path, encode: EncodeRuns, decode: DecodeRuns) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.encode = encode
        self._decode = decode
        self._high_watermarks = _read_offsets(path / HIGH_WATERMARKS)
        self._start_offsets = _read_offsets(path / START_OFFSETS)

    @property
    def is_there(self) -> bool:
        """Whether the directory exists; one that has vanished has failed."""
        return self.path.is_dir()

    def logs(self, empty: Callable[[TopicPartition], ReplicaLog]) -> list[ReplicaLog]:
        """Return the logs of all replicas, with their files, in the order of their names.

        Args:
            empty: returns a new log.
        """
        found = []
        for folder in sorted(path for path in self.path.iterdir() if path.is_dir()):
            topic, _, number = folder.name.rpartition("-")
            if topic and number.isdecimal():
                found.append(self._log(folder, empty(TopicPartition(topic, int(number)))))
        return found

    def create(self, log: ReplicaLog) -> None:
        """Create the files of a new log."""
        folder = self._folder(log.tp)
        folder.mkdir(exist_ok=True)
        log.files = LogFiles(self, log, folder / f"{log.log_end_offset:020}.log")

    def delete(self, tp: TopicPartition) -> None:
        """Delete the files of a log, if there are any."""
        shutil.rmtree(self._folder(tp), ignore_errors=True)
        if self.is_there:
            self.write_high_watermark(tp, None)
            self.write_start_offset(tp, None)

    def write_high_watermark(self, tp: TopicPartition, offset: int | None) -> None:
        """Write the high watermark that the next process is to know; None: none."""
        _set_offset(self._high_watermarks, tp, offset, self.path / HIGH_WATERMARKS)

    def write_start_offset(self, tp: TopicPartition, offset: int | None) -> None:
        """Write where a log begins; None: with its first record."""
        _set_offset(self._start_offsets, tp, offset, self.path / START_OFFSETS)

    def _folder(self, tp: TopicPartition) -> Path:
        return self.path / str(tp)

    def _log(self, folder: Path, log: ReplicaLog) -> ReplicaLog:
        (file, *_) = [*sorted(folder.glob("*.log")), folder / f"{0:020}.log"]
        log.truncate_fully_and_start_at(int(file.stem))
        data = file.read_bytes() if file.is_file() else b""
        written_ms = int(file.stat().st_mtime * 1_000) if file.is_file() else 0
        for run in self._decode(data, 0):
            if run.end_offset > log.log_end_offset:
                log.append_as_follower([run.from_offset(max(run.base_offset, log.log_end_offset))], written_ms)
        log.log_start_offset = max(log.log_start_offset, self._start_offsets.get(log.tp, 0))
        log.checkpointed_high_watermark = self._high_watermarks.get(log.tp, 0)
        log.epochs = LeaderEpochCache(tuple(_read_epochs(folder / EPOCHS)))
        log.topic_id = _read_topic_id(folder / METADATA)
        log.files = LogFiles(self, log, file)
        return log


class LogFiles:
    """The files of one log, to which each change of the log is written.

    Args:
        file: of its batches.
    """

    def __init__(self, directory: LogDirectory, log: ReplicaLog, file: Path) -> None:
        self._directory = directory
        self._log = log
        self._file = file
        self._ends: list[int] = []  # the offset after each batch
        self._positions: list[int] = []  # where it ends in the file
        self._epochs: tuple[EpochEntry, ...] = log.epochs.entries
        self.rewrite()

    def append(self, runs: Sequence[Run]) -> None:
        """Write records that were appended to the log."""
        if self._directory.is_there:  # else it has failed, which is noticed elsewhere
            with self._file.open("ab") as file:
                file.write(self._bytes_of(runs))
            self.write_epochs()

    def truncate(self, offset: int) -> None:
        """Remove what is after an offset, at which the log ends now."""
        kept = bisect_right(self._ends, offset)
        if kept < len(self._ends) and self._directory.is_there:
            with self._file.open("r+b") as file:
                file.truncate(self._positions[kept - 1] if kept else 0)
        del self._ends[kept:], self._positions[kept:]
        self.write_epochs()
        if (self._ends[-1] if kept else 0) != offset:
            self.rewrite()  # a batch was cut, or the log goes on after its deleted beginning

    def rewrite(self) -> None:
        """Write all that the log has into a new file."""
        if not self._directory.is_there:
            return
        runs, before = self._log.runs, self._file
        self._file = before.with_name(f"{runs[0].base_offset if runs else self._log.log_end_offset:020}.log")
        self._ends, self._positions = [], []
        new = self._file.with_suffix(".tmp")
        new.write_bytes(self._bytes_of(runs))
        new.replace(self._file)
        if before != self._file:
            before.unlink(missing_ok=True)
        self.write_start_offset()
        self.write_epochs()

    def write_epochs(self) -> None:
        """Write the leader epochs, if they have changed."""
        entries = self._log.epochs.entries
        if entries != self._epochs:
            self._epochs = entries
            lines = [VERSION, str(len(entries)), *(f"{epoch} {offset}" for epoch, offset in entries)]
            _write(self._file.with_name(EPOCHS), lines)

    def write_topic_id(self) -> None:
        """Write the id of the topic."""
        if self._log.topic_id is not None:
            _write(self._file.with_name(METADATA), [f"version: {VERSION}", f"topic_id: {self._log.topic_id}"])

    def write_high_watermark(self) -> None:
        """Write the high watermark that the next process is to know."""
        self._directory.write_high_watermark(self._log.tp, self._log.checkpointed_high_watermark)

    def write_start_offset(self) -> None:
        """Write where the log begins."""
        self._directory.write_start_offset(self._log.tp, self._log.log_start_offset or None)

    def _bytes_of(self, runs: Sequence[Run]) -> bytes:
        """Return the batches of runs that come next in the file, and note where they end."""
        batches = [self._directory.encode([run]) for run in runs]
        position = self._positions[-1] if self._positions else 0
        for run, batch in zip(runs, batches, strict=True):
            position += len(batch)
            self._ends.append(run.end_offset)
            self._positions.append(position)
        return b"".join(batches)


def _write(path: Path, lines: Sequence[str]) -> None:
    """Write a small file at once: a killed process leaves the old one or the new one."""
    if path.parent.is_dir():
        new = path.with_suffix(".tmp")
        new.write_text("\n".join([*lines, ""]), encoding="utf-8")
        new.replace(path)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def _set_offset(offsets: dict[TopicPartition, int], tp: TopicPartition, offset: int | None, path: Path) -> None:
    if offsets.get(tp) == offset:
        return
    if offset is None:
        del offsets[tp]
    else:
        offsets[tp] = offset
    _write(path, [VERSION, str(len(offsets)), *(f"{one.topic} {one.partition} {at}" for one, at in sorted(offsets.items()))])


def _read_offsets(path: Path) -> dict[TopicPartition, int]:
    words = (line.split(" ") for line in _lines(path)[2:])
    return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in words}


def _read_epochs(path: Path) -> list[EpochEntry]:
    words = (line.split(" ") for line in _lines(path)[2:])
    return [EpochEntry(LeaderEpoch(int(epoch)), int(offset)) for epoch, offset in words]


def _read_topic_id(path: Path) -> str | None:
    found: Mapping[str, str] = dict(line.split(": ", 1) for line in _lines(path) if ": " in line)
    return found.get("topic_id")
