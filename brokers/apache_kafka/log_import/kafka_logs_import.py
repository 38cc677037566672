"""Turn a cluster's log files into their history, and the history into an event log.

The files are read once, line by line; only the history is held in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from msgspec import structs

from kcsim.brokers.apache_kafka.log_import.entries import (
    ControllerRoleChange,
    HistoryEntry,
    LogHistory,
    NotShown,
    RegistrationChange,
    SourceLine,
    StateWrite,
)
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.history import history_of
from kcsim.brokers.apache_kafka.log_import.kafka_logs_trace import KafkaLogsTrace
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, lines_of
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import ParsedRecord, read_lines
from kcsim.brokers.apache_kafka.log_import.zone import ToUtc, local_ms, zones_shown
from kcsim.brokers.apache_kafka.log_lines.messages import ClockRead, HistoryMessage, NoMessage
from kcsim.brokers.apache_kafka.log_lines.records import BrokenLines
from kcsim.eventlog.events import Event
from kcsim.vocabulary import BrokerId


@dataclass(frozen=True, slots=True)
class LogSurvey:
    """The content of the files: the history, how much of them was understood, and remarks for the reader.

    `zones` are the UTC offsets that the files show themselves, in the form that zone_named reads, with the files of each.
    """

    history: LogHistory
    statistics: ParseStatistics
    zones: dict[str, set[str]]
    remarks: tuple[str, ...]

    @property
    def not_shown(self) -> tuple[NotShown, ...]:
        return self.history.not_shown


def survey(files: Sequence[Path]) -> LogSurvey:
    """Read the files. Raises: LogFilesError when a file cannot be read, or none contains any history."""
    gathered, statistics = EvidenceIndex(), ParseStatistics()
    remarks: list[str] = []
    for path in files:
        for found in read_lines(lines_of(path, remarks.append)):
            take(gathered, statistics, str(path), found)
    return surveyed(files, gathered, statistics, remarks)


def surveyed(
    files: Sequence[Path], gathered: EvidenceIndex, statistics: ParseStatistics, remarks: Sequence[str]
) -> LogSurvey:
    """Return the survey of files that have been read. Raises: LogFilesError when none contains any history."""
    history = history_of(gathered)
    if not history.entries:
        raise LogFilesError(_no_history_text(files, statistics))
    not_shown = (*statistics.not_shown(gathered, brokers_of(history)), *history.not_shown)
    zones = zones_shown(gathered.others[ClockRead])
    return LogSurvey(LogHistory(history.entries, not_shown), statistics, zones, tuple(remarks))


class MessageCollector(Protocol):
    """Collects the messages of lines."""

    def take(self, place: SourceLine, t_ms: int, message: HistoryMessage) -> None:
        """Add the message of one line."""
        ...


def take(
    gathered: MessageCollector, statistics: ParseStatistics, file: str, found: ParsedRecord | BrokenLines
) -> BrokenLines | None:
    """Collect and count one record. A record with an invalid time counts as broken. Return the broken lines, if any."""
    if isinstance(found, ParsedRecord):
        record, message = found
        if not isinstance(message, NoMessage):
            try:
                t_ms = local_ms(record.time)
            except ValueError:
                found = BrokenLines(record.line, 1, f"{record.time} is no time")
            else:
                gathered.take(SourceLine(file, record.line), t_ms, message)
    statistics.take(file, found)
    return found if isinstance(found, BrokenLines) else None


def brokers_of(history: LogHistory) -> set[BrokerId]:
    """Return all brokers that occur in the history."""
    found: set[BrokerId | None] = set()
    for entry in history.entries:
        match entry:
            case RegistrationChange():
                found.add(entry.broker)
            case ControllerRoleChange():
                found.add(entry.controller)
            case StateWrite():
                found |= {entry.by, *(entry.isr or ())}
            case _:
                pass
    return {broker for broker in found if broker is not None}


def import_kafka_logs(seen: LogSurvey, to_utc: ToUtc, write: Callable[[Event], None], where: str) -> None:
    """Call `write` with each event of a survey's history. Raises: what `write` raises."""
    for event in events_of(seen.history.entries, to_utc, where):
        write(event)


def events_of(entries: Sequence[HistoryEntry], to_utc: ToUtc, where: str) -> Iterator[Event]:
    """Yield the events of a whole history, which must not be empty."""
    pending: list[Event] = []

    def put(event: Event) -> int:
        pending.append(structs.replace(event, seq=next(seqs)))
        return pending[-1].seq

    seqs = count()
    trace = KafkaLogsTrace(put, entries, to_utc)
    trace.begin(to_utc(entries[0].t_ms), f"from {where}")
    for entry in entries:
        trace.add_entry(entry)
        yield from pending
        pending.clear()
    trace.end()
    yield from pending


def _no_history_text(files: Sequence[Path], statistics: ParseStatistics) -> str:
    where = str(files[0]) if len(files) == 1 else f"these {len(files)} files, {files[0]} and so on"
    if not statistics.records:
        lines = f"{statistics.broken} lines, and none begins" if statistics.broken else "no line, and so none that begins"
        return f"{where}: {lines} as Kafka's records do: [2021-05-04 10:15:32,101] INFO …"
    return f"{where}: {statistics.records} records, and none is about partitions, controllers or registrations"
