"""Turn the violations of invariants into results of a verdict, one result per violated invariant."""

from collections.abc import Sequence

from kcsim.brokers.invariants import Violation
from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.expectations.verdict import ExpectationOutcome, ExpectationResult

VIOLATIONS_SHOWN = 3
"""How many violations of one invariant are described in words."""

BY_ZNODES = frozenset(
    {
        *("controller-epochs-have-no-gap", "epochs-never-go-back", "one-leader-for-each-leader-epoch"),
        *("leaders-are-in-the-isr", "there-is-one-controller", "every-partition-that-can-be-led-is-led"),
        *("isrs-are-within-the-replicas", "isrs-hold-live-replicas-only", "no-notification-is-left"),
        *("all-comes-to-rest", "no-reassignment-is-left", "no-deletion-is-left", "no-preferred-election-is-left"),
        *("every-replica-is-in-sync", "no-znode-of-a-topic-is-orphaned"),
    }
)
"""Invariants that can be checked where brokers are observed only by their writes to ZooKeeper."""


def violation_results(violations: Sequence[Violation], events: Sequence[Event]) -> list[ExpectationResult]:
    """Return a result for each violated invariant, in the order of their first violations."""
    of_each: dict[str, list[Violation]] = {}
    for violation in violations:
        of_each.setdefault(violation.invariant.name, []).append(violation)
    return [_violation_result(found, events) for found in of_each.values()]


def _violation_result(found: Sequence[Violation], events: Sequence[Event]) -> ExpectationResult:
    invariant = found[0].invariant
    more = f"; and {len(found) - VIOLATIONS_SHOWN} more" if len(found) > VIOLATIONS_SHOWN else ""
    return ExpectationResult(
        claim=invariant.claim,
        outcome=ExpectationOutcome.VIOLATED,
        observed="; ".join(violation.sentence for violation in found[:VIOLATIONS_SHOWN]) + more,
        evidence=tuple(events[violation.seq] for violation in found if violation.seq is not None),
        invariant=invariant.name,
    )
