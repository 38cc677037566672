"""Each known fault's signature is in the log of the scenario that shows it, and in no log without the fault."""

from collections.abc import Sequence

import pytest

from kcsim.scenarios.exploring.generator import generate
from kcsim.scenarios.exploring.known_faults import known_faults, sort_out
from kcsim.scenarios.exploring.playing import Found, play
from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.language.scenario_file import find_scenario, library_names, load_scenario
from kcsim.zk.events import Event

TOUCHED = "controller-epoch-touched"
BEGIN_WITH = {
    "fault-controller-epoch-lowered": {TOUCHED},
    "fault-controller-epoch-unreadable": {TOUCHED},
    "fault-leftover-requests": {TOUCHED},
    "fault-deletion-without-state": {
        "reassignment-of-a-partition-without-state",
        "deletion-and-reassignment-wait-for-each-other",
    },
}
"""Scenarios that show what comes of another fault, and so that one as well."""
MAY_PASS = {"reassignment-outlives-its-topic", "isr-change-stays-pending"}
"""Nothing is left after the next failover, if there is no topic of that name by then; or after the next leader epoch."""
STANDARD_SEEDS = 50
AT_A_TIME = 10


def shown_in(events: Sequence[Event]) -> list[str]:
    """Names of the faults whose signature a log has, whatever else is wrong with the run."""
    found = {fault.name: [Found(name, "") for name in fault.explains] for fault in known_faults()}
    return [fault.name for fault in known_faults() if sort_out(found[fault.name], events, [fault]).known]


@pytest.mark.parametrize("name", library_names())
def test_a_scenario_of_the_library_shows_the_faults_that_name_it_and_no_others(name: str) -> None:
    played = play(load_scenario(find_scenario(name)), 1)

    named = {fault.name for fault in known_faults() if fault.scenario == name}

    assert played.exit_status == 0
    assert set(shown_in(played.events)) == named | BEGIN_WITH.get(name, set())


def test_every_fault_of_the_library_is_a_known_one() -> None:
    shown = {fault.scenario for fault in known_faults() if fault.scenario is not None}

    assert shown == {name for name in library_names() if name.startswith("fault-")}


@pytest.mark.parametrize("first", range(0, STANDARD_SEEDS, AT_A_TIME))
def test_a_run_in_which_nothing_goes_wrong_shows_none(first: int) -> None:
    """A signature that fits any run would explain whatever is wrong with it."""
    standard = load_profile("standard")
    played = [play(loaded(generate(standard, seed)), seed) for seed in range(first, first + AT_A_TIME)]
    sound = [run for run in played if not run.found]
    shown = {name for run in sound for name in shown_in(run.events)}

    assert len(sound) > AT_A_TIME // 2
    assert shown <= MAY_PASS
