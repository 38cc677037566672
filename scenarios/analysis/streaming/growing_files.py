"""Event logs that grow: how far each can be read, in whole lines, and whether it is still the file that was read before.

A file that grows is JSONL, not compressed. Its last line is read when its end has been written.
"""

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypedDict

from kcsim.eventlog.event_log import MOST_LINE_BYTES
from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk, chunks_of
from kcsim.scenarios.analysis.streaming.followed_log import LogError
from kcsim.scenarios.analysis.tables.trace_files import Split, Trace, run_name

SUFFIX = ".jsonl"
BLOCK = 1 << 16


class Place(TypedDict):
    """A place in a file: a part of the stream's offset, which Spark keeps as JSON.

    Attributes:
        run: the name of the run that the file is.
        end: the first byte that has not been read; a line begins there.
        first: a checksum of the first line, by which the file is known again.
    """

    run: str
    end: int
    first: int


Places = Mapping[str, Place]
"""The path of each file that has a whole line -> how far it has been read."""


class ReplacedFileError(LogError):
    """A file that is followed has become shorter, has other content, or is gone. Nothing of it was read since."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path} {what} since it was read; follow it anew, with another output folder")
        self.path = path


class FilePart(NamedTuple):
    """A part of a file: the lines that begin in it."""

    split: Split

    def chunks(self, slots: int) -> list[EventChunk]:
        from kcsim.scenarios.analysis.tables.trace_lines import read_events_of

        trace = self.split.trace
        events, rejects = [], []
        for read in read_events_of(self.split):
            events.extend(read.events)
            rejects.extend(read.rejects)
        return chunks_of(trace.batch, trace.run, events, rejects, slots)


class GrowingFiles(NamedTuple):
    """A file, or a folder, in which files may appear; each is a run."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def awaited(self) -> str:
        return f"a file *{SUFFIX} in {self.path}" if self.path.is_dir() else f"the first whole line of {self.path}"

    @property
    def unit(self) -> str:
        return "bytes"

    def beginning(self) -> dict[str, Place]:
        return {}

    def further(self, places: Places, most_bytes: int) -> dict[str, Place]:
        """Return how far each file can be read now.

        Args:
            places: how far each has been read. A file keeps the name of its run; a new one of a known name is NAME-2, …
            most_bytes: how many bytes to read of all files together; a line is read whole in any case.

        Raises: ReplacedFileError; OSError.
        """
        for name in places:
            if not Path(name).exists():
                raise ReplacedFileError(name, "is gone")
        reached, left = dict(places), most_bytes
        for file in self._files():
            known = places.get(str(file))
            size = file.stat().st_size
            if known is None:
                line = _first_line(file)
                if line is None:
                    continue
                run = _unused(run_name(file), {place["run"] for place in reached.values()})
                known = Place(run=run, end=0, first=zlib.crc32(line))
            _check(file, size, known)
            if left > 0:
                end = _end_of_line(file, known["end"], size, left)
                left -= end - known["end"]
                known = Place(run=known["run"], end=end, first=known["first"])
            if known["end"] > 0:
                reached[str(file)] = known
        return reached

    def limited(self, places: Places, target: Places) -> dict[str, Place]:
        return {
            path: Place(run=place["run"], end=min(place["end"], target[path]["end"]), first=place["first"])
            for path, place in places.items()
            if path in target
        }

    def parts(self, start: Places, end: Places, batch: str, part_bytes: int) -> list[FilePart]:
        found = []
        for path, place in end.items():
            first, last = start[path]["end"] if path in start else 0, place["end"]
            trace = Trace(path, batch, place["run"], last)
            count = max(1, round((last - first) / part_bytes)) if last > first else 0
            edges = [first + (last - first) * part // count for part in range(count)] + [last]
            found += [FilePart(Split(trace, edges[part], edges[part + 1])) for part in range(count)]
        return found

    def amount(self, places: Places) -> int:
        return sum(place["end"] for place in places.values())

    def left(self, places: Places) -> int:
        return sum(
            max(0, file.stat().st_size - (places[str(file)]["end"] if str(file) in places else 0)) for file in self._files()
        )

    def _files(self) -> Iterator[Path]:
        path = self.path.absolute()
        if not path.is_dir():
            yield path
            return
        for file in sorted(path.rglob(f"*{SUFFIX}")):
            if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts):
                yield file


def _first_line(file: Path) -> bytes | None:
    """Return the first line; None if it is not whole."""
    with file.open("rb") as lines:
        line = lines.readline(MOST_LINE_BYTES)
    return line if line.endswith(b"\n") else None


def _check(file: Path, size: int, known: Place) -> None:
    if size < known["end"]:
        raise ReplacedFileError(str(file), f"has become shorter ({size} bytes, was {known['end']})")
    line = _first_line(file)
    if line is None or zlib.crc32(line) != known["first"]:
        raise ReplacedFileError(str(file), "has been replaced: its first line is another")


def _unused(name: str, taken: set[str]) -> str:
    number, run = 1, name
    while run in taken:
        number += 1
        run = f"{name}-{number}"
    return run


def _end_of_line(file: Path, start: int, size: int, most_bytes: int) -> int:
    """Return the end of the last whole line up to `most_bytes` after start; of the first line after it if none is there."""
    wanted = min(size, start + most_bytes)
    with file.open("rb") as data:
        at = wanted
        while at > start:
            begin = max(start, at - BLOCK)
            data.seek(begin)
            found = data.read(at - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            at = begin
        data.seek(wanted)
        at = wanted
        while at < size:
            block = data.read(min(BLOCK, size - at))
            found = block.find(b"\n")
            if found >= 0:
                return at + found + 1
            if not block:
                break
            at += len(block)
    return start
