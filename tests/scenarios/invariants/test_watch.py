"""A watch finds what is broken as soon as the event that breaks it is there, and looks at the rest at the end."""

import pytest

from kcsim.scenarios.invariants import INVARIANTS, NOT_PROMISED, Violation, Watch, When, named
from kcsim.scenarios.invariants.watch import TOLD_AT_MOST
from tests.scenarios.invariants.made_up_cluster import Cluster, state


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def shown(cluster: Cluster, watch: Watch) -> Watch:
    for event in cluster.events:
        watch.see(event)
    return watch


def names(watch: Watch) -> list[str]:
    return [violation.invariant.name for violation in watch.violations]


def test_what_is_broken_is_found_with_the_event_that_breaks_it(cluster: Cluster) -> None:
    found: list[Violation] = []
    watch = shown(cluster, Watch(INVARIANTS, on_violation=found.append))
    cluster.decides(state(leader=2, leader_epoch=0))
    assert found == []
    watch.see(cluster.events[-1])
    assert found == watch.violations
    assert [(v.invariant.name, v.seq) for v in found] == [("one-leader-for-each-leader-epoch", cluster.events[-1].seq)]


def test_a_violation_says_which_invariant_where_and_what(cluster: Cluster) -> None:
    seq = cluster.decides(state(isr=()))
    (violation,) = shown(cluster, Watch(named(["leaders-are-in-the-isr"]))).violations
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
def test_at_the_end_it_depends_on_how_the_run_ended(cluster: Cluster, quiet: bool, whole: bool, expected: list[str]) -> None:
    """A cluster that should be whole is judged as that, even if it has not come to rest."""
    cluster.dies(3)
    cluster.znode("/admin/reassign_partitions", "{}")
    watch = shown(cluster, Watch(INVARIANTS))
    assert watch.violations == []
    watch.at_end(quiet, whole)
    assert names(watch) == expected


def test_only_what_was_asked_for_is_looked_at(cluster: Cluster) -> None:
    cluster.decides(state(leader=2, leader_epoch=0, isr=(1,)))
    assert names(shown(cluster, Watch(named(["leaders-are-in-the-isr"])))) == ["leaders-are-in-the-isr"]
    assert names(shown(cluster, Watch([]))) == []


def test_the_same_sentence_is_told_once_and_of_very_many_only_the_first(cluster: Cluster) -> None:
    for epoch in range(TOLD_AT_MOST + 5):
        cluster.decides(state(leader_epoch=epoch, isr=()))
        cluster.decides(state(leader_epoch=epoch, isr=()))
    watch = shown(cluster, Watch(named(["leaders-are-in-the-isr"])))
    assert len({violation.sentence for violation in watch.violations}) == len(watch.violations) == TOLD_AT_MOST


def test_a_watch_on_a_cluster_that_folds_its_events_itself_finds_the_same(cluster: Cluster) -> None:
    """It begins with what is there by then, and is told of what happens after that."""
    watch = Watch(INVARIANTS, state=cluster.state)
    seen = len(cluster.events)
    cluster.decides(state(leader=2, leader_epoch=0))
    for event in cluster.events[seen:]:
        watch.see(event)
    alone = shown(cluster, Watch(INVARIANTS))
    assert watch.violations == alone.violations != []


# --- the invariants there are ----------------------------------------------------------------------------------------------


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
    assert (one.when is When.SAFETY) == bool(one.kinds)
