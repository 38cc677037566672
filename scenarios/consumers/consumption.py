"""Groups, and who consumed what from when to when: a pure fold over the event log.

A partition is consumed by a consumer that owns it and runs. It is unconsumed from the moment its last such owner gives it
up, loses it, ends, is killed or is frozen, until another one, or the same, has it; before its first owner it does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kcsim.scenarios.consumers.consumer_config import node_of
from kcsim.zk.events import Event, EventKind

CONSUMER = node_of("")
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Move:
    """A partition went from one consumer to another, in a generation."""

    t_ms: int
    generation: int
    partition: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Nobody in the group consumed, from `began_ms` on; `ended_ms` None: nobody does yet."""

    began_ms: int
    ended_ms: int | None = None

    def length_ms(self, now_ms: int) -> int:
        return (now_ms if self.ended_ms is None else self.ended_ms) - self.began_ms


@dataclass
class GroupHistory:
    """One group.

    Attributes:
        state: as its coordinator told last.
        generation: of the last join phase that ended.
        owners: partition -> nodes that own it, as they see it.
        last_owner: partition -> who got it last.
        gaps: partition -> when nobody consumed it, oldest first.
        moves: oldest first.
        evidence: partition -> seq of the last event about it.
    """

    state: str = "Empty"
    generation: int = 0
    owners: dict[str, set[str]] = field(default_factory=dict)
    last_owner: dict[str, str] = field(default_factory=dict)
    gaps: dict[str, list[Gap]] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=dict)
    last_event: int | None = None

    def longest_gap_ms(self, partition: str, now_ms: int) -> int:
        """How long nobody consumed it at most; 0 if somebody always did, or it was never consumed."""
        return max((gap.length_ms(now_ms) for gap in self.gaps.get(partition, ())), default=0)


@dataclass
class Consumption:
    """Fold events into it with `apply`, in order.

    Attributes:
        groups: by group id.
        owned: consumer's node -> its partitions, as it sees them, sorted; those of a dead one are none.
        processes: consumer's node -> running, paused, stopped or dead.
    """

    groups: dict[str, GroupHistory] = field(default_factory=dict)
    owned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    processes: dict[str, str] = field(default_factory=dict)
    _group_of: dict[str, str] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take one event in."""
        match event.kind:
            case EventKind.PARTITIONS_ASSIGNED:
                self._assign(event)
            case EventKind.PARTITIONS_REVOKED | EventKind.PARTITIONS_LOST:
                self._give_up(event, event.partitions or ())
            case EventKind.PROCESS_STATE if event.node.startswith(CONSUMER):
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
        self._group_of[node] = event.group or ""
        given = event.partitions or ()
        self.owned[node] = tuple(sorted({*self.owned.get(node, ()), *given}, key=by_topic_and_number))
        for partition in given:
            source = history.last_owner.get(partition)
            if source not in (None, node):
                history.moves.append(Move(event.t_ms, event.generation or 0, partition, source or "", node))
            history.last_owner[partition] = node
            history.owners.setdefault(partition, set()).add(node)
            self._look(history, partition, event)

    def _give_up(self, event: Event, partitions: Iterable[str]) -> None:
        gone = set(partitions)
        self.owned[event.node] = tuple(tp for tp in self.owned.get(event.node, ()) if tp not in gone)
        history = self.groups.get(self._group_of.get(event.node, ""))
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
        history = self.groups.get(self._group_of.get(node, ""))
        for partition in owned:
            if history is not None:
                self._look(history, partition, event)

    def _look(self, history: GroupHistory, partition: str, event: Event) -> None:
        """See whether somebody consumes a partition now, and whether somebody did before."""
        is_consumed = any(self.processes.get(node, RUNNING) == RUNNING for node in history.owners[partition])
        gaps = history.gaps.setdefault(partition, [])
        is_gap_open = bool(gaps) and gaps[-1].ended_ms is None
        history.evidence[partition] = event.seq
        if is_consumed and is_gap_open:
            gaps[-1] = replace(gaps[-1], ended_ms=event.t_ms)
        elif not is_consumed and not is_gap_open:
            gaps.append(Gap(event.t_ms))


def by_topic_and_number(partition: str) -> tuple[str, int]:
    """The order of partitions: topics as text, numbers as numbers."""
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


def consumption(events: Iterable[Event]) -> Consumption:
    """What the events of a run tell of its consumers."""
    folded = Consumption()
    for event in events:
        folded.apply(event)
    return folded
