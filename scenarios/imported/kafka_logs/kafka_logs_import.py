"""From a cluster's log files to their history, and to an event log of ours, the way through the files included.

They are read once, line by line; what is held is the history.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

from msgspec import structs

from kcsim.scenarios.imported.kafka_logs.entries import (
    ControllerChange,
    Entry,
    History,
    NotShown,
    Place,
    RegistrationChange,
    StateWrite,
)
from kcsim.scenarios.imported.kafka_logs.evidence import Gathered
from kcsim.scenarios.imported.kafka_logs.history import history_of
from kcsim.scenarios.imported.kafka_logs.kafka_logs_trace import KafkaLogsTrace
from kcsim.scenarios.imported.kafka_logs.log_files import LogFilesError, lines_of
from kcsim.scenarios.imported.kafka_logs.messages import ClockRead, Message, Silent
from kcsim.scenarios.imported.kafka_logs.reading import Said, read_lines
from kcsim.scenarios.imported.kafka_logs.records import BrokenLines
from kcsim.scenarios.imported.kafka_logs.tally import Tally
from kcsim.scenarios.imported.kafka_logs.zone import ToUtc, local_ms, zones_shown
from kcsim.zk.events import Event
from kcsim.zk.vocabulary import BrokerId


@dataclass(frozen=True, slots=True)
class Survey:
    """What the files hold: the history, how much of them was understood, and what a reader has to know of them.

    `zones` are the offsets that the files give away themselves, as zone_named reads them, with the files of each.
    """

    history: History
    tally: Tally
    zones: dict[str, set[str]]
    remarks: tuple[str, ...]

    @property
    def not_shown(self) -> tuple[NotShown, ...]:
        return self.history.not_shown


def survey(files: Sequence[Path]) -> Survey:
    """Read the files. Raises: LogFilesError when one cannot be read, or there is nothing of history in any."""
    gathered, tally = Gathered(), Tally()
    remarks: list[str] = []
    for path in files:
        for found in read_lines(lines_of(path, remarks.append)):
            take(gathered, tally, str(path), found)
    return surveyed(files, gathered, tally, remarks)


def surveyed(files: Sequence[Path], gathered: Gathered, tally: Tally, remarks: Sequence[str]) -> Survey:
    """What files hold that have been read. Raises: LogFilesError when there is nothing of history in any."""
    history = history_of(gathered)
    if not history.entries:
        raise LogFilesError(_nothing(files, tally))
    not_shown = (*tally.not_shown(gathered, brokers_of(history)), *history.not_shown)
    zones = zones_shown(gathered.others[ClockRead])
    return Survey(History(history.entries, not_shown), tally, zones, tuple(remarks))


class Gatherer(Protocol):
    """Keeps what the lines say."""

    def take(self, place: Place, t_ms: int, says: Message) -> None:
        """Take in what one line says."""
        ...


def take(gathered: Gatherer, tally: Tally, file: str, found: Said | BrokenLines) -> BrokenLines | None:
    """Take in what one record says, and count it. A time that there is not breaks its record. Returns: what is broken."""
    if isinstance(found, Said):
        record, says = found
        if not isinstance(says, Silent):
            try:
                t_ms = local_ms(record.time)
            except ValueError:
                found = BrokenLines(record.line, 1, f"{record.time} is no time")
            else:
                gathered.take(Place(file, record.line), t_ms, says)
    tally.take(file, found)
    return found if isinstance(found, BrokenLines) else None


def brokers_of(history: History) -> set[BrokerId]:
    """Whoever has a part in the history."""
    found: set[BrokerId | None] = set()
    for entry in history.entries:
        match entry:
            case RegistrationChange():
                found.add(entry.broker)
            case ControllerChange():
                found.add(entry.controller)
            case StateWrite():
                found |= {entry.by, *(entry.isr or ())}
            case _:
                pass
    return {broker for broker in found if broker is not None}


def import_kafka_logs(seen: Survey, to_utc: ToUtc, write: Callable[[Event], None], where: str) -> None:
    """Call `write` with the events of all that a survey has found. Raises: what `write` raises."""
    for event in events_of(seen.history.entries, to_utc, where):
        write(event)


def events_of(entries: Sequence[Entry], to_utc: ToUtc, where: str) -> Iterator[Event]:
    """Yield the events of a whole history, which is not empty."""
    told: list[Event] = []

    def put(event: Event) -> int:
        told.append(structs.replace(event, seq=next(seqs)))
        return told[-1].seq

    seqs = count()
    trace = KafkaLogsTrace(put, entries, to_utc)
    trace.begin(to_utc(entries[0].t_ms), f"from {where}")
    for entry in entries:
        trace.tell(entry)
        yield from told
        told.clear()
    trace.end()
    yield from told


def _nothing(files: Sequence[Path], tally: Tally) -> str:
    where = str(files[0]) if len(files) == 1 else f"these {len(files)} files, {files[0]} and so on"
    if not tally.records:
        lines = f"{tally.broken} lines, and none begins" if tally.broken else "no line, and so none that begins"
        return f"{where}: {lines} as Kafka's records do: [2021-05-04 10:15:32,101] INFO …"
    return f"{where}: {tally.records} records, and none tells of partitions, controllers or registrations"
