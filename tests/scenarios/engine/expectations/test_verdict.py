"""A verdict's exit status and its line."""

import pytest

from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult, StepFailure, Verdict, summary

HELD, VIOLATED, UNDECIDED, UNSEEN = (
    ExpectationOutcome.HELD,
    ExpectationOutcome.VIOLATED,
    ExpectationOutcome.UNDECIDED,
    ExpectationOutcome.NOT_OBSERVABLE,
)
LATE = StepFailure("a.yaml", 7, "wait", "not within 1000 ms")


def verdict(*outcomes: ExpectationOutcome, failure: StepFailure | None = None, broken: tuple[str, ...] = ()) -> Verdict:
    expected = [ExpectationResult("it holds", outcome, "nothing was seen") for outcome in outcomes]
    invariants = [ExpectationResult("always", VIOLATED, "not so", invariant=name) for name in broken]
    return Verdict("a", (*expected, *invariants), failure, ("there-is-one-controller",))


@pytest.mark.parametrize(
    ("given", "status", "line"),
    [
        (verdict(HELD), 0, "the expectation held"),
        (verdict(HELD, HELD), 0, "all 2 expectations held"),
        (verdict(VIOLATED), 1, "the expectation was violated"),
        (verdict(VIOLATED, HELD), 1, "1 of 2 expectations violated"),
        (verdict(VIOLATED, UNDECIDED), 1, "1 of 2 expectations violated"),
        (verdict(UNDECIDED, HELD), 2, "undecided: 1 of 2 expectations: nothing was seen"),
        (
            verdict(UNDECIDED, UNSEEN),
            2,
            "undecided: 1 of 1 expectations; 1 could not be seen on these brokers: nothing was seen",
        ),
        (verdict(HELD, UNSEEN), 0, "the expectation held; 1 could not be seen on these brokers"),
        (verdict(UNSEEN, UNSEEN), 2, "undecided: none of the expectations can be seen on these brokers"),
        (verdict(), 0, "all 1 invariants held"),
        (verdict(HELD, failure=LATE), 2, "undecided: a.yaml:7: wait: not within 1000 ms"),
        (verdict(broken=("x",)), 1, "1 invariant violated: x"),
        (verdict(HELD, broken=("x", "y")), 1, "2 invariants violated: x, y; the expectation held"),
        (verdict(failure=LATE, broken=("x",)), 1, "1 invariant violated: x; undecided: a.yaml:7: wait: not within 1000 ms"),
    ],
)
def test_a_verdict_has_a_status_and_a_line(given: Verdict, status: int, line: str) -> None:
    assert (given.exit_status, summary(given)) == (status, line)
