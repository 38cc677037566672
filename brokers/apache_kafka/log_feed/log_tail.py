"""Follow the log files of running brokers: read what was written since the last read, in order of time.

A broker writes a record in one piece, unless its stack trace is long. So a record is complete once its line has ended, its
logger has been read, and no unfinished line follows it. All times are UTC (brokers/apache_kafka/log_files.py).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from kcsim.brokers.apache_kafka.log_feed.log_events import SETTLES_AFTER_MS, BrokerLog, LogEvent
from kcsim.brokers.apache_kafka.log_lines.records import BrokenLines, LogRecord, read_records

FILES = ("controller.log", "state-change.log", "server.log")
"""In the order in which records of the same millisecond are taken: what a controller decides on, then what it does."""


def time_of(record: LogRecord) -> int:
    """Return when a record was written, in ms since 1970."""
    return round(datetime.fromisoformat(record.time.replace(",", ".")).replace(tzinfo=UTC).timestamp() * 1000)


class FollowedFile:
    """One file that grows. It need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._unread = b""  # from the beginning of the first incomplete record
        self._last_ms = 0
        self._records: deque[tuple[int, LogRecord]] = deque()

    def read(self, until_ms: int) -> list[tuple[int, LogRecord]]:
        """Return the records up to and including this time that have not been returned yet, each with its time.

        Threads take turns in writing, so a logged time may be a few ms earlier than the one before it. Records keep the
        order of the file, and such a record gets the latest time so far.
        """
        if self._read_new():
            self._parse_new()
        found = []
        while self._records and self._records[0][0] <= until_ms:
            found.append(self._records.popleft())
        return found

    def _read_new(self) -> bool:
        try:
            if self._path.stat().st_size == self._position:
                return False
            with self._path.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:
            return False
        self._position += len(new)
        self._unread += new
        return True

    def _parse_new(self) -> None:
        whole, _, unfinished = self._unread.rpartition(b"\n")
        lines = whole.decode(errors="replace").split("\n") if whole else []
        records = list(read_records(lines))
        last = records[-1] if records else None
        if last is not None and (unfinished or isinstance(last, BrokenLines)):
            records.pop()  # more of this record may follow
            kept = lines[last.line - 1 :]
            self._unread = "\n".join([*kept, ""]).encode() + unfinished
        else:
            self._unread = unfinished
        for record in records:
            if isinstance(record, LogRecord):
                self._last_ms = max(self._last_ms, time_of(record))
                self._records.append((self._last_ms, record))


class LogTail:
    """The logs of several brokers.

    Args:
        brokers: ids, each with the directory of the broker's log files.
    """

    def __init__(self, brokers: Iterable[tuple[int, Path]]) -> None:
        self._files = [
            (BrokerLog(broker_id), [FollowedFile(directory / name) for name in FILES])
            for broker_id, directory in sorted(brokers)
        ]
        self._events: list[LogEvent] = []  # later than the time asked for so far

    def read(self, until_ms: int) -> list[LogEvent]:
        """Return the events up to this time (ms since 1970) that have not been returned yet, in order of time.

        The result is complete if the brokers had written everything up to SETTLES_AFTER_MS after this time: an event of
        several lines is complete when the next line is known. Events of the same time are in the order of the brokers' ids,
        and those of one broker in the order of FILES. Lines that a broker writes late come with a later call and are not
        sorted in.
        """
        found = [
            (time_ms, log, record)
            for log, files in self._files
            for file in files
            for time_ms, record in file.read(until_ms + SETTLES_AFTER_MS)
        ]
        found.sort(key=lambda one: one[0])
        for time_ms, log, record in found:
            self._events += log.take(record, time_ms)
        for log, _ in self._files:
            self._events += log.settle(until_ms + 1)
        self._events.sort(key=lambda event: event.time_ms)
        count = bisect_right(self._events, until_ms, key=lambda event: event.time_ms)
        due, self._events = self._events[:count], self._events[count:]
        return due
