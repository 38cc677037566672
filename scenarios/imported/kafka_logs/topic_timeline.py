"""A topic's assignment over time: made by somebody, changed by controllers, gone with the topic.

Pure. Source: reference logging.md 3 (C1) and 5.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import NamedTuple

from kcsim.scenarios.imported.kafka_logs.entries import AssignmentWrite, Entry, NotShown, Place, Shown, TopicGone
from kcsim.scenarios.imported.kafka_logs.evidence import Gathered
from kcsim.scenarios.imported.kafka_logs.messages import (
    AssignmentUpdated,
    PartitionNew,
    PartitionsAdded,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.zk.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

AT_ONCE_MS = 2_000
"""Within this time the controller begins with all partitions of a topic that it has found."""


class News(IntEnum):
    """What a line says of a topic; of several at the same moment the lower come first."""

    GONE = 0
    MADE = 1
    GROWN = 2
    BEGUN = 3  # one partition of it, by the partition state machine
    UPDATED = 4


class Item(NamedTuple):
    """One piece of news. `by` None: not by a controller."""

    t_ms: int
    news: News
    place: Place
    assignments: Mapping[int, ReplicaAssignment]
    by: BrokerId | None = None


class TopicTimelines:
    """The assignments of all topics.

    Attributes:
        entries: by topic, in order.
        not_shown: what is missing between them.
    """

    def __init__(self, gathered: Gathered) -> None:
        self.not_shown: list[NotShown] = []
        items: dict[str, list[Item]] = defaultdict(list)
        for topic, item in _items(gathered):
            items[topic].append(item)
        self.entries: dict[str, list[Entry]] = {topic: self._entries(topic, items[topic]) for topic in sorted(items)}

    def deletions(self, topic: str) -> list[TopicGone]:
        return [entry for entry in self.entries.get(topic, ()) if isinstance(entry, TopicGone)]

    def _entries(self, topic: str, items: list[Item]) -> list[Entry]:
        found: list[Entry] = []
        for item in sorted(items, key=lambda item: (item.t_ms, item.news, item.place)):
            self._take(topic, item, found)
        return found

    def _take(self, topic: str, item: Item, found: list[Entry]) -> None:
        last = found[-1] if found else None
        now = last.assignment if isinstance(last, AssignmentWrite) else None
        match item.news:
            case News.GONE:
                if not isinstance(last, TopicGone):
                    found.append(TopicGone(t_ms=item.t_ms, place=item.place, topic=topic, by=item.by))
            case News.MADE if now is not None and _is_same_time(last, item) and _agrees(now, item.assignments):
                # The state machine's lines stand in another file, whose clock's last digits may come first.
                assert isinstance(last, AssignmentWrite)
                found[-1] = replace(last, t_ms=item.t_ms, place=item.place, assignment=item.assignments, is_whole=True)
            case News.MADE:
                if now is not None:
                    self._name_deletion(topic, item, found)
                found.append(_write(topic, item, item.assignments, is_new=True))
            case News.BEGUN:
                self._begin(topic, item, found, now)
            case News.GROWN | News.UPDATED:
                grown = {**(now or {}), **item.assignments}
                is_whole = isinstance(last, AssignmentWrite) and last.is_whole
                if grown != now:
                    found.append(_write(topic, item, grown, is_new=False, is_whole=is_whole))
                if now is None:
                    self.not_shown.append(NotShown(f"the assignment of {topic} before this line", item.place))

    def _begin(self, topic: str, item: Item, found: list[Entry], now: Mapping[int, ReplicaAssignment] | None) -> None:
        """A partition that no other line has told of. All that begin together were written together."""
        if now is not None and now.keys() >= item.assignments.keys():
            return
        last = found[-1] if found else None
        grown = {**(now or {}), **item.assignments}
        if isinstance(last, AssignmentWrite) and last.shown is Shown.LATER and _is_same_time(last, item):
            found[-1] = replace(last, assignment=grown)
            return
        write = _write(topic, item, grown, is_new=not isinstance(last, AssignmentWrite))
        found.append(replace(write, shown=Shown.LATER))

    def _name_deletion(self, topic: str, item: Item, found: list[Entry]) -> None:
        self.not_shown.append(NotShown(f"the deletion of topic {topic}: it was made again by this line", item.place))
        found.append(TopicGone(t_ms=item.t_ms, place=item.place, shown=Shown.NOT, topic=topic, by=None))


def _is_same_time(last: Entry | None, item: Item) -> bool:
    return last is not None and last.shown is Shown.LATER and item.t_ms - last.t_ms < AT_ONCE_MS


def _agrees(some: Mapping[int, ReplicaAssignment], whole: Mapping[int, ReplicaAssignment]) -> bool:
    return all(whole.get(number) == assignment for number, assignment in some.items())


def _write(
    topic: str, item: Item, assignment: Mapping[int, ReplicaAssignment], is_new: bool, is_whole: bool = True
) -> AssignmentWrite:
    return AssignmentWrite(
        t_ms=item.t_ms,
        place=item.place,
        topic=topic,
        assignment=dict(sorted(assignment.items())),
        by=item.by,
        is_new=is_new,
        is_whole=is_whole,
    )


def _items(gathered: Gathered) -> Iterator[tuple[str, Item]]:
    for kind in (TopicsChanged, PartitionsAdded, PartitionNew, AssignmentUpdated, TopicDeleted):
        for at in gathered.others[kind]:
            match at.says:
                case TopicsChanged(_, assignments, deleted):
                    for topic in deleted:
                        yield topic, Item(at.t_ms, News.GONE, at.place, {})
                    for topic, of_topic in _by_topic(assignments):
                        yield topic, Item(at.t_ms, News.MADE, at.place, of_topic)
                case PartitionsAdded(_, assignments):
                    for topic, of_topic in _by_topic(assignments):
                        yield topic, Item(at.t_ms, News.GROWN, at.place, of_topic)
                case PartitionNew(_, _, tp, replicas):
                    yield tp.topic, Item(at.t_ms, News.BEGUN, at.place, {tp.partition: ReplicaAssignment(replicas)})
                case AssignmentUpdated(controller, tp, assignment):
                    yield tp.topic, Item(at.t_ms, News.UPDATED, at.place, {tp.partition: assignment}, controller)
                case TopicDeleted(controller, topic):
                    yield topic, Item(at.t_ms, News.GONE, at.place, {}, controller)
                case _:
                    pass


def _by_topic(
    assignments: Mapping[TopicPartition, ReplicaAssignment],
) -> Iterator[tuple[str, dict[int, ReplicaAssignment]]]:
    found: dict[str, dict[int, ReplicaAssignment]] = defaultdict(dict)
    for tp, assignment in assignments.items():
        found[tp.topic][tp.partition] = assignment
    yield from sorted(found.items())
