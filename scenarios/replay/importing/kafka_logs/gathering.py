"""From what single files say to the evidence of a whole cluster, partition by partition, as if all had been read in a row.

Pure. What is gathered is exactly what one process gathers that reads the files one after the other.
"""

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcsim.scenarios.imported.kafka_logs.entries import ControllerChange, NotShown, Place
from kcsim.scenarios.imported.kafka_logs.evidence import At, Evidence, Gathered
from kcsim.scenarios.imported.kafka_logs.tally import Tally
from kcsim.scenarios.replay.importing.kafka_logs.log_file import FileSurvey, Said
from kcsim.zk.vocabulary import BrokerId, TopicPartition


@dataclass(frozen=True)
class Cluster:
    """What one run is made of: log files of all its brokers."""

    run: str
    files: tuple[Path, ...]
    where: str


@dataclass
class LogsRead:
    """What was found of one run; `batch` and `zone` as soon as they are known. Times are the files' own."""

    run: str
    tally: Tally
    zones: Mapping[str, set[str]]
    not_shown: tuple[NotShown, ...]
    remarks: list[str]
    elected: list[ControllerChange]
    first_ms: int
    last_ms: int
    size: int
    files: int
    batch: str = ""
    zone: str = "UTC"


@dataclass(frozen=True)
class Share:
    """The evidence of some partitions, complete: as in Gathered."""

    states: dict[TopicPartition, list[Evidence]]
    roles: list[At]
    tried: dict[tuple[TopicPartition, BrokerId], At]

    def packed(self) -> bytes:
        return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def unpacked(cls, content: bytes) -> "Share":
        found: Share = pickle.loads(content)
        return found


class ShareGatherer:
    """Gathers the evidence of some partitions: give it each file's messages, in the order of the files and their lines."""

    def __init__(self) -> None:
        self._gathered = Gathered()

    def take(self, file: str, messages: Iterable[Said]) -> None:
        for line, t_ms, says in messages:
            self._gathered.take(Place(file, line), t_ms, says)

    def share(self) -> Share:
        """All that was gathered."""
        return Share(dict(self._gathered.states), self._gathered.roles, self._gathered.tried)


class ClusterGatherer:
    """Puts the evidence of a whole cluster together: shares of partitions, messages about the rest, surveys of all files."""

    def __init__(self) -> None:
        self.gathered = Gathered()
        self.tally = Tally()
        self.remarks: list[str] = []
        self._surveys: list[FileSurvey] = []

    def take_share(self, share: Share) -> None:
        self.gathered.states.update(share.states)
        self.gathered.roles += share.roles
        self.gathered.tried.update(share.tried)

    def take_messages(self, file: str, messages: Iterable[Said]) -> None:
        """All messages of a file that are not in a share, in any order; files in theirs."""
        for line, t_ms, says in sorted(messages, key=lambda said: said.line):
            self.gathered.take(Place(file, line), t_ms, says)

    def take_survey(self, survey: FileSurvey) -> None:
        """Files in their order."""
        self.tally.add(survey.tally)
        self.remarks += survey.remarks
        if survey.owners:
            self.gathered.owners[survey.path] |= survey.owners
