"""What administrators do to partitions in the course of a history: moves to other brokers, deletions of topics.

They do it when all is well: every broker concerned serves, and nothing befalls any of them, nor the controller, until it is
done. So one knows beforehand when each step will be taken, and the topic's znode can be written by who makes the topic's own
events, without a look at the partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from kcsim.controller.decisions.hash_order import hash_order
from kcsim.scenarios.replay.generating.layout import Layout, Replicas, Topic
from kcsim.scenarios.replay.generating.moments import ClusterHistory, Moment
from kcsim.scenarios.replay.generating.settings import CONSUMER_OFFSETS, Settings
from kcsim.zk.vocabulary import BrokerId

CALM_BEFORE_MS = 60_000
CALM_AFTER_MS = 5_000
COPYING_MS = (3_000, 120_000)
TRIES = 25
WITHIN_MS = 6 * 3_600_000
SHARE_OF_TOPICS_DELETED = 0.1
"""The smallest: of large ones, some broker is always in trouble."""

CALM_AROUND_MS = 500
"""So long before and after a move or a deletion, the data path of the partition rests."""
STARTED_MS, ASSIGNED_MS, WAITING_MS = 2, 3, 4
"""The first steps of a move, after it is asked for; in between the topic's znode is written."""
COMPLETING_MS = 4
"""The last steps of a move, after all of its target are in sync; see completed_ms."""
DELETION_STARTED_MS, DELETION_COMPLETING_MS, DELETED_MS, DELETION_COMPLETED_MS = 4, 190, 200, 220
"""The steps of a deletion, after it is asked for."""


def completed_ms(replication_factor: int) -> int:
    """From when all of a move's target are in sync to the writing of the topic's znode without those that have gone."""
    return COMPLETING_MS + 10 + 4 * replication_factor


class Move(NamedTuple):
    """A reassignment. Asked for at `asked_ms`; at `caught_up_ms` the last of the target is in the ISR."""

    partition: int
    target: Replicas
    asked_ms: int
    caught_up_ms: int
    controller: int
    session: str


class Deletion(NamedTuple):
    """Of a topic; its replicas are deleted on the brokers in this order."""

    asked_ms: int
    brokers: tuple[int, ...]
    controller: int
    session: str  # the controller's


@dataclass(frozen=True)
class Plans:
    """By number of topic."""

    moves: dict[int, list[Move]]
    deletions: dict[int, Deletion]


def plans_of(settings: Settings, layout: Layout, history: ClusterHistory) -> Plans:
    """Decided by the settings alone, as the cluster's history is."""
    planner = _Planner(settings, layout, history)
    planner.plan_deletions()
    planner.plan_moves()
    return Plans(planner.moves, planner.deletions)


class _Planner:
    def __init__(self, settings: Settings, layout: Layout, history: ClusterHistory) -> None:
        self.moves: dict[int, list[Move]] = {}
        self.deletions: dict[int, Deletion] = {}
        self._settings = settings
        self._layout = layout
        self._history = history
        self._random = Random(f"{settings.seed} plans")
        self._assignments: dict[int, dict[int, Replicas]] = {}

    def plan_deletions(self) -> None:
        settings, topics = self._settings, self._layout.topics
        by_size = sorted((t for t in topics if t.name != CONSUMER_OFFSETS), key=lambda topic: topic.partitions)
        small = by_size[: int(len(topics) * SHARE_OF_TOPICS_DELETED)]
        for t_ms in self._times(settings.topic_deletion_ms):
            if not small:
                return
            topic = small.pop(self._random.randrange(len(small)))
            brokers = {b for replicas in self._assignment(topic).values() for b in replicas}
            found = self._calm(topic, t_ms, sorted(brokers), 0)
            if found is not None:
                asked_ms, moment = found
                self.deletions[topic.number] = Deletion(
                    asked_ms, tuple(hash_order(brokers)), moment.controller, moment.session
                )

    def plan_moves(self) -> None:
        brokers = [broker.id for broker in self._layout.brokers]
        if len(brokers) <= self._layout.replication_factor:
            return
        for t_ms in self._times(self._settings.reassignment_ms):
            index = self._random.randrange(self._layout.partitions)
            topic = self._layout.topic_of(index)
            partition = index - topic.first_index
            current = self._assignment(topic)[partition]
            target = self._target(current, brokers)
            copying = self._random.randint(*COPYING_MS)
            found = self._calm(topic, t_ms, sorted({*current, *target}), copying)
            if topic.number in self.deletions or found is None:
                continue
            asked_ms, moment = found
            moves = self.moves.setdefault(topic.number, [])
            if moves and asked_ms < moves[-1].caught_up_ms + CALM_BEFORE_MS:
                continue  # one after the other, so that each znode of the topic says what came before
            done_ms = asked_ms + copying
            moves.append(Move(partition, target, asked_ms, done_ms, moment.controller, moment.session))
            self._assignment(topic)[partition] = target

    def _times(self, mean_ms: int | None) -> list[int]:
        """When something happens that happens at random, in the mean so often."""
        times: list[int] = []
        t_ms = 0
        while mean_ms:
            t_ms += 1 + int(self._random.expovariate(1 / mean_ms))
            if t_ms >= self._history.ended_ms:
                break
            times.append(t_ms)
        return times

    def _assignment(self, topic: Topic) -> dict[int, Replicas]:
        found = self._assignments.get(topic.number)
        if found is None:
            found = self._assignments[topic.number] = self._layout.assignment(topic)
        return found

    def _target(self, current: Replicas, brokers: Sequence[BrokerId]) -> Replicas:
        """One replica goes elsewhere, or all may."""
        others = [b for b in brokers if b not in current]
        if self._random.random() < 0.7:
            place, new = self._random.randrange(len(current)), self._random.choice(others)
            return tuple(new if i == place else b for i, b in enumerate(current))
        first = self._random.choice(others)
        rest = self._random.sample([b for b in brokers if b != first], len(current) - 1)
        return (first, *rest)

    def _calm(self, topic: Topic, t_ms: int, brokers: Sequence[int], takes_ms: int) -> tuple[int, Moment] | None:
        """A time soon after t_ms from which on these brokers and the controller are left in peace for so long."""
        created = self._history.creations.get(topic.number)
        for _ in range(TRIES):
            at = t_ms + self._random.randrange(WITHIN_MS)
            since, until = at - CALM_BEFORE_MS, at + takes_ms + CALM_AFTER_MS
            if created is None or since <= created.noted_ms or until >= self._history.ended_ms:
                continue
            moment = self._history.controller_at(since)
            # Leadership is given back while nothing is being moved only.
            is_move = takes_ms > 0
            if moment is not None and self._history.quiet({*brokers, moment.controller}, since, until, is_move):
                return at, moment
        return None
