"""Simulated runs come to what they came to when they were recorded, on every machine and every Python."""

import pytest

from tests.scenarios.recorded_runs import lines_of, recorded, run_names


def test_every_run_is_recorded_and_nothing_else() -> None:
    assert list(recorded()) == run_names()


@pytest.mark.parametrize("name", run_names())
def test_a_run_comes_to_what_is_recorded(name: str) -> None:
    """If the change is intended: `python -m tests.scenarios.recorded_runs --record`, and read the difference."""
    assert lines_of(name) == recorded()[name]
