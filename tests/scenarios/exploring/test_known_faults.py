"""Faults of Kafka's own: each is told by its signature, found by exploring, and explains no more than it says."""

import pytest
from pydantic import ValidationError

from kcsim.scenarios.exploring.known_faults import KnownFault, known_faults, sort_out
from kcsim.scenarios.exploring.playing import Found, Played, play
from kcsim.scenarios.exploring.profile import load_profile
from kcsim.scenarios.exploring.scenario_tree import loaded
from kcsim.scenarios.exploring.trying import shrink_tried, try_seed
from kcsim.scenarios.language.scenario_file import library_names
from tests.scenarios.exploring.test_playing import a_tree

WITHOUT_STATE = "elections-without-end-of-a-partition-without-state"
LOOP = "elections-come-to-an-end"
SEEDS = range(192, 500)
"""Of profile admin. The first of them finds it; the others are for the day on which something else is drawn."""


def an_election_of_a_partition_without_state() -> Played:
    """Broker 1 never starts, so the topic's only partition never gets a state; the next controller meets the election."""
    steps = ({"create-topic": "orders"}, {"after": "1s", "elect-preferred": "orders-0"}, {"zk-delete": "/controller"})
    tree = a_tree(*steps, {"after": "3s", "zk-delete": "/admin/preferred_replica_election"})
    tree["cluster"]["topics"]["orders"] = {"assignment": {0: [1]}}
    return play(loaded({**tree, "timetable": [{"start": "broker-2"}, *tree["timetable"][1:]], "afterwards": {}}), 1)


def test_the_names_are_unlike_and_the_scenarios_exist() -> None:
    names = [fault.name for fault in known_faults()]

    assert len(set(names)) == len(names)
    assert {fault.scenario for fault in known_faults() if fault.scenario} <= set(library_names())


def test_elections_without_end_are_told_apart() -> None:
    played = an_election_of_a_partition_without_state()
    sorted_out = sort_out(played.found, played.events)

    assert LOOP in {found.invariant for found in played.found}
    assert (sorted_out.unknown, list(sorted_out.known)) == ((), [WITHOUT_STATE])


def test_a_fault_explains_no_more_than_it_says() -> None:
    played = an_election_of_a_partition_without_state()
    more = Found("leaders-are-in-the-isr", "somebody leads who is not in sync")

    assert sort_out((*played.found, more), played.events).unknown == (more,)


def test_without_its_signature_nothing_is_known() -> None:
    """The same invariant may be broken by a fault of ours."""
    uneventful = play(loaded(a_tree({"create-topic": "orders"})), 1)
    found = Found(LOOP, "controller epoch 12 is won")

    assert sort_out((found,), uneventful.events).unknown == (found,)


def test_exploring_finds_elections_without_end_by_itself_and_makes_them_small() -> None:
    """From a random timetable with admin acts, with no known fault to compare with: at most four steps are left."""
    everything = (try_seed(load_profile("admin"), seed, faults=()) for seed in SEEDS)
    tried, found = next(
        (tried, found)
        for tried in everything
        for found in tried.unknown
        if found.invariant == LOOP and "elect-preferred" in str(tried.tree)
    )
    assert tried.tree is not None

    shrunk = shrink_tried(tried.tree, tried.seed, found, most_runs=400, faults=())

    assert len(shrunk.tree["timetable"]) <= 4
    assert "elect-preferred" in {verb for step in shrunk.tree["timetable"] for verb in step}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"explains": ["elections-come-to-end"]}, "did you mean elections-come-to-an-end?"),
        ({"explains": ["crashed"]}, "unknown invariant 'crashed'"),
        ({"signature": {"event": {"kind": "Elected"}}}, "unknown kind of event 'Elected'"),
        ({"shown": "guessed"}, "recorded"),
        ({"seen": "2.8"}, "seen"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(change: dict[str, object], told: str) -> None:
    entry = {
        "name": "made-up",
        "what": "Something.",
        "seen-in": "2.8",
        "shown": "source",
        "explains": [LOOP],
        "signature": {"event": {"kind": "ElectionWon"}},
    }
    assert KnownFault.model_validate(entry).name == "made-up"

    with pytest.raises(ValidationError, match=told.replace("?", r"\?")):
        KnownFault.model_validate(entry | change)
