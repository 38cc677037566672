"""Physical lines of a Kafka log file to log records: a message with its time, level and logger.

Models the layout that Kafka's log4j.properties gives all its files, `[%d] %p %m (%c)%n`. A message may have several lines,
and then its logger stands at the end of the last; a stack trace follows the line with the logger and belongs to it.
A record is whole or it is broken: a line cut off, a message that never ends, text that no record of this file begins.

Pure and streaming: one record is held at a time, and no more of one than MOST_LINES and MOST_CHARACTERS.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

HEADER = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
LOGGER = re.compile(r"[\w.$]+")
MOST_LINES = 2_000
"""Of a message or of a stack trace; Kafka's longest message, the dump of its settings, has about 230."""
MOST_CHARACTERS = 16 * 2**20
STRAY = "no record begins before them"


class LogRecord(msgspec.Struct, frozen=True):
    """One record. `line` is its first physical line's number, from 1; `time` as written, in the zone of whoever wrote it.

    `continuation` is what follows the logger: an exception and its stack trace, lines joined by newlines.
    """

    line: int
    time: str
    level: str
    logger: str
    message: str
    continuation: str = ""


class BrokenLines(msgspec.Struct, frozen=True):
    """Lines that are no record. `line` is the first one's number, `count` how many, `reason` what is wrong."""

    line: int
    count: int
    reason: str


def read_records(lines: Iterable[str]) -> Iterator[LogRecord | BrokenLines]:
    """Yield what the lines of one file hold, in order, nothing left out. Line ends may be there or not."""
    begun: _Begun | None = None
    first_stray = strays = 0
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        header = HEADER.match(text)
        if header is not None:
            if begun is not None:
                yield begun.ended()
            elif strays:
                yield BrokenLines(first_stray, strays, STRAY)
                strays = 0
            begun = _Begun(number, header, text)
        elif begun is not None:
            begun.take(text)
        else:
            first_stray = first_stray or number
            strays += 1
    if begun is not None:
        yield begun.ended()
    elif strays:
        yield BrokenLines(first_stray, strays, STRAY)


class _Begun:
    """A record of which more lines may follow: of the message until its logger has come, then of a stack trace."""

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

    def take(self, text: str) -> None:
        self._count += 1
        self._size += len(text)
        if self._count > MOST_LINES or self._size > MOST_CHARACTERS:
            return
        if self._logger is not None:
            self._after.append(text)
            return
        self._logger = _logger_at_end(text)
        self._message += "\n" + (text if self._logger is None else text[: -len(self._logger) - len(" ()")])

    def ended(self) -> LogRecord | BrokenLines:
        if self._logger is None:
            return BrokenLines(self._line, self._count, "the message does not end with its logger")
        time, level = self._header.groups()
        return LogRecord(self._line, time, level, self._logger, self._message, "\n".join(self._after))


def _logger_at_end(text: str) -> str | None:
    """The logger that ends a message, in parentheses; None if more lines of it must follow."""
    if not text.endswith(")"):
        return None
    at = text.rfind(" (")
    return text[at + 2 : -1] if at >= 0 and LOGGER.fullmatch(text, at + 2, len(text) - 1) else None
