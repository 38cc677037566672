"""The server's side of the model: passes the messages of all connections to the server and logs the server's actions.

Messages that reach a paused member, or that cannot be committed because there is no running leader with a majority, wait and
are processed in their original order when the members run again; only after that, sessions whose deadline passed meanwhile
are expired.
"""

from collections.abc import Callable
from itertools import count

from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventFields, EventKind, data_text
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import SessionId
from kcsim.zk.memory.connection import (
    Acknowledged,
    ClientDisconnected,
    CloseSession,
    Connect,
    FromClient,
    FromServer,
    MemoryConnection,
    Ping,
    ReplyMessage,
    RequestMessage,
    SessionRefused,
    SetWatches,
)
from kcsim.zk.memory.journal import Journal
from kcsim.zk.memory.members import Members
from kcsim.zk.memory.server import MemoryServer, ServerFact, ServerStep, SessionEnded, SessionOpened
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.memory.tree import NO_OWNER, ChangeKind, ZnodeChange
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import Create, Delete, Multi, SetData, Sync

EXPIRED = "SESSIONEXPIRED"

_ZNODE_EVENTS = {
    ChangeKind.CREATED: EventKind.ZNODE_CREATED,
    ChangeKind.CHANGED: EventKind.ZNODE_CHANGED,
    ChangeKind.DELETED: EventKind.ZNODE_DELETED,
}


class MemoryService:
    """The one server behind the connections of all members, which share its tree.

    Args:
        sink: the event log of the node "zookeeper".
        latency_ms: returns the latency of the next message, on any connection.
        journal: records every transaction.
    """

    def __init__(
        self,
        timetable: Timetable,
        sink: EventSink,
        server: MemoryServer,
        members: Members,
        latency_ms: Callable[[], int],
        journal: Journal | None = None,
    ) -> None:
        self._runtime = runtime = timetable.runtime
        self._timetable = timetable
        self._sink = sink
        self._server = server
        self._members = members
        self._latency_ms = latency_ms
        self._journal = journal
        self._numbers = count(1)
        self._connections: dict[ConnectionId, MemoryConnection] = {}
        self._held: list[tuple[MemoryConnection, FromClient]] = []
        self._holding: dict[ConnectionId, None] = {}
        self._faults: dict[SessionId, int] = {}
        self._expiry_ms: int | None = None
        self._goes_on: Promise[None] = runtime.promise()

    # --- for clients

    def dial(self, member: str, at_client: Callable[[MemoryConnection, FromServer], None]) -> MemoryConnection:
        """Open a connection to a member in any state: a dead member closes the connection, a paused one does not answer."""
        number = ConnectionId(next(self._numbers))
        connection = MemoryConnection(number, member, self._timetable, self._latency_ms, self._arrive, at_client)
        self._connections[number] = connection
        return connection

    def record_session_fault(self, session_id: SessionId, cause: int | None) -> None:
        """Record the fault that is the cause of a later expiry of this session."""
        if cause is not None:
            self._faults[session_id] = cause

    async def expire(self, session_id: SessionId, bound_ms: int) -> None:
        """End a session as if its time-out had passed, as soon as a leader can commit.

        Raises: TimedOutError if no leader can within bound_ms.
        """
        deadline_ms = self._runtime.now_ms() + bound_ms
        while not self._members.can_commit:
            try:
                await self._goes_on.wait(max(0, deadline_ms - self._runtime.now_ms()))
            except TimedOutError:
                states = ", ".join(f"{name} is {state.value}" for name, state in self._members.states.items())
                raise TimedOutError(
                    f"no leader could end session {session_id:#018x} within {bound_ms} ms: {states}"
                ) from None
        self._carry_out(self._server.expire(session_id), None)

    # --- for faults of members

    def hang_up_all(self, member: str) -> None:
        """Close all connections of a member that has died or has stopped serving."""
        for connection in [c for c in self._connections.values() if c.member == member]:
            self._hang_up(connection)

    def begin_epoch(self) -> None:
        """Begin the epoch of a newly elected leader."""
        self._server.begin_epoch(self._runtime.now_ms(), self._members.is_ensemble)
        self.go_on()

    def go_on(self) -> None:
        """Continue after a member runs or a leader can commit again: process waiting messages, then check the deadlines."""
        held, self._held = self._held, []
        self._holding.clear()
        for connection, message in held:
            if connection.is_open_at_server:
                self._arrive(connection, message)
        if self._members.can_commit:
            self._goes_on.resolve(None)
            self._goes_on = self._runtime.promise()
        self._watch_deadlines()

    # --- messages

    def _arrive(self, connection: MemoryConnection, message: FromClient) -> None:
        member = connection.member
        is_paused = member in self._members.paused
        if not is_paused and not self._members.serves(member):
            self._hang_up(connection)
        elif is_paused or connection.number in self._holding or self._must_wait(message):
            self._held.append((connection, message))
            self._holding[connection.number] = None
        else:
            self._take(connection, message)

    def _must_wait(self, message: FromClient) -> bool:
        """Return whether a message needs a leader with a majority while there is none."""
        if self._members.can_commit:
            return False
        if isinstance(message, RequestMessage):
            return isinstance(message.request, Create | SetData | Delete | Multi | Sync)
        return isinstance(message, Connect | CloseSession)

    def _take(self, connection: MemoryConnection, message: FromClient) -> None:
        server, number, now_ms = self._server, connection.number, self._runtime.now_ms()
        answer: FromServer | None = None
        cause: Cause = None
        match message:
            case RequestMessage(request, cause):
                session = server.sessions.on(number) if self._journal is not None else None
                step = server.request(number, request, now_ms)
                if self._journal is not None and session is not None:
                    self._journal.requested(session.session_id, request, step, now_ms)
                answer = ReplyMessage(step.reply, step.zxid) if step.reply is not None else None
            case Ping():
                step = server.ping(number, now_ms)
                answer = Acknowledged(step.zxid)
            case Connect(session_id, password, timeout_ms, cause):
                member = self._members.number(connection.member)
                step = server.connect(number, timeout_ms, now_ms, session_id, password, member)
                answer = step.granted or SessionRefused()
                self._faults.pop(session_id, None)  # connected again: the fault is not the cause of later events
            case SetWatches(seen, data, exist, child):
                step = server.set_watches(number, seen, data, exist, child, now_ms)
                answer = Acknowledged(step.zxid)
            case CloseSession(cause):
                step = server.close_session(number, now_ms)
                answer = Acknowledged(step.zxid)
            case ClientDisconnected():
                server.disconnect(number)
                del self._connections[number]
                connection.is_open_at_server = False
                return
        self._carry_out(step, cause, connection, answer)
        if isinstance(message, Connect):
            self._watch_deadlines()

    def _carry_out(
        self, step: ServerStep, cause: Cause, connection: MemoryConnection | None = None, answer: FromServer | None = None
    ) -> None:
        """Log the server's actions; then send the notices and the answer, and close the connections that the step names."""
        for fact in step.facts:
            if self._journal is not None:
                self._keep(self._journal, fact)
            match fact:
                case ZnodeChange():
                    self._report_change(fact, cause)
                case SessionOpened(session_id, timeout_ms, zxid):
                    name = f"{session_id:#018x}"
                    self._sink.emit(EventKind.SESSION_CREATED, cause, session_id=name, duration_ms=timeout_ms, zxid=zxid)
                case SessionEnded():
                    self._report_end(fact, cause)
        for number, event in step.notices:
            if number in self._connections:
                self._connections[number].send_to_client(event)
        if connection is not None and answer is not None:
            connection.send_to_client(answer)
        for number in step.hung_up:
            if number in self._connections:
                self._hang_up(self._connections[number])

    def _keep(self, journal: Journal, fact: ServerFact) -> None:
        """Record a session's beginning or end in the journal, which gets all other facts with the request."""
        if isinstance(fact, SessionOpened):
            journal.session_opened(fact, self._runtime.now_ms())
        elif isinstance(fact, SessionEnded):
            journal.session_ended(fact, self._runtime.now_ms())

    def _hang_up(self, connection: MemoryConnection) -> None:
        connection.hang_up()
        self._server.disconnect(connection.number)
        self._connections.pop(connection.number, None)

    # --- the event log

    def _report_change(self, change: ZnodeChange, cause: Cause) -> int:
        fields = EventFields(
            path=change.path,
            zxid=change.zxid,
            zk_version=change.version,
            ephemeral=change.owner != NO_OWNER,
            session_id=f"{change.session_id:#018x}",
        )
        text = data_text(change.data)
        if text is not None:
            fields["data"] = text
        return self._sink.emit(_ZNODE_EVENTS[change.kind], cause, **fields)

    def _report_end(self, end: SessionEnded, cause: Cause) -> None:
        fault = self._faults.pop(end.session_id, None)
        fields = EventFields(session_id=f"{end.session_id:#018x}", zxid=end.zxid)
        if end.is_expired:
            fields["error"] = EXPIRED
            cause = fault
        closed = self._sink.emit(EventKind.SESSION_CLOSED, cause, **fields)
        for change in end.removed:
            self._report_change(change, closed)

    # --- time

    def _watch_deadlines(self) -> None:
        """Schedule a check of the sessions for the earliest deadline."""
        deadline_ms = self._server.next_deadline_ms()
        if deadline_ms is not None and (self._expiry_ms is None or deadline_ms < self._expiry_ms):
            self._expiry_ms = deadline_ms
            self._timetable.at(deadline_ms, self._expire_due, deadline_ms)

    def _expire_due(self, deadline_ms: int) -> None:
        if deadline_ms != self._expiry_ms:
            return  # an earlier check was scheduled since; that check schedules the next one
        self._expiry_ms = None
        # Without a leader that can commit, no session expires; go_on checks the deadlines again.
        if self._members.can_commit:
            self._carry_out(self._server.tick(self._runtime.now_ms()), None)
            self._watch_deadlines()
