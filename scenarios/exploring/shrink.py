"""Makes a failing scenario small: tries simpler ones as long as one of them still fails, and returns the last that did.

Pure over a predicate. First steps are left out in halves, quarters and so on (delta debugging: Zeller and Hildebrandt,
"Simplifying and Isolating Failure-Inducing Input"); then whatever else a scenario has, from settings to brokers to times
(simpler.py). What comes out cannot be made simpler by any single one of these, unless the runs were used up.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kcsim.scenarios.exploring.generator import Tree
from kcsim.scenarios.exploring.simpler import WAYS, Way

T = TypeVar("T")
Fails = Callable[[Tree], bool]
"""Whether a scenario still goes wrong in the same way; False for one that makes no sense."""
MOST_RUNS = 600


@dataclass(frozen=True)
class Shrunk:
    """The smallest that still fails, and after how many runs."""

    tree: Tree
    runs: int
    is_minimal: bool
    """False when the runs were used up before everything was tried."""


class _UsedUpError(Exception):
    """No more runs are to be had."""


class _Shrinking:
    """One scenario on its way; `best` is the simplest so far that fails."""

    def __init__(self, tree: Tree, fails: Fails, most_runs: int) -> None:
        self.best = tree
        self.runs = 0
        self._fails = fails
        self._most_runs = most_runs
        self._tried: set[str] = set()

    def accepts(self, candidate: Tree) -> bool:
        """Whether a scenario fails, too: then it is the best from now on. None is asked for twice."""
        key = repr(candidate)
        if key in self._tried:
            return False
        if self.runs >= self._most_runs:
            raise _UsedUpError
        self._tried.add(key)
        self.runs += 1
        if not self._fails(candidate):
            return False
        self.best = candidate
        return True

    def leave_out_steps(self) -> None:
        fewer(self.best["timetable"], lambda steps: self.accepts({**self.best, "timetable": list(steps)}))

    def simplify(self, way: Way) -> None:
        """Go one way as far as it leads."""
        place = 0
        while (candidate := _nth(way(self.best), place)) is not None:
            # What has worked has taken something away: in its place stands the next.
            place += not self.accepts(candidate)


def shrink(tree: Tree, fails: Fails, most_runs: int = MOST_RUNS) -> Shrunk:
    """Return the simplest scenario found that still fails; `tree` itself has to fail."""
    shrinking = _Shrinking(tree, fails, most_runs)
    try:
        while True:
            before = shrinking.best
            shrinking.leave_out_steps()
            for way in WAYS:
                shrinking.simplify(way)
            if shrinking.best == before:
                return Shrunk(shrinking.best, shrinking.runs, is_minimal=True)
    except _UsedUpError:
        return Shrunk(shrinking.best, shrinking.runs, is_minimal=False)


def fewer(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return a selection of the items, in their order, that still fails and of which no single one can be left out.

    Args:
        fails: asked only for selections of at least one item, each less than all.
    """
    size = max(1, len(items) // 2)
    while True:
        start, is_shorter = len(items), False
        # From the end: what came after the failure goes first.
        while start > 0:
            start = max(0, start - size)
            left = [*items[:start], *items[start + size :]]
            if left and len(left) < len(items) and fails(left):
                items, is_shorter = left, True
        if size == 1 and not is_shorter:
            return items
        size = max(1, size // 2)


def _nth(trees: Iterator[Tree], place: int) -> Tree | None:
    return next((tree for number, tree in enumerate(trees) if number == place), None)
