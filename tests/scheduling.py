"""Tests that pytest-xdist keeps in one worker: those of a module, with the fixtures and runs that they share."""

from xdist.scheduler import LoadFileScheduling

SPARK = "tests/scenarios/analysis/"
"""One worker runs all tests below this folder: most of them share a JVM."""
DIVISIBLE = frozenset(
    {
        "tests/conformance/test_replayed_traces.py",
        "tests/brokers/cluster/test_crash_points.py",
        "tests/scenarios/explore/test_corpus.py",
        "tests/scenarios/explore/test_planted_bugs.py",
        "tests/scenarios/explore/test_signatures.py",
        "tests/scenarios/engine/test_library.py",
        "tests/brokers/cluster/test_random_timetables.py",
    }
)
"""Modules of many long tests that share nothing: each test may run in another worker."""


def scope_of(nodeid: str) -> str:
    """Return the name of the tests that one worker runs together with this one."""
    module = nodeid.partition("::")[0]
    if module.startswith(SPARK):
        return SPARK
    return nodeid if module in DIVISIBLE else module


class SchedulingByModule(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Scheduler that distributes whole modules, except for those that are divisible.

    Markers of xdist_group would have the same effect, but do not work with pytest 9.2 (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)
