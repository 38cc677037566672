"""Exploring finds every bug that is planted in our own controller and brokers, and shrinks its scenario.

`kcsim explore` determined the seed that finds each bug; the seeds after that one are for the day on which the generator
draws something else. Each run of the tests looks for a share of the bugs, the nightly run for all.
"""

from collections.abc import Mapping

import pytest

from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.simulation import RunFailure
from kcsim.scenarios.explore.trial import TrialResult, run_seed, shrink_failure
from tests.brokers.invariants.planted import PLANTED
from tests.tiers import tiered

MOST_STEPS = 6
MOST_SEEDS = 200

FOUND_IN: Mapping[str, tuple[str, int]] = {
    "the-controller-epoch-is-raised-by-two": ("small", 0),
    "who-has-lost-the-election-takes-over-too": ("small", 0),
    "every-failover-fails-in-the-end": ("small", 0),
    "transactions-are-done-whatever-they-check": ("admin", 32),
    "isrs-are-written-for-an-earlier-controller": ("small", 4),
    "another-leader-comes-without-another-epoch": ("small", 1),
    "a-leader-taken-out-of-the-isr-goes-on-leading": ("small", 3),
    "the-isr-is-not-asked-when-a-leader-is-lost": ("records", 2),
    "a-new-isr-is-everybody-who-lives": ("small", 0),
    "leaders-count-their-epochs-themselves": ("small", 0),
    "an-old-leader-epoch-is-taken-as-well": ("small", 1),
    "all-is-acknowledged-once-the-leader-has-it": ("small", 19),
    "a-follower-cuts-one-record-too-many": ("small", 16),
    "a-high-watermark-is-what-followers-have-now": ("records", 2),
    "a-leader-commits-alone": ("small", 3),
    "a-follower-cuts-nothing": ("records", 35),
    "nobody-stands-for-election-twice": ("small", 3),
    "a-failover-forgets-partitions-without-a-leader": ("small", 48),
    "a-reassignment-forgets-to-remove": ("small", 2),
    "who-dies-stays-in-the-isr": ("small", 99),
    "notifications-of-isrs-are-read-and-left": ("small", 4),
    "broker-2-is-not-notified-of-what-it-leads": ("small", 0),
    "a-leader-does-not-step-down": ("small", 24),
    "a-leader-forgets-which-version-it-has-written": ("small", 4),
    "broker-3-is-not-notified-of-what-it-follows": ("small", 15),
    "broker-1-gets-no-metadata": ("small", 0),
    "brokers-do-not-forget-what-is-deleted": ("small", 1),
    "the-rebalance-elects-leaders-that-lead-already": ("small", 13),
    "a-reassignment-is-not-gone-on-with": ("small", 31),
    "a-deletion-stops-half-way": ("small", 1),
    "a-preferred-election-is-held-and-left": ("small", 9),
    "nobody-is-taken-back-into-an-isr": ("small", 4),
    "a-deletion-forgets-the-settings": ("small", 1),
    "nobody-is-notified-of-a-broker-that-dies": ("small", 44),
}
"""Bug -> profile, and the first seed that finds it."""
AT_2_6 = (
    "a-leader-forgets-which-version-it-has-written",
    "isrs-are-written-for-an-earlier-controller",
    "notifications-of-isrs-are-read-and-left",
)
"""Bugs in what brokers do up to protocol version 2.6 only."""


def first_found(bug: str) -> tuple[TrialResult, RunFailure]:
    """Return the first run in which the planted bug's invariant is violated.

    Raises:
        StopIteration: no seed finds the bug.
    """
    profile, first = FOUND_IN[bug]
    drawn_from = load_profile(profile)
    if bug in AT_2_6:
        drawn_from = drawn_from.model_copy(update={"protocol_versions": ["2.6"]})
    everything = (run_seed(drawn_from, seed, bugs=()) for seed in range(first, first + MOST_SEEDS))
    return next(
        (tried, found) for tried in everything for found in tried.violations if found.invariant == PLANTED[bug].invariant
    )


def test_every_planted_bug_is_looked_for() -> None:
    assert set(FOUND_IN) == set(PLANTED)


@pytest.mark.parametrize("bug", tiered(PLANTED, fast=len(PLANTED), slow=4))
def test_a_planted_bug_is_found_and_shrunk_to_a_few_steps(bug: str) -> None:
    with PLANTED[bug].plant():
        tried, found = first_found(bug)
        assert tried.tree is not None
        shrunk = shrink_failure(tried.tree, tried.seed, found, most_runs=300, bugs=())

    assert len(shrunk.tree["timetable"]) <= MOST_STEPS, shrunk.tree["timetable"]
