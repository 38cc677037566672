"""The administrators' actions on partitions in the course of a history: reassignments, deletions of topics.

They take place only in calm times: every broker concerned serves, and nothing happens to any of them, nor to the controller,
until the action is complete. So the time of each step is known beforehand, and the topic's own events, with the writes of
its znode, can be generated without its partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from kcsim.jvm_hash_order import hash_order
from kcsim.scenarios.analysis.generating.cluster_history import ClusterHistory, GeneratedAction
from kcsim.scenarios.analysis.generating.layout import Layout, Replicas, Topic
from kcsim.scenarios.analysis.generating.settings import CONSUMER_OFFSETS, Settings
from kcsim.vocabulary import BrokerId

CALM_BEFORE_MS = 60_000
CALM_AFTER_MS = 5_000
COPYING_MS = (3_000, 120_000)
TRIES = 25
WITHIN_MS = 6 * 3_600_000
SHARE_OF_TOPICS_DELETED = 0.1
"""The smallest topics: of a large topic, some broker is always in trouble."""

CALM_AROUND_MS = 500
"""For so long before and after a reassignment or a deletion, nothing happens in the partition's data path."""
STARTED_MS, ASSIGNED_MS, WAITING_MS = 2, 3, 4
"""The first steps of a reassignment, after its request; in between the topic's znode is written."""
COMPLETING_MS = 4
"""The last steps of a reassignment, after its whole target is in sync; see completed_ms."""
DELETION_STARTED_MS, DELETION_COMPLETING_MS, DELETED_MS, DELETION_COMPLETED_MS = 4, 190, 200, 220
"""The steps of a deletion, after its request."""


def completed_ms(replication_factor: int) -> int:
    """Return the time from a target being in sync to the write of the topic's znode without the removed replicas."""
    return COMPLETING_MS + 10 + 4 * replication_factor


class ScheduledReassignment(NamedTuple):
    """A reassignment. It is requested at `requested_ms`; at `caught_up_ms` the last replica of the target joins the ISR."""

    partition: int
    target: Replicas
    requested_ms: int
    caught_up_ms: int
    controller: int
    session: str


class ScheduledDeletion(NamedTuple):
    """The deletion of a topic; its replicas are deleted on the brokers in this order."""

    requested_ms: int
    brokers: tuple[int, ...]
    controller: int
    session: str  # the controller's


@dataclass(frozen=True)
class AdminSchedule:
    """The scheduled actions, by number of topic."""

    moves: dict[int, list[ScheduledReassignment]]
    deletions: dict[int, ScheduledDeletion]


def admin_schedule_of(settings: Settings, layout: Layout, history: ClusterHistory) -> AdminSchedule:
    """Return the schedule. The settings alone decide it, as they decide the cluster's history."""
    planner = _AdminScheduler(settings, layout, history)
    planner.plan_deletions()
    planner.plan_moves()
    return AdminSchedule(planner.moves, planner.deletions)


class _AdminScheduler:
    def __init__(self, settings: Settings, layout: Layout, history: ClusterHistory) -> None:
        self.moves: dict[int, list[ScheduledReassignment]] = {}
        self.deletions: dict[int, ScheduledDeletion] = {}
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
                requested_ms, action = found
                self.deletions[topic.number] = ScheduledDeletion(
                    requested_ms, tuple(hash_order(brokers)), action.controller, action.session
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
            requested_ms, action = found
            moves = self.moves.setdefault(topic.number, [])
            if moves and requested_ms < moves[-1].caught_up_ms + CALM_BEFORE_MS:
                continue  # one after the other, so that each version of the topic's znode follows from the one before
            done_ms = requested_ms + copying
            moves.append(ScheduledReassignment(partition, target, requested_ms, done_ms, action.controller, action.session))
            self._assignment(topic)[partition] = target

    def _times(self, mean_ms: int | None) -> list[int]:
        """Return random times with the given mean interval; none without a mean."""
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
        """Return a target with one other replica, or one in which all replicas may differ."""
        others = [b for b in brokers if b not in current]
        if self._random.random() < 0.7:
            place, new = self._random.randrange(len(current)), self._random.choice(others)
            return tuple(new if i == place else b for i, b in enumerate(current))
        first = self._random.choice(others)
        rest = self._random.sample([b for b in brokers if b != first], len(current) - 1)
        return (first, *rest)

    def _calm(self, topic: Topic, t_ms: int, brokers: Sequence[int], takes_ms: int) -> tuple[int, GeneratedAction] | None:
        """Return a time soon after t_ms from which on nothing happens to these brokers and the controller for so long."""
        created = self._history.creations.get(topic.number)
        for _ in range(TRIES):
            at = t_ms + self._random.randrange(WITHIN_MS)
            since, until = at - CALM_BEFORE_MS, at + takes_ms + CALM_AFTER_MS
            if created is None or since <= created.noted_ms or until >= self._history.ended_ms:
                continue
            action = self._history.controller_at(since)
            # Preferred leader elections are excluded only while a partition is reassigned.
            is_move = takes_ms > 0
            if action is not None and self._history.is_undisturbed({*brokers, action.controller}, since, until, is_move):
                return at, action
        return None
