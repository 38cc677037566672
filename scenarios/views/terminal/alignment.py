"""Alignment of two threads of the same name: which entries they have in common, in order, and which only one of them has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kcsim.scenarios.views.terminal.run_digest import ThreadEntry

MOST_WORK = 4_000_000
"""Maximum number of pairs of entries to compare; beyond it, all entries between the common ends count as different."""


@dataclass(frozen=True, slots=True)
class DivergencePoint:
    """The point where two runs diverge: the next entry of each in a thread that was equal until then.

    Attributes:
        thread: its name.
        left, right: None if a run has no further entry there; not both.
        last_common: the entries before it, one of each run; None at the beginning.
    """

    thread: str
    left: ThreadEntry | None
    right: ThreadEntry | None
    last_common: tuple[ThreadEntry, ThreadEntry] | None

    @property
    def begins(self) -> tuple[int, int]:
        """When the runs diverge here: ms and seq of the earlier one of the two entries."""
        return min((entry.t_ms, entry.seq) for entry in (self.left, self.right) if entry is not None)


@dataclass(frozen=True, slots=True)
class ThreadDivergence:
    """The entries that two threads do not have in common.

    Attributes:
        thread: their name.
        left, right: the entries that only the one has, and only the other, in order.
    """

    thread: str
    left: tuple[ThreadEntry, ...]
    right: tuple[ThreadEntry, ...]


Threads = Mapping[str, Sequence[ThreadEntry]]


def first_divergence(left: Threads, right: Threads) -> DivergencePoint | None:
    """Return the point where two runs diverge first; None if they never do."""
    return min(_divergence_points(left, right), key=_by_time, default=None)


def divergences(left: Threads, right: Threads) -> list[ThreadDivergence]:
    """Return all threads that differ, in the order in which they diverge."""
    found = sorted(_divergence_points(left, right), key=_by_time)
    return [_divergence(one.thread, left.get(one.thread, ()), right.get(one.thread, ())) for one in found]


def _by_time(one: DivergencePoint) -> tuple[tuple[int, int], str]:
    return one.begins, one.thread


def _divergence_points(left: Threads, right: Threads) -> Iterator[DivergencePoint]:
    for name in left.keys() | right.keys():
        a, b = left.get(name, ()), right.get(name, ())
        place = _alike(a, b)
        if place < max(len(a), len(b)):
            mine, theirs = (side[place] if place < len(side) else None for side in (a, b))
            yield DivergencePoint(name, mine, theirs, (a[place - 1], b[place - 1]) if place else None)


def _alike(left: Sequence[ThreadEntry], right: Sequence[ThreadEntry]) -> int:
    """Return how many entries at the beginning are equal."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place].essence != right[place].essence), shorter)


def _divergence(name: str, left: Sequence[ThreadEntry], right: Sequence[ThreadEntry]) -> ThreadDivergence:
    begin = _alike(left, right)
    at_end = min(_alike(left[begin:][::-1], right[begin:][::-1]), min(len(left), len(right)) - begin)
    a, b = left[begin : len(left) - at_end], right[begin : len(right) - at_end]
    only_left: list[ThreadEntry] = []
    only_right: list[ThreadEntry] = []
    for i1, i2, j1, j2 in _differing_ranges([entry.essence for entry in a], [entry.essence for entry in b]):
        only_left += a[i1:i2]
        only_right += b[j1:j2]
    return ThreadDivergence(name, tuple(only_left), tuple(only_right))


def _differing_ranges(a: Sequence[object], b: Sequence[object]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two sequences differ: [i1, i2) of the first corresponds to [j1, j2) of the second."""
    if len(a) * len(b) > MOST_WORK:
        yield 0, len(a), 0, len(b)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2
