"""What conditions are judged on, and what comes of it: the log with the state it folds to, and findings."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.words import ALL, ANY, CONTROLLER, NONE, NOT, ROLE_OF, listed, parse_partition
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event, EventKind

T = TypeVar("T")

ZNODE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a condition holds.

    Attributes:
        seen: a sentence that says what is the case, whether or not it is what was wanted.
        evidence: the events that made it so, oldest first.
    """

    holds: bool
    seen: str
    evidence: tuple[Event, ...] = ()


@dataclass
class Seen:
    """All that a condition is judged on: the log, the state it folds to, and who is called what.

    Args:
        events: the run's event log; may grow, each look takes in what is new.
        state: kept up by its owner with the same events.
        brokers: names of all brokers of the cluster, running or not.
        aliases: name given in the timetable -> node; may grow.
    """

    events: Sequence[Event]
    state: ClusterState
    brokers: tuple[str, ...]
    aliases: Mapping[str, str]
    _by_kind: dict[EventKind, list[Event]] = field(default_factory=dict)
    _by_path: dict[str, list[Event]] = field(default_factory=dict)
    _taken_in: int = 0

    def _take_in(self) -> None:
        for event in self.events[self._taken_in :]:
            self._by_kind.setdefault(event.kind, []).append(event)
            if event.kind in ZNODE_CHANGES and event.path is not None:
                self._by_path.setdefault(event.path, []).append(event)
        self._taken_in = len(self.events)

    def of_kind(self, kind: EventKind) -> Sequence[Event]:
        self._take_in()
        return self._by_kind.get(kind, ())

    def changes_of(self, path: str) -> Sequence[Event]:
        """Creations, changes and deletions of one znode."""
        self._take_in()
        return self._by_path.get(path, ())

    def matching(self, pattern: EventPattern) -> list[Event]:
        names = self.names
        found = [event for kind in pattern.kinds for event in self.of_kind(kind) if pattern.matches(event, names)]
        return sorted(found, key=lambda event: event.seq)

    @property
    def names(self) -> Mapping[str, str]:
        """Names given in the timetable, and `controller` while somebody holds the role -> node."""
        holder = self.state.controller_id
        return {**self.aliases, **({CONTROLLER: f"broker-{holder}"} if holder is not None else {})}

    def nodes(self, names: Iterable[str]) -> list[str]:
        """The nodes that are meant, each as `node` has it."""
        return [node for name in names for node in (self.brokers if name == ALL else (self.node(name),))]

    def node(self, name: str) -> str:
        """The node that is meant; `controller` and `leader-of orders-0` stay as they are while nobody is."""
        if role := re.fullmatch(ROLE_OF, name):
            broker = self.state.of_topics.broker_in_role(role[1], parse_partition(role[2]))
            return name if broker is None else f"broker-{broker}"
        return self.names.get(name, name)

    def is_held_by(self, holder: str | None, wanted: str) -> bool:
        """Whether a role is held as wanted: by that node, by `any`, by `none`, or by somebody who is `not` that node.

        Args:
            holder: broker-N; None if nobody holds it.
        """
        if wanted.startswith(NOT):
            return holder is not None and holder != self.node(wanted.removeprefix(NOT))
        return {ANY: holder is not None, NONE: holder is None}.get(wanted, holder == self.node(wanted))


def each(things: Iterable[T], look: Callable[[T], Finding]) -> Finding:
    """One finding on several things: what is seen of those for which it does not hold, else of all."""
    findings = [look(thing) for thing in things]
    telling = [finding for finding in findings if not finding.holds] or findings
    holds = all(finding.holds for finding in findings)
    return Finding(holds, listed(f.seen for f in telling), tuple(event for f in telling for event in f.evidence))


def last(events: Sequence[Event]) -> tuple[Event, ...]:
    """The latest of them, as evidence."""
    return tuple(events[-1:])
