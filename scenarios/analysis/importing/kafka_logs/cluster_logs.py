"""The log files of one cluster, read as one process reads them, and what is kept of them for a dataset."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from kcsim.brokers.apache_kafka.log_import.entries import ControllerRoleChange, HistoryEntry, NotShown
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import surveyed, take
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, lines_of
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import read_lines
from kcsim.brokers.apache_kafka.log_lines.records import BrokenLines
from kcsim.scenarios.analysis.tables.location import location
from kcsim.scenarios.analysis.tables.rejects_table import cut

NO_RECORD, DAMAGED = "no record", "damaged gzip"


@dataclass(frozen=True)
class ClusterLogs:
    """The sources of one run: log files of all its brokers."""

    run: str
    files: tuple[Path, ...]
    where: str


@dataclass(frozen=True)
class LogsSummary:
    """What was found of one run. `batch` and `zone` are empty until they are known. Times are in the files' own zone."""

    run: str
    tally: ParseStatistics
    zones: Mapping[str, set[str]]
    not_shown: tuple[NotShown, ...]
    remarks: list[str]
    elected: list[ControllerRoleChange]
    first_ms: int
    last_ms: int
    size: int
    files: int
    batch: str = ""
    zone: str = ""


class UnreadPart(NamedTuple):
    """A part of a file that is in no event: a reject without its batch and run."""

    file: str
    line: int | None
    reason: str
    detail: str
    text: str | None


class ReadLogs(NamedTuple):
    """What was read of one cluster: its history, in order, and what could not be read."""

    summary: LogsSummary
    entries: list[HistoryEntry]
    unread: list[UnreadPart]


def read_cluster(cluster: ClusterLogs) -> ReadLogs:
    """Read all files of a cluster. Only the history is held in memory.

    Raises: LogFilesError when a file cannot be read, or the files hold no history.
    """
    gathered, statistics = EvidenceIndex(), ParseStatistics()
    remarks: list[str] = []
    unread: list[UnreadPart] = []
    size = 0
    files = [cast(Path, location(str(path))) for path in cluster.files]
    for path in files:
        damage: list[str] = []
        broken = []
        try:
            size += path.stat().st_size
            for found in read_lines(lines_of(path, damage.append)):
                if (lines := take(gathered, statistics, str(path), found)) is not None:
                    broken.append(lines)
            unread += _broken(path, broken)
        except OSError as error:
            raise LogFilesError(str(error)) from error
        unread += (UnreadPart(str(path), None, DAMAGED, what, None) for what in damage)
        remarks += damage
    seen = surveyed(files, gathered, statistics, remarks)
    entries = list(seen.history.entries)
    summary = LogsSummary(
        run=cluster.run,
        tally=seen.statistics,
        zones=seen.zones,
        not_shown=seen.not_shown,
        remarks=list(seen.remarks),
        elected=[one for one in entries if isinstance(one, ControllerRoleChange) and one.controller is not None],
        first_ms=entries[0].t_ms,
        last_ms=entries[-1].t_ms,
        size=size,
        files=len(files),
    )
    return ReadLogs(summary, entries, unread)


def _broken(path: Path, broken: Iterable[BrokenLines]) -> Iterator[UnreadPart]:
    """Yield the broken lines with their text. The file is read once more for this, because broken lines are few."""
    wanted = {one.line: one for one in broken}
    if not wanted:
        return
    for number, line in enumerate(islice(lines_of(path), max(wanted)), start=1):
        if (one := wanted.get(number)) is not None:
            detail = f"{one.count} line{'s' * (one.count > 1)}: {one.reason}"
            yield UnreadPart(str(path), one.line, NO_RECORD, detail, cut(line))
