"""The selection of events of a long trace for a report: whole ranges of it, and the notable events in between.

Within a range the cluster's state is known event by event. Outside there are only notable events and the causes of kept
events: the chain of causes of every kept event is kept as well, back to its root.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcsim.scenarios.views.trace.event_importance import KEY_EVENT, NOTABLE
from kcsim.scenarios.views.trace.trace_index import TraceIndex

SHARE_OF_RANGES = 0.6
SHARE_OF_REQUESTED_RANGE = 0.9
FEWEST_IN_A_RANGE = 200
BEFORE_A_FAULT = 0.2
"""The share of the range around a fault that lies before the fault."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The kept events of a trace.

    Attributes:
        kept: a byte for each index of the trace: 1 if its event is kept.
        ranges: [first, end) indices, in order and disjoint, all of whose events are kept.
    """

    kept: bytearray
    ranges: Sequence[tuple[int, int]]

    @property
    def count(self) -> int:
        return self.kept.count(1)


def select(index: TraceIndex, at_most: int, requested: tuple[int, int] | None = None) -> Selection:
    """Choose the events of a trace to keep.

    Args:
        at_most: maximum number of events to keep.
        requested: the indices [first, end) that the user wants to see in full; None: all events, or those around the faults
            if all are too many.
    """
    total = len(index)
    if requested is None and total <= at_most:
        return Selection(bytearray(b"\1") * total, ((0, total),))
    if requested is None:
        ranges = _around(index.faults, total, int(at_most * SHARE_OF_RANGES))
    else:
        first, end = requested
        ranges = ((first, min(end, first + int(at_most * SHARE_OF_REQUESTED_RANGE))),)
    keeping = _KeptEvents(index, at_most)
    for first, end in ranges:
        for place in range(first, end):
            keeping.keep(place)
    for rank in (KEY_EVENT, NOTABLE):
        keeping.keep_some([place for place, found in enumerate(index.ranks) if found == rank])
    return Selection(keeping.kept, ranges)


def _around(faults: Sequence[int], total: int, at_most: int) -> tuple[tuple[int, int], ...]:
    """Return a range around each fault, or around the first ones if there are many; without a fault, the beginning."""
    if not faults:
        return ((0, min(total, at_most)),)
    length = max(at_most // len(faults), min(FEWEST_IN_A_RANGE, at_most))
    ranges: list[tuple[int, int]] = []
    left = at_most
    for fault in faults:
        first = max(fault - int(length * BEFORE_A_FAULT), ranges[-1][1] if ranges else 0)
        end = min(fault + length - int(length * BEFORE_A_FAULT), total, first + left)
        if first >= end:
            continue
        left -= end - first
        if ranges and ranges[-1][1] == first:
            first = ranges.pop()[0]
        ranges.append((first, end))
    return tuple(ranges)


class _KeptEvents:
    def __init__(self, index: TraceIndex, at_most: int) -> None:
        self._index = index
        self._left = at_most
        self.kept = bytearray(len(index))

    def keep(self, place: int) -> None:
        """Keep an event with its chain of causes; keep nothing of it if that would be too many events."""
        chain = []
        at: int | None = place
        while at is not None and not self.kept[at]:
            chain.append(at)
            at = self._index.cause(at)
        if len(chain) <= self._left:
            self._left -= len(chain)
            for at in chain:
                self.kept[at] = 1

    def keep_some(self, places: Sequence[int]) -> None:
        """Keep these events; if they are too many, an evenly spaced part of them."""
        wanted = [place for place in places if not self.kept[place]]
        step = max(-(-len(wanted) // max(self._left, 1)), 1)
        for place in wanted[::step]:
            self.keep(place)
