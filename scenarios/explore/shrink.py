"""Shrink a failing scenario: try simpler ones as long as one of them still fails, and return the last that did.

Pure over a predicate. First, steps are left out in halves, quarters and so on (delta debugging: Zeller and Hildebrandt,
"Simplifying and Isolating Failure-Inducing Input"); then everything else in a scenario is simplified, from settings to
brokers to times (shrink_candidates.py). No single simplification of the result still fails, unless the runs were used up.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.explore.shrink_candidates import SIMPLIFICATIONS, Simplification

T = TypeVar("T")
Fails = Callable[[Tree], bool]
"""Whether a scenario still fails in the same way; False for an invalid one."""
MOST_RUNS = 600


@dataclass(frozen=True)
class ShrinkResult:
    """The smallest scenario found that still fails, and the number of runs that it took."""

    tree: Tree
    runs: int
    is_minimal: bool
    """False when the runs were used up, or Ctrl-C came, before everything was tried."""
    is_interrupted: bool = False


class _UsedUpError(Exception):
    """The allowed number of runs is used up."""


class _Shrinking:
    """One scenario being shrunk; `best` is the simplest failing one so far."""

    def __init__(self, tree: Tree, fails: Fails, most_runs: int) -> None:
        self.best = tree
        self.runs = 0
        self._fails = fails
        self._most_runs = most_runs
        self._tried: set[str] = set()

    def accepts(self, candidate: Tree) -> bool:
        """Return whether a scenario fails, and make it the best if it does. No scenario is run twice."""
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
        minimal_subset(self.best["timetable"], lambda steps: self.accepts({**self.best, "timetable": list(steps)}))

    def simplify(self, simplification: Simplification) -> None:
        """Apply one simplification until none of its candidates fails."""
        place = 0
        while (candidate := _nth(simplification(self.best), place)) is not None:
            # An accepted candidate has removed something: the next candidate is then at the same index.
            place += not self.accepts(candidate)


def shrink(tree: Tree, fails: Fails, most_runs: int = MOST_RUNS) -> ShrinkResult:
    """Return the simplest scenario found that still fails; `tree` itself must fail. Ctrl-C ends the search."""
    shrinking = _Shrinking(tree, fails, most_runs)
    try:
        while True:
            before = shrinking.best
            shrinking.leave_out_steps()
            for simplification in SIMPLIFICATIONS:
                shrinking.simplify(simplification)
            if shrinking.best == before:
                return ShrinkResult(shrinking.best, shrinking.runs, is_minimal=True)
    except _UsedUpError:
        return ShrinkResult(shrinking.best, shrinking.runs, is_minimal=False)
    except KeyboardInterrupt:
        return ShrinkResult(shrinking.best, shrinking.runs, is_minimal=False, is_interrupted=True)


def minimal_subset(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return a selection of the items, in their order, that still fails and from which no single item can be left out.

    Args:
        fails: called only with selections of at least one item and fewer than all items.
    """
    size = max(1, len(items) // 2)
    while True:
        start, is_shorter = len(items), False
        # Start at the end: steps after the failure are removed first.
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
