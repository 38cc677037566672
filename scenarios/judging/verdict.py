"""What a run came to: each expectation held, violated or undecided, with the events that decided it."""

from dataclasses import dataclass
from enum import StrEnum

from kcsim.zk.events import Event

HELD_STATUS, VIOLATED_STATUS, UNDECIDED_STATUS = 0, 1, 2


class Outcome(StrEnum):
    HELD = "held"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    UNTOLD = "not told"
    """Nobody could see whether it held: decides nothing, and violates nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One expectation, judged.

    Attributes:
        claim: what was expected, in words.
        seen: what is the case.
        evidence: the events that made it so, oldest first.
        invariant: its name, where it is none of the scenario's own expectations; it is violated then.
    """

    claim: str
    outcome: Outcome
    seen: str
    evidence: tuple[Event, ...] = ()
    invariant: str | None = None


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that could not be done, so that nothing was decided. `line` counts from 1."""

    file: str
    line: int
    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.step}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a whole run.

    Attributes:
        judged: each expectation, then each invariant that was violated.
        invariants: names of all that the run was held to.
    """

    scenario: str
    judged: tuple[Judged, ...]
    failure: StepFailure | None = None
    invariants: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """0 all expectations held, 1 one was violated, 2 it could not be decided."""
        if any(judged.invariant is not None for judged in self.judged):  # what is broken is, whatever came after it
            return VIOLATED_STATUS
        told = [judged.outcome for judged in self.judged if judged.outcome is not Outcome.UNTOLD]
        if self.failure is not None or (self.judged and not told):
            return UNDECIDED_STATUS
        return VIOLATED_STATUS if any(outcome is not Outcome.HELD for outcome in told) else HELD_STATUS
