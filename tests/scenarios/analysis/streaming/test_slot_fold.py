"""The fold of portions equals that of the whole history, however it is cut, and whatever comes late or twice."""

import random
from collections.abc import Sequence

import pytest

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.folding.folding_runs import fold_events
from kcsim.scenarios.language.library import library_names
from tests.scenarios.analysis.folding.simulated_runs import SEEDS, explored_run, library_run
from tests.scenarios.analysis.streaming.portions import BATCH, Slots, in_order, portions

A_SHARE = ("partition-expansion", *library_names()[::8])


@pytest.mark.parametrize("size", [1, 37, 100_000])
@pytest.mark.parametrize("name", A_SHARE[:3])
def test_however_a_run_is_cut_the_transitions_are_those_of_the_whole(name: str, size: int) -> None:
    run = library_run(name)
    slots = Slots()
    for portion in portions(run, size):
        slots.take(name, portion)
    assert in_order(slots.transitions) == in_order(fold_events(BATCH, name, run).transitions)
    assert slots.mismatches == []


@pytest.mark.slow
@pytest.mark.parametrize("name", library_names())
def test_every_run_of_the_library_is_folded_in_portions_as_in_one(name: str) -> None:
    """Three slots, and portions of 50 events: a state is saved and restored hundreds of times."""
    assert_folded_as_in_one(library_run(name), name, Slots(3), 50)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[::8])
def test_explored_runs_are_folded_in_portions_as_in_one(seed: int) -> None:
    assert_folded_as_in_one(explored_run(seed), f"explored-{seed}", Slots(2), 23)


def assert_folded_as_in_one(run: Sequence[Event], name: str, slots: Slots, events_a_portion: int) -> None:
    for portion in portions(run, events_a_portion):
        slots.take(name, portion)
    expected = fold_events(BATCH, name, run)
    assert in_order(slots.transitions) == in_order(expected.transitions)
    assert slots.mismatches == expected.mismatches


def test_late_and_repeated_events_change_nothing() -> None:
    """Events that are swapped within a few portions, and events that come twice, at once or much later."""
    name = A_SHARE[0]
    run = library_run(name)
    slots = Slots(lateness_ms=10**9)
    for portion in portions(_disturbed(run, random.Random(1)), 40):
        slots.take(name, portion)
    assert in_order(slots.transitions) == in_order(fold_events(BATCH, name, run).transitions)
    assert (slots.mismatches, slots.rejects) == ([], [])


def _disturbed(run: Sequence[Event], chosen: random.Random) -> list[Event]:
    delayed = [(place + chosen.choice((0, 0, 0, 90)), place, event) for place, event in enumerate(run)]
    repeated = [(place + chosen.randrange(400), place, event) for place, event in enumerate(run) if chosen.random() < 0.1]
    return [event for _, _, event in sorted(delayed + repeated, key=lambda each: each[:2])]


def test_the_fold_goes_on_without_an_event_that_does_not_come_and_rejects_it_when_it_does() -> None:
    name = A_SHARE[0]
    run = library_run(name)
    missing, kept = run[10], [*run[:10], *run[11:]]
    slots = Slots(lateness_ms=1_000)
    slots.take(name, kept)
    slots.flush()
    assert len(slots.transitions) > 0
    slots.take(name, [missing, run[11]])
    assert [reject.detail for reject in slots.rejects] == [f"event {missing.seq} came after the fold had gone on without it"]


def test_after_a_missing_event_everything_waits_until_it_is_there() -> None:
    name = A_SHARE[0]
    run = library_run(name)
    slots = Slots(lateness_ms=10**9)
    slots.take(name, [run[0], *run[2:]])
    assert slots.transitions == []
    slots.take(name, [run[1]])
    assert in_order(slots.transitions) == in_order(fold_events(BATCH, name, run).transitions)
