"""The ZooKeeper port: sessions, the requests on them, and the faults that can be injected into them.

The code above this port is plain `async def` code that depends only on these Protocols. Adapters: zk/memory and zk/live.
tests/conformance runs one suite against both.
"""

from collections.abc import Callable
from typing import Protocol

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId
from kcsim.zk.operations import Notice, ReplyOrError, Request, SessionState


class Session(Protocol):
    """One ZooKeeper session at its client, from opening to expiry or close; a session that has ended is never used again.

    Watches survive a lost connection: on reconnecting, the client arms them again and receives the events that it missed.
    """

    @property
    def session_id(self) -> SessionId: ...
    @property
    def password(self) -> bytes: ...
    @property
    def timeout_ms(self) -> int:
        """The time-out that the server granted."""
        ...

    @property
    def state(self) -> SessionState: ...
    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        """Send requests, pipelined and in order, and return one reply or error for each.

        Refusals are elements of the list; no ZooKeeperError is raised. While the session is SUSPENDED, a request is answered
        with ConnectionLossError; after the end of the session with SessionExpiredError or SessionClosedError.

        Args:
            cause: the event that these requests follow from; the znode changes that they make name it in the event log.
        """
        ...

    async def close(self, cause: Cause = None) -> None:
        """End the session, which deletes its ephemeral znodes at once. Waits a bounded time for the answer. Idempotent."""
        ...


class ZooKeeper(Protocol):
    """A factory of sessions."""

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> "FaultableSession":
        """Open a session.

        Args:
            timeout_ms: the session time-out to ask for; the server may grant another.
            listener: called with each notice, in the server's order and before any later reply; must not block.
                The first CONNECTED is implied by the return: no notice is sent for it.
            connect_timeout_ms: how long to try to connect.
            cause: the event that the session follows from.

        Raises: ZooKeeperUnavailableError when no server answered in time.
        """
        ...


class SessionFaults(Protocol):
    """The faults that can be injected into one session. The sessions of both adapters implement them.

    The asynchronous methods return when the fault has taken effect, and raise TimedOutError when it has not within a bound.
    `cause` is the fault's event: the session's following state changes (suspension, expiry) name it in the event log.
    """

    async def expire(self, cause: int | None = None) -> None:
        """Make the server end this session, as if its time-out had passed, although its client runs."""
        ...

    async def cut(self, cause: int | None = None) -> None:
        """Break the connection without closing the session and wait until the client notices; it may reconnect at once."""
        ...

    def refuse_connections(self, cause: int | None = None) -> None:
        """Let all connection attempts of this client fail until allow_connections; an open connection stays open."""
        ...

    def allow_connections(self) -> None: ...
    def freeze(self, cause: int | None = None) -> None:
        """Stop the client as a long garbage collection does: the client neither sends (heartbeats included) nor reads."""
        ...

    def thaw(self, cause: int | None = None) -> None: ...
    def abandon(self, cause: int | None = None) -> None:
        """End the client as the death of its process does: the connection breaks, and the session is not closed.

        Requests in flight are never answered; the listener is not called again. The server expires the session later.
        """
        ...


class FaultableSession(Session, SessionFaults, Protocol):
    """A session with faults, as both adapters return it."""
