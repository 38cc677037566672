"""Each known bug's signature is in the log of the scenario that shows it, and in no log without the bug.

The runs of the library are checked for coverage as well.
"""

from collections.abc import Sequence

import pytest

from kcsim.eventlog.events import Event
from kcsim.scenarios.explore.coverage import CATEGORIES, CoveragePoint
from kcsim.scenarios.explore.generator import generate
from kcsim.scenarios.explore.known_bugs import classify_failures, known_bugs
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import RunFailure, simulate
from kcsim.scenarios.language.library import library_names
from kcsim.scenarios.language.scenario_file import find_scenario, load_scenario
from tests.tiers import chosen, tiered

TOUCHED = "controller-epoch-touched"
BEGIN_WITH = {
    "fault-own-id-in-controller": {"controller-created-by-hand"},
    "fault-reassigned-to-nobody": {"committed-without-an-isr-member-that-a-reassignment-removes"},
    "fault-cancelled-to-dead-replicas": {"isr-names-a-broker-that-is-no-replica"},
    "fault-controller-overwritten": {"controller-overwritten-during-an-election"},
    "fault-controller-epoch-lowered": {TOUCHED},
    "fault-controller-epoch-unreadable": {TOUCHED},
    "fault-leftover-requests": {TOUCHED},
    "fault-deletion-without-state": {
        "reassignment-of-a-partition-without-state",
        "deletion-and-reassignment-wait-for-each-other",
        "elections-without-end-of-a-reassignment",
    },
    "fault-elections-without-end-reassigned": {"reassignment-of-a-partition-without-state"},
    "migration-to-kraft": {TOUCHED},
    "protocol-version-lowered": {
        "deleted-topic-stays-in-the-metadata",
        "replica-of-a-deleted-topic-is-refused",
        "stray-replica",
    },
}
"""Scenarios that show the consequence of another bug, and so show that bug as well.

A KRaft controller raises the epoch as any other hand does. A topic is deleted while a broker that left it is dead, and the
broker takes its log for that of a later topic.
"""
MAY_PASS = {
    "reassignment-outlives-its-topic",
    "isr-change-stays-pending",
    "leader-without-a-successor",
    "late-request-after-a-partition",
    "committed-without-an-isr-member-that-a-reassignment-removes",
    "cancelled-to-dead-replicas",
    "deleted-topic-stays-in-the-metadata",
    "deleted-topic-stays-in-the-metadata-after-a-crash",
    "isr-names-a-broker-that-is-no-replica",
}
"""Bugs whose effect may pass.

Nothing is left after the next failover, if there is no topic of that name by then; after the next leader epoch; after the
next UpdateMetadata request; where the old members of the ISR were removed before one of them was elected; after an unclean
election; after the brokers concerned have restarted, or when the request that was abandoned was for others.
"""
SHOWS_FAULTS = [name for name in library_names() if name.startswith("fault-")]
"""Scenarios that show a known bug: `make test` runs every fourth of them, and a few that show none."""
STANDARD_SEEDS = 50
AT_A_TIME = 5


def shown_in(events: Sequence[Event]) -> list[str]:
    """Return the names of the bugs whose signature a log has, whatever else is wrong with the run."""
    found = {fault.name: [RunFailure(name, "") for name in fault.explains] for fault in known_bugs()}
    return [fault.name for fault in known_bugs() if classify_failures(found[fault.name], events, [fault]).known]


@pytest.mark.parametrize(
    "name", chosen(library_names(), fast=[*SHOWS_FAULTS[::4], "broker-crash-and-return", "consumer-crash-range"])
)
def test_a_scenario_of_the_library_shows_the_faults_that_name_it_and_reaches_what_the_tables_have(name: str) -> None:
    """The scenario shows no other bugs.

    `kcsim explore` could never report a reached point as missing if no table had it.
    """
    played = simulate(load_scenario(find_scenario(name)), 1)

    named = {fault.name for fault in known_bugs() if fault.scenario == name}

    assert played.exit_status == 0
    assert set(shown_in(played.events)) == named | BEGIN_WITH.get(name, set())
    assert played.reached <= {CoveragePoint(field.kind, str(value)) for field in CATEGORIES for value in field.all}


def test_every_fault_of_the_library_is_a_known_one() -> None:
    shown = {fault.scenario for fault in known_bugs() if fault.scenario is not None}

    assert shown == set(SHOWS_FAULTS)


@pytest.mark.parametrize("first", tiered(range(0, STANDARD_SEEDS, AT_A_TIME), fast=0))
def test_a_run_in_which_nothing_goes_wrong_shows_none(first: int) -> None:
    """A signature that matched any run would explain any failure of it."""
    standard = load_profile("standard")
    played = [simulate(loaded(generate(standard, seed)), seed) for seed in range(first, first + AT_A_TIME)]
    sound = [run for run in played if not run.failures]
    shown = {name for run in sound for name in shown_in(run.events)}

    assert len(sound) > AT_A_TIME // 2
    assert shown <= MAY_PASS
