"""The definition of an invariant: a claim about every run, and a plain function that finds where it does not hold."""

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kcsim.brokers.invariants.history import RunHistory
from kcsim.eventlog.events import EventKind

Check = Callable[[RunHistory], Iterable[str]]
"""Returns a sentence for each violation: for a SAFETY invariant those that the latest event caused, else all of them."""


class CheckPhase(StrEnum):
    """When an invariant has to hold."""

    SAFETY = "always"
    AT_QUIESCENCE = "once quiet"
    """When nothing has happened for a while, even if processes are dead or cut off."""
    AFTER_RECOVERY = "once whole"
    """When, in addition, every fault was undone, every process is back, and the cluster has had time to recover."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A claim that must hold of every run, whatever is done to the cluster.

    Attributes:
        name: the name used in scenario files.
        claim: one sentence.
        check: examines the run in its present state.
        kinds: of a SAFETY invariant: the events that can break it; it is checked after each of them.
    """

    name: str
    claim: str
    phase: CheckPhase
    check: Check
    kinds: frozenset[EventKind] = frozenset()


def always(check: Check, kinds: Iterable[EventKind]) -> Invariant:
    """Return a SAFETY invariant named after its function; the first paragraph of the function's docstring is its claim."""
    return _of(check, CheckPhase.SAFETY, frozenset(kinds))


def at_quiescence(check: Check) -> Invariant:
    return _of(check, CheckPhase.AT_QUIESCENCE)


def after_recovery(check: Check) -> Invariant:
    return _of(check, CheckPhase.AFTER_RECOVERY)


def _of(check: Check, phase: CheckPhase, kinds: Collection[EventKind] = ()) -> Invariant:
    name = getattr(check, "__name__", "")
    claim = (inspect.getdoc(check) or name).partition("\n\n")[0].replace("\n", " ")
    return Invariant(name.replace("_", "-"), claim, phase, check, frozenset(kinds))


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold.

    Attributes:
        sentence: what holds instead.
        seq: of the event that broke the invariant; None where no single event did, as for what must hold at quiescence.
    """

    invariant: Invariant
    sentence: str
    seq: int | None = None

    def __str__(self) -> str:
        place = "" if self.seq is None else f"#{self.seq}: "
        return f"{self.invariant.name}: {place}{self.sentence}"
