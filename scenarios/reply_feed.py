"""A live run's znode changes where ZooKeeper's transaction log cannot be read: a ZooKeeper that is not ours.

What our own clients write is known from the replies, with its cause. What nobody of ours wrote (an ephemeral znode that went
with its session, an operator's change) is found by looking at the places that an election is about, now and then; it has no
cause, and of several changes between two looks only the last is seen.
"""

from collections.abc import Callable

from kcsim.scenarios.history import EventLog
from kcsim.scenarios.wrapped_session import WrappedSession
from kcsim.zk import paths
from kcsim.zk.errors import NoNodeError, ZooKeeperError
from kcsim.zk.events import EventFields, EventKind, data_text
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
    SetData,
    WriteOp,
)
from kcsim.zk.ports import Cause, FaultableSession, Session, ZooKeeper
from kcsim.zk.vocabulary import SessionId

ZOOKEEPER = "zookeeper"


class ReplyFeed:
    """Appends to the event log what replies and looks at ZooKeeper say."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._zxid_of: dict[str, int] = {}  # of the last change known, for each znode that exists
        self._last_gone: dict[str, int] = {}  # zxid at which a znode was known to be absent

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
                self._set(path, data, zxid, 0, cause, session_id, ephemeral)
            case SetData(path, data), DataSet(_, stat, zxid):
                self._set(path, data, zxid, stat.version, cause, session_id, stat.ephemeral_owner != 0)
            case Delete(path), Deleted(_, zxid):
                self._gone(path, zxid, cause)
            case _:
                pass

    async def look(self, session: Session) -> None:
        """Read the places that an election is about, and append what nobody told us."""
        (listing,) = await session.call([GetChildren(paths.BROKER_IDS)])
        ids = listing.children if isinstance(listing, ChildrenRead) else ()
        places = [paths.CONTROLLER, paths.CONTROLLER_EPOCH, *(paths.child(paths.BROKER_IDS, name) for name in ids)]
        places += [path for path in self._zxid_of if path not in places]
        known = dict(self._zxid_of)
        for path, reply in zip(places, await session.call([GetData(path) for path in places]), strict=True):
            if isinstance(reply, DataRead):
                owner = SessionId(reply.stat.ephemeral_owner)
                self._set(path, reply.data, reply.stat.mzxid, reply.stat.version, None, owner, owner != 0)
            elif isinstance(reply, NoNodeError) and path in known and self._zxid_of.get(path) == known[path]:
                self._gone(path, None, None)  # unless one of ours was heard of it while we looked: the look may be older

    def _set(
        self, path: str, data: bytes | None, zxid: int, version: int, cause: Cause, owner: SessionId, is_ephemeral: bool
    ) -> None:
        known = self._zxid_of.get(path, self._last_gone.get(path, -1))
        if zxid < known or (zxid == known and cause is None):
            return  # heard of already, or overtaken
        fields = EventFields(path=path, zxid=zxid, zk_version=version)
        if (text := data_text(data)) is not None:
            fields["data"] = text
        if is_ephemeral:
            fields["ephemeral"] = True
            fields["session_id"] = f"0x{owner & (2**64 - 1):016x}"
        kind = EventKind.ZNODE_CHANGED if path in self._zxid_of else EventKind.ZNODE_CREATED
        self._zxid_of[path] = zxid
        self._log.append(ZOOKEEPER, kind, cause, fields)

    def _gone(self, path: str, zxid: int | None, cause: Cause) -> None:
        if path not in self._zxid_of:
            return
        last = self._zxid_of.pop(path)
        self._last_gone[path] = last if zxid is None else zxid
        fields = EventFields(path=path)
        if zxid is not None:
            fields["zxid"] = zxid
        self._log.append(ZOOKEEPER, EventKind.ZNODE_DELETED, cause, fields)


class ReportingZooKeeper:
    """The ZooKeeper port, passed through, with every reply told to a ReplyFeed."""

    def __init__(self, inner: ZooKeeper, feed: ReplyFeed) -> None:
        self._inner = inner
        self._feed = feed

    async def open_session(
        self, timeout_ms: int, listener: Callable[[Notice], None], connect_timeout_ms: int, cause: Cause = None
    ) -> FaultableSession:
        return _ReportingSession(await self._inner.open_session(timeout_ms, listener, connect_timeout_ms, cause), self._feed)


class _ReportingSession(WrappedSession):
    def __init__(self, inner: FaultableSession, feed: ReplyFeed) -> None:
        super().__init__(inner)
        self._feed = feed

    async def call(self, requests: list[Request], cause: Cause = None) -> list[ReplyOrError]:
        replies = await self.inner.call(requests, cause)
        for request, reply in zip(requests, replies, strict=True):
            if not isinstance(reply, ZooKeeperError):
                self._feed.heard(self.session_id, request, reply, cause)
        return replies
