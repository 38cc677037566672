"""Replica lists that cannot be right, as people write them by hand, and what a hardened controller makes of them."""

from collections.abc import Sequence

from kcsim.vocabulary import BrokerId, NoBrokerId, ReplicaAssignment


def wrong_replicas(replicas: Sequence[BrokerId]) -> str | None:
    """Return why no partition can have these replicas; None if one can. A broker that is named twice is no reason."""
    if not replicas:
        return "it has no replicas"
    wrong = [replica for replica in replicas if isinstance(replica, NoBrokerId) or replica < 0]
    return f"{wrong[0]} is no broker id" if wrong else None


def usable_assignment(assignment: ReplicaAssignment) -> ReplicaAssignment:
    """Return an assignment in which every broker is named once, and at least one replica is to stay.

    A reassignment to no broker is no reassignment: all replicas stay, and none is added.
    """
    replicas = _once(assignment.replicas)
    adding, removing = (
        tuple(broker for broker in _once(marked) if broker in replicas)
        for marked in (assignment.adding_replicas, assignment.removing_replicas)
    )
    return ReplicaAssignment(replicas, adding, removing) if set(removing) != set(replicas) else ReplicaAssignment(replicas)


def usable_isr(isr: Sequence[BrokerId], replicas: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """Return the members of an ISR that are replicas of the partition, each once, in their order."""
    return tuple(broker for broker in _once(isr) if broker in replicas)


def _once(brokers: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    return tuple(dict.fromkeys(brokers))
