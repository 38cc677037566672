"""What the whole test suite shares: one real ZooKeeper."""

import os
from collections.abc import Iterator

import pytest

from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.errors import NoJavaError
from kcsim.zk.servers.java import find_java

TICK_MS = 200


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedZooKeeper]:
    """A real ZooKeeper for the whole session, each test in znodes of its own; skipped, with the reason, without a Java."""
    try:
        java = find_java()
    except NoJavaError as error:
        if "java" in os.environ.get("KCSIM_REQUIRE", "").split(","):
            raise
        pytest.skip(str(error))
    with EmbeddedZooKeeper(settings=ServerSettings(tick_time_ms=TICK_MS), java=java) as zookeeper:
        yield zookeeper
