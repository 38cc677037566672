"""Plans against all placements of small clusters drawn from seeds: no placement moves fewer bytes, or is more even."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, product

import pytest

from kcsim.scenarios.planning.goals import PlanGoals, parse_goals
from kcsim.scenarios.planning.reassignment_plan import make_plan
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)
from tests.tiers import tiered

Placement = tuple[tuple[int, ...], ...]


def drawn_snapshot(seed: int, most_replicas: int = 2) -> ControlPlaneSnapshot:
    """Return a cluster with three to five brokers in two or three racks, and three to five partitions with one size each."""
    numbers = random.Random(seed)
    ids = range(1, numbers.randint(3, 5) + 1)
    racks = "abc"[: numbers.randint(2, 3)]
    brokers = tuple(
        SnapshotBroker(broker, broker, racks[broker - 1] if broker < 3 else numbers.choice(racks)) for broker in ids
    )
    partitions = []
    for number in range(numbers.randint(3, 5)):
        replicas = tuple(numbers.sample(ids, numbers.randint(1, most_replicas)))
        partitions.append(SnapshotPartition(number, replicas, size_bytes=numbers.randint(1, 9)))
    return ControlPlaneSnapshot("drawn", "t", brokers=brokers, topics=(SnapshotTopic("orders", tuple(partitions)),))


def placements(
    snapshot: ControlPlaneSnapshot, brokers: Mapping[int, str | None], rack_aware: bool, wanted: int | None = None
) -> Iterator[Placement]:
    """Yield every placement, spread over the racks if that is asked for.

    Args:
        wanted: the replication factor; None: the present ones.
    """
    count = len(set(brokers.values()))
    choices = []
    for _, partition in snapshot.partitions():
        factor = len(partition.replicas) if wanted is None else wanted
        sets = list(combinations(brokers, factor))
        before = Counter(brokers.get(broker) for broker in partition.replicas if broker in brokers)
        found = []
        for chosen in sets:
            racks = Counter(brokers[broker] for broker in chosen)
            most = {rack: max(-(-factor // count), 0 if rack_aware else before[rack]) for rack in racks}
            if all(racks[rack] <= most[rack] for rack in racks):
                found.append(chosen)
        choices.append(found or sets)
    return product(*choices)


def judge(snapshot: ControlPlaneSnapshot, placement: Placement, brokers: Mapping[int, str | None]) -> tuple[int, int]:
    """Return the bytes moved, and the sum of the squares of the replicas."""
    counts = Counter(broker for replicas in placement for broker in replicas)
    moved = sum(
        (partition.size_bytes or 1) * len(set(replicas).difference(partition.replicas))
        for (_, partition), replicas in zip(snapshot.partitions(), placement, strict=True)
    )
    return moved, sum(counts[broker] ** 2 for broker in brokers)


def planned(snapshot: ControlPlaneSnapshot, goals: PlanGoals) -> Placement:
    after = {move.partition: move.after for move in make_plan(snapshot, goals).moves}
    return tuple(after.get(tp, partition.replicas) for tp, partition in snapshot.partitions())


def squares_of_leaders(placement: Placement) -> int:
    return sum(count**2 for count in Counter(replicas[0] for replicas in placement).values())


@pytest.mark.parametrize("seed", tiered(range(300), fast=10, slow=10))
def test_a_balanced_cluster_is_as_even_as_possible_and_no_fewer_bytes_make_it_so(seed: int) -> None:
    """Leaders, too: no choice of the first replicas is more even."""
    snapshot = drawn_snapshot(seed)
    brokers = {broker.id: broker.rack for broker in snapshot.brokers}
    found = planned(snapshot, parse_goals(["balance"]))
    moved, squares = judge(snapshot, found, brokers)
    best = min(judge(snapshot, one, brokers)[::-1] for one in placements(snapshot, brokers, False))
    assert (squares, moved) == best
    assert squares_of_leaders(found) == min(map(squares_of_leaders, product(*([(b,) for b in rs] for rs in found))))


@pytest.mark.parametrize("seed", tiered(range(300), fast=10, slow=10))
def test_removing_a_broker_moves_its_replicas_only_and_evens_the_others_out(seed: int) -> None:
    snapshot = drawn_snapshot(seed)
    brokers = {broker.id: broker.rack for broker in snapshot.brokers if broker.id != 1}
    found = judge(snapshot, planned(snapshot, parse_goals(["remove-brokers 1"])), brokers)
    assert found == min(judge(snapshot, one, brokers) for one in placements(snapshot, brokers, False))


@pytest.mark.parametrize("goals", [["rack-aware"], ["rack-aware", "balance"]], ids="-".join)
@pytest.mark.parametrize("seed", tiered(range(200), fast=20, slow=10))
def test_racks_are_repaired_with_the_fewest_bytes(seed: int, goals: list[str]) -> None:
    snapshot = drawn_snapshot(seed)
    brokers = {broker.id: broker.rack for broker in snapshot.brokers}
    found = judge(snapshot, planned(snapshot, parse_goals(goals)), brokers)
    judged = [judge(snapshot, one, brokers) for one in placements(snapshot, brokers, True)]
    assert found == (min(judged) if goals == ["rack-aware"] else min(judged, key=lambda one: one[::-1]))


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("seed", tiered(range(100), fast=20, slow=10))
def test_another_replication_factor_is_reached_with_the_fewest_bytes(seed: int, factor: int) -> None:
    """Replicas that are dropped move no bytes; of those placements that move as few, none is more even."""
    snapshot = drawn_snapshot(seed)
    brokers = {broker.id: broker.rack for broker in snapshot.brokers}
    found = judge(snapshot, planned(snapshot, parse_goals([f"replication-factor {factor}"])), brokers)
    assert found == min(judge(snapshot, one, brokers) for one in placements(snapshot, brokers, False, factor))


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("seed", tiered(range(100), fast=20, slow=10))
def test_replicas_too_many_leave_the_partition_in_as_many_racks_as_they_can(seed: int, factor: int) -> None:
    """No bytes are moved for the partitions that have more; of those choices, none is more even."""
    snapshot = drawn_snapshot(seed, most_replicas=3)
    high = tuple(one for one in snapshot.topics[0].partitions if len(one.replicas) >= factor)
    snapshot = ControlPlaneSnapshot("drawn", "t", brokers=snapshot.brokers, topics=(SnapshotTopic("orders", high),))
    brokers = {broker.id: broker.rack for broker in snapshot.brokers}
    choices = []
    for partition in high:
        kept = list(combinations(partition.replicas, factor))
        racks = [sum(count**2 for count in Counter(brokers[broker] for broker in one).values()) for one in kept]
        choices.append([one for one, squares in zip(kept, racks, strict=True) if squares == min(racks)])
    found = planned(snapshot, parse_goals([f"replication-factor {factor}"]))
    assert all(set(one) in map(set, allowed) for one, allowed in zip(found, choices, strict=True))
    assert judge(snapshot, found, brokers) == min(judge(snapshot, one, brokers) for one in product(*choices))


@pytest.mark.parametrize("seed", tiered(range(100), fast=20, slow=10))
def test_a_replacement_moves_the_bytes_of_the_broker_that_leaves_and_no_others(seed: int) -> None:
    snapshot = drawn_snapshot(seed)
    racks = {broker.id: broker.rack for broker in snapshot.brokers}
    brokers = {**{broker: rack for broker, rack in racks.items() if broker != 1}, 9: racks[1]}
    found = planned(snapshot, parse_goals(["replace 1=9"]))
    moved, _ = judge(snapshot, found, brokers)
    assert moved == min(judge(snapshot, one, brokers)[0] for one in placements(snapshot, brokers, False))
    expected = [{9 if broker == 1 else broker for broker in partition.replicas} for _, partition in snapshot.partitions()]
    assert list(map(set, found)) == expected


def with_added(snapshot: ControlPlaneSnapshot, placement: Placement) -> bool:
    """Return whether a placement differs only by replicas on the added broker 9, which has its share and no more."""
    total = sum(map(len, placement))
    share = total // (len(snapshot.brokers) + 1)
    before = [set(partition.replicas) for _, partition in snapshot.partitions()]
    moved = [set(replicas) - old for replicas, old in zip(placement, before, strict=True)]
    return all(new <= {9} for new in moved) and sum(map(len, moved)) <= share


@pytest.mark.parametrize("seed", tiered(range(100), fast=10, slow=10))
def test_an_added_broker_gets_its_share_from_the_fullest_with_the_fewest_bytes(seed: int) -> None:
    snapshot = drawn_snapshot(seed)
    brokers = {**{broker.id: broker.rack for broker in snapshot.brokers}, 9: "a"}
    found = planned(snapshot, parse_goals(["add-brokers 9:a"]))
    allowed = (one for one in placements(snapshot, brokers, False) if with_added(snapshot, one))
    moved, squares = judge(snapshot, found, brokers)
    assert (squares, moved) == min(judge(snapshot, one, brokers)[::-1] for one in allowed)


@pytest.mark.parametrize("seed", tiered(range(100), fast=10, slow=10))
def test_capacities_hold_where_a_broker_is_removed(seed: int) -> None:
    """One broker is removed, and the others have room for a few bytes more than they need in all."""
    snapshot = drawn_snapshot(seed)
    brokers = {broker.id: broker.rack for broker in snapshot.brokers if broker.id != 1}
    needed = sum((partition.size_bytes or 0) * len(partition.replicas) for _, partition in snapshot.partitions())
    limit = needed // (len(brokers) - 1) + 9
    plan = make_plan(snapshot, parse_goals(["remove-brokers 1"], [f"{broker}={limit}" for broker in brokers]))
    assert all(plan.after[broker].size_bytes <= limit for broker in brokers)
    assert plan.after[1].replicas == 0
