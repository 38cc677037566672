"""What explains a violated invariant of a run with hardening: the known bugs that hardening leaves, and its own limits.

The limits are those of the hardening table (docs/reference/hardening.md).
"""

from functools import cache

from kcsim.scenarios.explore.known_bugs import KnownBug, known_bugs
from kcsim.scenarios.explore.simulation import ENDLESS

SURVIVED = frozenset({"elections-come-to-an-end", "there-is-one-controller", ENDLESS})
"""The invariants that hold with hardening whatever a person writes into znodes."""
NO_CONTROLLER = frozenset({"controller-created-by-hand", "controller-epoch-that-is-no-number"})
"""The bugs that still explain a cluster without a controller.

Nobody can be elected while /controller belongs to no broker, or while /controller_epoch holds no number and no broker has
seen one.
"""

LIMITS = (
    {
        "name": "quarantined-controller",
        "what": "/controller does not name the broker whose session owns it. That broker is the controller all the same.",
        "seen-in": "clusters with hardening",
        "shown": "source",
        "explains": ["there-is-one-controller"],
        "signature": {"event": {"kind": "ZnodeQuarantined", "path": "/controller"}},
    },
    {
        "name": "quarantined-request",
        "what": "A request in /admin is in quarantine, and stays there until it is repaired or deleted.",
        "seen-in": "clusters with hardening",
        "shown": "source",
        "explains": ["no-preferred-election-is-left", "no-reassignment-is-left"],
        "signature": {"event": {"kind": "ZnodeQuarantined", "path": "/admin"}},
    },
    {
        "name": "quarantined-topic",
        "what": "The znode of a topic is in quarantine. Its partitions stay where they are, and nobody controls them.",
        "seen-in": "clusters with hardening",
        "shown": "source",
        "explains": [
            "every-partition-that-can-be-led-is-led",
            "every-replica-is-in-sync",
            "followers-follow-the-leader",
            "isr-members-have-been-replicas",
            "isrs-are-within-the-replicas",
            "leaders-know-that-they-lead",
            "leaders-know-the-isr",
            "metadata-equals-zookeeper",
            "no-acknowledged-record-is-lost",
            "no-dead-broker-is-left-in-the-metadata",
            "no-metadata-is-left-of-what-is-gone",
            "no-other-replica-leads",
            "no-reassignment-is-left",
            "no-znode-of-a-topic-is-orphaned",
            "what-is-committed-is-on-every-in-sync-replica",
        ],
        "signature": {"event": {"kind": "ZnodeQuarantined", "path": "/brokers/topics"}},
    },
)


@cache
def known_bugs_with_hardening() -> tuple[KnownBug, ...]:
    """Return what explains violations with hardening. Nothing explains elections without end."""
    left = [bug.model_copy(update={"explains": _still_explained(bug)}) for bug in known_bugs()]
    return (*(bug for bug in left if bug.explains), *(KnownBug.model_validate(limit) for limit in LIMITS))


def _still_explained(bug: KnownBug) -> list[str]:
    survived = SURVIVED - {"there-is-one-controller"} if bug.name in NO_CONTROLLER else SURVIVED
    return [name for name in bug.explains if name not in survived]
