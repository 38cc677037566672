"""Known bugs of Kafka: each is recognized by its signature, found by exploring, and explains only its own invariants."""

import pytest
from pydantic import ValidationError

from kcsim.scenarios.explore.known_bugs import KnownBug, classify_failures, known_bugs
from kcsim.scenarios.explore.profile import load_profile
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.simulation import RunFailure, SimulationResult, simulate
from kcsim.scenarios.explore.trial import run_seed, shrink_failure
from kcsim.scenarios.language.library import library_file, library_names
from kcsim.scenarios.language.scenario_file import load_scenario
from tests.scenarios.explore.test_simulation import a_tree

WITHOUT_STATE = "elections-without-end-of-a-partition-without-state"
LOOP = "elections-come-to-an-end"
SEEDS = range(192, 500)
"""Seeds of the profile admin.

The first seed finds the bug; the others are for the day on which the generator draws something else.
"""


def an_election_of_a_partition_without_state() -> SimulationResult:
    """Return a run in which the topic's only partition never gets a state, because broker 1 never starts.

    The next controller finds the requested election of that partition.
    """
    steps = ({"create-topic": "orders"}, {"after": "1s", "elect-preferred": "orders-0"}, {"zk-delete": "/controller"})
    tree = a_tree(*steps, {"after": "3s", "zk-delete": "/admin/preferred_replica_election"})
    tree["cluster"]["topics"]["orders"] = {"assignment": {0: [1]}}
    return simulate(loaded({**tree, "timetable": [{"start": "broker-2"}, *tree["timetable"][1:]], "afterwards": {}}), 1)


def test_the_names_are_unlike_and_the_scenarios_exist() -> None:
    names = [fault.name for fault in known_bugs()]

    assert len(set(names)) == len(names)
    assert {fault.scenario for fault in known_bugs() if fault.scenario} <= set(library_names())


def test_elections_without_end_are_recognized_as_known() -> None:
    played = an_election_of_a_partition_without_state()
    sorted_out = classify_failures(played.failures, played.events)

    assert LOOP in {found.invariant for found in played.failures}
    assert (sorted_out.unknown, list(sorted_out.known)) == ((), [WITHOUT_STATE])


def test_a_fault_explains_no_more_than_it_says() -> None:
    played = an_election_of_a_partition_without_state()
    more = RunFailure("leaders-are-in-the-isr", "somebody leads who is not in sync")

    assert classify_failures((*played.failures, more), played.events).unknown == (more,)


def test_without_its_signature_nothing_is_known() -> None:
    """A bug of our own may violate the same invariant."""
    uneventful = simulate(loaded(a_tree({"create-topic": "orders"})), 1)
    found = RunFailure(LOOP, "controller epoch 12 is won")

    assert classify_failures((found,), uneventful.events).unknown == (found,)


@pytest.mark.parametrize("bug", [bug for bug in known_bugs() if bug.scenario], ids=lambda bug: bug.name)
def test_the_scenario_of_a_bug_has_its_signature(bug: KnownBug) -> None:
    assert bug.scenario is not None
    events = simulate(load_scenario(library_file(bug.scenario)), 1).events
    explained = RunFailure(bug.explains[0], "as the scenario says")
    assert classify_failures((explained,), events, [bug]).known == {bug.name: (explained,)}


@pytest.mark.slow
def test_exploring_finds_elections_without_end_by_itself_and_makes_them_small() -> None:
    """The search begins with random timetables with admin acts, and knows no bug; at most four steps are left."""
    everything = (run_seed(load_profile("admin"), seed, bugs=()) for seed in SEEDS)
    tried, found = next(
        (tried, found)
        for tried in everything
        for found in tried.violations
        if found.invariant == LOOP and "elect-preferred" in str(tried.tree)
    )
    assert tried.tree is not None

    shrunk = shrink_failure(tried.tree, tried.seed, found, most_runs=400, bugs=())

    assert len(shrunk.tree["timetable"]) <= 4
    assert "elect-preferred" in {verb for step in shrunk.tree["timetable"] for verb in step}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"explains": ["elections-come-to-end"]}, "did you mean elections-come-to-an-end?"),
        ({"explains": ["crashed"]}, "unknown invariant 'crashed'"),
        ({"signature": {"event": {"kind": "Elected"}}}, "unknown kind of event 'Elected'"),
        ({"shown": "guessed"}, "recorded"),
        ({"seen": "2.8"}, "seen"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    entry = {
        "name": "made-up",
        "what": "Something.",
        "seen-in": "2.8",
        "shown": "source",
        "explains": [LOOP],
        "signature": {"event": {"kind": "ElectionWon"}},
    }
    assert KnownBug.model_validate(entry).name == "made-up"

    with pytest.raises(ValidationError, match=message.replace("?", r"\?")):
        KnownBug.model_validate(entry | change)
