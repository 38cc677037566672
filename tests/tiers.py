"""The target that runs a test: `make test` the fast ones, `make test-all` also the slow ones, `make test-nightly` all.

A test without a mark is fast. `slow` and `nightly` are markers (pyproject.toml). A plain `pytest` runs what `make test-all`
runs.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def tiered(items: Iterable[Any], *, fast: int, slow: int = 1) -> list[ParameterSet]:
    """Return one parameter per item, marked so that each target runs its share of them.

    Args:
        fast: `make test` runs every fast-th item, beginning with the first; 0 means none.
        slow: `make test-all` runs every slow-th item besides; 0 means none. The others are nightly.
    """
    return [pytest.param(item, marks=_marks(place, fast, slow)) for place, item in enumerate(items)]


def _marks(place: int, fast: int, slow: int) -> tuple[pytest.MarkDecorator, ...]:
    if fast and place % fast == 0:
        return ()
    return (pytest.mark.slow,) if slow and place % slow == 0 else (pytest.mark.nightly,)


def chosen(items: Iterable[Any], *, fast: Iterable[Any], slow: Iterable[Any] | None = None) -> list[ParameterSet]:
    """Return one parameter per item, marked for the target that runs it.

    Args:
        fast: items run in `make test`.
        slow: items run in `make test-all`; None means all that are not fast. The others are nightly.
    """
    in_test = [*fast]
    in_test_all = None if slow is None else [*slow]
    found = []
    for item in items:
        if item in in_test:
            found.append(pytest.param(item))
        else:
            mark = pytest.mark.slow if in_test_all is None or item in in_test_all else pytest.mark.nightly
            found.append(pytest.param(item, marks=mark))
    return found
