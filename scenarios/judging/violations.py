"""What a verdict says of invariants: a judgement on each that does not hold."""

from collections.abc import Sequence

from kcsim.scenarios.invariants import Violation
from kcsim.scenarios.judging.verdict import Judged, Outcome
from kcsim.zk.events import Event

TOLD = 3
"""So many violations of one invariant are told in words."""

BY_ZNODES = frozenset(
    {
        *("controller-epochs-have-no-gap", "epochs-never-go-back", "one-leader-for-each-leader-epoch"),
        *("leaders-are-in-the-isr", "there-is-one-controller", "every-partition-that-can-be-led-is-led"),
        *("isrs-are-within-the-replicas", "isrs-hold-live-replicas-only", "no-notification-is-left"),
        *("all-comes-to-rest", "no-reassignment-is-left", "no-deletion-is-left", "no-preferred-election-is-left"),
        *("every-replica-is-in-sync", "no-znode-of-a-topic-is-orphaned"),
    }
)
"""Invariants that can be judged where nothing is told of what brokers do but their writes to ZooKeeper."""


def judged_violations(violations: Sequence[Violation], events: Sequence[Event]) -> list[Judged]:
    """A judgement for each invariant that was violated, in the order in which that was found."""
    of_each: dict[str, list[Violation]] = {}
    for violation in violations:
        of_each.setdefault(violation.invariant.name, []).append(violation)
    return [_judged(found, events) for found in of_each.values()]


def _judged(found: Sequence[Violation], events: Sequence[Event]) -> Judged:
    invariant = found[0].invariant
    more = f"; and {len(found) - TOLD} more" if len(found) > TOLD else ""
    return Judged(
        claim=invariant.claim,
        outcome=Outcome.VIOLATED,
        seen="; ".join(violation.sentence for violation in found[:TOLD]) + more,
        evidence=tuple(events[violation.seq] for violation in found if violation.seq is not None),
        invariant=invariant.name,
    )
