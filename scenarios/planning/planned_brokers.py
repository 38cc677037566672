"""The brokers that a plan may use, from a snapshot and the goals."""

from collections.abc import Iterator
from dataclasses import dataclass

from kcsim.scenarios.planning.goals import ANY, PlanError, PlanGoals
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.text import did_you_mean, summarize


@dataclass(frozen=True, slots=True)
class PlannedBrokers:
    """The brokers of the cluster afterwards.

    Attributes:
        racks: broker -> its rack, in the order of the ids.
        leaving: brokers that are to host nothing.
        new: brokers that are to get their share.
        has_racks: whether all have a rack.
    """

    racks: dict[int, str | None]
    leaving: frozenset[int]
    new: frozenset[int]

    @property
    def has_racks(self) -> bool:
        return None not in self.racks.values()

    def in_rack(self) -> dict[str | None, int]:
        """Return the number of brokers in each rack."""
        counts: dict[str | None, int] = {}
        for rack in self.racks.values():
            counts[rack] = counts.get(rack, 0) + 1
        return counts


def planned_brokers(snapshot: ControlPlaneSnapshot, goals: PlanGoals) -> PlannedBrokers:
    """Return the brokers. Raises: PlanError if the snapshot cannot be planned for, or a goal names what is not there."""
    for problem in _problems(snapshot, goals):
        raise PlanError(problem)
    racks = {broker.id: broker.rack for broker in snapshot.brokers}
    given = {**goals.added, **{new: goals.replacement_racks.get(new, racks.get(old)) for old, new in goals.replaced.items()}}
    for broker, rack in given.items():
        is_explicit = broker in goals.added or broker in goals.replacement_racks
        if broker in racks and rack is not None and is_explicit and rack != racks[broker]:
            raise PlanError(f"broker {broker} is registered in rack {racks[broker]}, not {rack}")
    leaving = goals.removed.union(goals.replaced)
    all_racks = {**given, **racks}
    after = {broker: all_racks[broker] for broker in sorted(all_racks) if broker not in leaving}
    if not after:
        raise PlanError("no broker remains")
    planned = PlannedBrokers(after, leaving, frozenset(goals.added))
    if goals.is_rack_aware and not planned.has_racks:
        without = [broker for broker, rack in after.items() if rack is None]
        raise PlanError(f"rack-aware: the rack of broker {summarize(without)} is not known")
    for broker in goals.capacities:
        if broker not in after:
            raise PlanError(f"--capacity: broker {broker} is no broker of the cluster afterwards")
    return planned


def _problems(snapshot: ControlPlaneSnapshot, goals: PlanGoals) -> Iterator[str]:
    """Yield why no plan can be made, before any placement is looked for."""
    known = {*snapshot.registered_ids, *snapshot.absent_ids}
    for broker in sorted(goals.removed.union(goals.replaced)):
        if broker not in known:
            yield f"broker {broker} is no broker of the snapshot; it has {summarize(sorted(known), 10)}"
    for broker in sorted({*goals.added, *goals.replaced.values()}.intersection(snapshot.absent_ids)):
        yield f"broker {broker} has replicas and is not registered: it has to be started first"
    topics = [topic.name for topic in snapshot.topics]
    for name in goals.factors:
        if name != ANY and name not in topics:
            yield f"replication-factor: there is no topic {name!r}{did_you_mean(name, topics)}"
    moving = [str(tp) for tp, partition in snapshot.partitions() if partition.adding or partition.removing]
    moving += [f"{request.topic}-{request.partition}" for request in snapshot.reassignment_requests]
    if moving:
        yield f"reassignments are under way ({summarize(moving)}): take the snapshot when they are complete"
