"""Makes the plan of a reassignment: what each partition's replicas are before and after, and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kcsim.scenarios.planning.goals import PlanGoals
from kcsim.scenarios.planning.leader_choice import choose_leaders
from kcsim.scenarios.planning.placement_search import find_placement
from kcsim.scenarios.planning.problem_of_goals import PlanningTask, planning_task, preferred_leaders, size_of
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition
from kcsim.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionMove:
    """A partition whose replicas change, in number, place or order.

    Attributes:
        before, after: broker ids; the first is the preferred leader.
        size_bytes: of one replica; 1 if it is not known.
        leader: the broker that new replicas fetch from; None: the partition is offline.
        bytes_in_per_s: what producers write; 0 if it is not known.
        reasons: for people.
    """

    partition: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]
    size_bytes: int
    leader: int | None
    bytes_in_per_s: float
    reasons: tuple[str, ...]

    @property
    def added(self) -> tuple[int, ...]:
        """The brokers that get a replica."""
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def dropped(self) -> tuple[int, ...]:
        """The brokers that lose their replica."""
        return tuple(broker for broker in self.before if broker not in self.after)

    @property
    def bytes_moved(self) -> int:
        return self.size_bytes * len(self.added)

    @property
    def is_offline(self) -> bool:
        return self.leader is None

    @property
    def source(self) -> int:
        """The broker that new replicas fetch from, once it leads."""
        return self.before[0] if self.leader is None else self.leader


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """What one broker hosts. Attributes: leaders: partitions whose preferred leader it is."""

    replicas: int
    leaders: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ReassignmentPlan:
    """A plan.

    Attributes:
        moves: sorted by partition; all others stay as they are.
        before, after: broker -> what it hosts; those that leave and those that come included.
        fixed: partitions that the plan could not have changed.
    """

    moves: tuple[PartitionMove, ...]
    before: Mapping[int, BrokerLoad]
    after: Mapping[int, BrokerLoad]
    fixed: tuple[TopicPartition, ...]

    @property
    def bytes_moved(self) -> int:
        return sum(move.bytes_moved for move in self.moves)

    @property
    def replicas_moved(self) -> int:
        return sum(len(move.added) for move in self.moves)

    @property
    def elections(self) -> tuple[TopicPartition, ...]:
        """The partitions whose preferred leader changes: it is elected when their moves are complete."""
        return tuple(move.partition for move in self.moves if move.before[0] != move.after[0])


def make_plan(snapshot: ControlPlaneSnapshot, goals: PlanGoals) -> ReassignmentPlan:
    """Return the plan with the fewest bytes moved. Raises: PlanError."""
    task = planning_task(snapshot, goals)
    hosts = find_placement(task.problem)
    ids = task.problem.brokers.ids
    other_leaders = Counter(partition.replicas[0] for _, partition in task.fixed if partition.replicas)
    others = np.array([other_leaders[broker] for broker in ids], dtype=np.int64)
    is_free = np.full(len(task.partitions), goals.has_balanced_leaders)
    leaders = choose_leaders(hosts, list(preferred_leaders(task)), is_free, others)
    after = {}
    for row, planned in enumerate(task.partitions):
        replicas = [ids[column] for column in np.flatnonzero(hosts[row])]
        after[planned.name] = in_order(planned.partition.replicas, replicas, ids[leaders[row]])
    before = dict(snapshot.partitions())
    everything = {tp: after.get(tp, partition.replicas) for tp, partition in before.items()}
    brokers = sorted({*snapshot.registered_ids, *snapshot.absent_ids, *ids})
    loads_before = _loads(brokers, ((partition, partition.replicas) for partition in before.values()))
    loads_after = _loads(brokers, ((before[tp], replicas) for tp, replicas in everything.items()))
    reasons = _Reasons(task, goals, loads_before)
    moves = [
        PartitionMove(
            tp,
            partition.replicas,
            everything[tp],
            size_of(partition),
            partition.leader,
            partition.bytes_in_per_s or 0.0,
            tuple(reasons.of(partition, everything[tp])),
        )
        for tp, partition in before.items()
        if everything[tp] != partition.replicas
    ]
    return ReassignmentPlan(tuple(moves), loads_before, loads_after, tuple(tp for tp, _ in task.fixed))


def in_order(before: Sequence[int], replicas: Iterable[int], leader: int) -> tuple[int, ...]:
    """Return replicas in the order of an assignment: the leader first, those that stay in their order, then new ones."""
    rest = [broker for broker in replicas if broker != leader]
    places = {broker: place for place, broker in enumerate(before)}
    return (leader, *sorted(rest, key=lambda broker: (places.get(broker, len(places)), broker)))


def _loads(brokers: Iterable[int], assigned: Iterable[tuple[SnapshotPartition, Sequence[int]]]) -> dict[int, BrokerLoad]:
    replicas, leaders, held = Counter[int](), Counter[int](), Counter[int]()
    for partition, placed in assigned:
        leaders.update(placed[:1])
        for broker in placed:
            replicas[broker] += 1
            held[broker] += size_of(partition)
    return {broker: BrokerLoad(replicas[broker], leaders[broker], held[broker]) for broker in brokers}


class _Reasons:
    """Why replicas move, from the goals and what the brokers hosted before."""

    def __init__(self, task: PlanningTask, goals: PlanGoals, loads: Mapping[int, BrokerLoad]) -> None:
        self._racks = task.brokers.racks
        self._goals = goals
        self._loads = loads

    def of(self, partition: SnapshotPartition, after: Sequence[int]) -> Iterator[str]:
        """Yield the reasons for the change of one partition."""
        before, goals = partition.replicas, self._goals
        dropped = [broker for broker in before if broker not in after]
        added = [broker for broker in after if broker not in before]
        if len(after) != len(before):
            yield f"replication factor {len(before)} -> {len(after)}"
        for broker in dropped:
            if broker in goals.removed:
                yield f"broker {broker} is removed"
            elif broker in goals.replaced:
                yield f"broker {broker} is replaced by {goals.replaced[broker]}"
            elif len(added) + len(before) - len(after) >= len(dropped):
                yield self._left(broker, before, added)
        if before[0] != after[0] and before[0] in after:
            leads, will_lead = (self._loads[broker].leaders for broker in (before[0], after[0]))
            yield f"leaders: broker {before[0]} led {leads}, broker {after[0]} {will_lead}"

    def _left(self, broker: int, before: Sequence[int], added: Sequence[int]) -> str:
        """Return why a replica leaves a broker that stays."""
        goals, load, rack = self._goals, self._loads[broker], self._racks.get(broker)
        in_rack = sum(self._racks.get(other) == rack for other in before)
        if goals.is_rack_aware and rack is not None and in_rack > 1:
            return f"rack {rack} had {in_rack} of {len(before)} replicas"
        if load.size_bytes > goals.capacities.get(broker, load.size_bytes):
            return f"broker {broker} had {load.size_bytes} of {goals.capacities[broker]} bytes"
        others = ", ".join(f"broker {other} {self._loads[other].replicas}" for other in added)
        return f"replicas: broker {broker} had {load.replicas}" + (f", {others}" if others else "")
