"""The messages of one of Kafka's log files, sorted by share, for the tasks that assemble a history from many files.

Pure but for reading the file. Most messages are about one partition, and most of these are repetitions, of which only the
first counts. They go, in order, to the task that has the share of that partition. Of some other messages only the earliest
and the latest of a kind matter; they are reduced here.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from zlib import crc32

from kcsim.brokers.apache_kafka.log_import.entries import SourceLine
from kcsim.brokers.apache_kafka.log_import.evidence import WITH_EPOCH, WithEpoch
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import take
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError, lines_of
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.brokers.apache_kafka.log_import.record_parsing import read_lines
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameFollower,
    BecameLeader,
    BrokerNamed,
    ControllerAtWork,
    HistoryMessage,
    IsrChangeTried,
    IsrUpdated,
    IsrUpdatedByController,
    LeaderEpochRaised,
    PartitionElected,
    ReplicaRemoved,
    StateSeen,
    owner_of,
)
from kcsim.scenarios.analysis.tables.rejects_table import cut
from kcsim.vocabulary import BrokerId, ControllerEpoch

T = TypeVar("T")
OF_ONE_PARTITION = (
    StateSeen,
    PartitionElected,
    ReplicaRemoved,
    LeaderEpochRaised,
    IsrUpdated,
    IsrUpdatedByController,
    IsrChangeTried,
    BecameLeader,
    BecameFollower,
)
SHARES = 64
"""Among how many shares the partitions of a cluster are divided."""
OF_THE_CLUSTER = -1
"""The share of messages about no partition, or about many."""
THE_FILE = -2
"""The share of a LogFileSurvey."""
BROKEN = -3
"""The share of lines that are no records."""
MESSAGES = 2_000
"""The number of messages in a portion."""


class FileMessage(NamedTuple):
    """A message, its line, and when it was printed, in the file's own ms."""

    line: int
    t_ms: int
    message: HistoryMessage


class UnparsedLines(NamedTuple):
    """Lines that are no record: the first line's number, how many there are, the reason, and the first line's text."""

    line: int
    lines: int
    reason: str
    text: str


@dataclass
class LogFileSurvey:
    """The survey of one file: statistics, the brokers that wrote it, and its problems. `failure`: why it is unreadable."""

    path: str
    size: int = 0
    tally: ParseStatistics = field(default_factory=ParseStatistics)
    owners: set[BrokerId] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)
    failure: str | None = None


class LogPortion(NamedTuple):
    """A portion of a file's messages: its share, its number among the file's portions of that share, pickled content."""

    share: int
    number: int
    content: bytes


def read_log_file(path: Path) -> Iterator[LogPortion]:
    """Yield all portions of a file, and its survey last. The survey reports a file that cannot be read."""
    survey = LogFileSurvey(str(path))
    sorter = _Sorter(survey)
    broken: list[UnparsedLines] = []
    try:
        survey.size = path.stat().st_size
        for found in read_lines(lines_of(path, survey.remarks.append)):
            if (lines := take(sorter, survey.tally, survey.path, found)) is not None:
                broken.append(UnparsedLines(lines.line, lines.count, lines.reason, ""))
            yield from sorter.full()
        yield from sorter.rest()
        for number, portion in enumerate(portions(_with_texts(path, broken), MESSAGES)):
            yield LogPortion(BROKEN, number, pickle.dumps(portion))
    except (LogFilesError, OSError) as error:
        survey.failure = str(error)
    yield LogPortion(THE_FILE, 0, pickle.dumps(survey))


def messages_of(content: bytes) -> list[FileMessage]:
    """Return the messages of a portion."""
    found: list[FileMessage] = pickle.loads(content)
    return found


def survey_of(content: bytes) -> LogFileSurvey:
    found: LogFileSurvey = pickle.loads(content)
    return found


def broken_of(content: bytes) -> list[UnparsedLines]:
    found: list[UnparsedLines] = pickle.loads(content)
    return found


def portions(whole: Iterable[T], length: int) -> Iterator[list[T]]:
    """Yield lists of at most `length` items."""
    rest = iter(whole)
    while portion := list(islice(rest, length)):
        yield portion


class _Sorter:
    """Sorts the messages of one file by share."""

    def __init__(self, survey: LogFileSurvey) -> None:
        self._survey = survey
        self._shares: dict[int, list[FileMessage]] = {}
        self._full: list[int] = []
        self._numbers: dict[int, int] = {}
        self._at_work: dict[
            ControllerEpoch, tuple[FileMessage, FileMessage, FileMessage]
        ] = {}  # the first, the earliest, the latest

    def take(self, place: SourceLine, t_ms: int, message: HistoryMessage) -> None:
        owner = owner_of(message)
        if owner is not None:
            self._survey.owners.add(owner)
        if isinstance(message, OF_ONE_PARTITION):
            if isinstance(message, WITH_EPOCH):
                self._work(place, t_ms, message)
            self._put(crc32(str(message.tp).encode()) % SHARES, FileMessage(place.line, t_ms, message))
        elif isinstance(message, ControllerAtWork):
            self._work(place, t_ms, message)
        elif not isinstance(message, BrokerNamed):
            self._put(OF_THE_CLUSTER, FileMessage(place.line, t_ms, message))

    def full(self) -> Iterator[LogPortion]:
        """Yield the portions that are complete, and forget them."""
        while self._full:
            yield self._portion(self._full.pop())

    def rest(self) -> Iterator[LogPortion]:
        for at in self._at_work.values():
            for message in sorted(set(at), key=lambda message: message.line):
                self._put(OF_THE_CLUSTER, message)
        self._full.clear()
        for share in sorted(self._shares):
            yield self._portion(share)

    def _put(self, share: int, message: FileMessage) -> None:
        held = self._shares.setdefault(share, [])
        held.append(message)
        if len(held) == MESSAGES:
            self._full.append(share)

    def _portion(self, share: int) -> LogPortion:
        number = self._numbers.get(share, 0)
        self._numbers[share] = number + 1
        content = pickle.dumps(self._shares.pop(share), pickle.HIGHEST_PROTOCOL)
        return LogPortion(share, number, content)

    def _work(self, place: SourceLine, t_ms: int, message: WithEpoch) -> None:
        """Remember when a controller was at work, as far as it can matter among all files."""
        known = self._at_work.get(message.controller_epoch)
        if known is not None and known[1].t_ms <= t_ms <= known[2].t_ms:
            return
        at_work = FileMessage(place.line, t_ms, ControllerAtWork(message.controller, message.controller_epoch))
        if known is None:
            self._at_work[message.controller_epoch] = (at_work, at_work, at_work)
            return
        first, earliest, latest = known
        is_earlier = t_ms < earliest.t_ms
        self._at_work[message.controller_epoch] = (
            first,
            at_work if is_earlier else earliest,
            latest if is_earlier else at_work,
        )


def _with_texts(path: Path, broken: list[UnparsedLines]) -> Iterator[UnparsedLines]:
    """Add the text of each broken line. The file is read once more for this, because broken lines are few."""
    wanted = {one.line: one for one in broken}
    if not wanted:
        return
    lines = islice(lines_of(path), max(wanted))
    for number, line in enumerate(lines, start=1):
        if number in wanted:
            yield wanted[number]._replace(text=cut(line))
