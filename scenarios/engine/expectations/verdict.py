"""The outcome of a run: each expectation held, violated or undecided, with the events that decided it."""

from dataclasses import dataclass
from enum import StrEnum

from kcsim.eventlog.events import Event

HELD_STATUS, VIOLATED_STATUS, UNDECIDED_STATUS = 0, 1, 2


class ExpectationOutcome(StrEnum):
    HELD = "held"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    NOT_OBSERVABLE = "not observable"
    """It could not be observed whether the expectation held; it neither decides the verdict nor counts as violated."""


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One expectation and its outcome.

    Attributes:
        claim: what was expected, in words.
        observed: what is the case.
        evidence: the events that caused it, oldest first.
        invariant: name of a violated invariant; None for an expectation of the scenario.
    """

    claim: str
    outcome: ExpectationOutcome
    observed: str
    evidence: tuple[Event, ...] = ()
    invariant: str | None = None


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that could not be executed, so that nothing was decided. `line` counts from 1."""

    file: str
    line: int
    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.step}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of a whole run.

    Attributes:
        results: each expectation, then each invariant that was violated.
        invariants: names of all invariants that were checked.
    """

    scenario: str
    results: tuple[ExpectationResult, ...]
    failure: StepFailure | None = None
    invariants: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """0: all expectations held; 1: an expectation or invariant was violated; 2: undecided."""
        if any(result.invariant is not None for result in self.results):  # violated, whatever happened after the violation
            return VIOLATED_STATUS
        outcomes = [result.outcome for result in self.results if result.outcome is not ExpectationOutcome.NOT_OBSERVABLE]
        if self.failure is not None or (self.results and not outcomes):
            return UNDECIDED_STATUS
        if ExpectationOutcome.VIOLATED in outcomes:
            return VIOLATED_STATUS
        return UNDECIDED_STATUS if ExpectationOutcome.UNDECIDED in outcomes else HELD_STATUS


def summary(verdict: Verdict) -> str:
    """Return the whole verdict in one line."""
    broken = [result.invariant for result in verdict.results if result.invariant is not None]
    text = _of_expectations(verdict)
    if not broken:
        return text
    some = f"{len(broken)} invariant{'s' * (len(broken) > 1)} violated: {', '.join(broken)}"
    return f"{some}; {text}" if verdict.failure or len(verdict.results) > len(broken) else some


def _of_expectations(verdict: Verdict) -> str:
    if verdict.failure is not None:
        return f"undecided: {verdict.failure}"
    expected = [result for result in verdict.results if result.invariant is None]
    outcomes = [result.outcome for result in expected if result.outcome is not ExpectationOutcome.NOT_OBSERVABLE]
    violated, undecided, total = (
        outcomes.count(ExpectationOutcome.VIOLATED),
        outcomes.count(ExpectationOutcome.UNDECIDED),
        len(outcomes),
    )
    unobservable = len(expected) - total
    rest = f"; {unobservable} could not be seen on these brokers" if unobservable else ""
    if not total and unobservable:
        return "undecided: none of the expectations can be seen on these brokers"
    if not total:
        return f"all {len(verdict.invariants)} invariants held"
    if undecided and not violated:
        why = next(result.observed for result in expected if result.outcome is ExpectationOutcome.UNDECIDED)
        return f"undecided: {undecided} of {total} expectations{rest}: {why}"
    if total == 1:
        return f"the expectation {'was violated' if violated else 'held'}{rest}"
    return f"{violated} of {total} expectations violated{rest}" if violated else f"all {total} expectations held{rest}"
