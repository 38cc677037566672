"""The modules that the scheduling names exist, and their tests are kept together or separated as it says."""

from pathlib import Path

import pytest

from tests.scheduling import DIVISIBLE, SPARK, scope_of

ROOT = Path(__file__).parent.parent


def test_what_is_named_is_there() -> None:
    """A module that was moved would silently be scheduled like any other."""
    assert [name for name in sorted(DIVISIBLE) if not (ROOT / name).is_file()] == []
    assert (ROOT / SPARK).is_dir()


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/znodes/test_paths.py::test_a[1]", "tests/znodes/test_paths.py"),
        (f"{SPARK}tables/test_dataset.py::test_a", SPARK),
        (f"{min(DIVISIBLE)}::test_a[1]", f"{min(DIVISIBLE)}::test_a[1]"),
    ],
)
def test_a_worker_is_given_a_module_all_of_spark_or_one_test(nodeid: str, scope: str) -> None:
    assert scope_of(nodeid) == scope
