"""Servers for the ZooKeeper fixtures, and their factory."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
from kcsim.scenarios.testing.artefacts import Artefacts
from kcsim.scenarios.testing.background import Background
from kcsim.scenarios.testing.errors import FixtureUnavailableError
from kcsim.scenarios.testing.options import PluginOptions
from kcsim.scenarios.testing.servers import servers_of
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest, zookeeper_for_test
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.ports import ZooKeeperServers

SkipOrFail = Callable[[], AbstractContextManager[None]]
"""A context manager that skips or fails the test, with one line, for what the machine or the chosen ZooKeeper lacks."""
ENSEMBLE = 3
LONGEST_SESSION_MS = 40_000
"""The longest session that ZooKeeper grants by default. 20 of our ticks, which are short for prompt expiry, are only 4 s."""
SETTINGS = ServerSettings(max_session_timeout_ms=LONGEST_SESSION_MS)
NOT_AN_ENSEMBLE = "the servers at {0} are not ours to kill or pause: use --kcsim-zookeeper=ensemble, or docker"


@contextmanager
def running_servers(servers: ZooKeeperServers, background: Background) -> Iterator[ZooKeeperServers]:
    """Run servers for as long as the context lasts. Raises: ServerError."""
    background.call(servers.start())
    try:
        yield servers
    finally:
        background.call(servers.stop())


def server_of(options: PluginOptions) -> ZooKeeperServers:
    """Return the server, or servers, of kcsim_zookeeper. Raises: FixtureUnavailableError."""
    choice = options.choice(ZooKeeperKind.EMBEDDED)
    return servers_of(choice, choice.members, SETTINGS)


def ensemble_of(options: PluginOptions) -> ZooKeeperServers:
    """Return the servers of kcsim_zookeeper_ensemble. Raises: FixtureUnavailableError."""
    choice = options.choice(ZooKeeperKind.ENSEMBLE)
    if choice.kind is ZooKeeperKind.EXTERNAL:
        raise FixtureUnavailableError(NOT_AN_ENSEMBLE.format(choice.connect))
    return servers_of(choice, ENSEMBLE, SETTINGS)


class ZooKeeperFactory:
    """Makes ZooKeepers of a test's own, which end with the test."""

    def __init__(
        self, options: PluginOptions, background: Background, artefacts: Artefacts, ends: ExitStack, skip_or_fail: SkipOrFail
    ) -> None:
        self._options = options
        self._background = background
        self._artefacts = artefacts
        self._ends = ends
        self._skip_or_fail = skip_or_fail

    def __call__(
        self, members: int = 1, *, tick_time_ms: int = 200, max_session_timeout_ms: int | None = LONGEST_SESSION_MS
    ) -> ZooKeeperForTest:
        """Start a ZooKeeper. On one that is not ours, make a root of the test's own.

        Args:
            members: 1, or an odd number of ensemble members.
            tick_time_ms: a session lasts 2 ticks or more.
            max_session_timeout_ms: the longest session; None: 20 ticks.
        """
        with self._skip_or_fail():
            return self._made(
                members, ServerSettings(tick_time_ms=tick_time_ms, max_session_timeout_ms=max_session_timeout_ms)
            )

    def _made(self, members: int, settings: ServerSettings) -> ZooKeeperForTest:
        choice = self._options.choice(ZooKeeperKind.EMBEDDED)
        if choice.kind is ZooKeeperKind.EXTERNAL and members > 1:
            raise FixtureUnavailableError(NOT_AN_ENSEMBLE.format(choice.connect))
        servers = self._ends.enter_context(running_servers(servers_of(choice, members, settings), self._background))
        return self._ends.enter_context(zookeeper_for_test(servers, self._background, self._artefacts))
