"""What must hold of every run, whatever is done to it.

SAFETY holds at every moment of a run; ONCE_QUIET when nothing has happened for a while, whoever is dead or cut off;
ONCE_WHOLE when, besides, everything was undone that was done to the cluster, and it has had time to recover.
"""

from collections.abc import Iterable, Sequence

from kcsim.scenarios.invariants.history import TREE_CHANGES, Inside, StateWrite, state_writes
from kcsim.scenarios.invariants.invariant import Invariant, Violation, When
from kcsim.scenarios.invariants.quiet import NO_STRAY_LEADS, ONCE_QUIET_BY_EVENTS
from kcsim.scenarios.invariants.records import SAFETY_OF_RECORDS
from kcsim.scenarios.invariants.safety import SAFETY_OF_THE_CLUSTER
from kcsim.scenarios.invariants.views import ONCE_QUIET_INSIDE
from kcsim.scenarios.invariants.watch import Watch
from kcsim.scenarios.invariants.whole import ONCE_WHOLE_BY_EVENTS
from kcsim.zk.events import Event

SAFETY: Sequence[Invariant] = (*SAFETY_OF_THE_CLUSTER, *SAFETY_OF_RECORDS)
ONCE_QUIET: Sequence[Invariant] = (*SAFETY, *ONCE_QUIET_BY_EVENTS, *ONCE_QUIET_INSIDE)
ONCE_WHOLE: Sequence[Invariant] = (*ONCE_QUIET, *ONCE_WHOLE_BY_EVENTS)
INVARIANTS = ONCE_WHOLE
"""All that is promised, in order."""
NOT_PROMISED: Sequence[Invariant] = (NO_STRAY_LEADS,)
"""What one would wish for as well, once all is quiet, but Kafka does not see to."""


def named(names: Iterable[str]) -> list[Invariant]:
    """The invariants of these names, in their own order. Raises: KeyError for one that does not exist."""
    wanted = set(names)
    found = [invariant for invariant in (*INVARIANTS, *NOT_PROMISED) if invariant.name in wanted]
    missing = wanted - {invariant.name for invariant in found}
    if missing:
        raise KeyError(sorted(missing)[0])
    return found


def violations(events: Sequence[Event], invariants: Sequence[Invariant] = SAFETY, inside: Inside | None = None) -> list[str]:
    """What these invariants have to say against a run, each sentence with the name of its invariant.

    All of them are judged, so whoever asks for ONCE_QUIET or ONCE_WHOLE knows that the run is.

    Args:
        inside: the cluster, if it is still there; what invariants look for in it while a run goes on is not seen.
    """
    watch = Watch(invariants)
    for event in events:
        watch.see(event)
    watch.history.inside = inside
    watch.at_end(quiet=True, whole=True)
    return [str(violation) for violation in watch.violations]


__all__ = [
    "INVARIANTS",
    "NOT_PROMISED",
    "ONCE_QUIET",
    "ONCE_WHOLE",
    "SAFETY",
    "TREE_CHANGES",
    "Inside",
    "Invariant",
    "StateWrite",
    "Violation",
    "Watch",
    "When",
    "named",
    "state_writes",
    "violations",
]
