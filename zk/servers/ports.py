"""The port for a set of ZooKeeper servers, and the port that hosts their members.

Adapters of ZooKeeperServers: EmbeddedZooKeeper (guarded JVMs), ContainerZooKeeper (Docker) and ExternalZooKeeper (not
started by this project: read only). The first two provide a MemberHost; ManagedZooKeeper does the rest for both.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kcsim.zk.security import ClientSecurity

UP = "up"
PAUSED = "paused"
State = str | int
"""The state of a member's process: UP, PAUSED, or its exit status if it has ended (negative: the signal that ended it)."""


class ZooKeeperServers(Protocol):
    """One ZooKeeper server, or an ensemble of them, with names: member-1, member-2, …

    An operation returns when it has taken effect, and raises MemberStateError when it would have no effect. `cause` is the
    seq of the fault's event: the model passes it to the affected sessions; a real server cannot send it to its clients.
    """

    @property
    def connect_string(self) -> str:
        """The connect string for a client: host:port,…/chroot. Raises: NotStartedError."""
        ...

    @property
    def security(self) -> ClientSecurity:
        """What clients need to be accepted."""
        ...

    @property
    def member_names(self) -> tuple[str, ...]: ...
    async def start(self) -> None:
        """Start all members and return when each serves. Raises: ServerError; no member is left running then."""
        ...

    async def stop(self) -> None:
        """End all members and delete their files. Idempotent."""
        ...

    async def kill(self, name: str, cause: int | None = None) -> None:
        """End a member at once, without a clean shutdown."""
        ...

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        """Start members again with their former data and ports; start several at once if a quorum needs them.

        Returns when they serve or, if the members that are up make no quorum, when they answer.
        """
        ...

    async def pause(self, name: str, cause: int | None = None) -> None:
        """Stop a member's process without ending it; its connections stay open and silent."""
        ...

    async def resume(self, name: str, cause: int | None = None) -> None: ...
    async def restart(self, name: str, cause: int | None = None) -> None:
        """Kill a member that is up and start it again."""
        ...

    async def leader_name(self) -> str | None:
        """Return the present leader (the only member, if there is one); None while there is no leader."""
        ...

    async def wait_for_leader(self, other_than: str | None = None, timeout_s: float = 60.0) -> str:
        """Return the leader as soon as there is one. Raises: NotServingError, which gives each member's last known state.

        Args:
            other_than: a leader that does not count, because it has just been killed or paused.
        """
        ...

    async def states(self) -> Mapping[str, State]:
        """Return the state of each member's process; for an external server that is not up, the reason."""
        ...

    async def version(self) -> str:
        """Return ZooKeeper's version, such as 3.9.5."""
        ...

    def log_path(self, name: str) -> Path | None:
        """Return the path of the member's log; None if this process did not start the member."""
        ...

    def transaction_log_dir(self, name: str) -> Path | None:
        """Return the directory of the member's transaction logs (log.<zxid>); None if this process cannot read it.

        The server creates the directory when it starts: it may not exist before the first start has returned.
        """
        ...


class MemberHost(Protocol):
    """The place where members run. The calls block; ManagedZooKeeper makes them on threads."""

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        """Prepare for these members, on these ports of 127.0.0.1, without anything left from an earlier preparation."""
        ...

    def launch(self, name: str) -> None:
        """Start a member, for the first time or again. Raises: PortTakenError, if this is known at once."""
        ...

    def kill(self, name: str) -> State: ...
    def pause(self, name: str) -> State: ...
    def resume(self, name: str) -> State: ...
    def states(self) -> Mapping[str, State]:
        """Return the states of the members launched so far."""
        ...

    def log_path(self, name: str) -> Path: ...
    def transaction_log_dir(self, name: str) -> Path | None: ...
    def close(self) -> None:
        """End all members and remove everything that was created. Idempotent."""
        ...
