"""What one of Kafka's log files says, sorted out for those who put a history together from many.

Pure but for reading the file. Most lines are about one partition, and of most of these only the first in a while counts: so
they go, in order, to whoever has that partition in hand. Some of the others only matter by the earliest and the latest of
their kind, and are reduced here.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from zlib import crc32

from kcsim.scenarios.imported.kafka_logs.entries import Place
from kcsim.scenarios.imported.kafka_logs.evidence import WITH_EPOCH, WithEpoch
from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import take
from kcsim.scenarios.imported.kafka_logs.log_files import LogFilesError, lines_of
from kcsim.scenarios.imported.kafka_logs.messages import (
    BecameFollower,
    BecameLeader,
    BrokerNamed,
    ControllerAtWork,
    IsrChangeTried,
    IsrUpdated,
    IsrUpdatedByController,
    LeaderEpochRaised,
    Message,
    PartitionElected,
    ReplicaRemoved,
    StateSeen,
    owner_of,
)
from kcsim.scenarios.imported.kafka_logs.reading import read_lines
from kcsim.scenarios.imported.kafka_logs.tally import Tally
from kcsim.scenarios.replay.tables.rejects_table import cut
from kcsim.zk.vocabulary import BrokerId, ControllerEpoch

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
"""Among how many the partitions of a cluster are divided."""
OF_THE_CLUSTER = -1
"""The share of what is about no partition, or about many."""
THE_FILE = -2
"""The share of a FileSurvey."""
BROKEN = -3
"""The share of lines that are no records."""
MESSAGES = 2_000
"""Of a portion."""


class Said(NamedTuple):
    """A message, where it stands and when it was printed, in the file's own ms."""

    line: int
    t_ms: int
    says: Message


class Broken(NamedTuple):
    """Lines that are no record: the first one's number, how many there are, what is wrong, and the first one's text."""

    line: int
    lines: int
    reason: str
    text: str


@dataclass
class FileSurvey:
    """Of one file: what was understood of it, whose it is, and what is wrong with it. `failure`: it cannot be read."""

    path: str
    size: int = 0
    tally: Tally = field(default_factory=Tally)
    owners: set[BrokerId] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)
    failure: str | None = None


class Portion(NamedTuple):
    """A row of what a file says: the share it is for, its number among the file's, and what is in it, packed."""

    share: int
    number: int
    content: bytes


def read_log_file(path: Path) -> Iterator[Portion]:
    """Yield all that a file says, and its survey last; an unreadable file is told there."""
    survey = FileSurvey(str(path))
    sorter = _Sorter(survey)
    broken: list[Broken] = []
    try:
        survey.size = path.stat().st_size
        for found in read_lines(lines_of(path, survey.remarks.append)):
            if (lines := take(sorter, survey.tally, survey.path, found)) is not None:
                broken.append(Broken(lines.line, lines.count, lines.reason, ""))
            yield from sorter.full()
        yield from sorter.rest()
        for number, portion in enumerate(portions(_with_texts(path, broken), MESSAGES)):
            yield Portion(BROKEN, number, pickle.dumps(portion))
    except (LogFilesError, OSError) as error:
        survey.failure = str(error)
    yield Portion(THE_FILE, 0, pickle.dumps(survey))


def messages_of(content: bytes) -> list[Said]:
    """The messages of a portion."""
    found: list[Said] = pickle.loads(content)
    return found


def survey_of(content: bytes) -> FileSurvey:
    found: FileSurvey = pickle.loads(content)
    return found


def broken_of(content: bytes) -> list[Broken]:
    found: list[Broken] = pickle.loads(content)
    return found


def portions(whole: Iterable[T], length: int) -> Iterator[list[T]]:
    """Lists of up to so many."""
    rest = iter(whole)
    while portion := list(islice(rest, length)):
        yield portion


class _Sorter:
    """Sorts out the messages of one file."""

    def __init__(self, survey: FileSurvey) -> None:
        self._survey = survey
        self._shares: dict[int, list[Said]] = {}
        self._full: list[int] = []
        self._numbers: dict[int, int] = {}
        self._at_work: dict[ControllerEpoch, tuple[Said, Said, Said]] = {}  # the first, the earliest, the latest

    def take(self, place: Place, t_ms: int, says: Message) -> None:
        owner = owner_of(says)
        if owner is not None:
            self._survey.owners.add(owner)
        if isinstance(says, OF_ONE_PARTITION):
            if isinstance(says, WITH_EPOCH):
                self._work(place, t_ms, says)
            self._put(crc32(str(says.tp).encode()) % SHARES, Said(place.line, t_ms, says))
        elif isinstance(says, ControllerAtWork):
            self._work(place, t_ms, says)
        elif not isinstance(says, BrokerNamed):
            self._put(OF_THE_CLUSTER, Said(place.line, t_ms, says))

    def full(self) -> Iterator[Portion]:
        """What need not be held any longer."""
        while self._full:
            yield self._portion(self._full.pop())

    def rest(self) -> Iterator[Portion]:
        for at in self._at_work.values():
            for said in sorted(set(at), key=lambda said: said.line):
                self._put(OF_THE_CLUSTER, said)
        self._full.clear()
        for share in sorted(self._shares):
            yield self._portion(share)

    def _put(self, share: int, said: Said) -> None:
        held = self._shares.setdefault(share, [])
        held.append(said)
        if len(held) == MESSAGES:
            self._full.append(share)

    def _portion(self, share: int) -> Portion:
        number = self._numbers.get(share, 0)
        self._numbers[share] = number + 1
        content = pickle.dumps(self._shares.pop(share), pickle.HIGHEST_PROTOCOL)
        return Portion(share, number, content)

    def _work(self, place: Place, t_ms: int, says: WithEpoch) -> None:
        """Remember when a controller was at work, as far as it may count among all files."""
        known = self._at_work.get(says.controller_epoch)
        if known is not None and known[1].t_ms <= t_ms <= known[2].t_ms:
            return
        said = Said(place.line, t_ms, ControllerAtWork(says.controller, says.controller_epoch))
        if known is None:
            self._at_work[says.controller_epoch] = (said, said, said)
            return
        first, earliest, latest = known
        is_earlier = t_ms < earliest.t_ms
        self._at_work[says.controller_epoch] = (first, said if is_earlier else earliest, latest if is_earlier else said)


def _with_texts(path: Path, broken: list[Broken]) -> Iterator[Broken]:
    """What stands there: the file is read once more, as broken lines are few."""
    wanted = {one.line: one for one in broken}
    if not wanted:
        return
    lines = islice(lines_of(path), max(wanted))
    for number, line in enumerate(lines, start=1):
        if number in wanted:
            yield wanted[number]._replace(text=cut(line))
