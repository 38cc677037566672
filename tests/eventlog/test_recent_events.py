"""A log that keeps its latest events only."""

import pytest

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventFields, EventKind
from kcsim.eventlog.recent_events import RecentEvents

MOST = 10


def recent(count: int, most: int = MOST) -> RecentEvents:
    events = RecentEvents([], most)
    for seq in range(count):
        events.append(Event(seq, seq, "broker-1", EventKind.ELECTION_LOST))
    return events


def seqs(events: object) -> list[int]:
    assert isinstance(events, list | RecentEvents)
    return [event.seq for event in events]


def test_nothing_is_forgotten_up_to_half_as_many_more() -> None:
    events = recent(15)
    assert (events.first_seq, len(events), seqs(events)) == (0, 15, list(range(15)))


def test_then_as_many_are_left_as_were_asked_for() -> None:
    events = recent(16)
    assert (events.first_seq, len(events), seqs(events)) == (6, 16, list(range(6, 16)))


@pytest.mark.parametrize("place", [6, 15, -1, -10])
def test_an_event_is_found_as_in_a_list_of_all(place: int) -> None:
    assert recent(16)[place].seq == range(16)[place]


@pytest.mark.parametrize("place", [0, 5, 16, -11, -17])
def test_one_that_is_forgotten_or_not_there_yet_is_an_error(place: int) -> None:
    with pytest.raises(IndexError):
        recent(16)[place]


@pytest.mark.parametrize(
    "part", [slice(None), slice(8, 12), slice(12, None), slice(2, 9), slice(0, 3), slice(-3, None), slice(20, 30)]
)
def test_a_slice_has_of_those_asked_for_what_is_left(part: slice) -> None:
    assert seqs(recent(16)[part]) == [seq for seq in range(16)[part] if seq >= 6]


def test_the_newest_come_first_when_read_backwards() -> None:
    assert [event.seq for event in reversed(recent(16))] == list(range(15, 5, -1))


def test_a_log_goes_on_counting() -> None:
    log = EventLog(lambda: 0)
    for _ in range(MOST):
        log.append("broker-1", EventKind.ELECTION_LOST, None, EventFields())
    log.keep_latest(MOST)
    for _ in range(3 * MOST):
        log.append("broker-1", EventKind.ELECTION_LOST, None, EventFields())
    assert (len(log.events), log.events[-1].seq) == (4 * MOST, 4 * MOST - 1)
    assert len(list(log.events)) <= MOST + MOST // 2
