"""Each topic's assignment over time: its creation, its changes by controllers, and its end with the topic.

Pure. Source: docs/kafka/logging.md 3 (C1) and 5.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from kcsim.brokers.apache_kafka.log_import.entries import (
    AssignmentWrite,
    HistoryEntry,
    NotShown,
    SourceLine,
    TopicGone,
    Visibility,
)
from kcsim.brokers.apache_kafka.log_import.evidence import EvidenceIndex
from kcsim.brokers.apache_kafka.log_lines.messages import (
    AssignmentUpdated,
    PartitionNew,
    PartitionsAdded,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

AT_ONCE_MS = 2_000
"""Within this time the controller starts managing all partitions of a topic that it has found."""


class TopicEvidenceKind(IntEnum):
    """What a line shows about a topic; evidence of the same time is taken in the order of these values."""

    GONE = 0
    MADE = 1
    GROWN = 2
    BEGUN = 3  # one of its partitions, by the partition state machine
    UPDATED = 4


class TopicEvidence(NamedTuple):
    """One piece of evidence about a topic. `by` None: not by a controller."""

    t_ms: int
    kind: TopicEvidenceKind
    place: SourceLine
    assignments: Mapping[int, ReplicaAssignment]
    by: BrokerId | None = None


class TopicTimelines:
    """The assignments of all topics.

    Attributes:
        entries: by topic, in order of time.
        not_shown: what is missing between the entries.
    """

    def __init__(self, gathered: EvidenceIndex) -> None:
        self.not_shown: list[NotShown] = []
        evidence: dict[str, list[TopicEvidence]] = defaultdict(list)
        for topic, one in _evidence_by_topic(gathered):
            evidence[topic].append(one)
        self.entries: dict[str, list[HistoryEntry]] = {
            topic: self._entries(topic, evidence[topic]) for topic in sorted(evidence)
        }

    def deletions(self, topic: str) -> list[TopicGone]:
        return [entry for entry in self.entries.get(topic, ()) if isinstance(entry, TopicGone)]

    def _entries(self, topic: str, evidence: list[TopicEvidence]) -> list[HistoryEntry]:
        found: list[HistoryEntry] = []
        for one in sorted(evidence, key=lambda one: (one.t_ms, one.kind, one.place)):
            self._take(topic, one, found)
        return found

    def _take(self, topic: str, evidence: TopicEvidence, found: list[HistoryEntry]) -> None:
        last = found[-1] if found else None
        now = last.assignment if isinstance(last, AssignmentWrite) else None
        match evidence.kind:
            case TopicEvidenceKind.GONE:
                if not isinstance(last, TopicGone):
                    found.append(TopicGone(t_ms=evidence.t_ms, place=evidence.place, topic=topic, by=evidence.by))
            case TopicEvidenceKind.MADE if (
                now is not None and _is_same_time(last, evidence) and _agrees(now, evidence.assignments)
            ):
                # The state machine's lines are in another file, so a clock difference of some ms may put them first.
                assert isinstance(last, AssignmentWrite)
                found[-1] = replace(
                    last, t_ms=evidence.t_ms, place=evidence.place, assignment=evidence.assignments, is_whole=True
                )
            case TopicEvidenceKind.MADE:
                if now is not None:
                    self._name_deletion(topic, evidence, found)
                found.append(_write(topic, evidence, evidence.assignments, is_new=True))
            case TopicEvidenceKind.BEGUN:
                self._begin(topic, evidence, found, now)
            case TopicEvidenceKind.GROWN | TopicEvidenceKind.UPDATED:
                grown = {**(now or {}), **evidence.assignments}
                is_whole = isinstance(last, AssignmentWrite) and last.is_whole
                if grown != now:
                    found.append(_write(topic, evidence, grown, is_new=False, is_whole=is_whole))
                if now is None:
                    self.not_shown.append(NotShown(f"the assignment of {topic} before this line", evidence.place))

    def _begin(
        self, topic: str, evidence: TopicEvidence, found: list[HistoryEntry], now: Mapping[int, ReplicaAssignment] | None
    ) -> None:
        """Add a partition that no other line has shown. Partitions that start at the same time were written together."""
        if now is not None and now.keys() >= evidence.assignments.keys():
            return
        last = found[-1] if found else None
        grown = {**(now or {}), **evidence.assignments}
        if isinstance(last, AssignmentWrite) and last.shown is Visibility.LATER and _is_same_time(last, evidence):
            found[-1] = replace(last, assignment=grown)
            return
        write = _write(topic, evidence, grown, is_new=not isinstance(last, AssignmentWrite))
        found.append(replace(write, shown=Visibility.LATER))

    def _name_deletion(self, topic: str, evidence: TopicEvidence, found: list[HistoryEntry]) -> None:
        self.not_shown.append(NotShown(f"the deletion of topic {topic}: it was made again by this line", evidence.place))
        found.append(TopicGone(t_ms=evidence.t_ms, place=evidence.place, shown=Visibility.NOT, topic=topic, by=None))


def _is_same_time(last: HistoryEntry | None, evidence: TopicEvidence) -> bool:
    return last is not None and last.shown is Visibility.LATER and evidence.t_ms - last.t_ms < AT_ONCE_MS


def _agrees(some: Mapping[int, ReplicaAssignment], whole: Mapping[int, ReplicaAssignment]) -> bool:
    return all(whole.get(number) == assignment for number, assignment in some.items())


def _write(
    topic: str, evidence: TopicEvidence, assignment: Mapping[int, ReplicaAssignment], is_new: bool, is_whole: bool = True
) -> AssignmentWrite:
    return AssignmentWrite(
        t_ms=evidence.t_ms,
        place=evidence.place,
        topic=topic,
        assignment=dict(sorted(assignment.items())),
        by=evidence.by,
        is_new=is_new,
        is_whole=is_whole,
    )


def _evidence_by_topic(gathered: EvidenceIndex) -> Iterator[tuple[str, TopicEvidence]]:
    for kind in (TopicsChanged, PartitionsAdded, PartitionNew, AssignmentUpdated, TopicDeleted):
        for at in gathered.others[kind]:
            match at.message:
                case TopicsChanged(_, assignments, deleted, _):
                    for topic in deleted:
                        yield topic, TopicEvidence(at.t_ms, TopicEvidenceKind.GONE, at.place, {})
                    for topic, of_topic in _by_topic(assignments):
                        yield topic, TopicEvidence(at.t_ms, TopicEvidenceKind.MADE, at.place, of_topic)
                case PartitionsAdded(_, assignments):
                    for topic, of_topic in _by_topic(assignments):
                        yield topic, TopicEvidence(at.t_ms, TopicEvidenceKind.GROWN, at.place, of_topic)
                case PartitionNew(_, _, tp, replicas):
                    yield (
                        tp.topic,
                        TopicEvidence(
                            at.t_ms, TopicEvidenceKind.BEGUN, at.place, {tp.partition: ReplicaAssignment(replicas)}
                        ),
                    )
                case AssignmentUpdated(controller, tp, assignment):
                    yield (
                        tp.topic,
                        TopicEvidence(at.t_ms, TopicEvidenceKind.UPDATED, at.place, {tp.partition: assignment}, controller),
                    )
                case TopicDeleted(controller, topic):
                    yield topic, TopicEvidence(at.t_ms, TopicEvidenceKind.GONE, at.place, {}, controller)
                case _:
                    pass


def _by_topic(
    assignments: Mapping[TopicPartition, ReplicaAssignment],
) -> Iterator[tuple[str, dict[int, ReplicaAssignment]]]:
    found: dict[str, dict[int, ReplicaAssignment]] = defaultdict(dict)
    for tp, assignment in assignments.items():
        found[tp.topic][tp.partition] = assignment
    yield from sorted(found.items())
