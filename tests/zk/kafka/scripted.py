"""A ZooKeeper with faults at exact points of a test: on the model's server, with scripted connections.

Every request is answered 1 ms after it was sent. Connections break and come back only when the test says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.sink import Cause
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import SessionId
from kcsim.zk.errors import (
    ConnectionLossError,
    SessionClosedError,
    SessionExpiredError,
    ZooKeeperError,
    ZooKeeperUnavailableError,
)
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.memory.server import MemoryServer, ServerStep
from kcsim.zk.memory.watches import ClientWatches, ConnectionId
from kcsim.zk.operations import (
    Create,
    Delete,
    Multi,
    MultiRead,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
)


@dataclass(frozen=True)
class LostReply:
    """A broken connection at a request: before the server received it, or after the server has answered."""

    matches: Callable[[Request], bool]
    is_applied: bool
    is_back_at_once: bool


class ScriptedSession:
    """A session of the scripted ZooKeeper.

    Attributes:
        calls: the requests of each call, with their cause.
    """

    def __init__(self, zookeeper: "ScriptedZooKeeper", listener: Callable[[Notice], None], timeout_ms: int) -> None:
        self._zookeeper = zookeeper
        self._listener = listener
        self._connection = zookeeper.new_connection(self)
        self._watches = ClientWatches()
        self._seen = zookeeper.server.zxid
        self.calls: list[tuple[list[Request], Cause]] = []
        granted = zookeeper.server.connect(self._connection, timeout_ms, zookeeper.runtime.now_ms()).granted
        assert granted is not None
        self.session_id: SessionId = granted.session_id
        self.password = granted.password
        self.timeout_ms = granted.timeout_ms
        self.state = SessionState.CONNECTED

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        self.calls.append((list(requests), cause))
        await self._zookeeper.runtime.sleep_ms(1)
        return [self._answer(request) for request in requests]

    async def close(self, cause: Cause = None) -> None:
        if self.state in (SessionState.CONNECTED, SessionState.SUSPENDED):
            self._zookeeper.deliver(self._zookeeper.server.close_session(self._connection, self._now_ms()))
            self._become(SessionState.CLOSED, None)

    def _answer(self, request: Request) -> ReplyOrError:
        path = None if isinstance(request, Multi | MultiRead) else request.path
        if self.state is not SessionState.CONNECTED:
            return _ANSWERS[self.state](path)
        loss = self._zookeeper.take_loss(request)
        if loss is None:
            return self._reply(request)
        if loss.is_applied:
            self._reply(request)
        self.suspend()
        if loss.is_back_at_once:
            self.reconnect()
        return ConnectionLossError(path)

    def _reply(self, request: Request) -> ReplyOrError:
        step = self._zookeeper.server.request(self._connection, request, self._now_ms())
        assert step.reply is not None
        self._watches.note(request, step.reply)
        self._zookeeper.deliver(step)
        return step.reply

    def _now_ms(self) -> int:
        return self._zookeeper.runtime.now_ms()

    def hear(self, notice: Notice) -> None:
        self._listener(notice)

    # --- faults

    def suspend(self, cause: int | None = None) -> None:
        """Break the connection; the client notices at once."""
        self._seen = self._zookeeper.server.zxid
        self._zookeeper.server.disconnect(self._connection)
        self._become(SessionState.SUSPENDED, cause)

    def reconnect(self, cause: int | None = None) -> None:
        """Reconnect the session; watches armed before are armed again."""
        self._connection = self._zookeeper.new_connection(self)
        self._zookeeper.server.connect(self._connection, self.timeout_ms, self._now_ms(), self.session_id, self.password)
        watches = self._watches
        self._become(SessionState.CONNECTED, cause)
        self._zookeeper.deliver(
            self._zookeeper.server.set_watches(
                self._connection, self._seen, watches.data, watches.exist, watches.child, self._now_ms()
            )
        )

    def expire(self, cause: int | None = None) -> None:
        """Make the server end the session; the client notices at once."""
        step = self._zookeeper.server.expire(self.session_id)
        self._become(SessionState.EXPIRED, cause)
        self._zookeeper.deliver(step)

    def believe_expired(self) -> None:
        """Make the client consider the session dead although the server still keeps it, with its ephemeral znodes."""
        self._zookeeper.server.disconnect(self._connection)
        self._become(SessionState.EXPIRED, None)

    def _become(self, state: SessionState, cause: int | None) -> None:
        self.state = state
        self._listener(SessionStateChanged(state, cause))


_ANSWERS: dict[SessionState, type[ZooKeeperError]] = {
    SessionState.SUSPENDED: ConnectionLossError,
    SessionState.EXPIRED: SessionExpiredError,
    SessionState.CLOSED: SessionClosedError,
}


class ScriptedZooKeeper:
    """Server that opens scripted sessions.

    Attributes:
        sessions: all that were opened, oldest first.
        refusals: how many further attempts to open one fail.
    """

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.runtime = runtime
        self.server = MemoryServer()
        self.sessions: list[ScriptedSession] = []
        self.refusals = 0
        self._on: dict[ConnectionId, ScriptedSession] = {}
        self._losses: list[LostReply] = []

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> Any:
        await self.runtime.sleep_ms(1)
        if self.refusals:
            self.refusals -= 1
            raise ZooKeeperUnavailableError("refused by the test")
        session = ScriptedSession(self, listener, timeout_ms)
        self.sessions.append(session)
        return session

    def new_connection(self, session: ScriptedSession) -> ConnectionId:
        connection = ConnectionId(len(self._on) + 1)
        self._on[connection] = session
        return connection

    def deliver(self, step: ServerStep) -> None:
        """Deliver the watch events that a step has fired."""
        for connection, event in step.notices:
            session = self._on[connection]
            if session.state is SessionState.CONNECTED:
                session.hear(event)

    def lose_reply(self, matches: Callable[[Request], bool], *, is_applied: bool, is_back_at_once: bool = True) -> None:
        """Break the connection at the next request that matches."""
        self._losses.append(LostReply(matches, is_applied, is_back_at_once))

    def write_by_hand(self, write: Create | Delete | SetData) -> None:
        """Change a znode between two requests, as another client would."""
        session_id = self.sessions[0].session_id
        reply, _ = self.server.tree.write(write, self.server.zxid, self.runtime.now_ms(), session_id)
        assert not isinstance(reply, ZooKeeperError)

    def take_loss(self, request: Request) -> LostReply | None:
        found = next((loss for loss in self._losses if loss.matches(request)), None)
        if found is not None:
            self._losses.remove(found)
        return found


class Bench:
    """One client under test, another one to act without its knowledge, and the events that the first one logged."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.zookeeper = ScriptedZooKeeper(self.runtime)
        self.client = self.new_client("broker-1")
        self.kafka_zk = gateways_on(self.client, epoch_ms=1_600_000_000_000)
        self.other = self.new_client("scenario")
        self.by_hand = gateways_on(self.other)

    def new_client(self, node: str) -> ZooKeeperClient:
        return ZooKeeperClient(self.runtime, self.zookeeper, self.log.sink(node), 18_000, 18_000)

    @property
    def session(self) -> ScriptedSession:
        """Return the present session of the client under test."""
        return next(s for s in self.zookeeper.sessions if s.session_id == self.client.session_id)

    async def connect(self) -> None:
        await self.client.connect()
        await self.other.connect()

    async def tree(self, *requests: Request) -> None:
        """Write by hand; every request must succeed."""
        for reply in await self.other.request(requests):
            if isinstance(reply, ZooKeeperError):
                raise reply


def writes(calls: Sequence[tuple[list[Request], Cause]]) -> list[Request]:
    """Return all requests of these calls, in order."""
    return [request for requests, _ in calls for request in requests]
