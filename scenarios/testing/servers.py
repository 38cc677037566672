"""The servers behind a test's ZooKeeper: how they are made, and actions on them in plain calls."""

from collections.abc import Mapping
from pathlib import Path

from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.scenarios.testing.action_history import ActionHistory
from kcsim.scenarios.testing.background import Background
from kcsim.scenarios.testing.errors import FixtureUnavailableError
from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.external import ExternalZooKeeper
from kcsim.zk.servers.ports import PAUSED, UP, State, ZooKeeperServers

LEADER, FOLLOWER = "leader", "follower"
IN_VIRTUAL_TIME = (
    "the simulated ZooKeeper lives in virtual time, where only simulated brokers can reach it: use "
    "--kcsim-zookeeper=model (the same model, behind a socket) or embedded, or the fixtures kcsim_cluster and kcsim_scenario"
)


def servers_of(choice: ZooKeeperChoice, members: int, settings: ServerSettings) -> ZooKeeperServers:
    """Return the chosen servers, not started yet. Raises: FixtureUnavailableError, BadConnectStringError."""
    match choice.kind:
        case ZooKeeperKind.SIMULATED:
            raise FixtureUnavailableError(IN_VIRTUAL_TIME)
        case ZooKeeperKind.EXTERNAL:
            assert choice.connect is not None
            return ExternalZooKeeper(choice.connect, security=choice.security)
        case ZooKeeperKind.DOCKER:
            from kcsim.zk.servers.container import ContainerZooKeeper  # brings Docker's SDK

            return ContainerZooKeeper(members, settings)
        case ZooKeeperKind.MODEL:
            return ModelZooKeeper(members, settings)
        case _:
            return EmbeddedZooKeeper(members, settings)


class ServersForTest:
    """One server, or an ensemble: member-1, member-2, …

    An action returns when it has taken effect, and raises MemberStateError when it would have no effect, NotOursError when
    the
    ZooKeeper is not ours. Besides a member's name, `leader` and `follower` select a member; actions return the member's
    name.
    """

    def __init__(self, servers: ZooKeeperServers, background: Background, history: ActionHistory) -> None:
        self._servers = servers
        self._background = background
        self._history = history

    @property
    def names(self) -> tuple[str, ...]:
        return self._servers.member_names

    @property
    def leader(self) -> str | None:
        """The name of the current leader (the only member, when there is one); None while there is none."""
        return self._background.call(self._servers.leader_name())

    @property
    def states(self) -> Mapping[str, State]:
        """The state of each member: up, paused, or the exit status of a process that has ended."""
        return self._background.call(self._servers.states())

    def wait_for_leader(self, other_than: str | None = None, within_s: float = 15.0) -> str:
        """Wait until there is a leader, and return its name.

        Raises: NotServingError, with the last known state of each member.
        """
        return self._background.call(self._servers.wait_for_leader(other_than, within_s))

    def kill(self, who: str) -> str:
        """Kill a member at once, without a shutdown."""
        name = self._named(who)
        self._background.call(self._servers.kill(name))
        return self._note("killed", name)

    def start(self, *names: str) -> None:
        """Start killed members again, on their old data. If no quorum is left, start several in one call."""
        self._background.call(self._servers.start_member(*names))
        for name in names:
            self._note("started", name)

    def pause(self, who: str) -> str:
        """Freeze a member. Its connections stay open and silent."""
        name = self._named(who)
        self._background.call(self._servers.pause(name))
        return self._note("paused", name)

    def resume(self, name: str) -> str:
        self._background.call(self._servers.resume(name))
        return self._note("resumed", name)

    def restart(self, who: str) -> str:
        """Kill a member and start it again."""
        name = self._named(who)
        self._background.call(self._servers.restart(name))
        return self._note("restarted", name)

    def heal(self) -> None:
        """Make every member that is dead or paused serve again."""
        if isinstance(self._servers, ExternalZooKeeper):
            return
        states = self.states
        for name in (name for name, state in states.items() if state == PAUSED):
            self.resume(name)
        if dead := [name for name, state in states.items() if state not in (UP, PAUSED)]:
            self.start(*dead)

    def log_path(self, name: str) -> Path | None:
        """Return the path of the member's own log; None if it cannot be read from here."""
        return self._servers.log_path(name)

    def transaction_log_dir(self, name: str) -> Path | None:
        """Return the directory of the member's transaction log; None if it cannot be read from here."""
        return self._servers.transaction_log_dir(name)

    def _named(self, who: str) -> str:
        if who == LEADER:
            return self.wait_for_leader()
        if who == FOLLOWER and len(self.names) > 1:
            leader = self.wait_for_leader()
            return next(name for name in self.names if name != leader)
        return who

    def _note(self, what: str, name: str) -> str:
        self._history.note(name, what)
        return name
