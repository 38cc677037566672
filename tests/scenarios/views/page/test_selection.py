"""The events of a long trace that a report keeps."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.page.selection import Selection, select
from kcsim.scenarios.views.trace.event_importance import KEY_EVENT, NOTABLE, ORDINARY
from kcsim.scenarios.views.trace.event_range import event_range_between
from kcsim.scenarios.views.trace.time_point import BadTimePointError
from kcsim.scenarios.views.trace.trace_index import TraceIndex, index_trace
from kcsim.scenarios.views.trace.trace_reading import TraceReading
from tests.scenarios.views.page.conftest import run_of, written


def surveyed(
    count: int, *, ranks: dict[int, int] | None = None, causes: dict[int, int] | None = None, faults: Sequence[int] = ()
) -> TraceIndex:
    """Return the index of a trace of `count` events, one per millisecond; an event's seq is ten times its place."""
    found = TraceIndex()
    for place in range(count):
        kind = EventKind.FAULT if place in faults else EventKind.ZK_WRITE
        cause = (causes or {}).get(place)
        event = Event(10 * place, place, "broker-1", kind, None if cause is None else 10 * cause)
        found.add(event, (ranks or {}).get(place, ORDINARY))
    return found


def kept(selection: Selection) -> list[int]:
    return [place for place, is_kept in enumerate(selection.kept) if is_kept]


def test_a_short_run_is_kept_whole() -> None:
    selection = select(surveyed(50), at_most=50)
    assert (selection.count, selection.ranges) == (50, ((0, 50),))


def test_of_a_long_run_a_stretch_around_each_fault_is_kept_whole() -> None:
    selection = select(surveyed(10_000, faults=[3000, 7000]), at_most=1000)
    assert selection.ranges == ((2940, 3240), (6940, 7240))
    assert kept(selection) == [*range(2940, 3240), *range(6940, 7240)]


def test_faults_that_come_close_after_one_another_make_one_stretch() -> None:
    assert select(surveyed(10_000, faults=[3000, 3001, 3002]), at_most=1000).ranges == ((2960, 3162),)


def test_many_faults_do_not_make_many_tiny_stretches() -> None:
    """A few events around a fault would explain nothing: the first faults are kept with their consequences."""
    selection = select(surveyed(10_000, faults=range(0, 10_000, 100)), at_most=1000)
    assert selection.ranges == ((0, 600),)


def test_without_a_fault_the_beginning_is_kept() -> None:
    assert select(surveyed(10_000), at_most=1000).ranges == ((0, 600),)


def test_what_is_of_note_is_kept_outside_of_the_stretches_turning_points_first() -> None:
    ranks = dict.fromkeys(range(2000, 9000), NOTABLE) | {9500: KEY_EVENT, 9999: KEY_EVENT}
    selection = select(surveyed(10_000, ranks=ranks), at_most=1000)
    assert kept(selection)[-2:] == [9500, 9999]
    noted = [place for place in kept(selection) if ranks.get(place) == NOTABLE]
    assert 300 <= len(noted) <= 398
    steps = {b - a for a, b in pairwise(noted)}
    assert len(steps) == 1, "evenly chosen"


def test_what_led_to_an_event_is_kept_with_it() -> None:
    causes = {9000: 5000, 5000: 4000, 4000: 0}
    selection = select(surveyed(10_000, ranks={9000: KEY_EVENT}, causes=causes), at_most=100)
    assert kept(selection)[-3:] == [4000, 5000, 9000]


def test_what_somebody_asks_for_is_kept_whole_as_far_as_there_is_room() -> None:
    found = surveyed(10_000, faults=[100])
    assert select(found, 1000, (500, 700)).ranges == ((500, 700),)
    assert select(found, 1000, (500, 5000)).ranges == ((500, 1400),)


@given(
    st.integers(1, 400),
    st.integers(10, 300),
    st.dictionaries(st.integers(0, 399), st.sampled_from([NOTABLE, KEY_EVENT])),
    st.dictionaries(st.integers(1, 399), st.integers(0, 398)),
    st.lists(st.integers(0, 399), unique=True).map(sorted),
)
def test_no_run_makes_it_keep_too_much_or_lose_a_cause(
    count: int, at_most: int, ranks: dict[int, int], causes: dict[int, int], faults: list[int]
) -> None:
    found = surveyed(count, ranks=ranks, causes=causes, faults=[fault for fault in faults if fault < count])
    selection = select(found, at_most)
    assert selection.count <= at_most
    for place in kept(selection):
        cause = found.cause(place)
        assert cause is None or selection.kept[cause], f"{place} is kept, and its cause {cause} is not"


# --- the trace index -------------------------------------------------------------------------------------------------------


def test_a_cause_that_the_trace_does_not_have_before_its_event_is_none() -> None:
    found = surveyed(3, causes={1: 2, 2: 7})
    assert [found.cause(place) for place in range(3)] == [None, None, None]


def test_a_survey_is_of_note_where_a_narrator_speaks(tmp_path: Path) -> None:
    run = run_of("controller-failover")
    ranks = index_trace(TraceReading(written(tmp_path / "run.jsonl", run))).ranks
    of_note = {event.kind for event, rank in zip(run, ranks, strict=True) if rank != ORDINARY}
    assert {EventKind.FAULT, EventKind.ELECTION_WON, EventKind.ELECTION_LOST, EventKind.EXPECTATION} <= of_note
    assert EventKind.REQUEST_SENT not in {e.kind for e, rank in zip(run, ranks, strict=True) if rank == KEY_EVENT}
    assert 40 < sum(rank != ORDINARY for rank in ranks) < len(run) / 4


def test_a_survey_stops_where_the_trace_cannot_be_read(tmp_path: Path) -> None:
    trace = written(tmp_path / "run.jsonl", [Event(0, 0, "scenario", EventKind.RUN_STARTED)])
    trace.write_bytes(trace.read_bytes() + b"oh\n")
    found = index_trace(TraceReading(trace))
    assert len(found) == 1
    assert f"{trace}:2: not an event" in (found.problem or "")


# --- points in time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("from_", "to", "places"),
    [
        ("0.004s", None, (4, 9)),
        ("4ms", "4ms", (4, 5)),
        ("#40", "#60", (4, 7)),
        ("#41", "#69", (5, 7)),
        (None, "5ms", (0, 6)),
        (None, "99s", (0, 9)),
        ("0s", "end", (0, 9)),
    ],
)
def test_a_stretch_goes_from_one_moment_to_another_both_included(
    from_: str | None, to: str | None, places: tuple[int, int]
) -> None:
    assert event_range_between(from_, to)(surveyed(9)) == places


@pytest.mark.parametrize(
    ("from_", "to", "message"),
    [
        ("soon", None, "'soon' is no moment of a run"),
        ("5ms", "3ms", "3ms is before 5ms: there is nothing between them"),
        ("9s", None, "9s is after the run, whose last event is #80 at 0.008s"),
        ("#41", "#49", "there is no event between #41 and #49"),
    ],
)
def test_a_stretch_that_is_none_is_refused(from_: str | None, to: str | None, message: str) -> None:
    with pytest.raises(BadTimePointError, match=message):
        event_range_between(from_, to)(surveyed(9))
