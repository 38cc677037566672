"""Reads JSONL, line by line, and goes on after a line that is no event. Pure Python: Spark's workers run it."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any

import msgspec
import pyarrow as pa
from msgspec import structs

from kcsim.scenarios.history import arrow_schema
from kcsim.scenarios.replay.collector import collector_at_rest
from kcsim.scenarios.replay.tables import problems
from kcsim.scenarios.replay.tables.portion import Portion, reject
from kcsim.scenarios.replay.tables.problems import Problem
from kcsim.scenarios.replay.tables.rejects_table import Reason
from kcsim.scenarios.replay.tables.trace_files import Split
from kcsim.zk.events import Event

LINES = 4_096
"""Lines of a portion."""

_DECODER = msgspec.json.Decoder(Event)
_LONG_NUMBER = re.compile(rb"\d{19}")
UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError)


class _Version(msgspec.Struct):
    schema_version: int | None = None


def read_lines(split: Split) -> Iterator[Portion]:
    """Yield what begins in the split, in order. A file that cannot be read, from some line on, is a reject too."""
    read = 0
    try:
        with _opened(split.trace.path) as file:
            first = file.readline()
            newer = _newer_version(first)
            for lines in _portions(_lines_of(file, first, split)):
                yield _portion(split, lines, read, newer)
                read += len(lines)
    except UNREADABLE as error:
        detail = f"{error}, after line {_lines_before(split) + read}"
        yield Portion(None, [reject(split.trace, None, Problem(Reason.UNREADABLE, detail))])


def _opened(path: str) -> IO[bytes] | gzip.GzipFile:
    if path.endswith(".gz"):
        return gzip.open(path)
    if path.endswith(".zst"):
        return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(path), "zstd"), 2**16)
    return open(path, "rb")


def _newer_version(first: bytes) -> Problem | None:
    """The problem with the whole run: its first event, RunStarted, tells which version it is in."""
    try:
        return problems.of_version(msgspec.json.decode(first, type=_Version).schema_version)
    except _UNDECODABLE:
        return None


def _lines_of(file: IO[bytes] | gzip.GzipFile, first: bytes, split: Split) -> Iterator[bytes]:
    """The lines that begin in the split, the file's `first` having been read; one that only ends in it is not among them."""
    at = 0
    if split.start == 0:
        yield first
        at = len(first)
    else:
        file.seek(split.start - 1)
        at = split.start - 1 + len(file.readline())
    for line in file:
        if split.end is not None and at >= split.end:
            return
        at += len(line)
        yield line


def _portions(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """LINES at a time. What was read before an error comes before it."""
    portion: list[bytes] = []
    try:
        for line in lines:
            portion.append(line)
            if len(portion) == LINES:
                yield portion
                portion = []
    except UNREADABLE:
        yield portion
        raise
    yield portion


def _portion(split: Split, lines: Sequence[bytes], before: int, newer: Problem | None) -> Portion:
    """Tell events and rejects apart; `before`: lines of the split that came before these."""
    check_size = _LONG_NUMBER.search(b"".join(lines)) is not None
    events: list[Event] = []
    wrong: list[tuple[int, Problem, bytes]] = []
    with collector_at_rest():
        for number, line in enumerate(lines, before + 1):
            event = _event_or_problem(line, check_size)
            if newer is not None:
                wrong.append((number, newer, line))
            elif isinstance(event, Problem):
                wrong.append((number, event, line))
            else:
                events.append(event)
        columns = columns_of(events) if events else None
    first = _lines_before(split) if wrong else 0
    return Portion(columns, [reject(split.trace, first + number, problem, line) for number, problem, line in wrong])


def _event_or_problem(line: bytes, check_size: bool) -> Event | Problem:
    try:
        event: Event = _DECODER.decode(line)
    except _UNDECODABLE as error:
        if not line.endswith(b"\n"):
            return Problem(Reason.BROKEN_OFF, f"the trace breaks off here: {error}")
        return problems.of_error(error)
    return problems.of_event(event) or (problems.of_size(event) if check_size else None) or event


def columns_of(events: Sequence[Event]) -> Any:
    """Events as a pyarrow.RecordBatch of the event log's columns. Raises: OverflowError beyond 64 bits."""
    schema = arrow_schema()
    columns = zip(*map(structs.astuple, events), strict=True)
    return pa.RecordBatch.from_arrays([_column(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _column(values: Sequence[Any], kind: Any) -> Any:
    is_empty = values.count(None) == len(values)  # most are
    return pa.nulls(len(values), kind) if is_empty else pa.array(values, kind)


def _lines_before(split: Split) -> int:
    """How many lines begin before the split: looked up when there is one to name, and not before."""
    left, lines, last = split.start, 0, b"\n"
    if left == 0:
        return 0
    with open(split.trace.path, "rb") as file:
        while left and (block := file.read(min(left, 2**22))):
            left -= len(block)
            lines += block.count(b"\n")
            last = block
    return lines + (not last.endswith(b"\n"))
