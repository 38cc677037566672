"""The server: takes a request and the time, returns a reply and its effects. Pure: no clock, no tasks, no connections.

Every transaction takes a zxid: each write (refused ones, too), each creation and each end of a session. Reads take none.

Source: ZooKeeper 3.9.5, observed over its wire protocol.
"""

from collections.abc import Iterable, Sequence

import msgspec

from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.memory.acl import Identities
from kcsim.zk.memory.ephemerals import Ephemerals
from kcsim.zk.memory.sessions import ServerSession, ServerSessions
from kcsim.zk.memory.stale_view import ServerView, StaleView
from kcsim.zk.memory.tree import Changes, ZnodeChange, ZnodeTree
from kcsim.zk.memory.watches import ConnectionId, ServerWatches, ServerWatchTable
from kcsim.zk.operations import (
    Acl,
    ChildrenRead,
    Create,
    DataRead,
    DataSet,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    NodeFound,
    ReplyOrError,
    Request,
    SetData,
    Sync,
    Synced,
    WatchEvent,
    WatchKind,
)

EPOCH_MS = 1_600_000_000_000
"""The time at which simulated runs begin, in ms since 1970: a constant, so that Stats are the same in each run."""
NO_SESSION = SessionId(0)
_UNKNOWN_ZXID = Zxid(0)


class SessionOpened(msgspec.Struct, frozen=True):
    session_id: SessionId
    timeout_ms: int
    zxid: Zxid


class SessionEnded(msgspec.Struct, frozen=True):
    """A session was closed or expired. `removed` are the deletions of its ephemeral znodes."""

    session_id: SessionId
    is_expired: bool
    removed: Changes
    zxid: Zxid


ServerFact = ZnodeChange | SessionOpened | SessionEnded
"""One action of the server; a ServerStep has them in their order."""


class SessionGranted(msgspec.Struct, frozen=True):
    """The answer to a client whose connection is accepted."""

    session_id: SessionId
    password: bytes
    timeout_ms: int


class ServerStep(msgspec.Struct):
    """The effects of one input on the server.

    Attributes:
        zxid: of the transaction, or of the last one applied; the header of the reply carries it.
        reply: the reply; None when the answer consists of the zxid only.
        granted: the answer to `connect`; None when the session is refused because it does not exist.
        facts: the server's actions, in their order.
        notices: watch events that are sent before the reply, with their connections.
        hung_up: connections that the server closes after everything else.
    """

    zxid: Zxid
    reply: ReplyOrError | None = None
    granted: SessionGranted | None = None
    facts: list[ServerFact] = msgspec.field(default_factory=list)
    notices: list[tuple[ConnectionId, WatchEvent]] = msgspec.field(default_factory=list)
    hung_up: list[ConnectionId] = msgspec.field(default_factory=list)


class MemoryServer:
    """A ZooKeeper: a tree, sessions, watches and the last zxid.

    Args:
        tick_time_ms, min_session_timeout_ms, max_session_timeout_ms: as in zoo.cfg.
        epoch_ms: added to `now_ms` for the times in a Stat; ms since 1970.
        epoch: the leader's epoch, the upper half of every zxid; 0 for a standalone server.
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
        self.sessions = ServerSessions(tick_time_ms, min_session_timeout_ms, max_session_timeout_ms)
        self.watches = ServerWatches()
        self.zxid = Zxid(epoch << 32)
        self._ephemerals = Ephemerals()
        self._identities: dict[ConnectionId, Identities] = {}
        self._stale: dict[ConnectionId, StaleView] = {}
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
    ) -> ServerStep:
        """Create a session, or reconnect to one by its id and password; refused if that session does not exist."""
        if session_id == NO_SESSION:
            self.zxid = Zxid(self.zxid + 1)
            session = self.sessions.open(timeout_ms, connection, now_ms, member)
            step = ServerStep(self.zxid, granted=_grant(session))
            step.facts.append(SessionOpened(session.session_id, session.timeout_ms, self.zxid))
            return step
        step = ServerStep(self.zxid)
        # A connection attempt with a session's id ends the session's former connection, even if the password is wrong.
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
        """Remove a connection that has ended, with its watches; its session stays alive."""
        self.sessions.detach(connection)
        self.seen_by(connection).watches.forget(connection)
        self._stale.pop(connection, None)
        self._identities.pop(connection, None)

    def ping(self, connection: ConnectionId, now_ms: int) -> ServerStep:
        return self._heard(connection, now_ms)[1]

    def close_session(self, connection: ConnectionId, now_ms: int) -> ServerStep:
        """End the session of a connection at its client's request."""
        session, step = self._heard(connection, now_ms)
        if session is not None:
            self._end(session.session_id, False, step)
        return step

    def expire(self, session_id: SessionId) -> ServerStep:
        """End a session as if its time-out had passed. No effect if the session does not exist.

        Its connection is closed first, as when another client connects to a real session in order to close it: so the
        session's own client does not receive the deletion of its ephemerals.
        """
        step = ServerStep(self.zxid)
        if session_id in self.sessions:
            connection = self.sessions.connection_of(session_id)
            if connection is not None:
                self.disconnect(connection)
                step.hung_up.append(connection)
            self._end(session_id, True, step)
        return step

    def tick(self, now_ms: int) -> ServerStep:
        """End the sessions whose deadline has passed."""
        step = ServerStep(self.zxid)
        for session_id in self.sessions.due(now_ms):
            self._end(session_id, True, step)
        return step

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline, when `tick` may have sessions to end; the deadline may move until then."""
        return self.sessions.next_deadline_ms()

    def begin_epoch(self, now_ms: int, of_ensemble: bool) -> None:
        """Start the term of a new leader: restart all sessions' time-outs and, in an ensemble, begin a new zxid epoch."""
        if of_ensemble:
            self.zxid = Zxid(((self.zxid >> 32) + 1) << 32)
        self.sessions.touch_all(now_ms)

    def _heard(self, connection: ConnectionId, now_ms: int) -> tuple[ServerSession | None, ServerStep]:
        """Find the session of a connection and restart its time-out; without a session, have the connection closed."""
        session = self.sessions.on(connection)
        step = ServerStep(self.seen_by(connection).zxid)
        if session is None:
            step.hung_up.append(connection)
        else:
            self.sessions.touch(session, now_ms)
        return session, step

    def _end(self, session_id: SessionId, is_expired: bool, step: ServerStep) -> None:
        self.zxid = step.zxid = Zxid(self.zxid + 1)
        connection = self.sessions.connection_of(session_id)
        removed = self.tree.remove_all(self._ephemerals.of(session_id), self.zxid, session_id)
        self._ephemerals.forget(session_id)
        step.facts.append(SessionEnded(session_id, is_expired, removed, self.zxid))
        step.notices.extend(self.watches.fire(removed))
        self.sessions.close(session_id)
        if connection is not None:
            self.seen_by(connection).watches.forget(connection)
            step.hung_up.append(connection)

    # --- requests

    def request(self, connection: ConnectionId, request: Request, now_ms: int) -> ServerStep:
        """Answer a request. A connection without a session gets no reply and is closed."""
        session, step = self._heard(connection, now_ms)
        if session is None:
            return step
        seen = self.seen_by(connection)
        match request:
            case Create() | Delete() | SetData() | Multi():
                self._write(request, session.session_id, self._identities.get(connection), now_ms, step)
            case Exists():
                step.reply = seen.tree.exists(request, seen.zxid)
                if request.watch and isinstance(step.reply, NodeFound | NoNodeError):
                    seen.watches.arm(ServerWatchTable.DATA, request.path, connection)
            case GetData():
                step.reply = seen.tree.get_data(request, seen.zxid, self._identities.get(connection))
                if request.watch and isinstance(step.reply, DataRead):
                    seen.watches.arm(ServerWatchTable.DATA, request.path, connection)
            case GetChildren():
                step.reply = seen.tree.get_children(request, seen.zxid, identities=self._identities.get(connection))
                if request.watch and isinstance(step.reply, ChildrenRead):
                    seen.watches.arm(ServerWatchTable.CHILD, request.path, connection)
            case MultiRead():
                step.reply = seen.tree.multi_read(request, seen.zxid, self._identities.get(connection))
            case Sync():
                step.zxid = self.zxid
                step.reply = Synced(request.path, self.zxid)
        return step

    def _write(
        self,
        request: Create | Delete | SetData | Multi,
        session_id: SessionId,
        identities: Identities,
        now_ms: int,
        step: ServerStep,
    ) -> None:
        self.zxid = step.zxid = Zxid(self.zxid + 1)
        time_ms = self._epoch_ms + now_ms
        changes: Sequence[ZnodeChange]
        if isinstance(request, Multi):
            step.reply, changes = self.tree.write_all(request.ops, self.zxid, time_ms, session_id, identities)
        else:
            step.reply, changes = self.tree.write(request, self.zxid, time_ms, session_id, identities)
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
    ) -> ServerStep:
        """Arm a reconnecting client's watches again; those that would have fired since `seen` fire at once.

        Such an event has zxid 0: the server does not send the zxid of the transaction.
        """
        session, step = self._heard(connection, now_ms)
        if session is None:
            return step

        view = self.seen_by(connection)

        def catch_up(table: ServerWatchTable, path: str, missed: WatchKind | None) -> None:
            if missed is None:
                view.watches.arm(table, path, connection)
            else:
                step.notices.append((connection, WatchEvent(missed, path, _UNKNOWN_ZXID)))

        for path in data:
            zxids = view.tree.zxids(path)
            changed = WatchKind.NODE_DATA_CHANGED if zxids and zxids[0] > seen else None
            catch_up(ServerWatchTable.DATA, path, changed if zxids else WatchKind.NODE_DELETED)
        for path in exist:
            catch_up(ServerWatchTable.DATA, path, WatchKind.NODE_CREATED if path in view.tree else None)
        for path in child:
            zxids = view.tree.zxids(path)
            changed = WatchKind.NODE_CHILDREN_CHANGED if zxids and zxids[1] > seen else None
            catch_up(ServerWatchTable.CHILD, path, changed if zxids else WatchKind.NODE_DELETED)
        return step

    # --- members that lag behind

    def seen_by(self, connection: ConnectionId) -> ServerView:
        """Return what a connection reads: a stale view, or the present state."""
        return self._stale.get(connection, self)

    def begin_stale_view(self, connections: Sequence[ConnectionId]) -> StaleView:
        """Let the connections of a member go on reading the present state, whatever is written from now on."""
        view = StaleView(self, connections)
        self._stale.update(dict.fromkeys(connections, view))
        return view

    def show(self, view: StaleView, connection: ConnectionId) -> None:
        """Let a new connection read a stale view, too."""
        self._stale[connection] = view

    def end_stale_view(self, view: StaleView) -> None:
        """Let the connections of a stale view read the present state again; its watches are armed there."""
        self._stale = {connection: other for connection, other in self._stale.items() if other is not view}
        self.watches.add(view.watches)

    # --- what only clients behind a socket ask for

    def identities(self, connection: ConnectionId) -> Identities:
        return self._identities.get(connection)

    def authenticate(self, connection: ConnectionId, identities: Identities) -> None:
        """Set the identities that a connection acts under. Without this call, its requests are not checked."""
        self._identities[connection] = identities

    def set_acl(self, connection: ConnectionId, path: str, acl: Sequence[Acl], aversion: int, now_ms: int) -> ServerStep:
        """Replace a znode's ACL, as a transaction. The reply is DataSet with the new Stat."""
        session, step = self._heard(connection, now_ms)
        if session is not None:
            self.zxid = step.zxid = Zxid(self.zxid + 1)
            try:
                stat = self.tree.set_acl(path, acl, aversion, self._identities.get(connection))
                step.reply = DataSet(path, stat, self.zxid)
            except ZooKeeperError as error:
                step.reply = error.with_traceback(None)
        return step

    def ephemerals_of(self, connection: ConnectionId, prefix: str) -> list[str]:
        """Return the ephemeral znodes of a connection's session whose paths begin with a prefix."""
        session = self.sessions.on(connection)
        owned = self._ephemerals.of(session.session_id) if session else ()
        return [path for path in owned if path.startswith(prefix)]

    def ephemerals(self) -> list[tuple[SessionId, tuple[str, ...]]]:
        """Return the sessions that own ephemeral znodes, each with its paths."""
        return self._ephemerals.all()

    def delete_unused(self, now_ms: int) -> list[tuple[Delete, ServerStep]]:
        """Delete empty containers and znodes whose time to live is over; return these requests and their steps."""
        steps = []
        for path in self.tree.unused(self._epoch_ms + now_ms):
            step = ServerStep(self.zxid)
            request = Delete(path)
            self._write(request, NO_SESSION, None, now_ms, step)
            steps.append((request, step))
        return steps


def _grant(session: ServerSession) -> SessionGranted:
    return SessionGranted(session.session_id, session.password, session.timeout_ms)
