"""Follows the log files of running brokers: what was written to them since they were last read, in the order of its time.

A broker writes a record in one piece, unless its stack trace is long. So a record is whole once its line has ended and its
logger has been seen, and nothing unfinished stands behind it. All times are UTC (brokers/apache_kafka/log_files.py).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from kcsim.scenarios.imported.kafka_logs.records import BrokenLines, LogRecord, read_records
from kcsim.scenarios.on_kafka.log_events import SETTLES_AFTER_MS, BrokerLog, LogEvent

FILES = ("controller.log", "state-change.log", "server.log")
"""In the order in which records of one millisecond are taken: what a controller decides on, then what it does."""


def time_of(record: LogRecord) -> int:
    """When a record was written, ms since 1970."""
    return round(datetime.fromisoformat(record.time.replace(",", ".")).replace(tzinfo=UTC).timestamp() * 1000)


class FollowedFile:
    """One file that grows. It need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._unread = b""  # from the beginning of the first record that is not whole
        self._last_ms = 0
        self._records: deque[tuple[int, LogRecord]] = deque()

    def read(self, until_ms: int) -> list[tuple[int, LogRecord]]:
        """Return the records up to this time, this ms included, that have not been returned; each with its time.

        Threads write in turn and a time may step back by a few ms; the order is that of the file, and the time goes on.
        """
        if self._read_new():
            self._take_apart()
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

    def _take_apart(self) -> None:
        whole, _, unfinished = self._unread.rpartition(b"\n")
        lines = whole.decode(errors="replace").split("\n") if whole else []
        records = list(read_records(lines))
        last = records[-1] if records else None
        if last is not None and (unfinished or isinstance(last, BrokenLines)):
            records.pop()  # more of it may come
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
        brokers: id and the directory of its log files.
    """

    def __init__(self, brokers: Iterable[tuple[int, Path]]) -> None:
        self._files = [
            (BrokerLog(broker_id), [FollowedFile(directory / name) for name in FILES])
            for broker_id, directory in sorted(brokers)
        ]
        self._events: list[LogEvent] = []  # that are later than what was asked for

    def read(self, until_ms: int) -> list[LogEvent]:
        """Return what was logged up to this time (ms since 1970) and has not been returned, in the order of its time.

        It is complete if the brokers had written everything up to SETTLES_AFTER_MS after it: events of several lines are
        known by the line that follows. Of one time, they are in the order of the brokers' ids, those of one broker in the
        order of FILES. What a broker was slow to write comes late, and is not sorted in.
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
        told, self._events = self._events[:count], self._events[count:]
        return told
