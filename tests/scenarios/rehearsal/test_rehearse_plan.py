"""Rehearsals find planted harm and its first step, and call good plans safe."""

import pytest

from kcsim.scenarios.planning.batches import BatchLimits, in_batches
from kcsim.scenarios.planning.goals import parse_goals
from kcsim.scenarios.planning.reassignment_plan import make_plan
from kcsim.scenarios.rehearsal.drawn_failures import lowest_throttle
from kcsim.scenarios.rehearsal.plan_failure import FailureKind
from kcsim.scenarios.rehearsal.plan_files import PlanStep
from kcsim.scenarios.rehearsal.rehearse_plan import RehearsalLimits, RehearsalResult
from kcsim.scenarios.rehearsal.rehearsed_step import RehearsalSettings
from kcsim.scenarios.rehearsal.step_execution import execute_step
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.vocabulary import BrokerId
from tests.scenarios.rehearsal.rehearsed_plans import MIB, led, one_step, rehearsed, snapshot_of, step_of

SNAPSHOT = snapshot_of(led(0, 1, 3), led(1, 3, 5), led(2, 5, 1))
SMALL = RehearsalLimits(failures=3)


def kinds(result: RehearsalResult) -> set[FailureKind]:
    return {run.failure.kind for step in result.steps for run in step.failing if run.failure is not None}


def test_all_replicas_in_one_rack_are_found_and_the_loss_of_the_rack_proves_it() -> None:
    steps = (step_of("one", {1: (3, 1)}), step_of("two", {0: (1, 2)}), step_of("three", {2: (5, 3)}))
    result = rehearsed(SNAPSHOT, *steps, limits=SMALL)
    reasons = list(result.reasons())
    assert reasons[0] == (
        "two: orders-0 has ISR [1, 2], all in rack a: the loss of rack a takes the partition offline, and its data"
    )
    assert reasons[-1] == "two: broker-1, broker-2 lost once orders-0 has ISR [1, 2]: orders-0 is offline"
    assert all(reason.startswith("two: ") for reason in reasons)


def test_a_step_that_leaves_one_replica_in_sync_is_found_though_a_later_step_mends_it() -> None:
    result = rehearsed(SNAPSHOT, step_of("one", {0: (1,)}), step_of("two", {0: (1, 4)}), limits=SMALL)
    reasons = list(result.reasons())
    assert reasons[0] == (
        "one: orders-0 has ISR [1], a single replica: the loss of broker 1 takes the partition offline, and its data"
    )
    assert "one: broker-1 lost once orders-0 has ISR [1]: orders-0 is offline" in reasons
    assert not any(reason.startswith("two") for reason in reasons)
    assert result.steps[1].undisturbed.final["orders-0"].isr == (1, 4)
    assert [order.order for order in result.orders] == [(0, 1)], "in the other order the plan ends elsewhere"


def test_a_step_below_min_insync_replicas_is_found() -> None:
    """Two replicas with a minimum of two leave none to lose; one replica is below the minimum."""
    snapshot = snapshot_of(led(0, 1, 3, 5), led(1, 1, 3, 5), min_isr=2)
    reasons = list(rehearsed(snapshot, step_of("one", {0: (1, 3), 1: (1,)}), limits=RehearsalLimits(1)).reasons())
    assert (
        "one: orders-0 has ISR [1, 3], as many as min.insync.replicas: the loss of one broker ends writes with acks=all"
        in reasons
    )
    assert "one: orders-1 has ISR [1], fewer than min.insync.replicas" in reasons


@pytest.mark.slow
@pytest.mark.parametrize("goals", [["remove-brokers 5"], ["rack-aware", "balance"], ["replication-factor 3"]], ids=" ".join)
def test_a_plan_of_the_planner_is_safe_in_every_run(goals: list[str]) -> None:
    steps = planned(SNAPSHOT, goals)
    result = rehearsed(SNAPSHOT, *steps, limits=SMALL)
    assert list(result.reasons()) == []
    assert all(run.stuck is None for step in result.steps for run in step.failing)
    assert {FailureKind.CONTROLLER, FailureKind.SOURCE, FailureKind.DESTINATION, FailureKind.RACK} <= kinds(result)


def planned(snapshot: ControlPlaneSnapshot, goals: list[str]) -> list[PlanStep]:
    batches = in_batches(make_plan(snapshot, parse_goals(goals)).moves, BatchLimits(1))
    return [
        PlanStep(f"batch-{number}", {move.partition: tuple(map(BrokerId, move.after)) for move in batch.moves})
        for number, batch in enumerate(batches, 1)
    ]


def test_partitions_with_one_replica_are_not_the_fault_of_the_plan() -> None:
    """The loss of their broker takes them offline with or without the plan."""
    result = rehearsed(snapshot_of(led(0, 1)), step_of("one", {0: (4,)}))
    assert list(result.reasons()) == []
    assert max(len(run.offline) for run in result.steps[0].failing) == 1


def test_a_partition_that_becomes_better_on_its_way_is_not_harmed() -> None:
    """It has one replica. The copy to the same rack ends before the one to broker 4, which receives another one, too."""
    snapshot = snapshot_of(led(0, 1), led(1, 3, 5))
    result = rehearsed(snapshot, step_of("one", {0: (1, 2, 4), 1: (5, 4)}), limits=RehearsalLimits(2))
    assert list(result.reasons()) == []
    assert "OFFLINE_BY_RACK" in result.steps[0].undisturbed.exposed["orders-0"].during_ms


def test_the_safest_order_mends_first_what_is_most_exposed() -> None:
    """Partition 1 has one replica in sync, partition 0 has both in rack a."""
    snapshot = snapshot_of(led(0, 1, 2), led(1, 3))
    steps = step_of("rack", {0: (1, 3)}), step_of("factor", {1: (3, 5)})
    result = rehearsed(snapshot, *steps, limits=RehearsalLimits(1))
    assert [order.order for order in result.orders] == [(1, 0), (0, 1)]
    one_copy_ms = result.steps[1].undisturbed.duration_ms
    assert abs(result.orders[0].exposed_ms["OFFLINE_BY_BROKER"] - one_copy_ms) < 1_000
    assert abs(result.orders[1].exposed_ms["OFFLINE_BY_BROKER"] - 2 * one_copy_ms) < 1_000


def test_each_step_begins_where_the_one_before_it_ends() -> None:
    """Partition 0 moves twice: the second copy comes from broker 4."""
    result = rehearsed(SNAPSHOT, step_of("one", {0: (4, 5)}), step_of("two", {0: (4, 2)}), limits=RehearsalLimits(1))
    assert result.steps[1].batch.sent == {4: 1}
    assert result.steps[1].undisturbed.final["orders-0"].replicas == (4, 2)


def test_a_plan_that_does_not_complete_is_not_rehearsed_under_failures() -> None:
    steps = step_of("one", {1: (3, 1)}), step_of("two", {0: (1, 4)}), step_of("three", {2: (5, 3)})
    snapshot = snapshot_of(led(0, 1, 3, rate=2.0 * MIB), led(1, 3, 5), led(2, 5, 1))
    result = rehearsed(snapshot, *steps)
    assert len(result.steps) == 2
    assert result.steps[1].undisturbed.stuck is not None
    assert kinds(result) == set()
    assert list(result.reasons()) == [result.steps[1].undisturbed.stuck]


def test_the_lowest_throttle_is_tried_where_rates_are_known_and_is_no_harm() -> None:
    result = rehearsed(snapshot_of(led(0, 1, 3, rate=1_000.0)), step_of("one", {0: (1, 4)}), limits=RehearsalLimits(1))
    (low,) = (run for run in result.steps[0].failing if run.failure and run.failure.kind is FailureKind.THROTTLE)
    assert low.failure is not None
    assert low.failure.throttle == 1_000
    assert low.stuck is not None
    assert list(result.reasons()) == []


def test_a_broker_that_partitions_leave_sends_for_one_after_the_other() -> None:
    """Broker 1 sends what producers write to both until one of them has left it: the throttle need not exceed the sum."""
    leaves = snapshot_of(led(0, 1, size=1_000, rate=1_000.0), led(1, 1, size=50_000, rate=900.0))
    step = one_step(leaves, {0: (3,), 1: (4,)}, throttle=1_850)
    assert lowest_throttle(step.batch()) == 1_000
    assert execute_step(step).stuck is None
    stays = one_step(leaves, {0: (1, 3), 1: (1, 4)}, throttle=1_850)
    assert lowest_throttle(stays.batch()) == 1_900
    assert execute_step(stays).stuck is not None


def test_large_steps_are_sampled_with_what_they_harm() -> None:
    snapshot = snapshot_of(*(led(number, 1, 3) for number in range(6)))
    targets = dict.fromkeys(range(5), (1, 4)) | {5: (1, 2)}
    result = rehearsed(snapshot, step_of("one", targets), limits=RehearsalLimits(2, 2))
    (step,) = result.steps
    assert (len(step.undisturbed.final), step.sampled, len(step.baseline.final)) == (6, 2, 2)
    assert "orders-5" in step.baseline.final
    assert result.left_out[FailureKind.CONTROLLER] == 2 * step.baseline.writes - 2


def test_the_seed_decides_what_is_drawn_and_nothing_else() -> None:
    def at(seed: int) -> list[int]:
        settings = RehearsalSettings(MIB, seed=seed)
        result = rehearsed(SNAPSHOT, step_of("one", {0: (1, 4)}), settings=settings, limits=RehearsalLimits(2))
        runs = result.steps[0].failing
        return [run.failure.at_ms for run in runs if run.failure and run.failure.kind is FailureKind.RACK]

    assert at(3) == at(3)
    assert at(3) != at(4)
