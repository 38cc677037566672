"""A step of a plan in the simulated cluster: how long it takes, and what one failure costs it."""

from msgspec.structs import replace

from kcsim.scenarios.rehearsal.plan_failure import ControllerWrite, FailureKind, PlanFailure
from kcsim.scenarios.rehearsal.rehearsed_step import Placed
from kcsim.scenarios.rehearsal.step_execution import STUCK_AFTER_MS, execute_step
from tests.scenarios.rehearsal.rehearsed_plans import MIB, led, one_step, snapshot_of

COPY_MS = 100_000
"""How long the copy of a partition takes with a throttle of 1 MiB per second."""
DOWN_MS = 600_000
GOOD = one_step(snapshot_of(led(0, 1, 3), led(1, 3, 5)), {0: (1, 4)})


def dies(*brokers: int, at_ms: int) -> PlanFailure:
    return PlanFailure(FailureKind.SOURCE, "they die", brokers, at_ms)


def test_a_copy_takes_as_long_as_its_bytes_under_the_throttle() -> None:
    outcome = execute_step(GOOD)
    assert outcome.stuck is None
    assert COPY_MS <= outcome.duration_ms <= COPY_MS + 1_000
    assert outcome.final == {"orders-0": Placed((1, 4), 1, (1, 4))}
    assert outcome.smallest_isr == {"orders-0": 2}
    assert (outcome.racks, outcome.harms, outcome.violations) == ({"orders-0": 2}, (), ())


def test_only_the_partitions_of_the_step_and_their_brokers_are_simulated() -> None:
    """Broker 5 is the controller."""
    assert [str(tp) for tp, _ in GOOD.cluster.partitions()] == ["orders-0"]
    assert GOOD.cluster.registered_ids == (1, 3, 4, 5)


def test_a_source_that_dies_leaves_the_copy_to_the_next_leader() -> None:
    """Its broker is a target too, so the step is complete when it is back."""
    outcome = execute_step(GOOD, dies(1, at_ms=COPY_MS // 2))
    assert (outcome.happened, outcome.stuck, outcome.offline, outcome.losses) == (True, None, (), ())
    assert outcome.unavailable == 1
    assert outcome.longest_unavailable_ms < 30_000
    assert DOWN_MS <= outcome.duration_ms - COPY_MS // 2 <= DOWN_MS + 60_000
    assert outcome.final["orders-0"].isr == (1, 4)


def test_a_destination_that_dies_goes_on_copying_when_it_is_back() -> None:
    """Half of the copy was done before, so the other half remains."""
    outcome = execute_step(GOOD, dies(4, at_ms=COPY_MS // 2))
    assert outcome.unavailable == 0
    assert outcome.stuck is None
    assert outcome.duration_ms >= COPY_MS + DOWN_MS


def test_a_controller_that_dies_after_its_first_write_is_replaced_and_the_step_goes_on() -> None:
    first = PlanFailure(FailureKind.CONTROLLER, "it dies", write=ControllerWrite("after", 1))
    outcome = execute_step(GOOD, first)
    assert (outcome.happened, outcome.stuck, outcome.writes) == (True, None, 1)
    assert outcome.final == execute_step(GOOD).final
    assert outcome.duration_ms < COPY_MS + 60_000


def test_a_rack_with_all_replicas_takes_the_partition_offline_which_it_would_not_have_been_before() -> None:
    """After the step both replicas are in rack a."""
    bad = one_step(snapshot_of(led(0, 1, 3)), {0: (1, 2)})
    outcome = execute_step(bad, dies(1, 2, at_ms=COPY_MS + 60_000))
    assert (outcome.offline, outcome.losses) == (("orders-0",), ("orders-0",))
    assert outcome.longest_unavailable_ms >= DOWN_MS
    before = execute_step(bad, dies(1, 2, at_ms=0))
    assert (before.offline, before.losses) == ((), ())


def test_a_throttle_below_what_producers_write_never_ends_and_the_outcome_names_the_copy() -> None:
    slow = one_step(snapshot_of(led(0, 1, 3, rate=float(MIB))), {0: (1, 4)})
    outcome = execute_step(slow)
    assert outcome.stuck == (
        f"step does not complete: with {MIB} bytes/s these copies never catch up with what producers write: "
        "orders-0 on broker 4"
    )
    assert outcome.duration_ms >= STUCK_AFTER_MS
    assert outcome.final["orders-0"].isr == (1, 3)


def test_a_replica_that_is_behind_in_the_snapshot_keeps_the_step_from_completing() -> None:
    """The controller waits for all target replicas to be in sync."""
    behind = replace(led(0, 1, 3, 4), isr=(1, 3))
    outcome = execute_step(one_step(snapshot_of(behind), {0: (1, 4)}))
    assert outcome.stuck == "step does not complete: orders-0 has [1, 3] in sync, and not [4]"


def test_the_same_run_gives_the_same_outcome() -> None:
    failure = dies(1, at_ms=12_345)
    assert execute_step(GOOD, failure) == execute_step(GOOD, failure)


def test_records_that_the_same_loss_would_have_lost_before_are_not_lost_by_the_step() -> None:
    """Broker 3 is behind, and unclean elections are enabled: broker 1 has the only good replica anyway."""
    behind = replace(led(0, 1, 3), isr=(1,))
    snapshot = snapshot_of(behind, led(1, 1, 3))
    topic = replace(snapshot.topics[0], config={"unclean.leader.election.enable": "true"})
    moving = one_step(replace(snapshot, topics=(topic,)), {0: (1, 4), 1: (1, 4)})
    outcome = execute_step(moving, dies(1, at_ms=COPY_MS // 2))
    assert outcome.unclean == ("orders-0",)
    assert outcome.losses == ()


def test_an_unclean_election_before_the_step_is_not_its_work() -> None:
    """Broker 9, which is dead, has the only replica in sync: the first controller elects broker 1, step or no step."""
    dead = replace(led(0, 9, 1), isr=(9,))
    snapshot = snapshot_of(dead)
    topic = replace(snapshot.topics[0], config={"unclean.leader.election.enable": "true"})
    outcome = execute_step(one_step(replace(snapshot, topics=(topic,)), {0: (1, 4)}))
    assert (outcome.stuck, outcome.unclean) == (None, ())
    assert outcome.final["orders-0"].isr == (1, 4)
