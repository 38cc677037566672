"""A pytest plugin that lets kazoo's own test suite run on our servers: on the model, or on the real ZooKeeper.

python -m pytest -p tests.zk.model_server.kazoo_suite --kazoo-servers=model --pyargs kazoo.tests
"""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from unittest.mock import MagicMock

import pytest

from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.managed import ManagedZooKeeper
from kcsim.zk.servers.ports import UP

MEMBERS = 3
VERSION = "3.9.5"
SETTINGS = ServerSettings(tick_time_ms=2000)
SERVERS: Mapping[str, Callable[[], ManagedZooKeeper]] = {
    "model": lambda: ModelZooKeeper(MEMBERS, SETTINGS),
    "embedded": lambda: EmbeddedZooKeeper(MEMBERS, SETTINGS),
}


class OurServer:
    """One member, with what kazoo's harness asks of a server."""

    def __init__(self, zookeeper: ManagedZooKeeper, name: str, address: str) -> None:
        self._zookeeper = zookeeper
        self._name = name
        self.address = address

    @property
    def running(self) -> bool:
        return asyncio.run(self._zookeeper.states())[self._name] == UP

    def run(self) -> None:
        if not self.running:
            asyncio.run(self._zookeeper.start_member(self._name))

    def stop(self) -> None:
        asyncio.run(self._zookeeper.kill(self._name))


class OurServers:
    """An ensemble, with what kazoo's harness asks of a cluster."""

    def __init__(self, zookeeper: ManagedZooKeeper) -> None:
        self._zookeeper = zookeeper
        self._zookeeper.__enter__()
        addresses = self._zookeeper.connect_string.split(",")
        names = self._zookeeper.member_names
        self._servers = [OurServer(self._zookeeper, n, a) for n, a in zip(names, addresses, strict=True)]

    def __iter__(self) -> Iterator[OurServer]:
        return iter(self._servers)

    def __getitem__(self, at: int) -> OurServer:
        return self._servers[at]

    def start(self) -> None:
        for server in self._servers:
            server.run()

    def terminate(self) -> None:
        for server in self._servers:
            if server.running:
                server.stop()

    def get_logs(self) -> list[str]:
        return []

    def close(self) -> None:
        self._zookeeper.__exit__(None, None, None)


_made: list[OurServers] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kazoo-servers", choices=tuple(SERVERS), default="model")


def _count_objects(type_name: str) -> int:
    return sum(type(of).__name__ == type_name for of in gc.get_objects())


def pytest_configure(config: pytest.Config) -> None:
    # kazoo's harness makes certificates with these packages, for tests of TLS, which our servers do not serve.
    for package in ("OpenSSL", "jks"):
        sys.modules.setdefault(package, MagicMock())
    if find_spec("objgraph") is None:
        sys.modules["objgraph"] = MagicMock(count=_count_objects)
    import kazoo.testing.harness

    os.environ["ZOOKEEPER_VERSION"] = VERSION

    def servers() -> OurServers:
        if not _made:
            _made.append(OurServers(SERVERS[config.getoption("--kazoo-servers")]()))
        return _made[0]

    kazoo.testing.harness.get_global_cluster = servers


def pytest_unconfigure() -> None:
    while _made:
        _made.pop().close()
