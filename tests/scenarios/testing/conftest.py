"""Skip tests marked live without Java, before the plugin's session fixtures start a server on it."""

import pytest

from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("live"):
        require("java")


@pytest.fixture(scope="session")
def kcsim_zookeeper_server(server: EmbeddedZooKeeper) -> EmbeddedZooKeeper:
    """Return the suite's server in place of the plugin's, which is tested in runs of pytest within the test.

    This saves one JVM per worker.
    """
    return server
