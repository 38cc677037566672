"""Sessions with a real ZooKeeper, on the event loop; connection.py has the connection thread.

All replies and events of the thread go through one outbox, in the order of the wire, and are delivered on the event loop.
Nothing is delivered from a frozen session's outbox: its client receives nothing, not even what has already been read.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from kcsim.errors import Killed, TimedOutError
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId
from kcsim.zk.errors import ConnectionLossError, SessionClosedError, SessionExpiredError, ZooKeeperUnavailableError
from kcsim.zk.live.connect_settings import ConnectSettings
from kcsim.zk.live.connection import CallBatch, LiveConnection, parse_hosts
from kcsim.zk.live.ledger import WriteLedger
from kcsim.zk.live.session_expiry import end_session
from kcsim.zk.live.wire import path_of
from kcsim.zk.operations import Notice, ReplyOrError, Request, SessionState, SessionStateChanged, WatchEvent
from kcsim.zk.security import ClientSecurity
from kcsim.zk.session_states import ENDED_STATES, SessionInput, next_session_state

T = TypeVar("T")

_FAULT_BOUND_S = 60.0
_CLOSE_BOUND_S = 5.0
"""The shortest bound of a close; the bound of a session that lasts longer is its time-out."""


class LiveZooKeeper:
    """Opens sessions with a real ZooKeeper.

    Args:
        connect_string: "host:port,host:port/chroot"; the chroot may be absent.
        ledger: receives which session wrote what and why; see WriteLedger.
        security: SASL and TLS; by default neither.
        accepts_read_only: whether a member that is cut off from its ensemble may serve the sessions, where it is set up
            to: what they read may be old, and their writes are refused.

    Raises: ValueError when the connect string cannot be parsed.
    """

    def __init__(
        self,
        connect_string: str,
        ledger: WriteLedger | None = None,
        security: ClientSecurity = ClientSecurity(),  # noqa: B008 -- frozen
        *,
        accepts_read_only: bool = False,
    ) -> None:
        parse_hosts(connect_string)
        self._settings = ConnectSettings(connect_string, security, accepts_read_only)
        self._ledger = ledger
        self._sessions: WeakSet[LiveSession] = WeakSet()

    def set_server_fault_cause(self, cause: int | None) -> None:
        """Set a fault of the servers as the cause of the following state changes of all open sessions.

        A session's own fault takes precedence. This method is needed because real servers cannot tell clients the cause.
        """
        for session in self._sessions:
            session.set_server_fault_cause(cause)

    @property
    def has_read_only_session(self) -> bool:
        """Whether a member that is cut off from its ensemble serves one of the sessions, at this moment."""
        return any(session.is_read_only for session in self._sessions)

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> "LiveSession":
        session = LiveSession(self._settings, timeout_ms, connect_timeout_ms, listener, self._ledger, cause)
        try:
            await session.open(connect_timeout_ms)
        except BaseException:
            session.abandon()
            raise
        self._sessions.add(session)
        return session


class LiveSession:
    """One session, from opening to expiry or close. Made by LiveZooKeeper, in a running event loop."""

    def __init__(
        self,
        settings: ConnectSettings,
        timeout_ms: int,
        connect_timeout_ms: int,
        listener: Callable[[Notice], None],
        ledger: WriteLedger | None,
        cause: Cause,
    ) -> None:
        self._connect_string = settings.connect_string
        self._listener = listener
        self._ledger = ledger
        self._cause = cause
        self._loop = asyncio.get_running_loop()
        self._session_id = SessionId(0)
        self._password = b""
        self._timeout_ms = timeout_ms
        self._state = SessionState.CONNECTING
        self._fault_cause: int | None = None
        self._servers_fault: int | None = None
        self._is_closing = False
        self._is_frozen = False
        self._is_abandoned = False
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._waiting_for_suspension: list[asyncio.Future[None]] = []
        self._outbox: deque[Callable[[], None]] = deque()
        self._is_delivery_due = False
        self._tls = None if settings.security.tls is None else settings.security.tls.context()
        self._connection = LiveConnection(settings, timeout_ms, connect_timeout_ms, self, ledger, self._tls)

    @property
    def session_id(self) -> SessionId:
        return self._session_id

    @property
    def password(self) -> bytes:
        return self._password

    @property
    def timeout_ms(self) -> int:
        return self._timeout_ms

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def is_read_only(self) -> bool:
        """Whether a member that is cut off from its ensemble serves this session, at this moment."""
        return self._connection.is_read_only

    async def open(self, connect_timeout_ms: int) -> None:
        """Connect. Raises: ZooKeeperUnavailableError."""
        self._connection.open()
        try:
            await _bounded(self._opened, connect_timeout_ms / 1000)
        except TimeoutError:
            raise ZooKeeperUnavailableError(
                f"no ZooKeeper session at {self._connect_string} within {connect_timeout_ms} ms; "
                f"last error: {self._connection.last_error}"
            ) from None
        if self._state is SessionState.CONNECTING:
            raise ZooKeeperUnavailableError(f"no ZooKeeper session at {self._connect_string}: {self._connection.last_error}")

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        if not requests:
            return []
        answered: asyncio.Future[list[ReplyOrError]] = self._loop.create_future()
        batch = CallBatch(requests, cause, partial(_settle, answered))
        refusal = self._refusal()
        if refusal is not None:
            return [refusal(path_of(request)) for request in requests]
        if not self._is_abandoned and not self._connection.submit(batch):
            # The thread knows of the connection loss already and has posted its notice. The refusal must not overtake the
            # notice: a caller that waits for the connection would find the session still CONNECTED and repeat its request
            # again and again.
            losses: list[ReplyOrError] = [ConnectionLossError(path_of(request)) for request in requests]
            self._post(partial(_settle, answered, losses))
        return await _bounded(answered)

    def _refusal(self) -> type[SessionExpiredError | SessionClosedError | ConnectionLossError] | None:
        if self._state is SessionState.EXPIRED:
            return SessionExpiredError
        if self._is_closing or self._state is SessionState.CLOSED:
            return SessionClosedError
        if self._state is SessionState.SUSPENDED:
            return ConnectionLossError
        return None

    async def close(self, cause: Cause = None) -> None:
        if self._is_abandoned or self._state in ENDED_STATES:
            return
        if not self._is_closing:
            self._is_closing = True
            if self._ledger:
                self._ledger.record_close(self._session_id, cause)
            if not self._connection.request_close():
                self._connection.kill()  # there is no connection to close it on: the server will expire the session
                self._end()
        try:
            # If the server has not received the request, the session lives on until it expires, with its ephemeral znodes.
            # So a starved process, or server, has as long for it: what lasts longer has expired.
            await _bounded(asyncio.shield(self._ended), max(_CLOSE_BOUND_S, self._timeout_ms / 1000))
        except TimeoutError:
            self._connection.kill()
            self._end()

    # --- faults

    async def expire(self, cause: int | None = None) -> None:
        self._must_live("expire")
        self._set_fault_cause(cause)
        self._connection.refuse("takeover")
        # Otherwise the client could receive the deletion of its own ephemerals from a member other than the one that ends
        # the session.
        self._connection.break_connection()
        try:
            hosts = self._connection.hosts
            await _or_killed(
                end_session(hosts, self._session_id, self._password, self._timeout_ms, _FAULT_BOUND_S, self._tls)
            )
        finally:
            self._connection.allow("takeover")

    async def cut(self, cause: int | None = None) -> None:
        if self._state is not SessionState.CONNECTED:
            raise TimedOutError(f"there is no connection to cut: the session is {self._state.value}")
        self._set_fault_cause(cause)
        suspended: asyncio.Future[None] = self._loop.create_future()
        self._waiting_for_suspension.append(suspended)
        self._connection.break_connection()
        try:
            await _bounded(suspended, _FAULT_BOUND_S)
        except TimeoutError:
            raise TimedOutError(
                f"the client did not notice the cut within {_FAULT_BOUND_S} s; it is {self._state.value}"
            ) from None

    def refuse_connections(self, cause: int | None = None) -> None:
        self._set_fault_cause(cause)
        self._connection.refuse("fault")

    def allow_connections(self) -> None:
        self._connection.allow("fault")

    def freeze(self, cause: int | None = None) -> None:
        self._set_fault_cause(cause)
        self._is_frozen = True
        self._connection.freeze()

    def set_server_fault_cause(self, cause: int | None) -> None:
        """Set a fault of the servers as the cause of later state changes; see LiveZooKeeper.set_server_fault_cause."""
        self._servers_fault = cause

    def thaw(self, cause: int | None = None) -> None:
        if self._fault_cause is None:
            self._fault_cause = cause
        self._is_frozen = False
        self._connection.thaw()
        self._loop.call_soon(self._deliver)

    def abandon(self, cause: int | None = None) -> None:
        self._set_fault_cause(cause)
        self._is_abandoned = True
        self._outbox.clear()
        self._connection.kill()

    def _must_live(self, fault: str) -> None:
        if self._state in ENDED_STATES:
            raise TimedOutError(f"nothing to {fault}: session {self._session_id:#018x} is {self._state.value} already")

    def _set_fault_cause(self, cause: int | None) -> None:
        """Set the cause of the session's state changes from now on, until it is connected again."""
        if cause is not None:
            self._fault_cause = cause
            if self._ledger:
                self._ledger.record_session_fault(self._session_id, cause)

    # --- in the connection thread

    def on_connected(self, session_id: SessionId, password: bytes, timeout_ms: int) -> None:
        if self._ledger:
            self._ledger.record_open(session_id, self._cause)
        self._post(partial(self._connected, session_id, password, timeout_ms))

    def on_suspended(self) -> None:
        self._post(self._suspended)

    def on_expired(self) -> None:
        self._post(partial(self._apply, SessionInput.EXPIRY_REPORTED))

    def on_watch(self, event: WatchEvent) -> None:
        self._post(partial(self._listener, event))

    def on_answered(self, batch: CallBatch) -> None:
        self._post(partial(batch.on_done, batch.replies))

    def on_ended(self, error: Exception | None) -> None:
        if error is not None:
            self._post(partial(self._fail, error))
        self._post(self._end)

    def is_listening(self) -> bool:
        return not self._loop.is_closed()

    def _post(self, delivery: Callable[[], None]) -> None:
        if self._is_abandoned:
            return
        self._outbox.append(delivery)
        if not self._is_delivery_due:
            self._is_delivery_due = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed: nothing can be delivered any more
                self._connection.kill()

    # --- on the event loop: deliveries

    def _deliver(self) -> None:
        self._is_delivery_due = False  # first of all: whatever is posted from here on schedules a further delivery
        while self._outbox and not self._is_frozen and not self._is_abandoned:
            delivery = self._outbox.popleft()
            try:
                delivery()
            except BaseException:
                self._loop.call_soon(self._deliver)  # one listener's defect must not hold back the later deliveries
                raise

    def _connected(self, session_id: SessionId, password: bytes, timeout_ms: int) -> None:
        self._session_id, self._password, self._timeout_ms = session_id, password, timeout_ms
        if self._state is SessionState.CONNECTING:
            self._state = next_session_state(self._state, SessionInput.GRANTED)  # open_session returns in place of a notice
            _settle(self._opened, None)
        else:
            self._apply(SessionInput.RECONNECTED)
            self._fault_cause = None

    def _suspended(self) -> None:
        try:
            self._apply(SessionInput.CONNECTION_LOST)
        finally:
            for waiting in self._waiting_for_suspension:
                _settle(waiting, None)
            self._waiting_for_suspension.clear()

    def _end(self) -> None:
        try:
            if self._state is not SessionState.CONNECTING:  # otherwise there has been no session yet
                self._apply(SessionInput.CLOSED)
        finally:
            _settle(self._ended, None)
            _settle(self._opened, None)

    def _apply(self, given: SessionInput) -> None:
        """Change the state as the table says, and notify the listener if it is another one."""
        before, self._state = self._state, next_session_state(self._state, given)
        if self._state is not before:
            cause = self._fault_cause if self._fault_cause is not None else self._servers_fault
            self._listener(SessionStateChanged(self._state, cause))

    def _fail(self, error: Exception) -> None:
        """Raise the defect that ended the connection thread on the event loop, which reports it like its own errors."""
        raise error


def _settle(future: "asyncio.Future[T]", value: T) -> None:
    if not future.done():  # its caller may have been killed
        future.set_result(value)


async def _bounded(future: "asyncio.Future[T]", bound_s: float | None = None) -> T:
    """Wait for a future. Raises: TimeoutError, Killed."""
    return await _or_killed(asyncio.wait_for(future, bound_s))


async def _or_killed(work: Coroutine[Any, Any, T]) -> T:
    """Await work and raise asyncio's cancellation as Killed.

    This must be the outermost await, because an asyncio time-out inside it is a cancellation too.
    """
    try:
        return await work
    except asyncio.CancelledError:
        raise Killed from None
