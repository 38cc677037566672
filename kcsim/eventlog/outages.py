"""The times in which partitions of one run were not served: a pure fold over the run's event log.

There are two views. In the clients' view, a partition is served by a leader that is named in ZooKeeper, registered there,
and whose process runs: between a leader's death and the end of its session no broker serves the partition, though ZooKeeper
still names the leader. In ZooKeeper's view, the named leader's registration is enough. Left out: a leader that clients
cannot reach through a broken network, and the time until a new leader learns that it is the leader.
"""

from collections.abc import Iterable

import msgspec

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.state_changes import (
    PartitionChanged,
    ProcessChanged,
    RegistrationChanged,
    TopicChanged,
    TopicDeletionChanged,
)
from kcsim.vocabulary import PartitionState, TopicPartition, TopicState

BROKER_PREFIX = "broker-"
RUNNING = "running"


class Outage(msgspec.Struct, frozen=True):
    """A time in which no broker served a partition that had been served before.

    Attributes:
        view: clients or zookeeper, a value of OutageView.
        until_ms: when the partition was served again or was deleted; when the run ended, if `is_over` is False.
    """

    view: str
    topic: str
    partition: int
    from_ms: int
    until_ms: int
    is_over: bool


class RunOutages(msgspec.Struct, frozen=True):
    """How many partitions of a run were ever served, and all their outages, by view, partition and time."""

    partitions: int
    outages: tuple[Outage, ...]


class OutageTotals(msgspec.Struct, frozen=True):
    """The outages of a run in one of the views, summed up.

    Attributes:
        outages: how many.
        ms: for how long at least one partition was not served.
        longest_ms: the longest outage of one partition.
    """

    outages: int = 0
    ms: int = 0
    longest_ms: int = 0


def outage_totals(outages: Iterable[Outage], view: OutageView) -> OutageTotals:
    """Sum up the outages of one view."""
    seen = sorted((outage for outage in outages if outage.view == view), key=lambda outage: outage.from_ms)
    total, covered_ms = 0, 0
    for outage in seen:
        total += max(0, outage.until_ms - max(outage.from_ms, covered_ms))
        covered_ms = max(covered_ms, outage.until_ms)
    return OutageTotals(len(seen), total, max((outage.until_ms - outage.from_ms for outage in seen), default=0))


def outages_in(events: Iterable[Event]) -> RunOutages:
    """Fold the event log of a whole run."""
    state = ClusterState()
    tracker = OutageTracker(state)
    for event in events:
        tracker.advance_to(event.t_ms)
        state.apply(event)
        tracker.follow_changes()
    return tracker.so_far()


class OutageTracker:
    """Follows the outages of a run through the changes of its cluster state.

    For each event call `advance_to` before the state has the event, and `follow_changes` after it.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._led_by: dict[int | None, set[TopicPartition]] = {}
        self._doubtful: set[TopicPartition] = set()  # partitions that may be served, or not be served any more
        self._served: set[TopicPartition] = set()  # since they were created
        self._ever: set[TopicPartition] = set()
        self._since: dict[tuple[OutageView, TopicPartition], int] = {}
        self._outages: list[Outage] = []
        self._now_ms = 0

    def advance_to(self, t_ms: int) -> None:
        """Judge the state after all events of the millisecond that is over."""
        if t_ms != self._now_ms:
            self._look()
            self._now_ms = t_ms

    def follow_changes(self) -> None:
        """Note the partitions that the state's latest changes concern."""
        for change in self._state.changes:
            match change:
                case PartitionChanged(partition, before, after):
                    self._led_by.get(_leader(before), set()).discard(partition)
                    self._led_by.setdefault(_leader(after), set()).add(partition)
                    self._doubtful.add(partition)
                    if self._serves(_leader(after)):  # for less than a millisecond, perhaps: the outage after it counts
                        self._served.add(partition)
                case ProcessChanged(node) if node.startswith(BROKER_PREFIX):
                    self._doubt_leader(node.removeprefix(BROKER_PREFIX))
                case RegistrationChanged(broker):
                    self._doubt_leader(str(broker))
                case TopicChanged(topic, before, after):
                    for known in (before, after):
                        self._doubt_topic(topic, known)
                case TopicDeletionChanged(topic):
                    self._doubt_topic(topic, self._state.of_topics.topics.get(topic))
                case _:
                    pass

    def _serves(self, leader: int | None) -> bool:
        is_running = self._state.processes.get(f"{BROKER_PREFIX}{leader}", RUNNING) == RUNNING
        return is_running and self._state.is_registered(leader)

    def _doubt_leader(self, broker: str) -> None:
        if broker.isdigit():
            self._doubtful |= self._led_by.get(int(broker), set())

    def _doubt_topic(self, topic: str, known: TopicState | None) -> None:
        self._doubtful.update(TopicPartition(topic, number) for number in (known.assignments if known else ()))

    def _look(self) -> None:
        """Judge the partitions in doubt after all events of one millisecond. Outages shorter than 1 ms are ignored."""
        if not self._doubtful:
            return
        topics = self._state.of_topics
        for partition in sorted(self._doubtful):
            if topics.assignment(partition) is None or partition.topic in topics.deleting:
                self._forget(partition)
                continue
            leader = topics.leader(partition)
            self._note(OutageView.ZOOKEEPER, partition, self._state.is_registered(leader))
            self._note(OutageView.CLIENTS, partition, self._serves(leader))
        self._doubtful.clear()

    def _forget(self, partition: TopicPartition) -> None:
        """End the outages of a partition that is gone; if it is created again, it has to be served first."""
        for view in OutageView:
            self._end(view, partition)
        self._served.discard(partition)

    def _note(self, view: OutageView, partition: TopicPartition, is_served: bool) -> None:
        if is_served:
            if view is OutageView.CLIENTS:
                self._served.add(partition)
                self._ever.add(partition)
            self._end(view, partition)
        elif partition in self._served:
            self._since.setdefault((view, partition), self._now_ms)

    def _end(self, view: OutageView, partition: TopicPartition) -> None:
        since = self._since.pop((view, partition), None)
        if since is not None and since < self._now_ms:
            self._outages.append(Outage(view, *partition, since, self._now_ms, is_over=True))

    def so_far(self) -> RunOutages:
        """Return all outages; those that last are not over."""
        self._look()
        lasting = (
            Outage(view, *partition, since, self._now_ms, is_over=False)
            for (view, partition), since in self._since.items()
            if since < self._now_ms
        )
        ordered = sorted((*self._outages, *lasting), key=lambda o: (o.view, o.topic, o.partition, o.from_ms))
        return RunOutages(len(self._ever), tuple(ordered))


def _leader(state: PartitionState | None) -> int | None:
    return state.leader_and_isr.leader if state else None
