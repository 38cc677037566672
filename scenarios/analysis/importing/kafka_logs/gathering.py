"""Gathers what single files say into the evidence of a whole cluster, partition by partition.

Pure. The gathered evidence equals that of one process that reads the files one after the other.
"""

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcsim.brokers.apache_kafka.log_import.entries import ControllerRoleChange, NotShown, SourceLine
from kcsim.brokers.apache_kafka.log_import.evidence import Evidence, EvidenceIndex, TimedMessage
from kcsim.brokers.apache_kafka.log_import.parse_statistics import ParseStatistics
from kcsim.scenarios.analysis.importing.kafka_logs.log_file import FileMessage, LogFileSurvey
from kcsim.vocabulary import BrokerId, TopicPartition


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


@dataclass(frozen=True)
class EvidenceShare:
    """The complete evidence of some partitions, as in EvidenceIndex."""

    states: dict[TopicPartition, list[Evidence]]
    roles: list[TimedMessage]
    tried: dict[tuple[TopicPartition, BrokerId], TimedMessage]

    def packed(self) -> bytes:
        return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def unpacked(cls, content: bytes) -> "EvidenceShare":
        found: EvidenceShare = pickle.loads(content)
        return found


class ShareGatherer:
    """Gathers the evidence of some partitions. It takes each file's messages, in the order of the files and their lines."""

    def __init__(self) -> None:
        self._gathered = EvidenceIndex()

    def take(self, file: str, messages: Iterable[FileMessage]) -> None:
        for line, t_ms, message in messages:
            self._gathered.take(SourceLine(file, line), t_ms, message)

    def share(self) -> EvidenceShare:
        """Return everything that was gathered."""
        return EvidenceShare(dict(self._gathered.states), self._gathered.roles, self._gathered.tried)


class ClusterGatherer:
    """Gathers the evidence of a whole cluster: shares of partitions, messages about the rest, surveys of all files."""

    def __init__(self) -> None:
        self.gathered = EvidenceIndex()
        self.tally = ParseStatistics()
        self.remarks: list[str] = []

    def take_share(self, share: EvidenceShare) -> None:
        self.gathered.states.update(share.states)
        self.gathered.roles += share.roles
        self.gathered.tried.update(share.tried)

    def take_messages(self, file: str, messages: Iterable[FileMessage]) -> None:
        """Take all messages of a file that are not in a share, in any order. Files must come in their order."""
        for line, t_ms, message in sorted(messages, key=lambda message: message.line):
            self.gathered.take(SourceLine(file, line), t_ms, message)

    def take_survey(self, survey: LogFileSurvey) -> None:
        """Take the survey of a file. Files must come in their order."""
        self.tally.add(survey.tally)
        self.remarks += survey.remarks
        if survey.owners:
            self.gathered.owners[survey.path] |= survey.owners
