"""Consumer groups, and the intervals in which no consumer consumed a partition: a pure fold over the event log.

A partition is consumed while a running consumer owns it. A gap begins when the last such owner gives the partition up, loses
it, stops, is killed or is frozen, and ends when a running consumer owns the partition again. The time before the first owner
is not a gap.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.node_names import consumer_node

CONSUMER_PREFIX = consumer_node("")
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class OwnershipChange:
    """The move of a partition from one consumer to another, in one generation."""

    t_ms: int
    generation: int
    partition: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ConsumptionGap:
    """An interval in which no consumer of the group consumed a partition; `ended_ms` is None while the gap is open."""

    began_ms: int
    ended_ms: int | None = None

    def length_ms(self, now_ms: int) -> int:
        return (now_ms if self.ended_ms is None else self.ended_ms) - self.began_ms


@dataclass
class GroupHistory:
    """The history of one group.

    Attributes:
        state: the state in the coordinator's last event.
        generation: of the last join phase that ended.
        owners: partition -> nodes that own it according to their own events.
        last_owner: partition -> the node that it was assigned to last.
        gaps: partition -> the gaps in its consumption, oldest first.
        moves: oldest first.
        evidence: partition -> seq of the last event that concerned it.
        last_event: seq of the coordinator's last event.
    """

    state: str = "Empty"
    generation: int = 0
    owners: dict[str, set[str]] = field(default_factory=dict)
    last_owner: dict[str, str] = field(default_factory=dict)
    gaps: dict[str, list[ConsumptionGap]] = field(default_factory=dict)
    moves: list[OwnershipChange] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=dict)
    last_event: int | None = None

    def longest_gap_ms(self, partition: str, now_ms: int) -> int:
        """Return the length of the partition's longest gap; 0 if it has no gap or was never consumed."""
        return max((gap.length_ms(now_ms) for gap in self.gaps.get(partition, ())), default=0)


@dataclass
class Consumption:
    """The groups and consumers at one point of the event log. `apply` folds events into them, in order.

    Attributes:
        groups: by group id.
        owned: consumer's node -> the partitions that it owns according to its own events, sorted; a dead consumer owns none.
        processes: consumer's node -> running, paused, stopped or dead.
        group_of: consumer's node -> its group.
    """

    groups: dict[str, GroupHistory] = field(default_factory=dict)
    owned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    processes: dict[str, str] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Apply one event."""
        match event.kind:
            case EventKind.PARTITIONS_ASSIGNED:
                self._assign(event)
            case EventKind.PARTITIONS_REVOKED | EventKind.PARTITIONS_LOST:
                self._give_up(event, event.partitions or ())
                self.group_of.setdefault(event.node, event.group or "")
            case EventKind.PROCESS_STATE if event.node.startswith(CONSUMER_PREFIX):
                self._process_changed(event)
            case EventKind.GROUP_REBALANCE | EventKind.GROUP_GENERATION | EventKind.GROUP_STABLE:
                history = self._history(event)
                history.state = "Stable" if event.kind is EventKind.GROUP_STABLE else event.state or ""
                history.generation = event.generation or 0
                history.last_event = event.seq
            case _:
                pass

    def _history(self, event: Event) -> GroupHistory:
        assert event.group is not None
        return self.groups.setdefault(event.group, GroupHistory())

    def _assign(self, event: Event) -> None:
        history, node = self._history(event), event.node
        self.group_of[node] = event.group or ""
        given = event.partitions or ()
        self.owned[node] = tuple(sorted({*self.owned.get(node, ()), *given}, key=by_topic_and_number))
        for partition in given:
            source = history.last_owner.get(partition)
            if source not in (None, node):
                history.moves.append(OwnershipChange(event.t_ms, event.generation or 0, partition, source or "", node))
            history.last_owner[partition] = node
            history.owners.setdefault(partition, set()).add(node)
            self._look(history, partition, event)

    def _give_up(self, event: Event, partitions: Iterable[str]) -> None:
        gone = set(partitions)
        self.owned[event.node] = tuple(tp for tp in self.owned.get(event.node, ()) if tp not in gone)
        history = self.groups.get(self.group_of.get(event.node, ""))
        for partition in sorted(gone):
            if history is not None and partition in history.owners:
                history.owners[partition].discard(event.node)
                self._look(history, partition, event)

    def _process_changed(self, event: Event) -> None:
        node = event.node
        self.processes[node] = event.state or ""
        owned = self.owned.get(node, ())
        if event.state in ("stopped", "dead"):
            self._give_up(event, owned)
        history = self.groups.get(self.group_of.get(node, ""))
        for partition in owned:
            if history is not None:
                self._look(history, partition, event)

    def _look(self, history: GroupHistory, partition: str, event: Event) -> None:
        """Open or close a gap of the partition, if the event started or ended one."""
        is_consumed = any(self.processes.get(node, RUNNING) == RUNNING for node in history.owners[partition])
        gaps = history.gaps.setdefault(partition, [])
        is_gap_open = bool(gaps) and gaps[-1].ended_ms is None
        history.evidence[partition] = event.seq
        if is_consumed and is_gap_open:
            gaps[-1] = replace(gaps[-1], ended_ms=event.t_ms)
        elif not is_consumed and not is_gap_open:
            gaps.append(ConsumptionGap(event.t_ms))


def by_topic_and_number(partition: str) -> tuple[str, int]:
    """Return a partition's sort key: topics are compared as text, partition numbers as numbers."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


def consumption(events: Iterable[Event]) -> Consumption:
    """Return the groups and consumers at the end of the given events."""
    folded = Consumption()
    for event in events:
        folded.apply(event)
    return folded
