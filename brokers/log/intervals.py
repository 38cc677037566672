"""Sets of integers as sorted ranges: the size of a set depends on its gaps, not on its number of records.

Ranges are half open, as Python's are. Sets are values: every operation returns a new one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

Range = tuple[int, int]
"""From the first number up to, but not including, the second."""

_start = itemgetter(0)


@dataclass(frozen=True, slots=True)
class IntervalSet:
    """A set of integers. `ranges` are sorted, not empty, and neither overlap nor touch; `of` ensures that."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> "IntervalSet":
        """Return the set of the numbers in any of these ranges, in any order; empty ranges are ignored."""
        joined: list[Range] = []
        for start, end in sorted(r for r in ranges if r[0] < r[1]):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((start, end))
        return cls(tuple(joined))

    @property
    def count(self) -> int:
        """The number of elements."""
        return sum(end - start for start, end in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, number: int) -> bool:
        index = bisect_right(self.ranges, number, key=_start) - 1
        return index >= 0 and number < self.ranges[index][1]

    def __iter__(self) -> Iterator[int]:
        """Iterate over every number, in ascending order; for small sets."""
        return chain.from_iterable(range(start, end) for start, end in self.ranges)

    def __str__(self) -> str:
        """Format the set for people: 0-4, 7."""
        return ", ".join(str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in self.ranges) or "none"

    def union(self, *others: "IntervalSet") -> "IntervalSet":
        return IntervalSet.of(chain(self.ranges, *(other.ranges for other in others)))

    def intersection(self, other: "IntervalSet") -> "IntervalSet":
        """Return the numbers in both sets."""
        return IntervalSet(tuple(r for r, depth in covered((*self.ranges, *other.ranges)) if depth == 2))

    def subtract(self, other: "IntervalSet") -> "IntervalSet":
        """Return the numbers in this set that are not in the other."""
        left: list[Range] = []
        theirs = iter(other.ranges)
        cut = next(theirs, None)
        for start, end in self.ranges:
            while cut is not None and cut[1] <= start:
                cut = next(theirs, None)
            while cut is not None and cut[0] < end:
                if start < cut[0]:
                    left.append((start, cut[0]))
                start = cut[1]
                if start >= end:
                    break
                cut = next(theirs, None)
            if start < end:
                left.append((start, end))
        return IntervalSet(tuple(left))


def covered(ranges: Iterable[Range]) -> Iterator[tuple[Range, int]]:
    """Yield ranges with the number of input ranges that cover them, in order; uncovered numbers are left out."""
    ends = sorted(chain.from_iterable(((start, 1), (end, -1)) for start, end in ranges if start < end))
    depth, since = 0, 0
    for at, step in ends:
        if depth and since < at:
            yield (since, at), depth
        depth, since = depth + step, at
