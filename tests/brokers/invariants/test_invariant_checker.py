"""A checker finds a violation as soon as the event that causes it is logged, and checks the other invariants at the end."""

import pytest

from kcsim.brokers.invariants import INVARIANTS, NOT_PROMISED, CheckPhase, InvariantChecker, Violation, named
from kcsim.brokers.invariants.invariant_checker import MAX_VIOLATIONS_KEPT
from tests.brokers.invariants.synthetic_cluster import SyntheticCluster, state


@pytest.fixture
def cluster() -> SyntheticCluster:
    return SyntheticCluster()


def shown(cluster: SyntheticCluster, watch: InvariantChecker) -> InvariantChecker:
    for event in cluster.events:
        watch.observe(event)
    return watch


def names(watch: InvariantChecker) -> list[str]:
    return [violation.invariant.name for violation in watch.violations]


def test_what_is_broken_is_found_with_the_event_that_breaks_it(cluster: SyntheticCluster) -> None:
    found: list[Violation] = []
    watch = shown(cluster, InvariantChecker(INVARIANTS, on_violation=found.append))
    cluster.decides(state(leader=2, leader_epoch=0))
    assert found == []
    watch.observe(cluster.events[-1])
    assert found == watch.violations
    assert [(v.invariant.name, v.seq) for v in found] == [("one-leader-for-each-leader-epoch", cluster.events[-1].seq)]


def test_a_violation_says_which_invariant_where_and_what(cluster: SyntheticCluster) -> None:
    seq = cluster.decides(state(isr=()))
    (violation,) = shown(cluster, InvariantChecker(named(["leaders-are-in-the-isr"]))).violations
    assert str(violation) == f"leaders-are-in-the-isr: #{seq}: orders-0 has leader 1, leader epoch 0, ISR []"


@pytest.mark.parametrize(
    ("quiet", "whole", "expected"),
    [
        (False, False, []),
        (True, False, ["isrs-hold-live-replicas-only"]),
        (True, True, ["isrs-hold-live-replicas-only", "no-reassignment-is-left"]),
        (False, True, ["isrs-hold-live-replicas-only", "all-comes-to-rest", "no-reassignment-is-left"]),
    ],
)
def test_at_the_end_it_depends_on_how_the_run_ended(
    cluster: SyntheticCluster, quiet: bool, whole: bool, expected: list[str]
) -> None:
    """A cluster that should have recovered is judged as such, even if it has not become quiet."""
    cluster.dies(3)
    cluster.znode("/admin/reassign_partitions", "{}")
    watch = shown(cluster, InvariantChecker(INVARIANTS))
    assert watch.violations == []
    watch.at_end(quiet, whole)
    assert names(watch) == expected


def test_only_what_was_asked_for_is_looked_at(cluster: SyntheticCluster) -> None:
    cluster.decides(state(leader=2, leader_epoch=0, isr=(1,)))
    assert names(shown(cluster, InvariantChecker(named(["leaders-are-in-the-isr"])))) == ["leaders-are-in-the-isr"]
    assert names(shown(cluster, InvariantChecker([]))) == []


def test_the_same_sentence_is_reported_once_and_of_very_many_only_the_first(cluster: SyntheticCluster) -> None:
    for epoch in range(MAX_VIOLATIONS_KEPT + 5):
        cluster.decides(state(leader_epoch=epoch, isr=()))
        cluster.decides(state(leader_epoch=epoch, isr=()))
    watch = shown(cluster, InvariantChecker(named(["leaders-are-in-the-isr"])))
    assert len({violation.sentence for violation in watch.violations}) == len(watch.violations) == MAX_VIOLATIONS_KEPT


def test_a_watch_on_a_cluster_that_folds_its_events_itself_finds_the_same(cluster: SyntheticCluster) -> None:
    """The checker begins with the state at that time, and receives all events after that."""
    watch = InvariantChecker(INVARIANTS, state=cluster.state)
    seen = len(cluster.events)
    cluster.decides(state(leader=2, leader_epoch=0))
    for event in cluster.events[seen:]:
        watch.observe(event)
    alone = shown(cluster, InvariantChecker(INVARIANTS))
    assert watch.violations == alone.violations != []


# --- the existing invariants -----------------------------------------------------------------------------------------------


def test_they_are_found_by_name_in_their_own_order() -> None:
    some = [INVARIANTS[7], NOT_PROMISED[0], INVARIANTS[2]]
    assert named(invariant.name for invariant in some) == [INVARIANTS[2], INVARIANTS[7], NOT_PROMISED[0]]


def test_one_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="all-is-well"):
        named(["all-is-well"])


@pytest.mark.parametrize("invariant", [*INVARIANTS, *NOT_PROMISED], ids=lambda invariant: invariant.name)
def test_each_has_a_name_of_its_own_and_claims_one_sentence(invariant: object) -> None:
    everybody = [*INVARIANTS, *NOT_PROMISED]
    (one,) = (i for i in everybody if i is invariant)
    assert [i.name for i in everybody].count(one.name) == 1
    assert one.claim.endswith(".")
    assert one.claim.count(". ") == 0
    assert (one.phase is CheckPhase.SAFETY) == bool(one.kinds)
