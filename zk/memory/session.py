"""The client's side of a session: it reconnects, sends heartbeats, pipelines requests, delivers notices, and has faults.

The client sends a heartbeat after a third of the time-out without another message, and gives up a server that has been
silent for two thirds. On reconnecting, the client arms its watches again and receives the events that it missed.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions" and "ZooKeeper Watches".
"""

from collections import deque
from collections.abc import Callable
from itertools import cycle

from kcsim.errors import TimedOutError
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Promise, Task
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import ConnectionLossError, SessionClosedError, SessionExpiredError, ZooKeeperError
from kcsim.zk.memory.connection import (
    Acknowledged,
    CloseSession,
    Connect,
    FromClient,
    FromServer,
    MemoryConnection,
    Ping,
    ReplyMessage,
    RequestMessage,
    ServerDisconnected,
    SessionRefused,
    SetWatches,
)
from kcsim.zk.memory.server import NO_SESSION, SessionGranted
from kcsim.zk.memory.service import MemoryService
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.memory.watches import ClientWatches
from kcsim.zk.operations import (
    Multi,
    MultiRead,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    WatchEvent,
)
from kcsim.zk.session_states import ENDED_STATES, SessionInput, next_session_state

FIRST_BACK_OFF_MS = 10
LONGEST_BACK_OFF_MS = 500
SHORTEST_PATIENCE_MS = 50
FAULT_BOUND_MS = 10_000


class _CallBatch:
    """The requests of one call, and the replies that have come so far, in the same order."""

    __slots__ = ("done", "replies", "size")

    def __init__(self, size: int, done: Promise[list[ReplyOrError]]) -> None:
        self.size, self.done = size, done
        self.replies: list[ReplyOrError] = []

    def add(self, reply: ReplyOrError) -> None:
        self.replies.append(reply)
        if len(self.replies) == self.size:
            self.done.resolve(self.replies)


class MemorySession:
    """One session, created by MemoryZooKeeper. Implements FaultableSession.

    Args:
        members: the members to connect to, in the order of the attempts.
    """

    def __init__(
        self,
        timetable: Timetable,
        service: MemoryService,
        members: tuple[str, ...],
        timeout_ms: int,
        listener: Callable[[Notice], None],
        cause: Cause,
    ) -> None:
        self._runtime = runtime = timetable.runtime
        self._timetable = timetable
        self._service = service
        self._members = members
        self._listener = listener
        self._cause = cause
        self._session_id = NO_SESSION
        self._password = b""
        self._timeout_ms = timeout_ms
        self._patience_ms = 0  # time limit of one connection attempt
        self._state = SessionState.CONNECTING
        self._watches = ClientWatches()
        self._seen = Zxid(0)
        self._in_flight: deque[tuple[Request, _CallBatch]] = deque()
        self._connection: MemoryConnection | None = None
        self._handshake: Promise[bool] = runtime.promise()
        self._lost: Promise[None] = runtime.promise()
        self._opened: Promise[None] = runtime.promise()
        self._ended: Promise[None] = runtime.promise()
        self._is_closing = False
        self._is_abandoned = False
        self._is_frozen = False
        self._refuses = False
        self._able: Promise[None] = runtime.promise()  # settled by thaw and allow_connections
        self._inbox: list[tuple[MemoryConnection, FromServer]] = []  # arrived while frozen
        self._outbox: list[FromClient] = []  # to be sent after the thaw
        self._sent_ms = self._heard_ms = 0
        self._beat_number = 0
        self._fault: int | None = None
        self._keeper: Task | None = None
        self.last_failure = "none tried yet"

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
    def member(self) -> str | None:
        """The member that the session is connected or connecting to; None without a connection."""
        return self._connection.member if self._connection else None

    @property
    def is_over(self) -> bool:
        return self._is_abandoned or self._state in ENDED_STATES

    async def open(self, name: str, connect_timeout_ms: int) -> None:
        """Connect for the first time. Raises: TimedOutError."""
        self._be_patient(connect_timeout_ms)
        self._keeper = self._runtime.spawn(name, self._stay_connected())
        await self._opened.wait(connect_timeout_ms)

    # --- requests

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        if not requests:
            return []
        if not self._is_abandoned:
            refusal = self._refusal()
            if refusal is not None:
                return [refusal(_path_of(request)) for request in requests]
        batch = _CallBatch(len(requests), self._runtime.promise())
        if not self._is_abandoned:
            for request in requests:
                self._in_flight.append((request, batch))
                self._send(RequestMessage(request, cause))
        return await batch.done.wait()

    def _refusal(self) -> type[ZooKeeperError] | None:
        state = self._state
        if state is SessionState.CONNECTED and not self._is_closing:
            return None
        if state is SessionState.EXPIRED:
            return SessionExpiredError
        return SessionClosedError if self._is_closing else ConnectionLossError

    async def close(self, cause: Cause = None) -> None:
        if self.is_over:
            return
        if not self._is_closing:
            self._is_closing = True
            if self._state is SessionState.CONNECTED:
                self._send(CloseSession(cause))
            else:
                self._end(SessionInput.CLOSED)  # there is no connection to close it on: the server will expire the session
        try:
            await self._ended.wait(self._timeout_ms)
        except TimedOutError:
            self._end(SessionInput.CLOSED)

    def _send(self, message: FromClient) -> None:
        if self._is_frozen:
            self._outbox.append(message)
        elif self._connection is not None:
            self._sent_ms = self._runtime.now_ms()
            self._connection.send_to_server(message)

    # --- what arrives

    def _receive(self, connection: MemoryConnection, message: FromServer) -> None:
        if connection is not self._connection:
            return
        if self._is_frozen:
            self._inbox.append((connection, message))
            return
        self._heard_ms = self._runtime.now_ms()
        match message:
            case ReplyMessage(reply, zxid):
                self._saw(zxid)
                request, batch = self._in_flight.popleft()
                self._watches.note(request, reply)
                batch.add(reply)
            case WatchEvent():
                # The event's zxid does not count as seen: the connection may break before the next event of the same
                # transaction.
                if self._watches.take(message):
                    self._listener(message)
            case Acknowledged(zxid):
                self._saw(zxid)
            case SessionGranted():
                self._be_connected(message)
            case SessionRefused():
                self._end(SessionInput.EXPIRY_REPORTED)
            case ServerDisconnected():
                self._lose_connection(f"{connection.member} hung up")

    def _saw(self, zxid: Zxid) -> None:
        if zxid > self._seen:
            self._seen = zxid

    # --- the connection

    async def _stay_connected(self) -> None:
        back_off_ms = FIRST_BACK_OFF_MS
        for member in cycle(self._members):
            while self._is_frozen or self._refuses:
                await self._able.wait()
            if await self._connect(member):
                back_off_ms = FIRST_BACK_OFF_MS
                await self._lost.wait()
            else:
                await self._runtime.sleep_ms(back_off_ms)
                back_off_ms = min(2 * back_off_ms, LONGEST_BACK_OFF_MS)

    async def _connect(self, member: str) -> bool:
        """Try to connect to one member; return whether it accepted the session."""
        self._handshake = self._runtime.promise()
        self._lost = self._runtime.promise()
        self._connection = connection = self._service.dial(member, self._receive)
        self._send(Connect(self._session_id, self._password, self._timeout_ms, self._cause))
        try:
            return await self._handshake.wait(self._patience_ms)
        except TimedOutError:
            while self._is_frozen:  # the answer may have arrived and not been read
                await self._able.wait()
            if not self._handshake.is_settled:
                connection.cut()
                self._lose_connection(f"{member} did not answer")
            return await self._handshake.wait()

    def _be_connected(self, granted: SessionGranted) -> None:
        self._session_id, self._password, self._timeout_ms = granted.session_id, granted.password, granted.timeout_ms
        self._be_patient(granted.timeout_ms)
        is_first = self._state is SessionState.CONNECTING
        self._apply(SessionInput.GRANTED if is_first else SessionInput.RECONNECTED)
        if self._watches:
            tables = (tuple(t) for t in (self._watches.data, self._watches.exist, self._watches.child))
            self._send(SetWatches(self._seen, *tables))
        if not is_first:
            self._listener(SessionStateChanged(SessionState.CONNECTED, self._fault))
            self._fault = None
        self._start_heartbeats()
        self._opened.resolve(None)
        self._handshake.resolve(True)

    def _be_patient(self, in_all_ms: int) -> None:
        self._patience_ms = max(in_all_ms // len(self._members), SHORTEST_PATIENCE_MS)

    def _lose_connection(self, reason: str) -> None:
        self._connection = None
        self.last_failure = reason
        self._outbox.clear()
        in_flight, self._in_flight = self._in_flight, deque()
        for request, batch in in_flight:
            batch.add(ConnectionLossError(_path_of(request)))
        if self._is_closing:
            self._end(SessionInput.CLOSED)
        elif self._apply(SessionInput.CONNECTION_LOST):
            self._listener(SessionStateChanged(self._state, self._fault))
        self._handshake.resolve(False)
        self._lost.resolve(None)

    def _end(self, given: SessionInput) -> None:
        """End the session for its client. This kills the task that keeps it connected, which must not call this method."""
        if not self._apply(given):
            return  # it has ended already
        self._leave()
        for request, batch in self._in_flight:
            batch.add(ConnectionLossError(_path_of(request)))
        self._in_flight.clear()
        self._listener(SessionStateChanged(self._state, self._fault))
        self._lost.resolve(None)
        self._ended.resolve(None)

    def _apply(self, given: SessionInput) -> bool:
        """Change the state as the table says; return whether it is another one."""
        before, self._state = self._state, next_session_state(self._state, given)
        return self._state is not before

    def _leave(self) -> None:
        if self._keeper is not None:
            self._keeper.kill()
        if self._connection is not None:
            self._connection.cut()
            self._connection = None
        self._outbox.clear()
        self._inbox.clear()

    # --- heartbeats

    def _start_heartbeats(self) -> None:
        self._beat_number += 1
        self._beat(self._beat_number)

    def _beat(self, number: int) -> None:
        """Send a Ping or give up a silent server if it is time; schedule the next check."""
        if number != self._beat_number or self._is_frozen or self._connection is None:
            return
        now_ms, third_ms = self._runtime.now_ms(), max(1, self._timeout_ms // 3)
        if now_ms - self._heard_ms >= 2 * third_ms:
            self._connection.cut()
            self._lose_connection(f"{self._connection.member} was silent for {now_ms - self._heard_ms} ms")
            return
        if now_ms - self._sent_ms >= third_ms:
            self._send(Ping())
        self._timetable.at(min(self._sent_ms + third_ms, self._heard_ms + 2 * third_ms), self._beat, number)

    # --- faults

    async def expire(self, cause: int | None = None) -> None:
        if self._state in ENDED_STATES:
            raise TimedOutError(f"nothing to expire: session {self._session_id:#018x} is {self._state.value} already")
        self.set_fault_cause(cause)
        await self._service.expire(self._session_id, FAULT_BOUND_MS)

    async def cut(self, cause: int | None = None) -> None:
        connection = self._connection
        if connection is None or self._state is not SessionState.CONNECTED:
            raise TimedOutError(f"there is no connection to cut: the session is {self._state.value}")
        self.set_fault_cause(cause)
        connection.cut()
        self._receive(connection, ServerDisconnected())
        try:
            await self._lost.wait(FAULT_BOUND_MS)
        except TimedOutError:
            raise TimedOutError(
                f"the client did not notice the cut within {FAULT_BOUND_MS} ms; it is {self._state.value}"
                f"{' and frozen' if self._is_frozen else ''}"
            ) from None

    def refuse_connections(self, cause: int | None = None) -> None:
        self.set_fault_cause(cause)
        self._refuses = True
        if self._connection is not None and self._state is not SessionState.CONNECTED:
            self._connection.cut()
            self._lose_connection("connections are refused")

    def allow_connections(self) -> None:
        self._refuses = False
        self._go_on()

    def freeze(self, cause: int | None = None) -> None:
        self.set_fault_cause(cause)
        self._is_frozen = True

    def thaw(self, cause: int | None = None) -> None:
        if not self._is_frozen:
            return
        if self._fault is None:
            self._fault = cause
        self._is_frozen = False
        inbox, self._inbox = self._inbox, []
        for connection, message in inbox:
            self._receive(connection, message)
        outbox, self._outbox = self._outbox, []
        for waiting in outbox:
            self._send(waiting)
        if self._connection is not None and self._state is SessionState.CONNECTED:
            # The frozen client did not read, so the server's silence so far is no reason to give it up.
            self._heard_ms = self._runtime.now_ms()
            self._start_heartbeats()
        self._go_on()

    def abandon(self, cause: int | None = None) -> None:
        self.set_fault_cause(cause)
        self._is_abandoned = True
        self._in_flight.clear()
        self._leave()

    def _go_on(self) -> None:
        self._able.resolve(None)
        self._able = self._runtime.promise()

    def set_fault_cause(self, cause: int | None) -> None:
        """Set the cause of the session's state changes from now on, until it is connected again."""
        if cause is not None:
            self._fault = cause
            self._service.record_session_fault(self._session_id, cause)


def _path_of(request: Request) -> str | None:
    return None if isinstance(request, Multi | MultiRead) else request.path
