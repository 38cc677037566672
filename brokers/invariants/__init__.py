"""The invariants: what must hold of every run, whatever is done to the cluster.

SAFETY holds at every moment of a run. AT_QUIESCENCE holds when nothing has happened for a while, even if processes are dead
or cut off. AFTER_RECOVERY holds when, in addition, every fault was undone and the cluster has had time to recover.
"""

from collections.abc import Iterable, Sequence

from kcsim.brokers.invariants.after_recovery import AFTER_RECOVERY_BY_EVENTS
from kcsim.brokers.invariants.at_quiescence import AT_QUIESCENCE_BY_EVENTS, NO_STRAY_LEADS
from kcsim.brokers.invariants.broker_view_checks import AT_QUIESCENCE_INSIDE
from kcsim.brokers.invariants.history import InspectableCluster, PartitionStateChange, state_writes
from kcsim.brokers.invariants.invariant import CheckPhase, Invariant, Violation
from kcsim.brokers.invariants.invariant_checker import InvariantChecker
from kcsim.brokers.invariants.records import SAFETY_OF_RECORDS
from kcsim.brokers.invariants.safety import SAFETY_OF_THE_CLUSTER
from kcsim.eventlog.events import Event

SAFETY: Sequence[Invariant] = (*SAFETY_OF_THE_CLUSTER, *SAFETY_OF_RECORDS)
AT_QUIESCENCE: Sequence[Invariant] = (*SAFETY, *AT_QUIESCENCE_BY_EVENTS, *AT_QUIESCENCE_INSIDE)
AFTER_RECOVERY: Sequence[Invariant] = (*AT_QUIESCENCE, *AFTER_RECOVERY_BY_EVENTS)
INVARIANTS = AFTER_RECOVERY
"""All invariants that a run is checked against, in order."""
NOT_PROMISED: Sequence[Invariant] = (NO_STRAY_LEADS,)
"""What would also be desirable at quiescence, but what Kafka does not guarantee."""


def named(names: Iterable[str]) -> list[Invariant]:
    """Return the invariants of these names, in their own order. Raises: KeyError for a name that does not exist."""
    wanted = set(names)
    found = [invariant for invariant in (*INVARIANTS, *NOT_PROMISED) if invariant.name in wanted]
    missing = wanted - {invariant.name for invariant in found}
    if missing:
        raise KeyError(sorted(missing)[0])
    return found


def violations(
    events: Sequence[Event], invariants: Sequence[Invariant] = SAFETY, inside: InspectableCluster | None = None
) -> list[str]:
    """Return what these invariants report of a run: sentences, each with the name of its invariant.

    All of them are checked, so a caller that passes AT_QUIESCENCE or AFTER_RECOVERY must know that the run is in that state.

    Args:
        inside: the cluster, if it still exists. It is inspected at the end only: checks made at each event do not see it.
    """
    checker = InvariantChecker(invariants)
    for event in events:
        checker.observe(event)
    checker.history.inside = inside
    checker.at_end(quiescent=True, recovered=True)
    return [str(violation) for violation in checker.violations]


__all__ = [
    "AFTER_RECOVERY",
    "AT_QUIESCENCE",
    "INVARIANTS",
    "NOT_PROMISED",
    "SAFETY",
    "CheckPhase",
    "InspectableCluster",
    "Invariant",
    "InvariantChecker",
    "PartitionStateChange",
    "Violation",
    "named",
    "state_writes",
    "violations",
]
