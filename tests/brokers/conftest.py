"""The znodes of clusters with brokers of Apache Kafka, on the suite's real ZooKeeper."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.brokers.apache_kafka.real_brokers import Znodes, znodes_below
from tests.requirements import require


@pytest.fixture
def znodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Znodes]:
    """Yield the znodes below a chroot of the test's own."""
    require("java", "kafka")
    server: EmbeddedZooKeeper = request.getfixturevalue("server")
    with znodes_below(server, tmp_path.name) as znodes:
        yield znodes
