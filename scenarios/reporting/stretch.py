"""The part of a run from one moment to another, as places of its events."""

from collections.abc import Callable

from kcsim.scenarios.reading.moments import BadMomentError, Moment, check_order, parse_moment
from kcsim.scenarios.reporting.survey import Survey

Stretch = Callable[[Survey], tuple[int, int]]
"""Chooses the places [first, end) of a trace that are to be shown whole. Raises: BadMomentError, if nothing is there."""


def stretch_between(from_: str | None, to: str | None) -> Stretch:
    """From one moment to another, the events of both included; None: from the beginning, to the end.

    Raises: BadMomentError, for what is no moment, or the wrong way round.
    """
    begin = None if from_ is None else parse_moment(from_, may_be_end=False)
    end = None if to is None else parse_moment(to)
    check_order(begin, end)

    def places(found: Survey) -> tuple[int, int]:
        first = 0 if begin is None else _first_from(begin, found)
        behind = len(found) if end is None else _behind(end, found)
        if first >= len(found):
            last = f"#{found.seq(len(found) - 1)} at {found.times_ms[-1] / 1000:.3f}s"
            raise BadMomentError(f"{from_} is after the run, whose last event is {last}")
        if first >= behind:
            raise BadMomentError(f"there is no event between {from_ or 'the beginning'} and {to or 'the end'}")
        return first, behind

    return places


def _first_from(moment: Moment, found: Survey) -> int:
    """The place of the first event at a moment or after it."""
    return found.first_from_seq(moment.seq) if moment.seq is not None else found.first_from_ms(moment.t_ms or 0)


def _behind(moment: Moment, found: Survey) -> int:
    """The place behind the last event at a moment or before it."""
    if moment.is_the_end:
        return len(found)
    return found.first_from_seq(moment.seq + 1) if moment.seq is not None else found.first_from_ms((moment.t_ms or 0) + 1)
