"""Two threads of the same name side by side: which deeds they have in common, in order, and which only one of them has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from kcsim.scenarios.reading.run_digest import Deed

MOST_WORK = 4_000_000
"""Pairs of deeds to look at in a thread; of one with more, what is between its common ends counts as different."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two runs part: what each does next in a thread that was alike until then.

    Attributes:
        thread: its name.
        left, right: None if a run does nothing there any more; not both.
        last_alike: what stands before it in both; None at the beginning.
    """

    thread: str
    left: Deed | None
    right: Deed | None
    last_alike: tuple[Deed, Deed] | None

    @property
    def begins(self) -> tuple[int, int]:
        """When the first of the two does what the other does not: ms, and seq."""
        return min((deed.t_ms, deed.seq) for deed in (self.left, self.right) if deed is not None)


@dataclass(frozen=True, slots=True)
class Divergence:
    """What two threads do not have in common.

    Attributes:
        thread: their name.
        left, right: what only the one does, and only the other, in order.
    """

    thread: str
    left: tuple[Deed, ...]
    right: tuple[Deed, ...]


Threads = Mapping[str, Sequence[Deed]]


def parting(left: Threads, right: Threads) -> Parting | None:
    """Where two runs part first; None if they never do."""
    return min(_partings(left, right), key=_by_time, default=None)


def divergences(left: Threads, right: Threads) -> list[Divergence]:
    """All threads that differ, those that part first coming first."""
    found = sorted(_partings(left, right), key=_by_time)
    return [_divergence(one.thread, left.get(one.thread, ()), right.get(one.thread, ())) for one in found]


def _by_time(one: Parting) -> tuple[tuple[int, int], str]:
    return one.begins, one.thread


def _partings(left: Threads, right: Threads) -> Iterator[Parting]:
    for name in left.keys() | right.keys():
        a, b = left.get(name, ()), right.get(name, ())
        place = _alike(a, b)
        if place < max(len(a), len(b)):
            mine, theirs = (side[place] if place < len(side) else None for side in (a, b))
            yield Parting(name, mine, theirs, (a[place - 1], b[place - 1]) if place else None)


def _alike(left: Sequence[Deed], right: Sequence[Deed]) -> int:
    """How many deeds at the beginning are alike."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place].essence != right[place].essence), shorter)


def _divergence(name: str, left: Sequence[Deed], right: Sequence[Deed]) -> Divergence:
    begin = _alike(left, right)
    at_end = min(_alike(left[begin:][::-1], right[begin:][::-1]), min(len(left), len(right)) - begin)
    a, b = left[begin : len(left) - at_end], right[begin : len(right) - at_end]
    only_left: list[Deed] = []
    only_right: list[Deed] = []
    for i1, i2, j1, j2 in _stretches([deed.essence for deed in a], [deed.essence for deed in b]):
        only_left += a[i1:i2]
        only_right += b[j1:j2]
    return Divergence(name, tuple(only_left), tuple(only_right))


def _stretches(a: Sequence[object], b: Sequence[object]) -> Iterator[tuple[int, int, int, int]]:
    """Where two sequences differ: [i1, i2) of the one stands against [j1, j2) of the other."""
    if len(a) * len(b) > MOST_WORK:
        yield 0, len(a), 0, len(b)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2
