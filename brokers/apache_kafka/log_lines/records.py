"""Parse the physical lines of a Kafka log file into log records: a message with its time, level and logger.

Models the layout that Kafka's log4j.properties gives all its files, `[%d] %p %m (%c)%n`. A message may have several lines;
its logger is then at the end of the last one. A stack trace follows the line with the logger and belongs to the record.
A record is complete or broken: a truncated line, a message that never ends, text before the file's first record.

Pure and streaming: one record is held at a time, and at most MOST_LINES and MOST_CHARACTERS of it.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

HEADER = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
LOGGER = re.compile(r"[\w.$]+")
MOST_LINES = 2_000
"""Of a message or a stack trace. Kafka's longest message, the dump of its settings, has about 230 lines."""
MOST_CHARACTERS = 16 * 2**20
STRAY = "no record begins before them"


class LogRecord(msgspec.Struct, frozen=True):
    """One record. `line`: number of its first physical line, from 1; `time`: as written, in the writer's time zone.

    `continuation` is the text after the logger: an exception and its stack trace, lines joined by newlines.
    """

    line: int
    time: str
    level: str
    logger: str
    message: str
    continuation: str = ""


class BrokenLines(msgspec.Struct, frozen=True):
    """Lines that are not a record. `line`: number of the first one; `count`: how many; `reason`: what is wrong."""

    line: int
    count: int
    reason: str


def read_records(lines: Iterable[str]) -> Iterator[LogRecord | BrokenLines]:
    """Yield everything in the lines of one file, in order, omitting nothing. Lines may come with or without line ends."""
    record: _OpenRecord | None = None
    first_stray = strays = 0
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        header = HEADER.match(text)
        if header is not None:
            if record is not None:
                yield record.closed()
            elif strays:
                yield BrokenLines(first_stray, strays, STRAY)
                strays = 0
            record = _OpenRecord(number, header, text)
        elif record is not None:
            record.add_line(text)
        else:
            first_stray = first_stray or number
            strays += 1
    if record is not None:
        yield record.closed()
    elif strays:
        yield BrokenLines(first_stray, strays, STRAY)


class _OpenRecord:
    """A record that may continue: with lines of its message until the logger is found, then with those of a stack trace."""

    __slots__ = ("_after", "_count", "_header", "_line", "_logger", "_message", "_size")

    def __init__(self, line: int, header: "re.Match[str]", text: str) -> None:
        self._line = line
        self._header = header
        self._count = 1
        self._size = 0
        self._after: list[str] = []
        self._logger = _logger_at_end(text)
        end = len(text) if self._logger is None else -len(self._logger) - len(" ()")
        self._message = text[header.end() : end]

    def add_line(self, text: str) -> None:
        self._count += 1
        self._size += len(text)
        if self._count > MOST_LINES or self._size > MOST_CHARACTERS:
            return
        if self._logger is not None:
            self._after.append(text)
            return
        self._logger = _logger_at_end(text)
        self._message += "\n" + (text if self._logger is None else text[: -len(self._logger) - len(" ()")])

    def closed(self) -> LogRecord | BrokenLines:
        if self._logger is None:
            return BrokenLines(self._line, self._count, "the message does not end with its logger")
        time, level = self._header.groups()
        return LogRecord(self._line, time, level, self._logger, self._message, "\n".join(self._after))


def _logger_at_end(text: str) -> str | None:
    """Return the logger that ends a message, in parentheses; None if more lines of the message must follow."""
    if not text.endswith(")"):
        return None
    at = text.rfind(" (")
    return text[at + 2 : -1] if at >= 0 and LOGGER.fullmatch(text, at + 2, len(text) - 1) else None
