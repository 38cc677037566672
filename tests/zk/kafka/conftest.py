"""The bench of the tests of Kafka's ZooKeeper client and gateways."""

import pytest

from tests.zk.kafka.scripted import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
