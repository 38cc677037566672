"""What the whole test suite shares: one real ZooKeeper."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require

TICK_MS = 200
collect_ignore = ["example_project"]  # run by scenarios/testing/test_example_project.py

# A script's background job ignores Ctrl-C, and so does whoever it starts: tests that send one would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about us.
settings.register_profile("kcsim", deadline=None)
settings.load_profile("kcsim")


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """A real ZooKeeper for the whole session, each test in znodes of its own; skipped, with the reason, without a Java."""
    require("java")
    with EmbeddedZooKeeper(settings=ServerSettings(tick_time_ms=TICK_MS)) as zookeeper:
        yield zookeeper
