"""What the rest of the project asks of a set of ZooKeeper servers, whoever runs them.

Adapters: EmbeddedZooKeeper (JVMs of ours), ContainerZooKeeper (Docker), ExternalZooKeeper (somebody else's: may be looked
at only), and MemberHost, what the first two have to bring along; ManagedZooKeeper does the rest for both.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

UP = "up"
PAUSED = "paused"
State = str | int
"""Of a member's process: UP, PAUSED, or the exit status of one that has ended (negative: the signal that ended it)."""


class ZooKeeperServers(Protocol):
    """One ZooKeeper server, or an ensemble of them, with names: member-1, member-2, …

    A verb returns when it has taken effect, and raises MemberStateError when it would have had none. `cause` is the seq of
    the fault's event: a model hands it to the sessions that suffer; a real server cannot tell its clients why.
    """

    @property
    def connect_string(self) -> str:
        """host:port,…/chroot, for a client. Raises: NotStartedError."""
        ...

    @property
    def member_names(self) -> tuple[str, ...]: ...
    async def start(self) -> None:
        """Start all members and return when each serves. Raises: a ServerError; nothing is left running then."""
        ...

    async def stop(self) -> None:
        """End all members and delete what they wrote. Idempotent."""
        ...

    async def kill(self, name: str, cause: int | None = None) -> None:
        """End a member at once, without a goodbye."""
        ...

    async def start_member(self, *names: str, cause: int | None = None) -> None:
        """Start members again on the data and the ports they had; several at once if a quorum takes that.

        Returns when they serve or, where those that are up make no quorum, when they answer.
        """
        ...

    async def pause(self, name: str, cause: int | None = None) -> None:
        """Make a member stand still as it is; its connections stay open and silent."""
        ...

    async def resume(self, name: str, cause: int | None = None) -> None: ...
    async def restart(self, name: str, cause: int | None = None) -> None:
        """Kill a member that is up and start it again."""
        ...

    async def leader_name(self) -> str | None:
        """The member that leads now (the only one, when there is one); None while nobody does."""
        ...

    async def wait_for_leader(self, other_than: str | None = None, timeout_s: float = 15.0) -> str:
        """Return the leader as soon as there is one. Raises: NotServingError, which says how each member was last seen.

        Args:
            other_than: a leader that does not count, because it has just been killed or paused.
        """
        ...

    async def states(self) -> Mapping[str, State]:
        """How each member's process is: up, paused, or its exit status; of a process that is not ours, why it is not up."""
        ...

    async def version(self) -> str:
        """ZooKeeper's version, as 3.9.5."""
        ...

    def log_path(self, name: str) -> Path | None:
        """Where the member's log is; None if that is none of our business."""
        ...

    def transaction_log_dir(self, name: str) -> Path | None:
        """The directory of the member's transaction logs (log.<zxid>); None if it cannot be read from here.

        The server makes it when it starts: it may not exist before the first start has returned.
        """
        ...


class MemberHost(Protocol):
    """Where members run. Blocking calls; ManagedZooKeeper keeps them apart."""

    def prepare(self, client_ports: Mapping[str, int]) -> None:
        """Make ready for these members, on these ports of 127.0.0.1, with nothing left of an earlier preparation."""
        ...

    def launch(self, name: str) -> None:
        """Start a member, for the first time or again. Raises: PortTakenError, if that can be told already."""
        ...

    def kill(self, name: str) -> State: ...
    def pause(self, name: str) -> State: ...
    def resume(self, name: str) -> State: ...
    def states(self) -> Mapping[str, State]:
        """Of the members launched so far."""
        ...

    def log_path(self, name: str) -> Path: ...
    def transaction_log_dir(self, name: str) -> Path | None: ...
    def close(self) -> None:
        """Leave nothing behind. Idempotent."""
        ...
