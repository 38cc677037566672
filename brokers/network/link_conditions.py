"""The condition of the network from each node to each other node: which links are slow, lossy, or cut.

A link is one direction between two nodes; what a node sends to itself does not use the network. Changes are applied one
after the other; of each kind, the latest change that covers a link counts. Pure: link_stream.py draws the random numbers.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kcsim.eventlog.events import EventFields

Side = frozenset[str] | None
"""Nodes by name; None: every node, including nodes that are added later."""
CLIENTS = "clients"
"""All clients from outside the run; also the node of one that has not named itself yet."""
CLIENT = "client "
"""Before a client id: the node of the clients from outside the run that have this id."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links that a change covers: from each of `sources` to each of `targets`, and back if `both_ways` is set."""

    sources: Side
    targets: Side
    both_ways: bool = False

    def __contains__(self, link: tuple[str, str]) -> bool:
        source, target = link
        if source == target:
            return False
        return self._leads(source, target) or (self.both_ways and self._leads(target, source))

    def _leads(self, source: str, target: str) -> bool:
        return is_on_side(source, self.sources) and is_on_side(target, self.targets)

    def among(self, nodes: Collection[str]) -> list[tuple[str, str]]:
        """Return the covered links between these nodes, sorted."""
        sources, targets = ([n for n in nodes if is_on_side(n, side)] for side in (self.sources, self.targets))
        there = {(source, target) for source in sources for target in targets if source != target}
        return sorted(there | {(target, source) for source, target in there}) if self.both_ways else sorted(there)

    def __str__(self) -> str:
        if self.both_ways:
            return f"between {_side_text(self.sources)} and {_side_text(self.targets)}"
        return f"from {_side_text(self.sources)} to {_side_text(self.targets)}"

    @property
    def fields(self) -> EventFields:
        """The columns of a fault that name its links."""
        fields = EventFields(both_ways=self.both_ways)
        if self.sources is not None:
            fields["sources"] = sorted(self.sources, key=_by_number)
        if self.targets is not None:
            fields["targets"] = sorted(self.targets, key=_by_number)
        return fields


def is_client(node: str) -> bool:
    """Return whether a node stands for clients from outside the run."""
    return node == CLIENTS or (node.startswith(CLIENT) and node != CLIENT)


def is_on_side(node: str, side: Side) -> bool:
    """Return whether a node is on this side of some links: CLIENTS names each client from outside the run."""
    return side is None or node in side or (CLIENTS in side and node.startswith(CLIENT))


EVERYWHERE = Links(None, None, both_ways=True)


def _side_text(side: Side) -> str:
    return "all" if side is None else ", ".join(sorted(side, key=_by_number))


def _by_number(node: str) -> tuple[str, int]:
    name, _, number = node.rpartition("-")
    return (name, int(number)) if number.isdecimal() else (node, 0)


# --- faults of a link; `cause` is the seq of the fault's event -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkCut:
    """Nothing passes.

    Args:
        refuses: the sender gets an error at once, as from a firewall that rejects; else messages are dropped silently.
    """

    cause: int = field(compare=False)
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class LinkDelay:
    """Everything is delayed by `delay_ms`, plus or minus up to `jitter_ms`, drawn uniformly for each message."""

    cause: int = field(compare=False)
    delay_ms: int
    jitter_ms: int = 0


@dataclass(frozen=True, slots=True)
class LinkRate:
    """No more than `bytes_per_s` pass on each connection.

    In memory, only what clients from outside the run exchange has a size; what passes a proxy always has one.
    """

    cause: int = field(compare=False)
    bytes_per_s: int


@dataclass(frozen=True, slots=True)
class LinkLoss:
    """Each transmission is lost with this probability."""

    cause: int = field(compare=False)
    probability: float


@dataclass(frozen=True, slots=True)
class LinkBreakage:
    """With this probability a connection breaks after a request was delivered over it, before the response."""

    cause: int = field(compare=False)
    probability: float


@dataclass(frozen=True, slots=True)
class LinkCondition:
    """The faults of one link."""

    cut: LinkCut | None = None
    slow: LinkDelay | None = None
    rate: LinkRate | None = None
    lossy: LinkLoss | None = None
    breaking: LinkBreakage | None = None


PERFECT = LinkCondition()

LinkFault = LinkCut | LinkDelay | LinkRate | LinkLoss | LinkBreakage
LinkFaultKind = Literal["cut", "slow", "rate", "lossy", "breaking"]


@dataclass(frozen=True, slots=True, eq=False)
class LinkChange:
    """A change of links. Identical changes are kept apart so that each can be undone on its own.

    Args:
        kind: the kind of fault that is set or removed; None: all kinds are removed, the links are healed.
        fault: the new fault; None: the fault of this kind is removed.
    """

    links: Links
    kind: LinkFaultKind | None = None
    fault: LinkFault | None = None

    def applied_to(self, condition: LinkCondition) -> LinkCondition:
        changed: dict[str, Any] = {} if self.kind is None else {self.kind: self.fault}
        return replace(condition, **changed) if changed else PERFECT


class LinkConditions:
    """The conditions of all links of a network. Without changes every link is PERFECT.

    Attributes:
        watchers: called after each change.
    """

    def __init__(self) -> None:
        self.watchers: list[Callable[[], None]] = []
        self._changes: list[LinkChange] = []
        self._known: dict[tuple[str, str], LinkCondition] = {}

    def of(self, source: str, target: str) -> LinkCondition:
        """Return the condition of a link; PERFECT itself if the link has no faults."""
        if not self._changes:
            return PERFECT
        link = source, target
        if link not in self._known:
            self._known[link] = self._folded(link)
        return self._known[link]

    def _folded(self, link: tuple[str, str]) -> LinkCondition:
        condition = PERFECT
        for change in self._changes:
            if link in change.links:
                condition = change.applied_to(condition)
        return PERFECT if condition == PERFECT else condition

    def change(self, change: LinkChange) -> None:
        if change.kind is None and change.links.sources is None and change.links.targets is None:
            self._changes.clear()
        else:
            self._changes.append(change)
        self._changed()

    def take_back(self, change: LinkChange) -> None:
        """Undo this change as if it had never been made. No effect if all links have been healed since."""
        if change in self._changes:
            self._changes.remove(change)
            self._changed()

    def _changed(self) -> None:
        self._known.clear()
        for watcher in list(self.watchers):
            watcher()

    def of_all(self, links: Links, nodes: Collection[str]) -> dict[tuple[str, str], LinkCondition]:
        """Return the condition of each covered link between these nodes."""
        return {link: self.of(*link) for link in links.among(nodes)}
