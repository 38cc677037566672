"""A point in time as a user writes it, and the events that precede it."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.trace.time_point import THE_END, BadTimePointError, TimePoint, check_order, parse_time_point

AT_TWO_SECONDS = Event(seq=7, t_ms=2000, node="broker-1", kind=EventKind.BROKER_REGISTERED)


@pytest.mark.parametrize(
    ("text", "seq", "t_ms"),
    [("12.5s", None, 12_500), ("2 s", None, 2000), ("300ms", None, 300), ("#212", 212, None), ("212", 212, None)],
)
def test_a_moment_is_a_time_or_an_event(text: str, seq: int | None, t_ms: int | None) -> None:
    assert parse_time_point(text) == TimePoint(text, seq, t_ms)


def test_the_end_is_a_moment_where_it_makes_sense() -> None:
    assert parse_time_point("end") == THE_END
    with pytest.raises(BadTimePointError, match="'end' is no moment of a run"):
        parse_time_point("end", may_be_end=False)


@pytest.mark.parametrize("text", ["", "soon", "-1s", "12.5", "#", "1m", "#1s", "1.5ms"])
def test_anything_else_is_refused_with_what_it_may_be(text: str) -> None:
    with pytest.raises(BadTimePointError, match=r"write 12\.5s, 300ms, '#123' for an event, or end"):
        parse_time_point(text)


@pytest.mark.parametrize(
    ("text", "is_before", "is_after"),
    [
        *[("#6", True, False), ("#7", False, False), ("#8", False, True)],
        *[("1999ms", True, False), ("2s", False, False), ("2001ms", False, True)],
    ],
)
def test_events_of_the_moment_itself_belong_to_it(text: str, is_before: bool, is_after: bool) -> None:
    moment = parse_time_point(text)
    assert (moment.is_before(AT_TWO_SECONDS), moment.is_after(AT_TWO_SECONDS)) == (is_before, is_after)


def test_nothing_comes_after_the_end_and_every_run_reaches_it() -> None:
    assert not THE_END.is_before(AT_TWO_SECONDS)
    assert THE_END.is_reached_by(AT_TWO_SECONDS)


@pytest.mark.parametrize(("begin", "end"), [("3s", "2s"), ("#9", "#8")])
def test_an_end_before_the_beginning_is_refused(begin: str, end: str) -> None:
    with pytest.raises(BadTimePointError, match=f"{end} is before {begin}: there is nothing between them"):
        check_order(parse_time_point(begin), parse_time_point(end))


@pytest.mark.parametrize(("begin", "end"), [("2s", "2s"), ("#9", "1s"), ("3s", "end")])
def test_what_cannot_be_compared_yet_is_left_to_the_reading(begin: str, end: str) -> None:
    check_order(parse_time_point(begin), parse_time_point(end))
