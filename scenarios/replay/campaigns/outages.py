"""How long each partition had nobody to serve it in one run: a pure fold over its event log.

Two views. As its clients see it, a partition is served by a leader that is named in ZooKeeper, registered there, and whose
process runs: between a leader's death and the end of its session nobody serves it, though ZooKeeper knows no better. As
ZooKeeper has it, the named leader's registration is enough. What is left out: a leader that clients cannot reach through a
broken network, and the moment it takes a new leader to hear that it is one.
"""

import re
from collections.abc import Iterable

import msgspec

from kcsim.scenarios.replay.campaigns.vocabulary import View
from kcsim.scenarios.topics_state import TopicsState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import TopicPartition

RUNNING = "running"

_REGISTRATION = re.compile(rf"{re.escape(paths.BROKER_IDS)}/(\d+)")
_BROKER = re.compile(r"broker-(\d+)")


class Outage(msgspec.Struct, frozen=True):
    """A time during which nobody served a partition that had been served before.

    Attributes:
        view: clients or zookeeper, one word of View.
        until_ms: when it was served again or was no more; when the run ended, if `is_over` is False.
    """

    view: str
    topic: str
    partition: int
    from_ms: int
    until_ms: int
    is_over: bool


class Served(msgspec.Struct, frozen=True):
    """How many partitions of a run were ever served, and each outage of these, by view, partition and time."""

    partitions: int
    outages: tuple[Outage, ...]


class Unserved(msgspec.Struct, frozen=True):
    """The outages of a run as one of the views has them, summed up.

    Attributes:
        outages: how many.
        ms: for how long there was at least one partition that nobody served.
        longest_ms: the longest outage of one partition.
    """

    outages: int = 0
    ms: int = 0
    longest_ms: int = 0


def unserved(outages: Iterable[Outage], view: View) -> Unserved:
    """Sum the outages of one view up."""
    seen = sorted((outage for outage in outages if outage.view == view), key=lambda outage: outage.from_ms)
    total, covered_ms = 0, 0
    for outage in seen:
        total += max(0, outage.until_ms - max(outage.from_ms, covered_ms))
        covered_ms = max(covered_ms, outage.until_ms)
    return Unserved(len(seen), total, max((outage.until_ms - outage.from_ms for outage in seen), default=0))


def served_in(events: Iterable[Event]) -> Served:
    """Fold the event log of a whole run."""
    watch = _Watch()
    for event in events:
        watch.see(event)
    return watch.finish()


class _Watch:
    def __init__(self) -> None:
        self._topics = TopicsState()
        self._registered: set[int] = set()
        self._not_running: set[int] = set()
        self._served: set[TopicPartition] = set()  # since they were created
        self._ever: set[TopicPartition] = set()
        self._since: dict[tuple[View, TopicPartition], int] = {}
        self._outages: list[Outage] = []
        self._now_ms = 0
        self._is_stale = False

    def see(self, event: Event) -> None:
        if event.t_ms != self._now_ms:
            self._look()
            self._now_ms = event.t_ms
        match event.kind:
            case EventKind.ZNODE_CREATED | EventKind.ZNODE_CHANGED | EventKind.ZNODE_DELETED:
                self._see_znode(event)
            case EventKind.PROCESS_STATE if (broker := _BROKER.fullmatch(event.node)) is not None:
                change = self._not_running.discard if event.state == RUNNING else self._not_running.add
                change(int(broker[1]))
                self._is_stale = True
            case _:
                pass

    def _see_znode(self, event: Event) -> None:
        path = event.path or ""
        if (registration := _REGISTRATION.fullmatch(path)) is not None:
            gone = event.kind is EventKind.ZNODE_DELETED
            (self._registered.discard if gone else self._registered.add)(int(registration[1]))
            self._is_stale = True
        elif path.startswith((paths.BROKER_TOPICS, paths.DELETE_TOPICS)):
            self._topics.apply(event)
            self._is_stale = True

    def _look(self) -> None:
        """Judge what is true after all that happened at one moment: what lasts no millisecond is no outage."""
        if not self._is_stale:
            return
        self._is_stale = False
        there = set(self._topics.partitions())
        for partition in sorted(there):
            leader = self._topics.leader(partition)
            is_led = leader in self._registered
            self._note(View.ZOOKEEPER, partition, is_led)
            self._note(View.CLIENTS, partition, is_led and leader not in self._not_running)
        for view, partition in [key for key in self._since if key[1] not in there]:
            self._end(view, partition, is_over=True)
        self._served &= there  # one that is created again has to be served again first

    def _note(self, view: View, partition: TopicPartition, is_served: bool) -> None:
        if is_served:
            if view is View.CLIENTS:
                self._served.add(partition)
                self._ever.add(partition)
            self._end(view, partition, is_over=True)
        elif partition in self._served:
            self._since.setdefault((view, partition), self._now_ms)

    def _end(self, view: View, partition: TopicPartition, *, is_over: bool) -> None:
        since = self._since.pop((view, partition), None)
        if since is not None and since < self._now_ms:
            self._outages.append(Outage(view, *partition, since, self._now_ms, is_over))

    def finish(self) -> Served:
        self._look()
        for view, partition in list(self._since):
            self._end(view, partition, is_over=False)
        ordered = sorted(self._outages, key=lambda o: (o.view, o.topic, o.partition, o.from_ms))
        return Served(len(self._ever), tuple(ordered))
