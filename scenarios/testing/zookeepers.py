"""Servers for the ZooKeeper fixtures, and their factory."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.background import Background
from kcsim.scenarios.testing.errors import NotHereError
from kcsim.scenarios.testing.options import Options
from kcsim.scenarios.testing.servers import servers_of
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest, zookeeper_for_test
from kcsim.scenarios.zookeeper_choice import ZooKeeperKind
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.ports import ZooKeeperServers

InWords = Callable[[], AbstractContextManager[None]]
"""Within it, what the machine or the chosen ZooKeeper does not have skips the test or fails it, in one line."""
ENSEMBLE = 3
NOT_AN_ENSEMBLE = "the servers at {0} are not ours to kill or pause: use --kcsim-zookeeper=ensemble, or docker"


@contextmanager
def running(servers: ZooKeeperServers, background: Background) -> Iterator[ZooKeeperServers]:
    """Servers that serve as long as the context lasts. Raises: ServerError."""
    background.call(servers.start())
    try:
        yield servers
    finally:
        background.call(servers.stop())


def server_of(options: Options) -> ZooKeeperServers:
    """The server, or servers, that kcsim_zookeeper is on. Raises: NotHereError."""
    choice = options.choice(ZooKeeperKind.EMBEDDED)
    return servers_of(choice, choice.members, ServerSettings())


def ensemble_of(options: Options) -> ZooKeeperServers:
    """The servers that kcsim_zookeeper_ensemble is on. Raises: NotHereError."""
    choice = options.choice(ZooKeeperKind.ENSEMBLE)
    if choice.kind is ZooKeeperKind.EXTERNAL:
        raise NotHereError(NOT_AN_ENSEMBLE.format(choice.connect))
    return servers_of(choice, ENSEMBLE, ServerSettings())


class ZooKeeperFactory:
    """Makes ZooKeepers of a test's own; they are gone with the test."""

    def __init__(
        self, options: Options, background: Background, artefacts: Artefacts, ends: ExitStack, in_words: InWords
    ) -> None:
        self._options = options
        self._background = background
        self._artefacts = artefacts
        self._ends = ends
        self._in_words = in_words

    def __call__(
        self, members: int = 1, *, tick_time_ms: int = 200, max_session_timeout_ms: int | None = None
    ) -> ZooKeeperForTest:
        """Start a ZooKeeper; on one that is not ours, make a root of its own.

        Args:
            members: 1, or an odd number of ensemble members.
            tick_time_ms: sessions last between 2 and 20 ticks, or up to max_session_timeout_ms.
        """
        with self._in_words():
            return self._made(
                members, ServerSettings(tick_time_ms=tick_time_ms, max_session_timeout_ms=max_session_timeout_ms)
            )

    def _made(self, members: int, settings: ServerSettings) -> ZooKeeperForTest:
        choice = self._options.choice(ZooKeeperKind.EMBEDDED)
        if choice.kind is ZooKeeperKind.EXTERNAL and members > 1:
            raise NotHereError(NOT_AN_ENSEMBLE.format(choice.connect))
        servers = self._ends.enter_context(running(servers_of(choice, members, settings), self._background))
        return self._ends.enter_context(zookeeper_for_test(servers, self._background, self._artefacts))
