"""Makes the placement problem of a snapshot and goals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kcsim.scenarios.planning.goals import ANY, PlanError, PlanGoals
from kcsim.scenarios.planning.placement_problem import (
    UNLIMITED,
    BrokerColumns,
    Flags,
    Ints,
    PartitionRows,
    PlacementProblem,
)
from kcsim.scenarios.planning.planned_brokers import PlannedBrokers, planned_brokers
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition
from kcsim.vocabulary import TopicPartition

UNKNOWN_SIZE = 1
"""Bytes that a replica of unknown size counts as."""


@dataclass(frozen=True, slots=True)
class PlannedPartition:
    """A partition that a plan may change. Attributes: stays_on: where its replicas are, or are taken over, at no cost."""

    name: TopicPartition
    partition: SnapshotPartition
    factor: int
    stays_on: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanningTask:
    """A placement problem, and what it was made from.

    Attributes:
        partitions: one for each row of the problem.
        fixed: partitions without a row: of topics that are being deleted, or with a replica on a broker that is absent.
    """

    brokers: PlannedBrokers
    problem: PlacementProblem
    partitions: tuple[PlannedPartition, ...]
    fixed: tuple[tuple[TopicPartition, SnapshotPartition], ...]


def planning_task(snapshot: ControlPlaneSnapshot, goals: PlanGoals) -> PlanningTask:
    """Return the problem. Raises: PlanError if it has no solution, or the goals do not fit to the snapshot."""
    brokers = planned_brokers(snapshot, goals)
    if goals.bytes_within is not None and all(one.size_bytes is None for _, one in snapshot.partitions()):
        raise PlanError("balance-bytes: no size is known; kcsim snapshot --sizes adds them")
    columns = {broker: column for column, broker in enumerate(brokers.racks)}
    partitions: list[PlannedPartition] = []
    fixed = []
    for tp, partition in snapshot.partitions():
        if _is_fixed(tp, partition, snapshot, brokers, goals):
            fixed.append((tp, partition))
        else:
            partitions.append(_planned(tp, partition, goals, brokers.racks))
    rows = _rows(partitions, brokers, goals, columns)
    columns_of = _columns(rows, fixed, brokers, goals)
    _check_capacity(rows, columns_of)
    problem = PlacementProblem(columns_of, rows, goals.is_balanced or bool(goals.added), goals.bytes_within)
    return PlanningTask(brokers, problem, tuple(partitions), tuple(fixed))


def size_of(partition: SnapshotPartition) -> int:
    """Return the bytes that a new replica copies."""
    return UNKNOWN_SIZE if partition.size_bytes is None else partition.size_bytes


def factor_of(tp: TopicPartition, partition: SnapshotPartition, goals: PlanGoals) -> int:
    return goals.factors.get(tp.topic, goals.factors.get(ANY, len(partition.replicas)))


def _is_fixed(
    tp: TopicPartition,
    partition: SnapshotPartition,
    snapshot: ControlPlaneSnapshot,
    brokers: PlannedBrokers,
    goals: PlanGoals,
) -> bool:
    """Return whether no plan can change a partition: Kafka refuses replicas on absent brokers. Raises: PlanError."""
    if tp.topic in snapshot.topic_deletions or not partition.replicas:
        return True
    absent = [broker for broker in partition.replicas if broker not in brokers.racks and broker not in brokers.leaving]
    if not absent:
        return False
    if (
        goals.is_rack_aware
        or brokers.leaving.intersection(partition.replicas)
        or factor_of(tp, partition, goals) != len(partition.replicas)
    ):
        why = f"{tp} has a replica on broker {absent[0]}, which is not registered"
        raise PlanError(f"{why}: start that broker first, or add the goal remove-brokers {absent[0]}")
    return True


def _planned(
    tp: TopicPartition, partition: SnapshotPartition, goals: PlanGoals, racks: Mapping[int, str | None]
) -> PlannedPartition:
    factor = factor_of(tp, partition, goals)
    if factor > len(racks):
        raise PlanError(f"{tp} is to have {factor} replicas, and there are {len(racks)} brokers")
    stays = [broker for broker in partition.replicas if broker in racks]
    for broker in partition.replicas:
        new = goals.replaced.get(broker)
        if new is not None and new not in partition.replicas and _takes_over(new, stays, goals, racks):
            stays.append(new)
    # Of replicas too many, those that are not in sync go first.
    for broker in [broker for broker in reversed(stays) if broker in partition.replicas and broker not in partition.isr]:
        if len(stays) > factor and partition.isr:
            stays.remove(broker)
    return PlannedPartition(tp, partition, factor, tuple(stays))


def _takes_over(new: int, others: list[int], goals: PlanGoals, racks: Mapping[int, str | None]) -> bool:
    """Return whether a replacement gets the replica: it need not if another goal decides where replicas are best."""
    is_alone = racks[new] not in [racks[broker] for broker in others]
    return not goals.is_balanced and (is_alone or not goals.is_rack_aware)


def _rows(
    partitions: list[PlannedPartition], brokers: PlannedBrokers, goals: PlanGoals, columns: Mapping[int, int]
) -> PartitionRows:
    original: Flags = np.zeros((len(partitions), len(columns)), dtype=np.bool_)
    for row, planned in enumerate(partitions):
        original[row, [columns[broker] for broker in planned.stays_on]] = True
    factors: Ints = np.array([planned.factor for planned in partitions], dtype=np.int64)
    racks = rack_numbers(brokers)
    in_rack = np.stack([original[:, racks == rack].sum(axis=1) for rack in range(int(racks.max()) + 1)], axis=1)
    fewest, most = _rack_bounds(factors, in_rack, np.bincount(racks), brokers, goals)
    kept = np.minimum(in_rack, most)
    can_stay = np.minimum(kept.sum(axis=1), factors - np.maximum(fewest - kept, 0).sum(axis=1))
    return PartitionRows(
        names=tuple(planned.name for planned in partitions),
        sizes=np.array([size_of(planned.partition) for planned in partitions], dtype=np.int64),
        original=original,
        factors=factors,
        fewest=fewest,
        most=most,
        must_move=can_stay < factors,
    )


def rack_numbers(brokers: PlannedBrokers) -> Ints:
    """Return (B,) the number of each broker's rack; 0 for all where not every broker has one."""
    if not brokers.has_racks:
        return np.zeros(len(brokers.racks), dtype=np.int64)
    numbers = {rack: number for number, rack in enumerate(sorted({str(rack) for rack in brokers.racks.values()}))}
    return np.array([numbers[str(rack)] for rack in brokers.racks.values()], dtype=np.int64)


def _rack_bounds(
    factors: Ints, in_rack: Ints, rack_sizes: Ints, brokers: PlannedBrokers, goals: PlanGoals
) -> tuple[Ints, Ints]:
    """Return (P, R) the fewest and the most replicas of a partition in a rack.

    With the goal rack-aware they differ by at most 1. Without it a rack gets no more than that, or than it has: no move
    puts replicas together that were on different racks, unless too few racks remain. Replicas too many are dropped where
    a rack has most of the partition.
    """
    count = len(rack_sizes)
    ceiling = -(-factors // count)
    if not goals.is_rack_aware:
        fewest, kept = _kept_in_racks(factors, in_rack)
        most = np.maximum(kept, ceiling[:, None])
        while len(short := np.flatnonzero(np.minimum(most, rack_sizes).sum(axis=1) < factors)):
            most[short] += 1
        return fewest, most
    most = np.repeat(ceiling[:, None], count, axis=1)
    fewest = np.repeat((factors // count)[:, None], count, axis=1)
    for factor in np.unique(factors):
        row = int(np.flatnonzero(factors == factor)[0])
        if count == 1 and factor > 1:
            raise PlanError(f"rack-aware: all brokers are in one rack, and partitions have {factor} replicas")
        is_small = (rack_sizes < fewest[row]).any()
        if is_small or np.minimum(most[row], rack_sizes).sum() < factor:
            there = ", ".join(f"{rack}: {size}" for rack, size in sorted(brokers.in_rack().items(), key=str))
            raise PlanError(f"rack-aware: {factor} replicas cannot be spread over the racks (brokers of each: {there})")
    return fewest, most


def _kept_in_racks(factors: Ints, in_rack: Ints) -> tuple[Ints, Ints]:
    """Return (P, R) the fewest and the most replicas that a rack keeps if replicas too many leave those with most."""
    level = in_rack.max(axis=1, keepdims=True)
    while (is_lower := np.minimum(in_rack, level - 1).sum(axis=1) >= factors).any():
        level[is_lower] -= 1
    has_too_many = in_rack.sum(axis=1, keepdims=True) > factors[:, None]
    return np.where(has_too_many, np.minimum(in_rack, level - 1), 0), np.minimum(in_rack, level)


def _columns(
    rows: PartitionRows,
    fixed: list[tuple[TopicPartition, SnapshotPartition]],
    brokers: PlannedBrokers,
    goals: PlanGoals,
) -> BrokerColumns:
    ids = tuple(brokers.racks)
    columns = {broker: column for column, broker in enumerate(ids)}
    replicas, held_bytes = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
    for _, partition in fixed:
        for broker in partition.replicas:
            if broker in columns:
                replicas[columns[broker]] += 1
                held_bytes[columns[broker]] += size_of(partition)
    is_new = np.array([broker in brokers.new for broker in ids], dtype=np.bool_)
    share = (int(rows.factors.sum()) + int(replicas.sum())) // len(ids)
    return BrokerColumns(
        ids=ids,
        racks=rack_numbers(brokers),
        replica_limit=np.where(goals.is_balanced | ~is_new, UNLIMITED, share),
        capacity=np.array([goals.capacities.get(broker, UNLIMITED) for broker in ids], dtype=np.int64),
        other_replicas=replicas,
        other_bytes=held_bytes,
        takes=is_new | goals.is_balanced,
    )


def _check_capacity(rows: PartitionRows, columns: BrokerColumns) -> None:
    """Check what holds of every placement. Raises: PlanError."""
    needed = int((rows.sizes * rows.factors).sum()) + int(columns.other_bytes.sum())
    given = sum(columns.capacity.tolist())
    if needed > given:
        raise PlanError(f"capacity: the replicas have {needed} bytes, and the brokers may host {given}")


def preferred_leaders(task: PlanningTask) -> Iterator[int | None]:
    """Yield for each row the column of the preferred leader, None if it leaves."""
    columns = {broker: column for column, broker in enumerate(task.brokers.racks)}
    return (columns.get(planned.partition.replicas[0]) for planned in task.partitions)
