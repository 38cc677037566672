"""The servers behind a test's ZooKeeper: made as chosen, and what can be done to them, in plain calls."""

from collections.abc import Mapping
from pathlib import Path

from kcsim.scenarios.testing.background import Background
from kcsim.scenarios.testing.diary import Diary
from kcsim.scenarios.testing.errors import NotHereError
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.external import ExternalZooKeeper
from kcsim.zk.servers.ports import PAUSED, UP, State, ZooKeeperServers

LEADER, FOLLOWER = "leader", "follower"
IN_VIRTUAL_TIME = (
    "the simulated ZooKeeper lives in virtual time, where only simulated brokers can reach it: use "
    "--kcsim-zookeeper=embedded, or the fixtures kcsim_cluster and kcsim_scenario"
)


def servers_of(choice: ZooKeeperChoice, members: int, settings: ServerSettings) -> ZooKeeperServers:
    """The chosen servers, not started yet. Raises: NotHereError, BadConnectStringError."""
    match choice.kind:
        case ZooKeeperKind.SIMULATED:
            raise NotHereError(IN_VIRTUAL_TIME)
        case ZooKeeperKind.EXTERNAL:
            assert choice.connect is not None
            return ExternalZooKeeper(choice.connect)
        case ZooKeeperKind.DOCKER:
            from kcsim.zk.servers.container import ContainerZooKeeper  # brings Docker's SDK

            return ContainerZooKeeper(members, settings)
        case _:
            return EmbeddedZooKeeper(members, settings)


class Servers:
    """One server, or an ensemble: member-1, member-2, …

    A verb returns when it has taken effect, and raises MemberStateError when it would have had none, NotOursError when the
    ZooKeeper is somebody else's. Besides a name, `leader` and `follower` say who is meant; the verbs return who that was.
    """

    def __init__(self, servers: ZooKeeperServers, background: Background, diary: Diary) -> None:
        self._servers = servers
        self._background = background
        self._diary = diary

    @property
    def names(self) -> tuple[str, ...]:
        return self._servers.member_names

    @property
    def leader(self) -> str | None:
        """Who leads now (the only one, when there is one); None while nobody does."""
        return self._background.call(self._servers.leader_name())

    @property
    def states(self) -> Mapping[str, State]:
        """Of each member: up, paused, or the exit status of a process that has ended."""
        return self._background.call(self._servers.states())

    def wait_for_leader(self, other_than: str | None = None, within_s: float = 15.0) -> str:
        """The leader, as soon as there is one. Raises: NotServingError, with how each member was last seen."""
        return self._background.call(self._servers.wait_for_leader(other_than, within_s))

    def kill(self, who: str) -> str:
        """End a member at once, without a goodbye."""
        name = self._named(who)
        self._background.call(self._servers.kill(name))
        return self._did("killed", name)

    def start(self, *names: str) -> None:
        """Start killed members again, on the data they had; all at once, if no quorum is left."""
        self._background.call(self._servers.start_member(*names))
        for name in names:
            self._did("started", name)

    def pause(self, who: str) -> str:
        """Make a member stand still; its connections stay open and silent."""
        name = self._named(who)
        self._background.call(self._servers.pause(name))
        return self._did("paused", name)

    def resume(self, name: str) -> str:
        self._background.call(self._servers.resume(name))
        return self._did("resumed", name)

    def restart(self, who: str) -> str:
        """Kill a member and start it again."""
        name = self._named(who)
        self._background.call(self._servers.restart(name))
        return self._did("restarted", name)

    def heal(self) -> None:
        """Let every member that is dead or paused serve again."""
        if isinstance(self._servers, ExternalZooKeeper):
            return
        states = self.states
        for name in (name for name, state in states.items() if state == PAUSED):
            self.resume(name)
        if dead := [name for name, state in states.items() if state not in (UP, PAUSED)]:
            self.start(*dead)

    def log_path(self, name: str) -> Path | None:
        """The member's own log; None if it cannot be read from here."""
        return self._servers.log_path(name)

    def transaction_log_dir(self, name: str) -> Path | None:
        """Where the member's transaction log is; None if it cannot be read from here."""
        return self._servers.transaction_log_dir(name)

    def _named(self, who: str) -> str:
        if who == LEADER:
            return self.wait_for_leader()
        if who == FOLLOWER and len(self.names) > 1:
            leader = self.wait_for_leader()
            return next(name for name in self.names if name != leader)
        return who

    def _did(self, what: str, name: str) -> str:
        self._diary.note(name, what)
        return name
