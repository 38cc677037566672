"""The what-if replay: with nothing changed, it computes what happened; with a change, what would have happened."""

from collections.abc import Sequence
from functools import partial

import pytest

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.folding_runs import FoldedRun, fold_events
from kcsim.scenarios.analysis.folding.transition import Transition
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.folding.what_if import AS_IT_WAS, WhatIf
from kcsim.scenarios.analysis.folding.what_if_replay import PASSED_OVER, fold_what_if
from kcsim.scenarios.explore.simulation import MOST_EVENTS
from kcsim.scenarios.language.library import library_names
from tests.scenarios.analysis.folding.simulated_runs import IN_MAKE_TEST, SEEDS, explored_run, library_run
from tests.tiers import chosen

NOT_EXACT = {
    "controller-and-leader-lost": "the controller dies between its decision and the write",
    "fault-controller-epoch-touched": "no write of the controller's is applied any more",
    "fault-deletion-during-reassignment": "a reassignment goes on in the middle of the deletion",
    "fault-deletion-stuck-in-reassignment": "the same, over a failover",
    "fault-deletion-without-state": "failovers that end in the middle",
    "fault-elections-without-end-reassigned": "failovers that end in the middle",
    "fault-empty-replica-list": "a partition without replicas",
    "fault-left-over-state": "the state of a new partition is there already, and its creation is refused",
    "fault-leftover-requests": "failovers that end in the middle",
    "fault-reassigned-to-nobody": "failovers that end in the middle",
    "fault-recreated-over-deleted-znodes": "a controller that remembers a topic which was deleted by hand",
    "fault-request-unseen": "a controller that dies on the way",
    "fault-state-deleted": "a state that was deleted by hand",
    "fault-unreadable-state": "a state that cannot be read",
    "reassignment-controller-killed": "the controller dies between two writes",
    "zombie-deletes-topic": "two controllers write",
}
"""Scenario of the library -> what no replay can compute by itself."""

REBALANCED = 11
"""A seed whose run gives leadership back to preferred replicas by itself."""
EXACT_SEEDS_AT_LEAST = 0.75


def derived(events: Sequence[Event], what_if: WhatIf) -> FoldedRun:
    return fold_events("batch", "run", events, partial(fold_what_if, what_if))


def story(rows: Sequence[Transition]) -> list[tuple[object, ...]]:
    """Return the transitions without their times, sequence numbers, causes and the mark that they are derived."""
    return [
        tuple(getattr(row, name) for name in Transition.__struct_fields__ if name not in ("seq", "t_ms", "cause", "derived"))
        for row in rows
    ]


def is_exact(events: Sequence[Event]) -> bool:
    return story(derived(events, AS_IT_WAS).transitions) == story(fold_events("batch", "run", events).transitions)


@pytest.mark.parametrize("name", chosen((name for name in library_names() if name not in NOT_EXACT), fast=IN_MAKE_TEST))
def test_with_nothing_changed_it_is_what_was(name: str) -> None:
    events = library_run(name)
    recorded, found = fold_events("batch", "run", events), derived(events, AS_IT_WAS)
    assert story(found.transitions) == story(recorded.transitions)
    assert all(row.derived for row in found.transitions)
    assert not found.mismatches


def test_what_cannot_be_found_is_in_the_library_still() -> None:
    assert set(library_names()) >= NOT_EXACT.keys()


@pytest.mark.slow
def test_most_runs_that_are_drawn_come_out_the_same() -> None:
    """The other runs have a crash in the middle of an operation, lost writes, or znodes made by hand.

    Runs that were cut off, in which two events cause each other for ever, are left out.
    """
    runs = [explored_run(seed) for seed in SEEDS[:24]]
    exact = [is_exact(events) for events in runs if len(events) < MOST_EVENTS]
    assert sum(exact) >= EXACT_SEEDS_AT_LEAST * len(exact)


def test_the_same_twice_is_the_same() -> None:
    """No state is kept from one fold to the next."""
    events = library_run("rack-loss")
    what_if = WhatIf(unclean=True, replication_factor=2, seed=4)
    assert derived(events, what_if) == derived(events, what_if)


# --- changed settings ------------------------------------------------------------------------------------------------------


def last(rows: Sequence[Transition], topic: str) -> Transition:
    return [row for row in rows if row.topic == topic][-1]


def test_with_unclean_elections_the_clean_topic_would_not_have_waited() -> None:
    events = library_run("last-isr-member-lost")
    rows = derived(events, WhatIf(unclean=True)).transitions
    unclean = [(row.topic, row.leader) for row in rows if row.clean is False]
    assert sorted(unclean) == [("clicks", 2), ("ledger", 2)]


def test_without_any_the_unclean_topic_would_have_waited_too() -> None:
    events = library_run("last-isr-member-lost")
    rows = derived(events, WhatIf(unclean=False)).transitions
    assert not [row for row in rows if row.clean is False]
    assert last(rows, "clicks").leader == 3


def test_who_was_not_left_behind_in_the_history_catches_up_in_the_time_that_is_given() -> None:
    """Broker 2 leads the clean topic uncleanly; 3, which led it in the history, comes back and has to catch up."""
    events = library_run("last-isr-member-lost")
    rows = derived(events, WhatIf(unclean=True, catch_up_ms=7)).transitions
    of_ledger = [row for row in rows if row.topic == "ledger"]
    ended = of_ledger[-1]
    back = max(e.t_ms for e in events if e.kind == "BrokerChange" and e.brokers == [1, 2, 3])
    assert (ended.kind, tuple(ended.isr), ended.t_ms) == ("IsrExpanded", (2, 3), back + 7)


def test_without_the_automatic_rebalance_leadership_stays_where_it_is() -> None:
    events = explored_run(REBALANCED)
    as_it_was, without = (derived(events, w).transitions for w in (AS_IT_WAS, WhatIf(preferred_rebalance=False)))
    assert any(row.trigger == Trigger.LEADER_REBALANCE for row in as_it_was)
    assert not any(row.trigger == Trigger.LEADER_REBALANCE for row in without)


def test_with_it_leadership_goes_back_to_the_preferred_leaders_in_time() -> None:
    events = explored_run(REBALANCED)
    rows = derived(events, WhatIf(preferred_rebalance=True, rebalance_interval_ms=100)).transitions
    given_back = [row for row in rows if row.trigger == Trigger.LEADER_REBALANCE]
    assert given_back
    assert all(row.leader == row.replicas[0] for row in given_back)


def test_another_replication_factor_places_every_topic_as_kafka_would() -> None:
    events = library_run("rack-loss")
    rows = derived(events, WhatIf(replication_factor=2, seed=1)).transitions
    assert {len(row.replicas) for row in rows if row.replicas} == {2}
    assert all(set(row.isr) <= set(row.replicas) for row in rows if row.leader is not None)


def test_a_placement_of_ones_own_goes_before_everything() -> None:
    events = library_run("broker-crash-and-return")
    topic = next(e.topic for e in events if e.kind == "LeaderElection")
    what_if = WhatIf(placement={(topic or "", 0): (3, 1)}, replication_factor=1)
    rows = derived(events, what_if).transitions
    of_it = [row for row in rows if (row.topic, row.partition) == (topic, 0)]
    assert {tuple(row.replicas) for row in of_it} == {(3, 1)}
    assert of_it[0].leader == 3


def test_what_no_longer_makes_sense_is_passed_over_and_reported() -> None:
    events = library_run("slow-follower-leaves-and-rejoins")
    found = derived(events, WhatIf(replication_factor=1))
    assert found.mismatches
    assert {mismatch.what for mismatch in found.mismatches} == {PASSED_OVER}
