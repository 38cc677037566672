"""Analyses of one run that are computed as it goes on: windows without a live leader, elections, the controller.

They are the analyses `unavailability` and `elections` (analyses/), with the same definitions: what holds at a millisecond is
what holds after all its events. Each slot has those of its own partitions. One thing is different, as it is known only when
a history is over: a broker that leads before it is first seen to register counts as live until then.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.scenarios.analysis.analyses.unavailability_windows import LEADER_LOST, NO_LEADER
from kcsim.scenarios.analysis.folding.replay_fact import FactRule, ReplayFact, as_fact
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.znodes import paths

NOBODY = -1
OBSERVED = (
    FactRule(ZNODE_CHANGES, path=f"^({paths.CONTROLLER}|{paths.DELETE_TOPICS}/[^/]+)$"),
    FactRule(frozenset({EventKind.PROCESS_STATE})),
)
"""What is read beside the facts of the fold."""


def observed(event: Event) -> ReplayFact | None:
    """Return the row of an event that these analyses read beside the facts of the fold; None for others."""
    return as_fact(event) if any(rule.covers(event) for rule in OBSERVED) else None


class ElectionKey(NamedTuple):
    """What elections are counted by."""

    strategy: str | None
    rule: str | None
    trigger: str
    outcome: str


class ElectionCount(msgspec.Struct, array_like=True):
    """How many elections of a key there were, of how many partitions, and when the first and the last were."""

    key: ElectionKey
    elections: int
    partitions: int
    first_ms: int
    last_ms: int


class Window(msgspec.Struct, array_like=True):
    """A time without a live leader. `broker`: the leader that was lost. `is_back`: it ended because that broker is back."""

    from_ms: int
    to_ms: int
    broker: int | None
    leader_after: int | None = None
    is_back: bool = False


class WatchedPartition(msgspec.Struct, array_like=True):
    """A partition as the analyses know it.

    Attributes:
        leader: NOBODY: none; None: the partition is not there.
        without: since when it has no live leader, and the leader that was lost; None while it has one.
        window: the latest window that has ended, until it is certain that it does not go on.
        elected_by: the keys of its elections so far, a bit for each.
        is_awaited: it has no state, as no leader could be elected for it so far.
    """

    leader: int | None = None
    without: tuple[int, int | None] | None = None
    window: Window | None = None
    elected_by: int = 0
    is_awaited: bool = False


class RunningState(msgspec.Struct, array_like=True):
    """The state of RunningAnalyses.

    Attributes:
        partitions: topic -> partition -> what is known of it.
        not_registered, not_running: the brokers that are not live.
        deleting: the topics whose deletion is requested.
        controller: the broker that /controller names, and since when; None while there is none.
        controllers: how many terms there were.
    """

    partitions: dict[str, dict[int, WatchedPartition]] = {}
    not_registered: set[int] = set()
    not_running: set[int] = set()
    deleting: set[str] = set()
    elections: list[ElectionCount] = []
    controller: tuple[int | None, int] | None = None
    controllers: int = 0
    transitions: int = 0
    isr_shrinks: int = 0
    isr_expansions: int = 0


class UnavailabilityRow(msgspec.Struct, frozen=True):
    """A row of the table of windows without a live leader: the columns of the analysis `unavailability`."""

    batch: str
    run: str
    topic: str
    partition: int
    from_ms: int
    to_ms: int
    duration_ms: int
    open: bool
    began_with: str
    broker: int | None
    leader_after: int | None


class RunningAnalyses:
    """Give it all facts that are of no partition, and all transitions of a slot, in order of seq."""

    def __init__(self, batch: str, run: str, state: RunningState | None = None) -> None:
        self.state = state or RunningState()
        self._batch, self._run = batch, run
        self._places = {count.key: place for place, count in enumerate(self.state.elections)}
        self._closed: list[UnavailabilityRow] = []

    # --- what happens

    def on_fact(self, fact: ReplayFact) -> None:
        """Take in a fact that is of no partition."""
        if fact.kind == EventKind.PROCESS_STATE:
            name, _, number = fact.node.rpartition("-")
            if name == "broker" and number.isdigit():
                self._on_broker(fact, int(number), self.state.not_running, fact.state != "running")
        elif fact.kind in ZNODE_CHANGES:
            self._on_znode(fact)

    def _on_znode(self, fact: ReplayFact) -> None:
        path, is_gone = fact.path or "", fact.kind == EventKind.ZNODE_DELETED
        parent, name = paths.parent(path), paths.name(path)
        if parent == paths.BROKER_IDS and name.isdigit():
            self._on_broker(fact, int(name), self.state.not_registered, is_gone)
        elif parent == paths.DELETE_TOPICS:
            self._on_deletion(fact, name, not is_gone)
        elif parent == paths.BROKER_TOPICS and is_gone:
            self._on_end_of_topic(fact, name)
        elif path == paths.CONTROLLER:
            self.state.controller = None if is_gone else (_broker_in(fact.data), fact.t_ms)
            self.state.controllers += not is_gone

    def _on_broker(self, fact: ReplayFact, broker: int, reason: set[int], holds: bool) -> None:
        was_live = self._is_live(broker)
        (reason.add if holds else reason.discard)(broker)
        is_live = self._is_live(broker)
        if was_live == is_live:
            return
        for topic, of_topic in self.state.partitions.items():
            if topic in self.state.deleting:
                continue
            for number, partition in of_topic.items():
                if partition.leader == broker:
                    if is_live:
                        self._end(topic, number, partition, fact.t_ms, broker, is_back=True)
                    else:
                        partition.without = fact.t_ms, broker

    def _on_deletion(self, fact: ReplayFact, topic: str, is_requested: bool) -> None:
        (self.state.deleting.add if is_requested else self.state.deleting.discard)(topic)
        for number, partition in self.state.partitions.get(topic, {}).items():
            if is_requested:
                self._end(topic, number, partition, fact.t_ms, None)
            else:
                self._begin(partition, fact.t_ms, partition.leader)

    def _on_end_of_topic(self, fact: ReplayFact, topic: str) -> None:
        """End the partitions that have no state whose deletion would end them."""
        for number, partition in self.state.partitions.get(topic, {}).items():
            if partition.is_awaited:
                self._end(topic, number, partition, fact.t_ms, None)
                partition.leader, partition.is_awaited = None, False

    def on_transition(self, row: Transition) -> None:
        """Take in a transition."""
        state = self.state
        state.transitions += 1
        partition = state.partitions.setdefault(row.topic, {}).setdefault(row.partition, WatchedPartition())
        if row.kind == EventKind.LEADER_ELECTION:
            self._count(row, partition)
            if row.leader is None and row.n > 0 and row.leader_epoch is not None:  # it changed nothing
                return
        elif row.kind == EventKind.ISR_SHRUNK:
            state.isr_shrinks += 1
        elif row.kind == EventKind.ISR_EXPANDED:
            state.isr_expansions += 1
        before = partition.leader
        is_gone = row.kind == EventKind.ZNODE_DELETED
        is_vain = row.kind == EventKind.LEADER_ELECTION and row.leader is None
        is_moved = row.kind == EventKind.PARTITION_REASSIGNMENT
        partition.is_awaited = (is_vain or is_moved) and row.leader_epoch is None
        partition.leader = None if is_gone else NOBODY if row.leader is None else row.leader
        if row.topic in state.deleting:
            return
        after = None if partition.leader == NOBODY else partition.leader
        self._end(row.topic, row.partition, partition, row.t_ms, after)
        if partition.window is not None and partition.window.is_back and partition.window.to_ms == row.t_ms:
            partition.window.leader_after = after
        self._begin(partition, row.t_ms, before)

    # --- windows

    def _is_live(self, broker: int) -> bool:
        return broker not in self.state.not_registered and broker not in self.state.not_running

    def _begin(self, partition: WatchedPartition, t_ms: int, before: int | None) -> None:
        """Begin a window if the partition has no live leader. Args: before: the leader before."""
        if partition.leader == NOBODY:
            partition.without = t_ms, None if before == NOBODY else before
        elif partition.leader is not None and not self._is_live(partition.leader):
            partition.without = t_ms, partition.leader

    def _end(
        self, topic: str, number: int, partition: WatchedPartition, t_ms: int, after: int | None, is_back: bool = False
    ) -> None:
        """End the window that the partition is in, if it is in one. It may go on within the same millisecond."""
        if partition.without is None:
            return
        (from_ms, broker), partition.without = partition.without, None
        if from_ms == t_ms:
            return
        known = partition.window
        if known is not None and from_ms <= known.to_ms:
            known.to_ms, known.leader_after, known.is_back = t_ms, after, is_back
            return
        if known is not None:
            self._closed.append(self._row(topic, number, known, False))
        partition.window = Window(from_ms, t_ms, broker, after, is_back)

    def _row(self, topic: str, number: int, window: Window, is_open: bool) -> UnavailabilityRow:
        return UnavailabilityRow(
            self._batch,
            self._run,
            topic,
            number,
            window.from_ms,
            window.to_ms,
            window.to_ms - window.from_ms,
            is_open,
            NO_LEADER if window.broker is None else LEADER_LOST,
            window.broker,
            None if is_open else window.leader_after,
        )

    def take_closed(self, now_ms: int) -> list[UnavailabilityRow]:
        """Return the windows that have ended before `now_ms`, once each."""
        closed, self._closed = self._closed, []
        for topic, of_topic in self.state.partitions.items():
            for number, partition in of_topic.items():
                window = partition.window
                if window is not None and window.to_ms < now_ms and not _goes_on(partition, window):
                    closed.append(self._row(topic, number, window, False))
                    partition.window = None
        return closed

    def open_windows(self, now_ms: int) -> Iterator[UnavailabilityRow]:
        """Return the windows that `take_closed` has not returned, as they are at `now_ms`."""
        for topic, of_topic in self.state.partitions.items():
            for number, partition in of_topic.items():
                window, without = partition.window, partition.without
                if window is not None and not _goes_on(partition, window):
                    yield self._row(topic, number, window, False)
                    window = None
                if without is not None and (window is not None or without[0] < now_ms):
                    first = window or Window(without[0], now_ms, without[1])
                    yield self._row(topic, number, Window(first.from_ms, now_ms, first.broker), True)

    # --- elections

    def _count(self, row: Transition, partition: WatchedPartition) -> None:
        outcome = "nobody" if row.leader is None else "clean" if row.clean else "unclean"
        key = ElectionKey(row.strategy, row.rule, row.trigger, outcome)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.state.elections)
            self.state.elections.append(ElectionCount(key, 0, 0, row.t_ms, row.t_ms))
        count = self.state.elections[place]
        count.elections += 1
        count.first_ms, count.last_ms = min(count.first_ms, row.t_ms), max(count.last_ms, row.t_ms)
        if not partition.elected_by >> place & 1:
            partition.elected_by |= 1 << place
            count.partitions += 1


def _goes_on(partition: WatchedPartition, window: Window) -> bool:
    return partition.without is not None and partition.without[0] <= window.to_ms


def _broker_in(data: str | None) -> int | None:
    """Return the broker that the content of /controller names."""
    try:
        found = msgspec.json.decode(data or "null")
    except msgspec.DecodeError:
        return None
    broker = found.get("brokerid") if isinstance(found, dict) else None
    return broker if isinstance(broker, int) else None
