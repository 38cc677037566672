"""A live run's znode changes where ZooKeeper's transaction log cannot be read: an external ZooKeeper.

The writes of the simulator's own clients are known from the replies, with their causes. Other changes (an ephemeral znode
that is deleted with its session, an operator's change) are reported by the clients' watches, or found by reading the znodes
that elections use, from time to time, and the other known ones in turn (`look`). An operator's change has no cause, and of
several changes between two reads only the last is seen.

No server reports the end of another client's session. The end is inferred when an ephemeral znode of the session disappears
that no own client deleted, if a fault was injected into the session or its owner closed it, or if it was the session's last
ephemeral znode. An operator who deletes a broker's registration by hand, with another client, causes the same inference.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId
from kcsim.zk.capture.cause_ledger import CauseLedger
from kcsim.zk.capture.transaction_events import ZOOKEEPER, session_closed, session_created, znode_deleted, znode_written
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiDone,
    NodeFound,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
    Sync,
    WatchEvent,
    WatchKind,
    WriteOp,
)
from kcsim.zk.ports import FaultableSession, Session, ZooKeeper
from kcsim.zk.wrapped_session import WrappedSession
from kcsim.znodes import paths

KNOWN_AT_ONCE = 10
"""How many known znodes a look reads, in turn: a large cluster has many, and its ZooKeeper has other clients to serve."""


class ZnodeVersion(NamedTuple):
    """A version of one znode. Versions are ordered by zxid, then version: one transaction may create and set a znode."""

    zxid: int
    version: int


NEVER = ZnodeVersion(-1, -1)


class ClientChangeCapture:
    """Appends to the event log what replies, watches and reads show.

    Attributes:
        ledger: the causes of our own sessions' ends. Replies come with the causes of their requests.
    """

    def __init__(self, log: EventLog) -> None:
        self.ledger = CauseLedger(keeps_writes=False)
        self._log = log
        self._changed: dict[str, ZnodeVersion] = {}  # the last change known, for each znode that exists
        self._last_gone: dict[str, ZnodeVersion] = {}  # the change at which a znode was known to be absent
        self._owner_of: dict[str, SessionId] = {}  # of each ephemeral znode that exists
        self._under_way: dict[str, list[tuple[WriteOp, Cause]]] = {}  # path -> own writes that are not answered yet
        self._left_alone: list[str] = []  # paths that the last look skipped, because an own write was in flight
        self._in_turn: deque[str] = deque()  # known paths that are read before any is read again
        self._created: dict[str, int] = {}  # the zxid with which each known znode was created
        self._watched: dict[tuple[SessionId, str], int] = {}  # the zxid with which the znode was created that is watched
        self._ended: dict[SessionId, int] = {}  # ended session -> seq of its SessionClosed

    # --- the simulator's own clients

    def opened(self, session_id: SessionId, timeout_ms: int, cause: Cause) -> None:
        """Log that one of the simulator's clients has opened a session."""
        self._log.append(ZOOKEEPER, EventKind.SESSION_CREATED, cause, session_created(session_id, timeout_ms))

    def noticed(self, session_id: SessionId, notice: Notice) -> None:
        """Take a notice that is about to be delivered to one of the simulator's clients."""
        if self._log.events[-1:] and self._log.events[-1].kind is EventKind.RUN_ENDED:
            return  # the clean-up after the end is not part of the run
        match notice:
            case SessionStateChanged(SessionState.CONNECTED):
                self.ledger.take_fault(session_id)  # the session has survived the fault
            case WatchEvent(WatchKind.NODE_DELETED, path, zxid) if not self._is_of_an_earlier_znode(session_id, path, zxid):
                deleting = [cause for op, cause in self._under_way.get(path, ()) if isinstance(op, Delete)]
                if deleting:
                    self._gone(path, zxid or None, deleting[0])
                else:
                    self._vanished([path])
            case _:
                pass

    def _is_of_an_earlier_znode(self, session_id: SessionId, path: str, zxid: int) -> bool:
        """Return whether a deletion was reported that came before the creation of the known znode.

        Another client's reply may be read before a watch that fired earlier: each has a connection of its own. A watch of
        ZooKeeper before 3.9 has no zxid: what was deleted is the znode that the session had read.
        """
        if zxid > 0:
            return zxid <= self._zxid_of(path, zxid)
        watched = self._watched.get((session_id, path))
        return watched is not None and watched < self._created.get(path, watched)

    def sent(self, requests: Iterable[Request], cause: Cause) -> None:
        """Record that one of the simulator's clients is about to send these requests."""
        for op in _writes_of(requests):
            self._under_way.setdefault(op.path, []).append((op, cause))

    def answered(self, requests: Iterable[Request], cause: Cause) -> None:
        """Record that these requests, recorded by `sent`, are not in flight any more."""
        for op in _writes_of(requests):
            self._under_way[op.path].remove((op, cause))
            if not self._under_way[op.path]:
                del self._under_way[op.path]

    def heard(self, session_id: SessionId, request: Request, reply: ReplyOrError, cause: Cause) -> None:
        """Log the changes in a reply to one of the simulator's clients."""
        match request, reply:
            case Multi(ops), MultiDone(results, None):
                for op, result in zip(ops, results, strict=True):
                    self._applied(session_id, op, result, cause)
            case (Create() | Delete() | SetData()) as op, _:
                self._applied(session_id, op, reply, cause)
            case ((GetData(path, watch=True) | Exists(path, watch=True)), (DataRead(stat=stat) | NodeFound(stat=stat))):
                self._watched[session_id, path] = stat.czxid
            case _:
                pass

    def _applied(self, session_id: SessionId, op: WriteOp, reply: object, cause: Cause) -> None:
        match op, reply:
            case Create(_, data, ephemeral), Created(path, _, zxid):
                if self._zxid_of(path, zxid) < zxid:
                    self._vanished([path])  # the znode must have been deleted, or it could not have been created
                self._set(path, data, ZnodeVersion(zxid, 0), zxid, cause, session_id if ephemeral else None)
            case SetData(path, data), DataSet(_, stat, zxid):
                owner = SessionId(stat.ephemeral_owner) or None
                self._set(path, data, ZnodeVersion(zxid, stat.version), stat.czxid, cause, owner)
            case Delete(path), Deleted(_, zxid):
                self._gone(path, zxid, cause)
            case _:
                pass

    # --- reads of ZooKeeper

    async def look(self, session: Session) -> None:
        """Read the znodes that elections use and some of the known znodes, and append the changes not reported otherwise.

        Of the registrations, those that are new or gone are read at once.
        """
        (listing,) = await session.call([GetChildren(paths.BROKER_IDS)])
        ids = listing.children if isinstance(listing, ChildrenRead) else ()
        listed = {paths.child(paths.BROKER_IDS, name) for name in ids}
        registered = {path for path in self._owner_of if path.startswith(f"{paths.BROKER_IDS}/")}
        due = [
            paths.CONTROLLER,
            paths.CONTROLLER_EPOCH,
            *sorted(listed ^ registered),
            *self._left_alone,
            *self._next_known(),
        ]
        places = list(dict.fromkeys(due))
        known = {path: self._changed[path] for path in places if path in self._changed}
        # A member of an ensemble may not have applied yet what another member has answered to one of our clients.
        _, *found = await session.call([Sync(), *(GetData(path) for path in places)])
        replies = dict(zip(places, found, strict=True))
        # Where an own write is in flight, its reply will give the change with its cause: wait for the reply, but only until
        # the next look, because a frozen client reads no reply.
        self._left_alone = [path for path in places if path in self._under_way and path not in self._left_alone]
        gone = []
        for path, reply in replies.items():
            if path in self._left_alone:
                continue
            if isinstance(reply, DataRead):
                owner = SessionId(reply.stat.ephemeral_owner) or None
                change = ZnodeVersion(reply.stat.mzxid, reply.stat.version)
                is_newer = change > self._changed.get(path, NEVER)  # else a client has reported on it during this read
                if is_newer and self._owner_of.get(path, owner) != owner:
                    self._vanished([path])
                self._set(path, reply.data, change, reply.stat.czxid, None, owner)
            elif isinstance(reply, NoNodeError) and path in known and self._changed.get(path) == known[path]:
                gone.append(path)  # a path that a client reported on during this read is skipped: the read may be older
        self._vanished(gone)

    def _next_known(self) -> list[str]:
        """Return the known paths whose turn it is."""
        if not self._in_turn:
            self._in_turn.extend(self._changed)
        return [self._in_turn.popleft() for _ in range(min(KNOWN_AT_ONCE, len(self._in_turn)))]

    # --- what is known of znodes and sessions

    def _zxid_of(self, path: str, otherwise: int) -> int:
        return self._changed[path].zxid if path in self._changed else otherwise

    def _set(
        self, path: str, data: bytes | None, change: ZnodeVersion, created: int, cause: Cause, owner: SessionId | None
    ) -> None:
        if change <= self._changed.get(path, self._last_gone.get(path, NEVER)):
            return  # known already, or older than the known version
        if owner is not None:
            self._owner_of[path] = owner
        fields = znode_written(path, data, change.version, change.zxid, session_id=owner, is_ephemeral=owner is not None)
        kind = EventKind.ZNODE_CHANGED if path in self._changed else EventKind.ZNODE_CREATED
        self._changed[path] = change
        self._created[path] = created
        self._log.append(ZOOKEEPER, kind, cause, fields)

    def _vanished(self, gone: Iterable[str]) -> None:
        """Log the deletion of znodes that no own client deleted: an operator did, or their session has ended.

        A session's ephemeral znodes are deleted in one transaction: with one of them the others are gone as well.
        """
        owners = {path: self._owner_of.get(path) for path in gone}
        for owner in dict.fromkeys(owner for owner in owners.values() if owner is not None):
            left = [path for path, other in self._owner_of.items() if other == owner and path not in owners]
            if owner not in self._ended and (not left or self.ledger.is_end_explained(owner)):
                self._end(owner)
                owners |= dict.fromkeys(left, owner)
        for path, whose in owners.items():
            self._gone(path, None, None if whose is None else self._ended.get(whose))

    def _end(self, session_id: SessionId) -> None:
        is_closed_by_owner, cause = self.ledger.take_end(session_id)
        fields = session_closed(session_id, is_expired=not is_closed_by_owner)
        fields["detail"] = "its ephemeral znodes are gone"
        self._ended[session_id] = self._log.append(ZOOKEEPER, EventKind.SESSION_CLOSED, cause, fields)

    def _gone(self, path: str, zxid: int | None, cause: Cause) -> None:
        if path not in self._changed:
            return
        last = self._changed.pop(path)
        self._created.pop(path, None)
        self._last_gone[path] = last if zxid is None else ZnodeVersion(zxid, NEVER.version)
        owner = self._owner_of.pop(path, None)
        ended = owner if owner is not None and self._ended.get(owner) == cause else None
        self._log.append(ZOOKEEPER, EventKind.ZNODE_DELETED, cause, znode_deleted(path, zxid, session_id=ended))


def _writes_of(requests: Iterable[Request]) -> list[WriteOp]:
    ops = [op for request in requests for op in (request.ops if isinstance(request, Multi) else [request])]
    return [op for op in ops if isinstance(op, Create | Delete | SetData)]


class ReportingZooKeeper:
    """The ZooKeeper port, forwarded to `inner`, with every reply and notice passed to a ClientChangeCapture."""

    def __init__(self, inner: ZooKeeper, feed: ClientChangeCapture) -> None:
        self._inner = inner
        self._feed = feed

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        def on_notice(notice: Notice) -> None:
            self._feed.noticed(session.session_id, notice)
            listener(notice)

        session = await self._inner.open_session(timeout_ms, on_notice, connect_timeout_ms, cause)
        self._feed.opened(session.session_id, session.timeout_ms, cause)
        return _ReportingSession(session, self._feed)


class _ReportingSession(WrappedSession):
    def __init__(self, inner: FaultableSession, feed: ClientChangeCapture) -> None:
        super().__init__(inner)
        self._feed = feed

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        self._feed.sent(requests, cause)
        try:
            replies = await self.inner.call(requests, cause)
            for request, reply in zip(requests, replies, strict=True):
                if not isinstance(reply, ZooKeeperError):
                    self._feed.heard(self.session_id, request, reply, cause)
        finally:
            self._feed.answered(requests, cause)
        return replies
