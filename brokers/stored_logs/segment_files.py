"""The segment files of one replica, and what is read from them at a start.

Left out: index files, and snapshots of producers; Kafka makes them anew if they are missing.

Source: Kafka 2.8, Log, LogSegment.recover, FileRecords.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kcsim.brokers.record_batches import header_of
from kcsim.brokers.records import Run
from kcsim.brokers.stored_logs.checkpoint_files import errors_named
from kcsim.brokers.wire.runs_of_batches import CorruptRecordsError, batches_in, run_of

SUFFIX = ".log"


class LoadedSegment(NamedTuple):
    """A segment as read: the offset that its file is named by, its records, and when the file was last written to, in ms."""

    base_offset: int
    runs: tuple[Run, ...]
    modified_ms: int


class CutOff(NamedTuple):
    """What was cut off at a start: the file, the offset from which on nothing is left, and the bytes after it."""

    path: Path
    offset: int
    size: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.size} bytes from offset {self.offset} on were cut off: {self.why}"


class SegmentFiles:
    """The data files in a replica's directory, each named by the offset that it begins with.

    Only the file that was written to last is open. Raises: StorageError from every change.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: tuple[int, BinaryIO] | None = None
        self._has_unsynced = False

    def path(self, base_offset: int) -> Path:
        return self._directory / f"{base_offset:020}{SUFFIX}"

    @property
    def base_offsets(self) -> list[int]:
        """The offsets that the files are named by, ascending."""
        return sorted(int(path.stem) for path in self._directory.glob(f"*{SUFFIX}") if path.stem.isdecimal())

    # --- writing

    def append(self, base_offset: int, batches: bytes) -> None:
        """Append to a segment's file, which is created if it does not exist. Nothing is synced, but a file that is left."""
        with errors_named(self.path(base_offset)):
            file = self._opened(base_offset)
            file.write(batches)
            file.flush()
        self._has_unsynced = True

    def sync(self) -> None:
        """Write what was appended through to the device."""
        if self._open is not None and self._has_unsynced:
            with errors_named(self.path(self._open[0])):
                os.fsync(self._open[1].fileno())
        self._has_unsynced = False

    def keep(self, base_offsets: Sequence[int]) -> None:
        """Delete the files of all other segments, and create those that do not exist."""
        with errors_named(self._directory):
            existing = self.base_offsets
            for base_offset in set(existing) - set(base_offsets):
                self._close(base_offset)
                self.path(base_offset).unlink()
            for base_offset in set(base_offsets) - set(existing):
                self.path(base_offset).touch()

    def cut(self, base_offset: int, offset: int) -> int:
        """Cut a segment's file before the batch with this offset. Return the offset of the first record that is gone."""
        self._close(base_offset)
        at, first_gone = 0, base_offset
        with errors_named(self.path(base_offset)):
            for batch in batches_in(self.path(base_offset).read_bytes()):
                if (end_offset := header_of(batch).end_offset) > offset:
                    break
                at, first_gone = at + len(batch), end_offset
            os.truncate(self.path(base_offset), at)
        return first_gone

    def close(self) -> None:
        """Sync and close the file that is open."""
        self.sync()
        if self._open is not None:
            self._close(self._open[0])

    def _opened(self, base_offset: int) -> BinaryIO:
        if self._open is None or self._open[0] != base_offset:
            self.close()
            self._open = base_offset, self.path(base_offset).open("ab")
        return self._open[1]

    def _close(self, base_offset: int) -> None:
        if self._open is not None and self._open[0] == base_offset:
            self._open[1].close()
            self._open = None

    # --- reading

    def load(self) -> tuple[list[LoadedSegment], list[CutOff]]:
        """Read all segments. Whatever follows after the last batch that is complete and undamaged is cut off."""
        loaded: list[LoadedSegment] = []
        for base_offset in self.base_offsets:
            segment, cut_off = self._load(base_offset)
            loaded.append(segment)
            if cut_off is not None:
                later = list(self._drop_after(base_offset, cut_off))
                return loaded, [cut_off, *later]
        return loaded, []

    def _load(self, base_offset: int) -> tuple[LoadedSegment, CutOff | None]:
        path = self.path(base_offset)
        content = path.read_bytes()
        modified_ms = path.stat().st_mtime_ns // 1_000_000
        runs: list[Run] = []
        at, end_offset, why = 0, base_offset, "the batch is not complete"
        try:
            for batch in batches_in(content):
                run = run_of(batch)
                if run.base_offset < end_offset:
                    raise CorruptRecordsError(f"a batch at offset {run.base_offset} follows after offset {end_offset - 1}")
                runs.append(run)
                at, end_offset = at + len(batch), run.end_offset
        except CorruptRecordsError as error:
            why = str(error)
        segment = LoadedSegment(base_offset, tuple(runs), modified_ms)
        if at == len(content):
            return segment, None
        os.truncate(path, at)
        return segment, CutOff(path, end_offset, len(content) - at, why)

    def _drop_after(self, base_offset: int, cause: CutOff) -> Iterator[CutOff]:
        for later in [offset for offset in self.base_offsets if offset > base_offset]:
            path = self.path(later)
            yield CutOff(path, later, path.stat().st_size, f"it follows after what was cut off from {cause.path.name}")
            path.unlink()
