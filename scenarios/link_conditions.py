"""In which condition the network is, from each node to each other: what is slow, lossy, or cut.

A link is one direction between two nodes; what a node sends to itself does not touch the network. Changes come one after
the other, and of each kind the latest that names a link counts. Pure: drawing from the probabilities is stream.py's.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Side = frozenset[str] | None
"""Nodes by name; None: every node, those that come later included."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links that a change is about: from each of `sources` to each of `targets`, and back if it goes both ways."""

    sources: Side
    targets: Side
    both_ways: bool = False

    def __contains__(self, link: tuple[str, str]) -> bool:
        source, target = link
        if source == target:
            return False
        return self._leads(source, target) or (self.both_ways and self._leads(target, source))

    def _leads(self, source: str, target: str) -> bool:
        return (self.sources is None or source in self.sources) and (self.targets is None or target in self.targets)

    def among(self, nodes: Collection[str]) -> list[tuple[str, str]]:
        """Those between these nodes, sorted."""
        sources, targets = (nodes if side is None else side & set(nodes) for side in (self.sources, self.targets))
        there = {(source, target) for source in sources for target in targets if source != target}
        return sorted(there | {(target, source) for source, target in there}) if self.both_ways else sorted(there)

    def __str__(self) -> str:
        if self.both_ways:
            return f"between {_told(self.sources)} and {_told(self.targets)}"
        return f"from {_told(self.sources)} to {_told(self.targets)}"


EVERYWHERE = Links(None, None, both_ways=True)


def _told(side: Side) -> str:
    return "all" if side is None else ", ".join(sorted(side, key=_by_number))


def _by_number(node: str) -> tuple[str, int]:
    name, _, number = node.rpartition("-")
    return (name, int(number)) if number.isdecimal() else (node, 0)


# --- what can be wrong with a link; `cause` is the seq of the fault's event ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """Nothing passes.

    Args:
        refuses: the sender is told so at once, as by a firewall that rejects; else its words vanish.
    """

    cause: int = field(compare=False)
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class Slow:
    """Everything takes longer: `delay_ms`, up to `jitter_ms` more or less, each time drawn anew, all equally likely."""

    cause: int = field(compare=False)
    delay_ms: int
    jitter_ms: int = 0


@dataclass(frozen=True, slots=True)
class Lossy:
    """What is sent is lost with this probability, each time it is sent."""

    cause: int = field(compare=False)
    probability: float


@dataclass(frozen=True, slots=True)
class Breaking:
    """With this probability a connection breaks when a request has been delivered over it, before the answer."""

    cause: int = field(compare=False)
    probability: float


@dataclass(frozen=True, slots=True)
class LinkCondition:
    """What is wrong with one link."""

    cut: Cut | None = None
    slow: Slow | None = None
    lossy: Lossy | None = None
    breaking: Breaking | None = None


PERFECT = LinkCondition()

Trouble = Cut | Slow | Lossy | Breaking
Kind = Literal["cut", "slow", "lossy", "breaking"]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of links. Two changes that say the same are two: one of them can be taken back.

    Args:
        kind: what it is about; None: all kinds, the links are healed.
        trouble: None: of this kind there is none any more.
    """

    links: Links
    kind: Kind | None = None
    trouble: Trouble | None = None

    def applied_to(self, condition: LinkCondition) -> LinkCondition:
        changed: dict[str, Any] = {} if self.kind is None else {self.kind: self.trouble}
        return replace(condition, **changed) if changed else PERFECT


class LinkConditions:
    """The conditions of all links of a network. Without changes every link is PERFECT."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._known: dict[tuple[str, str], LinkCondition] = {}

    def of(self, source: str, target: str) -> LinkCondition:
        """The condition of a link; PERFECT itself where there is nothing wrong."""
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

    def change(self, change: Change) -> None:
        if change.kind is None and change.links.sources is None and change.links.targets is None:
            self._changes.clear()
        else:
            self._changes.append(change)
        self._known.clear()

    def take_back(self, change: Change) -> None:
        """Let the links be as if this change had never been made. No effect if all has been healed since."""
        if change in self._changes:
            self._changes.remove(change)
            self._known.clear()

    def of_all(self, links: Links, nodes: Collection[str]) -> dict[tuple[str, str], LinkCondition]:
        """The condition of each link that is meant between these nodes."""
        return {link: self.of(*link) for link in links.among(nodes)}
