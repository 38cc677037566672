"""The part of a run between two points in time, as indices of its events."""

from collections.abc import Callable

from kcsim.scenarios.views.trace.time_point import BadTimePointError, TimePoint, check_order, parse_time_point
from kcsim.scenarios.views.trace.trace_index import TraceIndex

EventRangeSelector = Callable[[TraceIndex], tuple[int, int]]
"""Returns the indices [first, end) of a trace to show in full. Raises: BadTimePointError, if there are no events there."""


def event_range_between(from_: str | None, to: str | None) -> EventRangeSelector:
    """Return a selector of the events between two points in time, both included; None: from the beginning, to the end.

    Raises: BadTimePointError, if a text is no point in time, or if they are in the wrong order.
    """
    begin = None if from_ is None else parse_time_point(from_, may_be_end=False)
    end = None if to is None else parse_time_point(to)
    check_order(begin, end)

    def places(index: TraceIndex) -> tuple[int, int]:
        first = 0 if begin is None else _first_from(begin, index)
        behind = len(index) if end is None else _behind(end, index)
        if first >= len(index):
            last = f"#{index.seq(len(index) - 1)} at {index.times_ms[-1] / 1000:.3f}s"
            raise BadTimePointError(f"{from_} is after the run, whose last event is {last}")
        if first >= behind:
            raise BadTimePointError(f"there is no event between {from_ or 'the beginning'} and {to or 'the end'}")
        return first, behind

    return places


def _first_from(time_point: TimePoint, index: TraceIndex) -> int:
    """Return the index of the first event at a point in time or after it."""
    return index.first_from_seq(time_point.seq) if time_point.seq is not None else index.first_from_ms(time_point.t_ms or 0)


def _behind(time_point: TimePoint, index: TraceIndex) -> int:
    """Return the index after the last event at a point in time or before it."""
    if time_point.is_the_end:
        return len(index)
    return (
        index.first_from_seq(time_point.seq + 1)
        if time_point.seq is not None
        else index.first_from_ms((time_point.t_ms or 0) + 1)
    )
