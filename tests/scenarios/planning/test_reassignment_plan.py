"""Plans for single goals: which replicas move, in which order they are then, and why."""

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from kcsim.scenarios.planning.goals import PlanError, parse_goals
from kcsim.scenarios.planning.reassignment_plan import ReassignmentPlan, make_plan
from kcsim.scenarios.snapshots.snapshot_format import (
    ControlPlaneSnapshot,
    ReassignmentRequest,
    SnapshotBroker,
    SnapshotPartition,
    SnapshotTopic,
)

RACKS = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def stored(number: int, *replicas: int, size: int | None = 10, isr: tuple[int, ...] | None = None) -> SnapshotPartition:
    in_sync = replicas if isr is None else isr
    return SnapshotPartition(
        number, replicas, leader=in_sync[0], isr=in_sync, leader_epoch=0, controller_epoch=1, size_bytes=size
    )


def cluster(*partitions: SnapshotPartition, racks: Mapping[int, str | None] | None = None) -> ControlPlaneSnapshot:
    brokers = tuple(SnapshotBroker(broker, broker, rack) for broker, rack in (racks or RACKS).items())
    return ControlPlaneSnapshot("test", "t", brokers=brokers, topics=(SnapshotTopic("orders", partitions),))


def planned(snapshot: ControlPlaneSnapshot, *goals: str, capacities: tuple[str, ...] = ()) -> ReassignmentPlan:
    return make_plan(snapshot, parse_goals(goals, capacities))


def after(plan: ReassignmentPlan) -> dict[int, tuple[int, ...]]:
    return {move.partition.partition: move.after for move in plan.moves}


def test_a_removed_broker_hosts_nothing_and_only_its_replicas_move() -> None:
    """The new replica is in a rack where the partition has none, and comes last; the leader stays."""
    plan = planned(cluster(stored(0, 1, 3), stored(1, 3, 5), stored(2, 2, 4)), "remove-brokers 3")
    assert (plan.bytes_moved, plan.replicas_moved, plan.after[3].replicas) == (20, 2, 0)
    (first, second) = plan.moves
    assert (first.after[0], RACKS[first.after[1]] != "a") == (1, True)
    assert second.before == (3, 5)
    assert first.reasons == ("broker 3 is removed",)


def test_a_replacement_takes_over_each_replica_and_the_leaders() -> None:
    plan = planned(cluster(stored(0, 3, 1), stored(1, 3, 5), stored(2, 2, 3)), "replace 3=9")
    assert {number: sorted(replicas) for number, replicas in after(plan).items()} == {0: [1, 9], 1: [5, 9], 2: [2, 9]}
    assert after(plan)[2] == (2, 9)
    assert plan.moves[0].reasons == ("broker 3 is replaced by 9",)


def test_a_partition_that_is_on_the_replacement_already_goes_elsewhere() -> None:
    plan = planned(cluster(stored(0, 3, 4), stored(1, 1, 2)), "replace 3=4")
    assert set(after(plan)[0]).isdisjoint({3})
    assert 4 in after(plan)[0]


def test_added_brokers_get_their_share_from_the_fullest_and_the_smallest_first() -> None:
    racks = {1: None, 2: None, 3: None}
    sizes = (9, 8, 7, 1, 2, 3)
    full = [stored(number, 1, size=size) for number, size in enumerate(sizes)]
    plan = planned(cluster(*full, stored(6, 2), racks=racks), "add-brokers 7")
    assert after(plan) == {3: (7,)}  # a share is 7 // 4
    assert plan.moves[0].reasons == ("replicas: broker 1 had 6, broker 7 0",)


def test_the_rack_of_a_new_broker_counts() -> None:
    plan = planned(cluster(stored(0, 1, 3), stored(1, 5, 3)), "remove-brokers 3,4,5", "add-brokers 9:b")
    assert [replicas for replicas in after(plan).values() if 9 not in replicas] == []


def test_racks_are_repaired_where_replicas_share_one() -> None:
    plan = planned(cluster(stored(0, 1, 2), stored(1, 1, 3)), "rack-aware")
    assert list(after(plan)) == [0]
    assert len({RACKS[broker] for broker in after(plan)[0]}) == 2
    assert plan.moves[0].reasons[0] == "rack a had 2 of 2 replicas"


def test_a_higher_replication_factor_adds_replicas_in_other_racks() -> None:
    plan = planned(cluster(stored(0, 1, 3), stored(1, 5, 2)), "replication-factor orders=3")
    assert all(len({RACKS[broker] for broker in replicas}) == 3 for replicas in after(plan).values())
    assert plan.moves[0].after[:2] == (1, 3)
    assert plan.moves[0].reasons == ("replication factor 2 -> 3",)


def test_a_lower_replication_factor_copies_nothing_and_drops_what_is_not_in_sync() -> None:
    plan = planned(cluster(stored(0, 3, 1, 5, isr=(1, 5))), "replication-factor 2")
    assert (after(plan)[0], plan.bytes_moved) == ((1, 5), 0)


def test_a_lower_replication_factor_drops_replicas_where_a_rack_has_two() -> None:
    """The broker in the rack of its own hosts most, and keeps its replica: a rack less would have the partition."""
    plan = planned(cluster(stored(0, 1, 2, 3), stored(1, 3), stored(2, 3), stored(3, 5, 3, 1, 2)), "replication-factor 2")
    assert {RACKS[broker] for broker in after(plan)[0]} == {"a", "b"}
    assert len({RACKS[broker] for broker in after(plan)[3]}) == 2


def test_leaders_alone_are_balanced_where_replicas_are_not() -> None:
    racks = {1: None, 2: None, 3: None}
    snapshot = cluster(*(stored(number, 1, 2) for number in range(4)), racks=racks)
    plan = planned(snapshot, "balance-leaders")
    assert (plan.replicas_moved, {broker: load.leaders for broker, load in plan.after.items()}) == (0, {1: 2, 2: 2, 3: 0})
    assert planned(snapshot, "balance").replicas_moved > 0


def test_leaders_are_balanced_by_the_order_of_replicas_alone() -> None:
    racks = {1: None, 2: None}
    plan = planned(cluster(*(stored(number, 1, 2) for number in range(4)), racks=racks), "balance")
    assert (plan.bytes_moved, plan.replicas_moved, len(plan.elections)) == (0, 0, 2)
    assert {load.leaders for load in plan.after.values()} == {2}
    assert plan.moves[0].reasons == ("leaders: broker 1 led 4, broker 2 0",)


def test_unknown_sizes_count_as_one_byte() -> None:
    plan = planned(cluster(stored(0, 1, 3, size=None)), "remove-brokers 3")
    assert plan.bytes_moved == 1


def test_capacities_hold_although_other_brokers_have_fewer_replicas() -> None:
    racks = {1: None, 2: None, 3: None}
    partitions = (stored(0, 1, size=50), stored(1, 2, size=5), stored(2, 2, size=5), stored(3, 3, size=60))
    plan = planned(cluster(*partitions, racks=racks), "remove-brokers 1", capacities=("3=100",))
    assert after(plan) == {0: (2,)}


def test_a_broker_beyond_its_capacity_gives_the_smallest_replica_that_suffices() -> None:
    racks = {1: None, 2: None}
    partitions = (stored(0, 1, size=50), stored(1, 1, size=20), stored(2, 1, size=10))
    plan = planned(cluster(*partitions, racks=racks), "replication-factor 1", capacities=("1=65",))
    assert after(plan) == {1: (2,)}
    assert plan.moves[0].reasons == ("broker 1 had 80 of 65 bytes",)


def test_partitions_on_absent_brokers_are_left_alone() -> None:
    """kafka-reassign-partitions refuses a plan that names a broker which is not registered."""
    plan = planned(cluster(stored(0, 1, 9), stored(1, 1), stored(2, 1)), "balance")
    assert 0 not in after(plan)
    assert [str(tp) for tp in plan.fixed] == ["orders-0"]


@pytest.mark.parametrize(
    ("goals", "reason"),
    [
        (["remove-brokers 8"], "broker 8 is no broker of the snapshot; it has 1, 2, 3, 4, 5"),
        (["remove-brokers 1,2,3,4,5"], "no broker remains"),
        (["remove-brokers x"], "remove-brokers: 'x' is no broker id"),
        (["remove-brokers"], "remove-brokers needs a value"),
        (["remove-brokers 1", "replace 1=9"], "broker 1 is to be removed and to be replaced"),
        (["remove-brokers 1", "add-brokers 1"], "broker 1 is to be emptied and to get replicas"),
        (["replace 1=9,2=9"], "replace: one broker cannot replace two"),
        (["add-brokers 5:a"], "broker 5 is registered in rack c, not a"),
        (["add-brokers 9", "rack-aware"], "rack-aware: the rack of broker 9 is not known"),
        (["remove-brokers 2,3,4", "replication-factor 3"], "orders-0 is to have 3 replicas, and there are 2 brokers"),
        (["remove-brokers 3,4,5", "rack-aware"], "rack-aware: all brokers are in one rack, and partitions have 2 replicas"),
        (
            ["replication-factor 4", "rack-aware", "remove-brokers 3,4"],
            "orders-0 is to have 4 replicas, and there are 3 brokers",
        ),
        (
            ["replication-factor 4", "rack-aware", "remove-brokers 4"],
            None,
        ),
        (
            ["replication-factor 4", "rack-aware", "add-brokers 9:a", "remove-brokers 3,4"],
            "rack-aware: 4 replicas cannot be spread over the racks (brokers of each: a: 3, c: 1)",
        ),
        (["replication-factor order=2"], "replication-factor: there is no topic 'order'; did you mean orders?"),
        (["replication-factor 0"], "replication-factor: '0' is no replication factor"),
        (["balance-bytes 1 2"], "balance-bytes: '1 2' is no percentage"),
        (["ballance"], "'ballance' is no goal; the goals are remove-brokers, add-brokers, replace, rack-aware, "),
    ],
)
def test_a_goal_that_cannot_be_reached_is_refused_with_one_line(goals: list[str], reason: str | None) -> None:
    snapshot = cluster(stored(0, 1, 3), stored(1, 3, 5))
    if reason is None:
        assert len(after(planned(snapshot, *goals))) == 2
        return
    with pytest.raises(PlanError) as caught:
        planned(snapshot, *goals)
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("capacities", "reason"),
    [
        (("9=10",), "--capacity: broker 9 is no broker of the cluster afterwards"),
        (("1:10",), "--capacity: '1:10' is not BROKER=BYTES"),
        (("1=10", "2=0"), "capacity: the replicas have 20 bytes, and the brokers may host 10"),
        (("1=15", "2=15"), "capacity: no broker was found with room for a replica of orders-0, 20 bytes"),
    ],
)
def test_capacities_that_are_too_small_are_refused_with_one_line(capacities: tuple[str, ...], reason: str) -> None:
    racks = {1: None, 2: None, 3: None}
    with pytest.raises(PlanError) as caught:
        planned(cluster(stored(0, 3, size=20), racks=racks), "remove-brokers 3", capacities=capacities)
    assert str(caught.value) == reason


def test_nothing_is_planned_while_reassignments_are_under_way() -> None:
    request = ReassignmentRequest("orders", 0, (1, 2))
    snapshot = cluster(stored(0, 1, 3))
    moving = ControlPlaneSnapshot(
        "s", "t", brokers=snapshot.brokers, topics=snapshot.topics, reassignment_requests=(request,)
    )
    with pytest.raises(PlanError, match=r"^reassignments are under way \(orders-0\)"):
        planned(moving, "balance")


def test_a_larger_cluster_is_even_within_one_replica_and_one_leader() -> None:
    numbers = random.Random(1)
    partitions = [stored(number, *numbers.sample(range(1, 21), 3), size=numbers.randint(1, 999)) for number in range(400)]
    plan = planned(cluster(*partitions, racks=dict.fromkeys(range(1, 21))), "balance")
    assert Counter(load.replicas for load in plan.after.values()) == {60: 20}
    assert Counter(load.leaders for load in plan.after.values()) == {20: 20}


@pytest.mark.parametrize("seed", range(5))
def test_bytes_are_within_the_bounds_and_the_counts_stay_even(seed: int) -> None:
    numbers = random.Random(seed)
    partitions = [stored(number, *numbers.sample(range(1, 11), 3), size=numbers.randint(1, 999)) for number in range(100)]
    snapshot = cluster(*partitions, racks=dict.fromkeys(range(1, 11)))
    plan = planned(snapshot, "balance-bytes 2")
    held = [load.size_bytes for load in plan.after.values()]
    assert sum(held) * 0.98 <= 10 * min(held)
    assert 10 * max(held) <= sum(held) * 1.02
    assert {load.replicas for load in plan.after.values()} == {30}
    assert planned(snapshot, "balance").bytes_moved < plan.bytes_moved


def test_bytes_that_no_swap_can_even_out_are_left() -> None:
    racks = {1: None, 2: None}
    plan = planned(cluster(stored(0, 1, size=900), stored(1, 2, size=1), racks=racks), "balance-bytes 5")
    assert plan.moves == ()
