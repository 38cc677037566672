"""The input and output of evaluating a condition: the event log with the state folded from it, and the result."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import ZNODE_CHANGES, Event, EventKind
from kcsim.eventlog.recent_events import RecentEvents
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.value_types import ALL, ANY, CONTROLLER, NONE, NOT, ROLE_OF, parse_partition
from kcsim.text import comma_separated

T = TypeVar("T")


class ConditionResult(msgspec.Struct, frozen=True):
    """Whether a condition holds.

    Attributes:
        observed: a sentence that says what is the case, whether or not the condition requires it.
        evidence: the events that caused it, oldest first.
    """

    holds: bool
    observed: str
    evidence: tuple[Event, ...] = ()


@dataclass
class EventIndex:
    """Events by kind, and changes of znodes by path. The log may grow: new events are indexed when events are looked up.

    What the log has forgotten is not looked up any more, either.
    """

    events: Sequence[Event]
    _by_kind: dict[EventKind, list[Event]] = field(init=False, default_factory=dict)
    _by_path: dict[str, list[Event]] = field(init=False, default_factory=dict)
    _indexed: int = field(init=False, default=0)
    _first_seq: int = field(init=False, default=0)

    def _index_new_events(self) -> None:
        if isinstance(self.events, RecentEvents) and self.events.first_seq != self._first_seq:
            self._first_seq = self._indexed = self.events.first_seq
            self._by_kind.clear()
            self._by_path.clear()
        for event in self.events[self._indexed :]:
            self._by_kind.setdefault(event.kind, []).append(event)
            if event.kind in ZNODE_CHANGES and event.path is not None:
                self._by_path.setdefault(event.path, []).append(event)
        self._indexed = len(self.events)

    def of_kind(self, kind: EventKind) -> Sequence[Event]:
        self._index_new_events()
        return self._by_kind.get(kind, ())

    def changes_of(self, path: str) -> Sequence[Event]:
        self._index_new_events()
        return self._by_path.get(path, ())


@dataclass
class EvaluationContext:
    """All that a condition is evaluated on: the event log, the state folded from it, and the nodes' aliases.

    Args:
        events: the run's event log; it may grow.
        state: kept up to date by its owner, with the same events.
        brokers: names of all brokers of the cluster, running or not.
        aliases: name given in the timetable -> node; may grow.
        as_recorded: whether records about processes that do not run count.
    """

    events: Sequence[Event]
    state: ClusterState
    brokers: tuple[str, ...]
    aliases: Mapping[str, str]
    as_recorded: bool = False
    _index: EventIndex = field(init=False)

    def __post_init__(self) -> None:
        self._index = EventIndex(self.events)

    def taking_records(self, as_recorded: bool) -> "EvaluationContext":
        """Return this context, or one on the same events in which records count even if they are about dead processes."""
        if as_recorded == self.as_recorded:
            return self
        other = copy(self)
        other.as_recorded = as_recorded
        return other

    def of_kind(self, kind: EventKind) -> Sequence[Event]:
        return self._index.of_kind(kind)

    def changes_of(self, path: str) -> Sequence[Event]:
        """Return the creations, changes and deletions of one znode."""
        return self._index.changes_of(path)

    def counts(self, node: str) -> bool:
        """Return whether a record about a node's role counts: it runs with a session, or records are taken as they are.

        A broker whose session has expired holds no role any more, although others may not have dealt with it yet.
        """
        return self.as_recorded or (self.state.not_running(node) is None and not self.state.has_lost_session(node))

    def described(self, node: str) -> str:
        """Return a node's name, and why it cannot act if it cannot: `broker-2, which is dead`."""
        if (why := self.state.not_running(node)) is not None:
            return f"{node}, which is {why}"
        return f"{node}, whose session has expired" if self.state.has_lost_session(node) else node

    def subject(self, node: str) -> str:
        """Return `described`, to be followed by a verb."""
        described = self.described(node)
        return described if described == node else f"{described},"

    def matching(self, pattern: EventPattern) -> list[Event]:
        names = self.names
        found = [event for kind in pattern.kinds for event in self.of_kind(kind) if pattern.matches(event, names)]
        return sorted(found, key=lambda event: event.seq)

    @property
    def names(self) -> Mapping[str, str]:
        """Names given in the timetable, and `controller` while there is one -> node."""
        holder = self.state.controller_id
        return {**self.aliases, **({CONTROLLER: f"broker-{holder}"} if holder is not None else {})}

    def nodes(self, names: Iterable[str]) -> list[str]:
        """Return the nodes that the names stand for, each resolved by `node`."""
        return [node for name in names for node in (self.brokers if name == ALL else (self.node(name),))]

    def node(self, name: str) -> str:
        """Return the node that a name stands for. `controller` and `leader-of orders-0` stay as they are without holder."""
        if role := re.fullmatch(ROLE_OF, name):
            broker = self.state.of_topics.broker_in_role(role[1], parse_partition(role[2]))
            return name if broker is None else f"broker-{broker}"
        return self.names.get(name, name)

    def role_matches(self, holder: str | None, wanted: str) -> bool:
        """Whether a role's holder is as wanted: that node, `any`, `none`, or for `not` NODE any other node.

        Args:
            holder: broker-N; None if no broker has the role.
        """
        if wanted.startswith(NOT):
            return holder is not None and holder != self.node(wanted.removeprefix(NOT))
        return {ANY: holder is not None, NONE: holder is None}.get(wanted, holder == self.node(wanted))


def each(things: Iterable[T], look: Callable[[T], ConditionResult]) -> ConditionResult:
    """Return one result for several things: the observations on those for which it does not hold, else on all."""
    findings = [look(thing) for thing in things]
    decisive = [finding for finding in findings if not finding.holds] or findings
    holds = all(finding.holds for finding in findings)
    return ConditionResult(
        holds, comma_separated(f.observed for f in decisive), tuple(event for f in decisive for event in f.evidence)
    )


def last(events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the latest of the events, as evidence."""
    return tuple(events[-1:])
