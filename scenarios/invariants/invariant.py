"""What an invariant is: a claim about every run, and a plain function that finds where it does not hold."""

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kcsim.scenarios.invariants.history import History
from kcsim.zk.events import EventKind

Check = Callable[[History], Iterable[str]]
"""Returns a sentence for each violation: of a SAFETY invariant those that the latest event brought, else all there are."""


class When(StrEnum):
    """When an invariant has to hold."""

    SAFETY = "always"
    ONCE_QUIET = "once quiet"
    """When nothing has happened for a while, whoever is dead by then."""
    ONCE_WHOLE = "once whole"
    """When, besides, every fault was undone and everybody is back, and the cluster was given time."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """What must hold of every run, whatever is done to it.

    Attributes:
        name: as scenario files have it.
        claim: one sentence.
        check: looks at the run as it is now.
        kinds: of a SAFETY invariant: the events that can break it; it is looked at after each of them.
    """

    name: str
    claim: str
    when: When
    check: Check
    kinds: frozenset[EventKind] = frozenset()


def always(check: Check, kinds: Iterable[EventKind]) -> Invariant:
    """A SAFETY invariant: named as its function, claiming what the first line of its docstring says."""
    return _of(check, When.SAFETY, frozenset(kinds))


def once_quiet(check: Check) -> Invariant:
    return _of(check, When.ONCE_QUIET)


def once_whole(check: Check) -> Invariant:
    return _of(check, When.ONCE_WHOLE)


def _of(check: Check, when: When, kinds: Collection[EventKind] = ()) -> Invariant:
    name = getattr(check, "__name__", "")
    claim = (inspect.getdoc(check) or name).partition("\n\n")[0].replace("\n", " ")
    return Invariant(name.replace("_", "-"), claim, when, check, frozenset(kinds))


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold.

    Attributes:
        sentence: what is so instead.
        seq: of the event that broke it; None where it is not one event: what is so once all is quiet.
    """

    invariant: Invariant
    sentence: str
    seq: int | None = None

    def __str__(self) -> str:
        place = "" if self.seq is None else f"#{self.seq}: "
        return f"{self.invariant.name}: {place}{self.sentence}"
