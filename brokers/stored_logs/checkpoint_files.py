"""The small text files beside the segments: checkpoints, meta.properties, partition.metadata.

Each is replaced as a whole: written under another name, synced, and renamed.

Source: Kafka 2.8, CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile, PartitionMetadataFile,
BrokerMetadataCheckpoint.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kcsim.brokers.log.disk import StorageError
from kcsim.brokers.log.leader_epochs import EpochEntry
from kcsim.vocabulary import LeaderEpoch, TopicPartition

VERSION = "0"


class MalformedFileError(ValueError):
    """A file that is not of its format."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")


# --- offsets by partition, and leader epochs -------------------------------------------------------------------------------


def write_offsets(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Write an offset for each partition."""
    _write_entries(path, [(tp.topic, tp.partition, offset) for tp, offset in offsets.items()])


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Return an offset for each partition; none if there is no file. Raises: MalformedFileError."""
    return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in _read_entries(path, 3)}


def write_epochs(path: Path, entries: Sequence[EpochEntry]) -> None:
    """Write the start offset of each leader epoch."""
    _write_entries(path, entries)


def read_epochs(path: Path) -> tuple[EpochEntry, ...]:
    """Return the start offset of each leader epoch; none if there is no file. Raises: MalformedFileError."""
    return tuple(EpochEntry(LeaderEpoch(int(epoch)), int(offset)) for epoch, offset in _read_entries(path, 2))


def _write_entries(path: Path, entries: Iterable[Iterable[object]]) -> None:
    lines = [" ".join(map(str, entry)) for entry in entries]
    replace_file(path, "\n".join([VERSION, str(len(lines)), *lines, ""]))


def _read_entries(path: Path, words: int) -> list[list[str]]:
    """Return the words of each line; only the first may be no number."""
    text = read_if_there(path)
    if text is None:
        return []
    lines = text.splitlines()
    if len(lines) < 2 or lines[0] != VERSION or lines[1] != str(len(lines) - 2):
        raise MalformedFileError(path, f"not a checkpoint file of version {VERSION}")
    entries = [line.split(" ") for line in lines[2:]]
    for entry in entries:
        if len(entry) != words or not all(word.removeprefix("-").isdecimal() for word in entry[words == 3 :]):
            raise MalformedFileError(path, f"malformed line {' '.join(entry)!r}")
    return entries


# --- names and values ------------------------------------------------------------------------------------------------------


def write_properties(path: Path, properties: Mapping[str, object], separator: str = "=") -> None:
    """Write names and values."""
    replace_file(path, "".join(f"{name}{separator}{value}\n" for name, value in properties.items()))


def read_properties(path: Path, separator: str = "=") -> dict[str, str] | None:
    """Return names and values; None if there is no file. Lines that begin with # are comments."""
    text = read_if_there(path)
    if text is None:
        return None
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition(separator) for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


# --- files -----------------------------------------------------------------------------------------------------------------


def read_if_there(path: Path) -> str | None:
    """Return a file's text; None if there is no file. Raises: MalformedFileError if it is no text."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise MalformedFileError(path, "not a text file") from None


def replace_file(path: Path, text: str) -> None:
    """Replace a file so that a reader, also after a crash, finds the former text or the new one. Raises: StorageError."""
    new = path.with_name(f"{path.name}.tmp")
    with errors_named(path):
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Raise StorageError, with the path in it, for an error of the operating system.

    If the whole folder has vanished, nothing is raised: it is noticed where the log directories are looked at.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
            return
        raise StorageError(f"{error.filename or path}: {os.strerror(error.errno or 0)}") from error
