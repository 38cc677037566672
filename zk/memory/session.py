"""A session as its client holds it: keeps it connected and alive, pipelines requests, passes notices on, can be faulted.

Heartbeats go out after a third of the time-out without another message; a server that has been silent for two thirds is
given up. Reconnecting, the client arms its watches again and hears what it missed.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions" and "ZooKeeper Watches".
"""

from collections import deque
from collections.abc import Callable
from itertools import cycle

from kcsim.zk.errors import (
    ConnectionLossError,
    SessionClosedError,
    SessionExpiredError,
    TimedOutError,
    ZooKeeperError,
)
from kcsim.zk.memory.connection import (
    Acknowledged,
    Answer,
    Ask,
    CloseSession,
    Connect,
    Connection,
    FromClient,
    FromServer,
    HungUp,
    Ping,
    RearmWatches,
    Refused,
)
from kcsim.zk.memory.server import NO_SESSION, Granted
from kcsim.zk.memory.service import Service
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
from kcsim.zk.ports import Cause, Promise, Runtime, Task
from kcsim.zk.vocabulary import SessionId, Zxid

FIRST_BACK_OFF_MS = 10
LONGEST_BACK_OFF_MS = 500
SHORTEST_PATIENCE_MS = 50
FAULT_BOUND_MS = 10_000
_ENDED = (SessionState.EXPIRED, SessionState.CLOSED)


class _Batch:
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
    """One session; made by MemoryZooKeeper. Satisfies FaultableSession.

    Args:
        members: where to connect, in the order in which to try.
    """

    def __init__(
        self,
        runtime: Runtime,
        timetable: Timetable,
        service: Service,
        members: tuple[str, ...],
        timeout_ms: int,
        listener: Callable[[Notice], None],
        cause: Cause,
    ) -> None:
        self._runtime = runtime
        self._timetable = timetable
        self._service = service
        self._members = members
        self._listener = listener
        self._cause = cause
        self._session_id = NO_SESSION
        self._password = b""
        self._timeout_ms = timeout_ms
        self._patience_ms = 0  # with each member that it tries
        self._state = SessionState.CONNECTING
        self._watches = ClientWatches()
        self._seen = Zxid(0)
        self._in_flight: deque[tuple[Request, _Batch]] = deque()
        self._connection: Connection | None = None
        self._handshake: Promise[bool] = runtime.promise()
        self._lost: Promise[None] = runtime.promise()
        self._opened: Promise[None] = runtime.promise()
        self._ended: Promise[None] = runtime.promise()
        self._is_closing = False
        self._is_abandoned = False
        self._is_frozen = False
        self._refuses = False
        self._able: Promise[None] = runtime.promise()  # settled by thaw and allow_connections
        self._inbox: list[tuple[Connection, FromServer]] = []  # arrived while frozen
        self._outbox: list[FromClient] = []  # to be sent, had it not been frozen
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
        """The member that it is connected to."""
        return self._connection.member if self._connection else None

    @property
    def is_over(self) -> bool:
        return self._is_abandoned or self._state in _ENDED

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
        batch = _Batch(len(requests), self._runtime.promise())
        if not self._is_abandoned:
            for request in requests:
                self._in_flight.append((request, batch))
                self._send(Ask(request, cause))
        return await batch.done.wait()

    def _refusal(self) -> type[ZooKeeperError] | None:
        if self._state is SessionState.EXPIRED:
            return SessionExpiredError
        if self._is_closing:
            return SessionClosedError
        return None if self._state is SessionState.CONNECTED else ConnectionLossError

    async def close(self, cause: Cause = None) -> None:
        if self.is_over:
            return
        if not self._is_closing:
            self._is_closing = True
            if self._state is SessionState.CONNECTED:
                self._send(CloseSession(cause))
            else:
                self._end(SessionState.CLOSED)  # nobody to tell: the server will expire the session
        try:
            await self._ended.wait(self._timeout_ms)
        except TimedOutError:
            self._end(SessionState.CLOSED)

    def _send(self, message: FromClient) -> None:
        if self._is_frozen:
            self._outbox.append(message)
        elif self._connection is not None:
            self._sent_ms = self._runtime.now_ms()
            self._connection.ask(message)

    # --- what arrives

    def _receive(self, connection: Connection, message: FromServer) -> None:
        if connection is not self._connection:
            return
        if self._is_frozen:
            self._inbox.append((connection, message))
            return
        self._heard_ms = self._runtime.now_ms()
        match message:
            case Answer(reply, zxid):
                self._saw(zxid)
                request, batch = self._in_flight.popleft()
                self._watches.note(request, reply)
                batch.add(reply)
            case WatchEvent():
                # Its zxid does not count as seen: the connection may break before the next event of the same transaction.
                if self._watches.take(message):
                    self._listener(message)
            case Acknowledged(zxid):
                self._saw(zxid)
            case Granted():
                self._be_connected(message)
            case Refused():
                self._end(SessionState.EXPIRED)
            case HungUp():
                self._lose_connection(f"{connection.member} hung up")

    def _saw(self, zxid: Zxid) -> None:
        self._seen = max(self._seen, zxid)

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
        """Try one member and say whether it let us in."""
        self._handshake = self._runtime.promise()
        self._lost = self._runtime.promise()
        self._connection = connection = self._service.dial(member, self._receive)
        self._send(Connect(self._session_id, self._password, self._timeout_ms, self._cause))
        try:
            return await self._handshake.wait(self._patience_ms)
        except TimedOutError:
            while self._is_frozen:  # the answer may lie there unread
                await self._able.wait()
            if not self._handshake.is_settled:
                connection.cut()
                self._lose_connection(f"{member} did not answer")
            return await self._handshake.wait()

    def _be_connected(self, granted: Granted) -> None:
        self._session_id, self._password, self._timeout_ms = granted.session_id, granted.password, granted.timeout_ms
        self._be_patient(granted.timeout_ms)
        is_first = self._state is SessionState.CONNECTING
        self._state = SessionState.CONNECTED
        if self._watches:
            tables = (tuple(t) for t in (self._watches.data, self._watches.exist, self._watches.child))
            self._send(RearmWatches(self._seen, *tables))
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
            self._end(SessionState.CLOSED)
        elif self._state is SessionState.CONNECTED:
            self._state = SessionState.SUSPENDED
            self._listener(SessionStateChanged(SessionState.SUSPENDED, self._fault))
        self._handshake.resolve(False)
        self._lost.resolve(None)

    def _end(self, state: SessionState) -> None:
        """The session is over for its client. Ends the task that keeps it connected, so must not be called from there."""
        if self._state in _ENDED:
            return
        self._state = state
        self._leave()
        for request, batch in self._in_flight:
            batch.add(ConnectionLossError(_path_of(request)))
        self._in_flight.clear()
        self._listener(SessionStateChanged(state, self._fault))
        self._lost.resolve(None)
        self._ended.resolve(None)

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
        """Ping if we have been silent for long, give the server up if it has been; look again when either is next due."""
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
        if self._state in _ENDED:
            raise TimedOutError(f"nothing to expire: session {self._session_id:#018x} is {self._state.value} already")
        self.blame(cause)
        await self._service.expire(self._session_id, FAULT_BOUND_MS)

    async def cut(self, cause: int | None = None) -> None:
        connection = self._connection
        if connection is None or self._state is not SessionState.CONNECTED:
            raise TimedOutError(f"there is no connection to cut: the session is {self._state.value}")
        self.blame(cause)
        connection.cut()
        self._receive(connection, HungUp())
        try:
            await self._lost.wait(FAULT_BOUND_MS)
        except TimedOutError:
            raise TimedOutError(
                f"the client did not notice the cut within {FAULT_BOUND_MS} ms; it is {self._state.value}"
                f"{' and frozen' if self._is_frozen else ''}"
            ) from None

    def refuse_connections(self, cause: int | None = None) -> None:
        self.blame(cause)
        self._refuses = True
        if self._connection is not None and self._state is not SessionState.CONNECTED:
            self._connection.cut()
            self._lose_connection("connections are refused")

    def allow_connections(self) -> None:
        self._refuses = False
        self._go_on()

    def freeze(self, cause: int | None = None) -> None:
        self.blame(cause)
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
            # It has not been listening, so it has no reason yet to give the server up.
            self._heard_ms = self._runtime.now_ms()
            self._start_heartbeats()
        self._go_on()

    def abandon(self, cause: int | None = None) -> None:
        self.blame(cause)
        self._is_abandoned = True
        self._in_flight.clear()
        self._leave()

    def _go_on(self) -> None:
        self._able.resolve(None)
        self._able = self._runtime.promise()

    def blame(self, cause: int | None) -> None:
        """What the session goes through from now on follows from this, until it is connected again."""
        if cause is not None:
            self._fault = cause
            self._service.blame(self._session_id, cause)


def _path_of(request: Request) -> str | None:
    return None if isinstance(request, Multi | MultiRead) else request.path
