"""Reading JSONL line by line, past lines that are no events. Pure Python: Spark's workers run it."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import structs

from kcsim.eventlog.event_log import arrow_schema
from kcsim.eventlog.events import Event
from kcsim.eventlog.schema_upgrade import LAST_VERSION_WITHOUT_COLUMNS, upgraded
from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.tables import problems
from kcsim.scenarios.analysis.tables.location import location
from kcsim.scenarios.analysis.tables.portion import TracePortion, reject
from kcsim.scenarios.analysis.tables.problems import Problem
from kcsim.scenarios.analysis.tables.rejects_table import Reason, Reject
from kcsim.scenarios.analysis.tables.trace_files import Split

LINES = 4_096
"""The number of lines in a portion."""

_DECODER = msgspec.json.Decoder(Event)
LINES_JOINED = 256
"""As many lines are searched for long numbers at a time: what numpy makes of them stays in the processor's cache."""
UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError)

_OF_DECODING = {Reason.NOT_JSON, Reason.WRONG_TYPE, Reason.MISSING_COLUMN, Reason.UNKNOWN_KIND}


class _Version(msgspec.Struct):
    schema_version: int | None = None


class LinesRead(NamedTuple):
    """What some lines hold: their events, in order, and the rejects between them."""

    events: list[Event]
    rejects: list[Reject]


class DecodedLines(NamedTuple):
    """Events, in order, and the problems of the other lines with their places, from 0."""

    events: list[Event]
    problems: list[tuple[int, Problem]]


def read_lines(split: Split) -> Iterator[TracePortion]:
    """Yield the lines that begin in the split, in order, as record batches."""
    for events, rejects in read_events_of(split):
        with gc_paused():
            columns = columns_of(events) if events else None
        yield TracePortion(columns, rejects)


def read_events_of(split: Split) -> Iterator[LinesRead]:
    """Yield the lines that begin in the split, in order. If the file cannot be read from some line on, that is a reject."""
    read = 0
    try:
        with _opened(split.trace.path) as file:
            first = file.readline()
            version = _version_of(first)
            for lines in _portions(_lines_of(file, first, split)):
                yield _portion(split, lines, read, version)
                read += len(lines)
    except UNREADABLE as error:
        detail = f"{error}, after line {_lines_before(split) + read}"
        yield LinesRead([], [reject(split.trace, None, Problem(Reason.UNREADABLE, detail))])


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with location(path).open("rb") as file:
        if path.endswith(".gz"):
            yield gzip.GzipFile(fileobj=file)
        elif path.endswith(".zst"):
            yield io.BufferedReader(pa.CompressedInputStream(file, "zstd"), 2**16)
        else:
            yield file


def _version_of(first: bytes) -> int | None:
    """Return the version of the whole run, which its first event, RunStarted, contains; None if it is not known."""
    try:
        return msgspec.json.decode(first, type=_Version).schema_version
    except _UNDECODABLE:
        return None


def _lines_of(file: IO[bytes] | gzip.GzipFile, first: bytes, split: Split) -> Iterator[bytes]:
    """Yield the lines that begin in the split. A line that only ends in it is left out. `first` has been read already."""
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
    """Yield LINES lines at a time. Lines that were read before an error are yielded before it is raised."""
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


def _portion(split: Split, lines: Sequence[bytes], before: int, version: int | None) -> LinesRead:
    """Separate events from rejects.

    Args:
        before: how many lines of the split came before these.
        version: of the run; None: unknown.
    """
    newer = problems.of_version(version)
    is_older = version is None or version <= LAST_VERSION_WITHOUT_COLUMNS
    with gc_paused():
        events, found = decode_whole_lines(lines)
        if is_older:
            events = [upgraded(event) for event in events]
    if newer is not None:
        events, found = [], [(place, newer) for place in range(len(lines))]
    first = _lines_before(split) + before + 1 if found else 0
    return LinesRead(events, [_reject(split, first + place, problem, lines[place]) for place, problem in found])


def _reject(split: Split, number: int, problem: Problem, line: bytes) -> Reject:
    if problem.reason in _OF_DECODING and not line.endswith(b"\n"):
        problem = Problem(Reason.BROKEN_OFF, f"the trace breaks off here: {problem.detail}")
    return reject(split.trace, number, problem, line)


def decode_whole_lines(lines: Sequence[bytes]) -> DecodedLines:
    """Return the events of some lines of the present version, and what is wrong with the others."""
    parts = (b"".join(lines[at : at + LINES_JOINED]) for at in range(0, len(lines), LINES_JOINED))
    check_size = any(map(has_long_number, parts))
    events: list[Event] = []
    wrong: list[tuple[int, Problem]] = []
    for place, line in enumerate(lines):
        event = _event_or_problem(line, check_size)
        if isinstance(event, Problem):
            wrong.append((place, event))
        else:
            events.append(event)
    return DecodedLines(events, wrong)


def has_long_number(text: bytes) -> bool:
    """Return whether there are 19 digits in a row: a number of fewer digits has at most 64 bits."""
    is_run = (np.frombuffer(text, np.uint8) - ord("0")) < 10  # below "0" it wraps around
    for further in (1, 2, 4, 8, 3):  # runs of 2, 4, 8, 16 and 19 digits begin here
        is_run = is_run[:-further] & is_run[further:]
    return bool(is_run.any())


def _event_or_problem(line: bytes, check_size: bool) -> Event | Problem:
    try:
        event: Event = _DECODER.decode(line)
    except _UNDECODABLE as error:
        return problems.of_error(error)
    return problems.of_event(event) or (problems.of_size(event) if check_size else None) or event


def columns_of(events: Sequence[Event]) -> Any:
    """Return events as a pyarrow.RecordBatch of the event log's columns. Raises: OverflowError beyond 64 bits."""
    schema = arrow_schema()
    columns = zip(*map(structs.astuple, events), strict=True)
    return pa.RecordBatch.from_arrays([_column(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _column(values: Sequence[Any], kind: Any) -> Any:
    is_empty = values.count(None) == len(values)  # most columns are
    return pa.nulls(len(values), kind) if is_empty else pa.array(values, kind)


def _lines_before(split: Split) -> int:
    """Return how many lines begin before the split. It reads the file: call it only for a line number in a reject."""
    left, lines, last = split.start, 0, b"\n"
    if left == 0:
        return 0
    with location(split.trace.path).open("rb") as file:
        while left and (block := file.read(min(left, 2**22))):
            left -= len(block)
            lines += block.count(b"\n")
            last = block
    return lines + (not last.endswith(b"\n"))
