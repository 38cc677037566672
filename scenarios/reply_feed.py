"""A live run's znode changes where ZooKeeper's transaction log cannot be read: a ZooKeeper that is not ours.

What our own clients write is known from the replies, with its cause. What nobody of ours wrote (an ephemeral znode that went
with its session, an operator's change) is told by a watch of theirs, or found by looking at the places that an election is
about, now and then; an operator's change has no cause, and of several between two looks only the last is seen.

That a session has ended, no server tells an outsider. It is concluded when an ephemeral znode of it goes that nobody of
ours deleted, if a fault was done to the session before, or if it was the last one. An operator who deletes a broker's
registration by hand, from elsewhere, is mistaken for that.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kcsim.scenarios.history import EventLog
from kcsim.scenarios.wrapped_session import WrappedSession
from kcsim.zk import paths
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.events import EventFields, EventKind, data_text, hexadecimal
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    GetChildren,
    GetData,
    Multi,
    MultiDone,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
    WatchEvent,
    WatchKind,
    WriteOp,
)
from kcsim.zk.ports import Cause, FaultableSession, Session, ZooKeeper
from kcsim.zk.vocabulary import SessionId

ZOOKEEPER = "zookeeper"


class Change(NamedTuple):
    """A state of one znode. They are ordered: within one transaction it may be created and set."""

    zxid: int
    version: int


NEVER = Change(-1, -1)


class ReplyFeed:
    """Appends to the event log what replies, watches and looks at ZooKeeper say; also the ledger of why sessions end."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._changed: dict[str, Change] = {}  # the last change known, for each znode that exists
        self._last_gone: dict[str, Change] = {}  # the change at which a znode was known to be absent
        self._owner_of: dict[str, SessionId] = {}  # of each ephemeral znode that exists
        self._under_way: dict[str, list[tuple[WriteOp, Cause]]] = {}  # path -> writes of ours not answered yet
        self._left_alone: set[str] = set()  # by the last look, because a write of ours was under way
        self._fault_causes: dict[SessionId, int] = {}
        self._close_causes: dict[SessionId, Cause] = {}
        self._ended: dict[SessionId, int] = {}  # seq of the event that says so

    # --- the ledger; each call is one step on one dictionary, so the clients' threads may make it

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        """Nothing to remember: the reply comes with the write."""

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        """Nothing to remember: who opened it tells."""

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        self._fault_causes[session_id] = cause

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        self._close_causes[session_id] = cause

    # --- our own clients

    def opened(self, session_id: SessionId, timeout_ms: int, cause: Cause) -> None:
        """One of our clients has opened a session."""
        fields = EventFields(session_id=hexadecimal(session_id), duration_ms=timeout_ms)
        self._log.append(ZOOKEEPER, EventKind.SESSION_CREATED, cause, fields)

    def noticed(self, session_id: SessionId, notice: Notice) -> None:
        """One of our clients is about to be told something."""
        if self._log.events[-1:] and self._log.events[-1].kind is EventKind.RUN_ENDED:
            return  # what is cleaned up afterwards is no part of the run
        match notice:
            case SessionStateChanged(SessionState.CONNECTED):
                self._fault_causes.pop(session_id, None)  # it has come through
            case WatchEvent(WatchKind.NODE_DELETED, path, zxid) if not 0 < zxid <= self._zxid_of(path, zxid):
                deleting = [cause for op, cause in self._under_way.get(path, ()) if isinstance(op, Delete)]
                if deleting:
                    self._gone(path, zxid or None, deleting[0])
                else:
                    self._vanished([path])
            case _:
                pass

    def sent(self, requests: Iterable[Request], cause: Cause) -> None:
        """One of our clients begins these requests."""
        for op in _writes_of(requests):
            self._under_way.setdefault(op.path, []).append((op, cause))

    def answered(self, requests: Iterable[Request], cause: Cause) -> None:
        """These requests, sent before, are under way no more."""
        for op in _writes_of(requests):
            self._under_way[op.path].remove((op, cause))
            if not self._under_way[op.path]:
                del self._under_way[op.path]

    def heard(self, session_id: SessionId, request: Request, reply: ReplyOrError, cause: Cause) -> None:
        """A reply came to one of our clients."""
        match request, reply:
            case Multi(ops), MultiDone(results, None):
                for op, result in zip(ops, results, strict=True):
                    self._applied(session_id, op, result, cause)
            case (Create() | Delete() | SetData()) as op, _:
                self._applied(session_id, op, reply, cause)
            case _:
                pass

    def _applied(self, session_id: SessionId, op: WriteOp, reply: object, cause: Cause) -> None:
        match op, reply:
            case Create(_, data, ephemeral), Created(path, _, zxid):
                if self._zxid_of(path, zxid) < zxid:
                    self._vanished([path])  # or it could not have been created
                self._set(path, data, zxid, 0, cause, session_id if ephemeral else None)
            case SetData(path, data), DataSet(_, stat, zxid):
                self._set(path, data, zxid, stat.version, cause, SessionId(stat.ephemeral_owner) or None)
            case Delete(path), Deleted(_, zxid):
                self._gone(path, zxid, cause)
            case _:
                pass

    # --- looks

    async def look(self, session: Session) -> None:
        """Read the places that an election is about, and append what nobody told us."""
        (listing,) = await session.call([GetChildren(paths.BROKER_IDS)])
        ids = listing.children if isinstance(listing, ChildrenRead) else ()
        places = [paths.CONTROLLER, paths.CONTROLLER_EPOCH, *(paths.child(paths.BROKER_IDS, name) for name in ids)]
        places += [path for path in self._changed if path not in places]
        known = dict(self._changed)
        replies = dict(zip(places, await session.call([GetData(path) for path in places]), strict=True))
        # The reply to a write of ours knows its cause. It is waited for, but not for longer than until the next look: a
        # frozen client takes in no reply.
        self._left_alone = {path for path in places if path in self._under_way} - self._left_alone
        gone = []
        for path, reply in replies.items():
            if path in self._left_alone:
                continue
            if isinstance(reply, DataRead):
                owner = SessionId(reply.stat.ephemeral_owner) or None
                if self._owner_of.get(path, owner) != owner:
                    self._vanished([path])
                self._set(path, reply.data, reply.stat.mzxid, reply.stat.version, None, owner)
            elif isinstance(reply, NoNodeError) and path in known and self._changed.get(path) == known[path]:
                gone.append(path)  # unless one of ours was heard of it while we looked: the look may be older
        self._vanished(gone)

    # --- what is known of znodes and sessions

    def _zxid_of(self, path: str, otherwise: int) -> int:
        return self._changed[path].zxid if path in self._changed else otherwise

    def _set(self, path: str, data: bytes | None, zxid: int, version: int, cause: Cause, owner: SessionId | None) -> None:
        change = Change(zxid, version)
        if change <= self._changed.get(path, self._last_gone.get(path, NEVER)):
            return  # heard of already, or overtaken
        fields = EventFields(path=path, zxid=zxid, zk_version=version)
        if (text := data_text(data)) is not None:
            fields["data"] = text
        if owner is not None:
            self._owner_of[path] = owner
            fields["ephemeral"] = True
            fields["session_id"] = hexadecimal(owner)
        kind = EventKind.ZNODE_CHANGED if path in self._changed else EventKind.ZNODE_CREATED
        self._changed[path] = change
        self._log.append(ZOOKEEPER, kind, cause, fields)

    def _vanished(self, gone: Iterable[str]) -> None:
        """These znodes are gone, and nobody of ours deleted them: an operator did, or their session has ended."""
        owners = {path: self._owner_of.get(path) for path in gone}
        for owner in dict.fromkeys(owner for owner in owners.values() if owner is not None):
            left = [path for path, other in self._owner_of.items() if other == owner and path not in owners]
            if owner not in self._ended and (not left or owner in self._fault_causes or owner in self._close_causes):
                self._end(owner)
        for path, whose in owners.items():
            self._gone(path, None, None if whose is None else self._ended.get(whose))

    def _end(self, session_id: SessionId) -> None:
        fields = EventFields(session_id=hexadecimal(session_id), detail="its ephemeral znodes are gone")
        is_closed_by_owner = session_id in self._close_causes
        cause = self._close_causes[session_id] if is_closed_by_owner else self._fault_causes.get(session_id)
        if not is_closed_by_owner:
            fields["error"] = "SESSIONEXPIRED"
        self._ended[session_id] = self._log.append(ZOOKEEPER, EventKind.SESSION_CLOSED, cause, fields)

    def _gone(self, path: str, zxid: int | None, cause: Cause) -> None:
        if path not in self._changed:
            return
        last = self._changed.pop(path)
        self._last_gone[path] = last if zxid is None else Change(zxid, NEVER.version)
        fields = EventFields(path=path)
        if zxid is not None:
            fields["zxid"] = zxid
        if (owner := self._owner_of.pop(path, None)) is not None and self._ended.get(owner) == cause:
            fields["session_id"] = hexadecimal(owner)
        self._log.append(ZOOKEEPER, EventKind.ZNODE_DELETED, cause, fields)


def _writes_of(requests: Iterable[Request]) -> list[WriteOp]:
    ops = [op for request in requests for op in (request.ops if isinstance(request, Multi) else [request])]
    return [op for op in ops if isinstance(op, Create | Delete | SetData)]


class ReportingZooKeeper:
    """The ZooKeeper port, passed through, with every reply and notice told to a ReplyFeed."""

    def __init__(self, inner: ZooKeeper, feed: ReplyFeed) -> None:
        self._inner = inner
        self._feed = feed

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        def tell(notice: Notice) -> None:
            self._feed.noticed(session.session_id, notice)
            listener(notice)

        session = await self._inner.open_session(timeout_ms, tell, connect_timeout_ms, cause)
        self._feed.opened(session.session_id, session.timeout_ms, cause)
        return _ReportingSession(session, self._feed)


class _ReportingSession(WrappedSession):
    def __init__(self, inner: FaultableSession, feed: ReplyFeed) -> None:
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
