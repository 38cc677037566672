"""What a run came to: each expectation held, violated or undecided, with the events that decided it."""

from dataclasses import dataclass
from enum import StrEnum

from kcsim.zk.events import Event

HELD_STATUS, VIOLATED_STATUS, UNDECIDED_STATUS = 0, 1, 2


class Outcome(StrEnum):
    HELD = "held"
    VIOLATED = "violated"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Judged:
    """One expectation, judged.

    Attributes:
        claim: what was expected, in words.
        seen: what is the case.
        evidence: the events that made it so, oldest first.
    """

    claim: str
    outcome: Outcome
    seen: str
    evidence: tuple[Event, ...] = ()


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
    """The judgement of a whole run."""

    scenario: str
    judged: tuple[Judged, ...]
    failure: StepFailure | None = None

    @property
    def exit_status(self) -> int:
        """0 all expectations held, 1 one was violated, 2 it could not be decided."""
        if self.failure is not None:
            return UNDECIDED_STATUS
        return VIOLATED_STATUS if any(j.outcome is not Outcome.HELD for j in self.judged) else HELD_STATUS
