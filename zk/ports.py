"""What this project's code asks of the world: time and tasks, a ZooKeeper, and an event log.

Everything above is plain `async def` code that sees only these Protocols. Adapters: scenarios/runtimes (SimPy, asyncio) for
Runtime, zk/memory and zk/live.py for ZooKeeper, scenarios/history.py for EventSink. tests/conformance holds every adapter
to one suite.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, Unpack

from kcsim.zk.events import EventFields, EventKind, Transaction
from kcsim.zk.operations import Notice, ReplyOrError, Request, SessionState
from kcsim.zk.vocabulary import SessionId

T = TypeVar("T")

Cause = int | Transaction | None
"""What an event follows from: the seq of an event, or a ZooKeeper transaction (the log knows its event), or nothing."""


class Promise(Protocol[T]):
    """A value that arrives once. Settling it again has no effect."""

    @property
    def is_settled(self) -> bool: ...
    def resolve(self, value: T) -> None: ...
    def fail(self, error: Exception) -> None: ...
    async def wait(self, timeout_ms: int | None = None) -> T:
        """Return the value or raise the error; any number may wait.

        Raises: TimedOutError when it has not arrived timeout_ms from now. Killed when the waiting task is killed.
        """
        ...


class Mailbox(Protocol[T]):
    """An unbounded FIFO. Several may put, several may take; the longest waiting is served first."""

    def put(self, item: T) -> None: ...
    async def get(self, timeout_ms: int | None = None) -> T:
        """Take the oldest item. Raises: TimedOutError, Killed."""
        ...

    def drain(self) -> list[T]:
        """Take everything at once, oldest first."""
        ...

    def __len__(self) -> int: ...


class Task(Protocol):
    """A running coroutine."""

    @property
    def name(self) -> str: ...
    @property
    def is_done(self) -> bool: ...
    def kill(self) -> None:
        """Make it see Killed at the await where it stands. No effect once done. A task may kill itself."""
        ...

    async def join(self) -> None:
        """Wait until it has ended, however it ended."""
        ...


class Runtime(Protocol):
    """Time and tasks: virtual under SimPy, the wall clock under asyncio.

    An exception that leaves a spawned task (Killed aside) is a defect: it stops the whole run and is raised there.
    """

    def now_ms(self) -> int:
        """Milliseconds since the run began; never goes back."""
        ...

    async def sleep_ms(self, delay_ms: int) -> None: ...
    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Task: ...
    def promise(self) -> Promise[Any]: ...
    def mailbox(self) -> Mailbox[Any]: ...


class Session(Protocol):
    """One ZooKeeper session as its client holds it, from opening to expiry or close; never revived after that.

    Watches survive a lost connection: on reconnecting, the client arms them again and hears what it missed.
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
        """Send requests, pipelined and in order, and return what came back, one for one.

        Refusals stand in the list; nothing of ZooKeeper's is raised. While SUSPENDED a request is answered with
        ConnectionLossError, after the end of the session with SessionExpiredError or SessionClosedError.

        Args:
            cause: the event these requests follow from; znode changes made by them name it in the event log.
        """
        ...

    async def close(self, cause: Cause = None) -> None:
        """End the session; its ephemeral znodes go at once. Waits for the server's answer, bounded. Idempotent."""
        ...


class ZooKeeper(Protocol):
    """A way to open sessions."""

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> "FaultableSession":
        """Open a session.

        Args:
            timeout_ms: the session time-out to ask for; the server may grant another.
            listener: called with each notice, in the server's order and before any later reply; must not block.
                The first CONNECTED is implied by the return and not announced.
            connect_timeout_ms: how long to try.
            cause: the event that the session follows from.

        Raises: ZooKeeperUnavailableError when no server answered in time.
        """
        ...


class SessionFaults(Protocol):
    """What can be done to a session from outside, exactly and confirmed. The adapters' sessions offer it.

    The asynchronous ones return when they have taken effect, and raise TimedOutError when they have not within a bound.
    `cause` is the fault's event: what the session then goes through (suspension, expiry) names it in the event log.
    """

    async def expire(self, cause: int | None = None) -> None:
        """Make the server end this session, as if its time had run out, although its client lives."""
        ...

    async def cut(self, cause: int | None = None) -> None:
        """Break the connection without a word and wait until the client has noticed; it may reconnect at once."""
        ...

    def refuse_connections(self, cause: int | None = None) -> None:
        """From now on no connection attempt of this client succeeds (an open one stays), until allow_connections."""
        ...

    def allow_connections(self) -> None: ...
    def freeze(self, cause: int | None = None) -> None:
        """Stop the client as a long garbage collection does: it neither sends (heartbeats included) nor reads."""
        ...

    def thaw(self, cause: int | None = None) -> None: ...
    def abandon(self, cause: int | None = None) -> None:
        """The client's process is gone: its connection breaks, its session is not closed, and it is heard of no more.

        Requests in flight are never answered; the listener is not called again. The server expires the session in time.
        """
        ...


class FaultableSession(Session, SessionFaults, Protocol):
    """What both adapters return."""


class EventSink(Protocol):
    """Where one node's events go. Observers only: nothing reads them back to act."""

    def emit(self, kind: EventKind, cause: Cause = None, **fields: Unpack[EventFields]) -> int:
        """Append an event and return its seq."""
        ...
