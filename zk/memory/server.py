"""The server: a request and the time in, a reply and what follows from it out. Pure: no clock, no tasks, no connections.

Every transaction takes a zxid: each write (refused ones, too), each session begun and each one ended. Reads take none.

Source: ZooKeeper 3.9.5, observed over its wire protocol.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kcsim.zk.errors import NoNodeError
from kcsim.zk.memory.ephemerals import Ephemerals
from kcsim.zk.memory.sessions import ServerSession, Sessions
from kcsim.zk.memory.tree import Changes, ZnodeChange, ZnodeTree
from kcsim.zk.memory.watches import ConnectionId, ServerWatches, WatchTable
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    DataRead,
    Delete,
    Exists,
    Found,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    ReplyOrError,
    Request,
    SetData,
    Sync,
    Synced,
    WatchEvent,
    WatchKind,
)
from kcsim.zk.vocabulary import SessionId, Zxid

EPOCH_MS = 1_600_000_000_000
"""When simulated runs begin, in ms since 1970: a constant, so that stats are the same in each."""
NO_SESSION = SessionId(0)
_UNTOLD = Zxid(0)


@dataclass(frozen=True, slots=True)
class SessionOpened:
    session_id: SessionId
    timeout_ms: int
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """`removed` are the ephemerals that went with it."""

    session_id: SessionId
    is_expired: bool
    removed: Changes
    zxid: Zxid


Fact = ZnodeChange | SessionOpened | SessionEnded
"""Something the server did, in the order in which it did it."""


@dataclass(frozen=True, slots=True)
class Granted:
    """The answer to a client that connects and is let in."""

    session_id: SessionId
    password: bytes
    timeout_ms: int


@dataclass(slots=True)
class Step:
    """What one input made the server do.

    Attributes:
        zxid: of the transaction, or the last one applied: what the header of the reply carries.
        reply: what to answer; None when there is nothing to say but the zxid.
        granted: the answer to `connect`; None when the session is refused, being gone.
        notices: watch events that go out before the reply, and to whom.
        hung_up: connections that the server closes after all that.
    """

    zxid: Zxid
    reply: ReplyOrError | None = None
    granted: Granted | None = None
    facts: list[Fact] = field(default_factory=list)
    notices: list[tuple[ConnectionId, WatchEvent]] = field(default_factory=list)
    hung_up: list[ConnectionId] = field(default_factory=list)


class Server:
    """A ZooKeeper: a tree, sessions, watches and the last zxid.

    Args:
        tick_time_ms, min_session_timeout_ms, max_session_timeout_ms: as in zoo.cfg.
        epoch_ms: added to `now_ms` for the times in a stat; ms since 1970.
        epoch: the leader's, upper half of every zxid; 0 for a standalone server.
    """

    def __init__(
        self,
        tick_time_ms: int = 2000,
        min_session_timeout_ms: int | None = None,
        max_session_timeout_ms: int | None = None,
        epoch_ms: int = EPOCH_MS,
        epoch: int = 0,
    ) -> None:
        self.tree = ZnodeTree()
        self.sessions = Sessions(tick_time_ms, min_session_timeout_ms, max_session_timeout_ms)
        self.watches = ServerWatches()
        self.zxid = Zxid(epoch << 32)
        self._ephemerals = Ephemerals()
        self._epoch_ms = epoch_ms

    # --- connections and sessions

    def connect(
        self,
        connection: ConnectionId,
        timeout_ms: int,
        now_ms: int,
        session_id: SessionId = NO_SESSION,
        password: bytes = b"",
        member: int = 1,
    ) -> Step:
        """Begin a session, or take one up again by its id and password. Refused if that one is gone."""
        if session_id == NO_SESSION:
            self.zxid = Zxid(self.zxid + 1)
            session = self.sessions.open(timeout_ms, connection, now_ms, member)
            step = Step(self.zxid, granted=_grant(session))
            step.facts.append(SessionOpened(session.session_id, session.timeout_ms, self.zxid))
            return step
        step = Step(self.zxid)
        # Whoever comes with a session's id ends the connection it was on, even if the password is wrong.
        former = self.sessions.connection_of(session_id)
        if former is not None and former != connection:
            self.disconnect(former)
            step.hung_up.append(former)
        reopened = self.sessions.reopen(session_id, password, timeout_ms, connection, now_ms)
        if reopened is None:
            step.hung_up.append(connection)
        else:
            step.granted = _grant(reopened)
        return step

    def disconnect(self, connection: ConnectionId) -> None:
        """A connection is gone, and its watches with it; its session lives on."""
        self.sessions.detach(connection)
        self.watches.forget(connection)

    def ping(self, connection: ConnectionId, now_ms: int) -> Step:
        return self._heard(connection, now_ms)[1]

    def close_session(self, connection: ConnectionId, now_ms: int) -> Step:
        """End the session of a connection because its client says so."""
        session, step = self._heard(connection, now_ms)
        if session is not None:
            self._end(session.session_id, False, step)
        return step

    def expire(self, session_id: SessionId) -> Step:
        """End a session as if its time were up. Nothing happens if it is gone already.

        Its connection goes first, as it does when somebody takes a real session up only to close it: so its client does not
        hear of the end of its own ephemerals.
        """
        step = Step(self.zxid)
        if session_id in self.sessions:
            connection = self.sessions.connection_of(session_id)
            if connection is not None:
                self.disconnect(connection)
                step.hung_up.append(connection)
            self._end(session_id, True, step)
        return step

    def tick(self, now_ms: int) -> Step:
        """End the sessions whose time is up."""
        step = Step(self.zxid)
        for session_id in self.sessions.due(now_ms):
            self._end(session_id, True, step)
        return step

    def next_deadline_ms(self) -> int | None:
        """Say when `tick` may next have something to do; it may turn out that it has not."""
        return self.sessions.next_deadline_ms()

    def begin_epoch(self, now_ms: int, of_ensemble: bool) -> None:
        """A leader takes over: every session has its whole time again, and, in an ensemble, zxids are numbered afresh."""
        if of_ensemble:
            self.zxid = Zxid(((self.zxid >> 32) + 1) << 32)
        self.sessions.touch_all(now_ms)

    def _heard(self, connection: ConnectionId, now_ms: int) -> tuple[ServerSession | None, Step]:
        """Find the session of a connection and give it its time again; without one, hang up."""
        session = self.sessions.on(connection)
        step = Step(self.zxid)
        if session is None:
            step.hung_up.append(connection)
        else:
            self.sessions.touch(session, now_ms)
        return session, step

    def _end(self, session_id: SessionId, is_expired: bool, step: Step) -> None:
        self.zxid = step.zxid = Zxid(self.zxid + 1)
        connection = self.sessions.connection_of(session_id)
        removed = self.tree.remove_all(self._ephemerals.of(session_id), self.zxid, session_id)
        self._ephemerals.forget(session_id)
        step.facts.append(SessionEnded(session_id, is_expired, removed, self.zxid))
        step.notices.extend(self.watches.fire(removed))
        self.sessions.close(session_id)
        if connection is not None:
            self.watches.forget(connection)
            step.hung_up.append(connection)

    # --- requests

    def request(self, connection: ConnectionId, request: Request, now_ms: int) -> Step:
        """Answer a request. On a connection without a session there is no reply but the hanging up."""
        session, step = self._heard(connection, now_ms)
        if session is None:
            return step
        match request:
            case Create() | Delete() | SetData() | Multi():
                self._write(request, session.session_id, now_ms, step)
            case Exists():
                step.reply = self.tree.exists(request, self.zxid)
                if request.watch and isinstance(step.reply, Found | NoNodeError):
                    self.watches.arm(WatchTable.DATA, request.path, connection)
            case GetData():
                step.reply = self.tree.get_data(request, self.zxid)
                if request.watch and isinstance(step.reply, DataRead):
                    self.watches.arm(WatchTable.DATA, request.path, connection)
            case GetChildren():
                step.reply = self.tree.get_children(request, self.zxid)
                if request.watch and isinstance(step.reply, ChildrenRead):
                    self.watches.arm(WatchTable.CHILD, request.path, connection)
            case MultiRead():
                step.reply = self.tree.multi_read(request, self.zxid)
            case Sync():
                step.reply = Synced(request.path, self.zxid)
        return step

    def _write(self, request: Create | Delete | SetData | Multi, session_id: SessionId, now_ms: int, step: Step) -> None:
        self.zxid = step.zxid = Zxid(self.zxid + 1)
        time_ms = self._epoch_ms + now_ms
        changes: Sequence[ZnodeChange]
        if isinstance(request, Multi):
            step.reply, changes = self.tree.write_all(request.ops, self.zxid, time_ms, session_id)
        else:
            step.reply, changes = self.tree.write(request, self.zxid, time_ms, session_id)
        self._ephemerals.note(changes)
        step.facts.extend(changes)
        step.notices.extend(self.watches.fire(changes))

    def set_watches(
        self,
        connection: ConnectionId,
        seen: Zxid,
        data: Iterable[str],
        exist: Iterable[str],
        child: Iterable[str],
        now_ms: int,
    ) -> Step:
        """Arm a reconnecting client's watches again; those that would have fired since `seen` fire at once.

        Such an event carries zxid 0: the server does not tell which transaction it was.
        """
        session, step = self._heard(connection, now_ms)
        if session is None:
            return step

        def catch_up(table: WatchTable, path: str, missed: WatchKind | None) -> None:
            if missed is None:
                self.watches.arm(table, path, connection)
            else:
                step.notices.append((connection, WatchEvent(missed, path, _UNTOLD)))

        for path in data:
            zxids = self.tree.zxids(path)
            changed = WatchKind.NODE_DATA_CHANGED if zxids and zxids[0] > seen else None
            catch_up(WatchTable.DATA, path, changed if zxids else WatchKind.NODE_DELETED)
        for path in exist:
            catch_up(WatchTable.DATA, path, WatchKind.NODE_CREATED if path in self.tree else None)
        for path in child:
            zxids = self.tree.zxids(path)
            changed = WatchKind.NODE_CHILDREN_CHANGED if zxids and zxids[1] > seen else None
            catch_up(WatchTable.CHILD, path, changed if zxids else WatchKind.NODE_DELETED)
        return step


def _grant(session: ServerSession) -> Granted:
    return Granted(session.session_id, session.password, session.timeout_ms)
