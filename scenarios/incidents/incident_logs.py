"""Reads the logs of an incident: ZooKeeper's transaction logs, log files of brokers, or both.

ZooKeeper's log, where there is one, is the history: it has every write, with the session that made it. Log files show the
history as far as brokers logged it; from them come the signs, which ZooKeeper has not (broker_signs.py).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import LogSurvey, events_of, surveyed, take
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, lines_of, log_files
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import ParsedRecord, read_lines
from kcsim.brokers.apache_kafka.log_import.zone import ToUtc, local_ms, zone_named, zone_shown
from kcsim.brokers.apache_kafka.log_lines.records import LogRecord
from kcsim.eventlog.cluster_state import BELOW_BROKER_IDS
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.incidents.broker_signs import BrokerSign, SignKind, settings_in, signs_in, why_unreadable
from kcsim.zk.capture.zookeeper_import import events_of_logs, scan_transaction_logs
from kcsim.zk.files.data_directory import DataDirectory, NoSuchFilesError
from kcsim.zk.files.log_writer import VERSION_2

OF_CONNECTIONS = (SignKind.SESSION, SignKind.RECONNECTING, SignKind.SILENCE)
OTHER_FILES = ("kafka.controller", "state.change.logger")
"""Loggers of Kafka whose lines are in controller.log and state-change.log."""


class IncidentLogsError(Exception):
    """Files that are not the logs of a cluster with ZooKeeper. The message is one line that says why."""


@dataclass(frozen=True, slots=True)
class IncidentLogs:
    """All that was read.

    Attributes:
        source: the paths, for people.
        began_ms: the time of the first event, ms since 1970; events count from it.
        events: the history.
        signs: those of all brokers, in order of time; their times count from began_ms, too.
        lines: broker -> the times of all its records, in order; brokers without log files are left out.
        server_logs: brokers of which there is a server.log: else signs of them are missing because their file is.
        settings: the brokers' settings, as far as a log has them.
        has_transactions: whether the history comes from ZooKeeper's log.
        not_shown: what the files do not show, as far as the import noticed it.
        remarks: on the files.
    """

    source: str
    began_ms: int
    events: Sequence[Event]
    signs: tuple[BrokerSign, ...]
    lines: Mapping[int, Sequence[int]]
    server_logs: frozenset[int]
    settings: Mapping[str, str]
    has_transactions: bool
    not_shown: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def connection_logs(self) -> frozenset[int]:
        """The brokers whose files have lines of ZooKeeper's client, so that a missing one of its lines says something."""
        return frozenset(sign.broker for sign in self.signs if sign.kind in OF_CONNECTIONS)

    @property
    def session_timeout_ms(self) -> int | None:
        """The brokers' session time-out, as granted by ZooKeeper; None if nothing shows it."""
        granted = [sign.value for sign in self.signs if sign.kind is SignKind.SESSION]
        if granted:
            return max(granted)
        registered = {e.session_id for e in self.events if e.ephemeral and (e.path or "").startswith(BELOW_BROKER_IDS)}
        created = (event for event in self.events if event.kind is EventKind.SESSION_CREATED)
        named = [event.duration_ms for event in created if event.session_id in registered and event.duration_ms]
        return max(named, default=None)


def read_incident_logs(paths: Sequence[Path], zone: ToUtc | None = None, chroot: str = "") -> IncidentLogs:
    """Read the logs below some paths.

    Args:
        zone: of the log files' times; None: as they show it.
        chroot: where Kafka's znodes are in ZooKeeper; empty for the root.

    Raises: IncidentLogsError, LogFilesError; DataDirectoryError, BadLogError for ZooKeeper's files.
    """
    of_zookeeper, of_brokers = [], []
    for path in paths:
        inside = _data_directories(path)
        of_zookeeper += inside
        if not inside or (path not in inside and _has_broker_logs(path)):
            of_brokers.append(path)
    if len(of_zookeeper) > 1:
        raise IncidentLogsError(f"{of_zookeeper[1]}: a second data directory of ZooKeeper; name that of one server")
    read = _BrokerLogsReader()
    survey = read.read(log_files(of_brokers)) if of_brokers else None
    remarks = list(read.remarks)
    to_utc = zone
    if survey is not None and to_utc is None:
        name, remark = zone_shown(survey.zones)
        to_utc = zone_named(name)
        remarks += [remark] if remark else []
    source = ", ".join(map(str, paths))
    if of_zookeeper:
        files = DataDirectory(of_zookeeper[0])
        events = list(events_of_logs(files, scan := scan_transaction_logs(files, chroot), chroot))
        began_ms = scan.first.time_ms
        remarks += files.remarks
    else:
        assert survey is not None
        assert to_utc is not None
        events = list(events_of(survey.history.entries, to_utc, source))
        began_ms = to_utc(survey.history.entries[0].t_ms)
    if not any(event.kind is EventKind.BROKER_REGISTERED for event in events) and of_zookeeper:
        raise IncidentLogsError(f"{source}: no broker registers in it; are Kafka's znodes below a chroot? --chroot names it")
    convert = (lambda ms: to_utc(ms) - began_ms) if to_utc is not None else (lambda ms: ms)
    signs = sorted(sign._replace(t_ms=convert(sign.t_ms)) for sign in read.signs)
    lines = {broker: sorted(map(convert, times)) for broker, times in sorted(read.lines.items())}
    not_shown = () if survey is None or of_zookeeper else tuple(map(str, survey.not_shown))
    return IncidentLogs(
        source,
        began_ms,
        events,
        tuple(signs),
        lines,
        frozenset(read.server_logs),
        read.settings,
        bool(of_zookeeper),
        not_shown,
        tuple(remarks),
    )


def _data_directories(path: Path) -> list[Path]:
    """Return the data directories of ZooKeeper that a path is or contains."""
    if not path.is_dir():
        return []
    if _is_data_directory(path):
        return [path]
    return [found.parent for found in sorted(path.rglob(VERSION_2)) if _is_data_directory(found.parent)]


def _is_data_directory(path: Path) -> bool:
    try:
        DataDirectory(path)
    except NoSuchFilesError:
        return False
    return True


def _has_broker_logs(path: Path) -> bool:
    try:
        return bool(log_files([path]))
    except LogFilesError:
        return False


@dataclass
class _BrokerLogsReader:
    """Reads log files once, for their history and for the signs; times are the files' own."""

    signs: list[BrokerSign] = field(default_factory=list)
    lines: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    server_logs: set[int] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def read(self, files: Sequence[Path]) -> LogSurvey:
        gathered, statistics = EvidenceIndex(), ParseStatistics()
        for path in files:
            records: list[tuple[int, LogRecord]] = []
            for found in read_lines(lines_of(path, self.remarks.append)):
                if take(gathered, statistics, str(path), found) is None and isinstance(found, ParsedRecord):
                    records.append((local_ms(found.record.time), found.record))
            self._take_file(str(path), records, gathered)
        return surveyed(files, gathered, statistics, self.remarks)

    def _take_file(self, file: str, records: Sequence[tuple[int, LogRecord]], gathered: EvidenceIndex) -> None:
        for _, record in records:
            if (why := why_unreadable(record)) is not None:
                raise IncidentLogsError(f"{file}:{record.line}: {why}")
        owners = gathered.owners[file]
        if len(owners) != 1:
            return  # the files of several brokers in one: its lines do not name their broker
        (owner,) = owners
        for t_ms, record in records:
            self.lines[owner].append(t_ms)
            if not record.logger.startswith(OTHER_FILES):
                self.server_logs.add(owner)
            self.signs += signs_in(record, owner, t_ms, file)
            self.settings.update(settings_in(record))
