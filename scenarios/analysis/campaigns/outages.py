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
from kcsim.eventlog.state_changes import (
    PartitionChanged,
    ProcessChanged,
    RegistrationChanged,
    TopicChanged,
    TopicDeletionChanged,
)
from kcsim.scenarios.analysis.campaigns.campaign_options import OutageView
from kcsim.vocabulary import TopicPartition

RUNNING = "running"

_DECISIVE = (PartitionChanged, ProcessChanged, RegistrationChanged, TopicChanged, TopicDeletionChanged)
"""Changes after which a partition may be served, or not be served any more."""


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
    watch = _OutageTracker()
    for event in events:
        watch.see(event)
    return watch.finish()


class _OutageTracker:
    def __init__(self) -> None:
        self._state = ClusterState()
        self._served: set[TopicPartition] = set()  # since they were created
        self._ever: set[TopicPartition] = set()
        self._since: dict[tuple[OutageView, TopicPartition], int] = {}
        self._outages: list[Outage] = []
        self._now_ms = 0
        self._has_changed = False

    def see(self, event: Event) -> None:
        if event.t_ms != self._now_ms:
            self._look()
            self._now_ms = event.t_ms
        self._state.apply(event)
        self._has_changed = self._has_changed or any(isinstance(change, _DECISIVE) for change in self._state.changes)

    def _look(self) -> None:
        """Judge the state after all events of one millisecond. Outages shorter than 1 ms are ignored."""
        if not self._has_changed:
            return
        self._has_changed = False
        topics, registered, processes = self._state.of_topics, self._state.registered, self._state.processes
        there = set(topics.partitions())
        for partition in sorted(there):
            leader = topics.leader(partition)
            is_led = leader in registered
            self._note(OutageView.ZOOKEEPER, partition, is_led)
            self._note(OutageView.CLIENTS, partition, is_led and processes.get(f"broker-{leader}", RUNNING) == RUNNING)
        for view, partition in [key for key in self._since if key[1] not in there]:
            self._end(view, partition, is_over=True)
        self._served &= there  # a partition that is created again has to be served first

    def _note(self, view: OutageView, partition: TopicPartition, is_served: bool) -> None:
        if is_served:
            if view is OutageView.CLIENTS:
                self._served.add(partition)
                self._ever.add(partition)
            self._end(view, partition, is_over=True)
        elif partition in self._served:
            self._since.setdefault((view, partition), self._now_ms)

    def _end(self, view: OutageView, partition: TopicPartition, *, is_over: bool) -> None:
        since = self._since.pop((view, partition), None)
        if since is not None and since < self._now_ms:
            self._outages.append(Outage(view, *partition, since, self._now_ms, is_over))

    def finish(self) -> RunOutages:
        self._look()
        for view, partition in list(self._since):
            self._end(view, partition, is_over=False)
        ordered = sorted(self._outages, key=lambda o: (o.view, o.topic, o.partition, o.from_ms))
        return RunOutages(len(self._ever), tuple(ordered))
