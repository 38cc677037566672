"""Shared setup of the whole test suite: one real ZooKeeper."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require
from tests.scheduling import SPARK, SchedulingByModule

TICK_MS = 200
LONGEST_SESSION_MS = 30_000
"""Longest session time-out of the shared server: sessions of tests not about expiry must survive on a busy machine."""
collect_ignore = ["example_project"]  # run by scenarios/testing/test_example_project.py

# A script's background job ignores Ctrl-C, and so do its children: tests that send Ctrl-C would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# An example's duration depends on the machine more than on our code. Examples are the same each time, except in the nightly
# run.
settings.register_profile("kcsim", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, max_examples=1_000)
settings.load_profile("kcsim")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> SchedulingByModule | None:
    return SchedulingByModule(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first: Spark, and tests that wait for a real ZooKeeper while other workers compute."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    if item.nodeid.startswith(SPARK):
        return 0
    return 1 if item.get_closest_marker("live") else 2


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """Return a real ZooKeeper for the whole session, each test in its own znodes; skip, with the reason, without a Java."""
    require("java")
    with EmbeddedZooKeeper(
        settings=ServerSettings(tick_time_ms=TICK_MS, max_session_timeout_ms=LONGEST_SESSION_MS)
    ) as zookeeper:
        yield zookeeper


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning ten thousand collected tests again and again."""
    gc.collect()
    gc.freeze()
