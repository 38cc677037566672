"""Which events of a long trace go into a report: whole stretches of it, and what is of note in between.

Within a stretch the cluster is known event by event. Outside there are only events of note, and what led to them or to
something that is kept: so the chain of causes of whatever is kept is kept, too, back to its root.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.scenarios.reporting.of_note import OF_NOTE, TURNING_POINT
from kcsim.scenarios.reporting.survey import Survey

SHARE_OF_STRETCHES = 0.6
SHARE_OF_WHAT_IS_ASKED_FOR = 0.9
FEWEST_IN_A_STRETCH = 200
BEFORE_A_FAULT = 0.2
"""Of the stretch around a fault, as much is before it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is kept.

    Attributes:
        kept: a byte for each place of the trace: 1 if its event is kept.
        stretches: [first, end) places, in order and apart, all of whose events are kept.
    """

    kept: bytearray
    stretches: Sequence[tuple[int, int]]

    @property
    def count(self) -> int:
        return self.kept.count(1)


def select(survey: Survey, at_most: int, asked_for: tuple[int, int] | None = None) -> Selection:
    """Choose what to keep of a trace.

    Args:
        at_most: events to keep.
        asked_for: the places [first, end) that somebody wants to see whole; None: all if that is not too much, else what
            is around the faults.
    """
    total = len(survey)
    if asked_for is None and total <= at_most:
        return Selection(bytearray(b"\1") * total, ((0, total),))
    if asked_for is None:
        stretches = _around(survey.faults, total, int(at_most * SHARE_OF_STRETCHES))
    else:
        first, end = asked_for
        stretches = ((first, min(end, first + int(at_most * SHARE_OF_WHAT_IS_ASKED_FOR))),)
    keeping = _Keeping(survey, at_most)
    for first, end in stretches:
        for place in range(first, end):
            keeping.keep(place)
    for rank in (TURNING_POINT, OF_NOTE):
        keeping.keep_some([place for place, found in enumerate(survey.ranks) if found == rank])
    return Selection(keeping.kept, stretches)


def _around(faults: Sequence[int], total: int, at_most: int) -> tuple[tuple[int, int], ...]:
    """A stretch around each fault, or around the first ones where they are many; without a fault, the beginning."""
    if not faults:
        return ((0, min(total, at_most)),)
    length = max(at_most // len(faults), min(FEWEST_IN_A_STRETCH, at_most))
    stretches: list[tuple[int, int]] = []
    left = at_most
    for fault in faults:
        first = max(fault - int(length * BEFORE_A_FAULT), stretches[-1][1] if stretches else 0)
        end = min(fault + length - int(length * BEFORE_A_FAULT), total, first + left)
        if first >= end:
            continue
        left -= end - first
        if stretches and stretches[-1][1] == first:
            first = stretches.pop()[0]
        stretches.append((first, end))
    return tuple(stretches)


class _Keeping:
    def __init__(self, survey: Survey, at_most: int) -> None:
        self._survey = survey
        self._left = at_most
        self.kept = bytearray(len(survey))

    def keep(self, place: int) -> None:
        """Keep an event with all that led to it; not even the event, if that would be too many."""
        chain = []
        at: int | None = place
        while at is not None and not self.kept[at]:
            chain.append(at)
            at = self._survey.cause(at)
        if len(chain) <= self._left:
            self._left -= len(chain)
            for at in chain:
                self.kept[at] = 1

    def keep_some(self, places: Sequence[int]) -> None:
        """Keep these; if they are too many, evenly chosen ones."""
        wanted = [place for place in places if not self.kept[place]]
        step = max(-(-len(wanted) // max(self._left, 1)), 1)
        for place in wanted[::step]:
            self.keep(place)
