"""Follows the znodes of a ZooKeeper that other processes use, by watches, and returns their changes as transactions.

It only reads. Each znode is read once and watched; after each watch event the znode is read and watched again. A watch does
not tell everything that a transaction log has:
- of several changes of one znode between a watch event and the next read, only the last is seen;
- the session of a writer is known only if it owns an ephemeral znode of the same transaction: otherwise it is NO_OWNER;
- sessions are known by their ephemeral znodes only, without their time-outs. A session counts as ended when its last
  ephemeral znode is gone; whether it was closed or has expired is not known;
- checks and refused writes are not seen.

If the observer's own session ends, because ZooKeeper was away for longer than its time-out, the next session compares all
znodes with what was known.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.capture.zookeeper_trace import parsed
from kcsim.zk.errors import (
    ConnectionLossError,
    NoAuthError,
    NoNodeError,
    SessionExpiredError,
    ZooKeeperError,
    ZooKeeperUnavailableError,
)
from kcsim.zk.files.past_tree import NO_OWNER, NONE, PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.files.transactions import CloseSessionTxn, CreateTxn, DeleteTxn, SetDataTxn, Transaction, Txn
from kcsim.zk.operations import (
    ChildrenRead,
    DataRead,
    GetChildren,
    GetData,
    Notice,
    ReplyOrError,
    SessionState,
    SessionStateChanged,
    Stat,
    WatchEvent,
    WatchKind,
)
from kcsim.zk.ports import Session, ZooKeeper
from kcsim.znodes import paths
from kcsim.znodes.paths import PathKind

SESSION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 10_000
BATCH = 500
"""Znodes read with one call: the server's other clients are served in between."""

LEFT_OUT = (paths.CONSUMERS, f"{paths.CONFIG}/users", paths.DELEGATION_TOKEN)
"""Not read: the znodes of consumers older than Kafka 0.9, and those with credentials."""
TOP_LEVEL = frozenset(paths.lineage(kind.value)[0] for kind in PathKind if kind is not PathKind.ROOT)
"""What is read below the root: other applications' znodes may be there as well."""

LEAVES = frozenset({PathKind.BROKER_ID, PathKind.CONTROLLER, PathKind.CONTROLLER_EPOCH, PathKind.TOPIC_PARTITION_STATE})
"""Kinds of znode without children."""
CONTAINERS = frozenset({PathKind.TOPIC_PARTITIONS, PathKind.TOPIC_PARTITION})
"""Kinds of znode without data, of which there is one for each topic or partition."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A znode as it was read last. Attributes: data: None for one of CONTAINERS."""

    stat: Stat
    data: bytes | None


@dataclass(frozen=True, slots=True)
class _Operation:
    """One operation that must have happened between two reads of a znode.

    Attributes:
        owner: the ephemeral owner of the znode.
    """

    zxid: Zxid
    op: Txn
    owner: SessionId


@dataclass
class _Changes:
    """What one round of reads has found."""

    operations: list[_Operation] = field(default_factory=list)
    last_child_change: dict[str, Zxid] = field(default_factory=dict)  # path of a znode that was read -> its pzxid
    gone: list[tuple[str, _Seen]] = field(default_factory=list)


class ZnodeObserver:
    """The znodes of one cluster, known by watches.

    Args:
        zookeeper: with the cluster's chroot; paths are relative to it.
        wall_ms: the clock, in ms since 1970.

    Attributes:
        unreadable: the znodes that this client is not allowed to read.
    """

    def __init__(self, runtime: Runtime, zookeeper: ZooKeeper, wall_ms: Callable[[], int]) -> None:
        self._zookeeper = zookeeper
        self._wall_ms = wall_ms
        self._session: Session | None = None
        self._notices = runtime.mailbox()
        self._known: dict[str, _Seen] = {}
        self._ephemerals: dict[SessionId, set[str]] = {}
        self._deleted: dict[str, Zxid] = {}  # path -> zxid of its deletion, where the watch event says it
        self._due: dict[str, None] = {}  # paths to read
        self._newest = NONE
        self.unreadable: set[str] = set()

    @property
    def is_connected(self) -> bool:
        """Whether ZooKeeper answers, as far as it is known: changes are seen only then."""
        return self._session is not None and self._session.state is SessionState.CONNECTED

    async def start(self) -> PastTree:
        """Read all znodes and watch them. Returns: the tree. Raises: ZooKeeperUnavailableError, ZooKeeperError."""
        await self._open()
        await self._read_due()
        return PastTree((_stored(path, seen) for path, seen in self._known.items()), self._newest)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def next_changes(self, timeout_ms: int) -> list[Transaction]:
        """Wait until znodes have changed, or ZooKeeper has been lost or found again, but no longer than `timeout_ms`.

        Returns: the changes as transactions, in the order of their zxids; times are those of the observer's clock.

        Raises: ZooKeeperError, if a read fails otherwise than by a lost connection.
        """
        if not (self._due and self.is_connected):
            with suppress(TimedOutError):
                self._take(await self._notices.get(timeout_ms))
        if self._session is None:
            with suppress(ZooKeeperUnavailableError):
                await self._open()
        return self._transactions(await self._read_due()) if self.is_connected else []

    # --- the session

    async def _open(self) -> None:
        self._session = await self._zookeeper.open_session(SESSION_TIMEOUT_MS, self._notices.put, CONNECT_TIMEOUT_MS)
        self._due.update(dict.fromkeys(("/", *self._known)))

    def _take(self, notice: Notice) -> None:
        match notice:
            case WatchEvent(kind, path, zxid):
                self._due[path] = None
                if kind is WatchKind.NODE_DELETED and zxid:
                    self._deleted[path] = zxid
            case SessionStateChanged(SessionState.EXPIRED | SessionState.CLOSED):
                self._session = None
            case _:
                pass  # a suspended session's watches are armed again when it is connected

    # --- reading

    async def _read_due(self) -> _Changes:
        """Read all znodes that are due, until no watch has fired meanwhile; what could not be read remains due."""
        changes = _Changes()
        while self._due and self._session is not None:
            batch = list(self._due)[:BATCH]
            requests = {path: _requests(path) for path in batch}
            replies = iter(await self._session.call([request for of in requests.values() for request in of]))
            for path, of in requests.items():
                answers = [next(replies) for _ in of]
                if any(isinstance(one, ConnectionLossError | SessionExpiredError) for one in answers):
                    self._take_notices()
                    return changes
                del self._due[path]
                self._compare(path, answers, changes)
            self._take_notices()
        return changes

    def _take_notices(self) -> None:
        for notice in self._notices.drain():
            self._take(notice)

    def _compare(self, path: str, answers: Sequence[ReplyOrError], changes: _Changes) -> None:
        """Compare a znode with what was known of it, and add its new children to what is due."""
        before = self._known.get(path)
        found: dict[type, ReplyOrError] = {type(answer): answer for answer in answers}
        if NoNodeError in found:
            if before is not None:
                self._set_known(path, None)
                changes.gone.append((path, before))
            return
        data, children = found.get(DataRead), found.get(ChildrenRead)
        for error in answers:
            if isinstance(error, NoAuthError):
                self.unreadable.add(path)
            elif isinstance(error, ZooKeeperError):
                raise error
        if isinstance(children, ChildrenRead):
            below = (paths.child(path, name) for name in children.children)
            self._due.update((one, None) for one in below if one not in self._known and _is_read(one))
            if children.stat is not None:
                changes.last_child_change[path] = children.stat.pzxid
        stat = data.stat if isinstance(data, DataRead) else children.stat if isinstance(children, ChildrenRead) else None
        if stat is not None:
            now = _Seen(stat, data.data if isinstance(data, DataRead) else None)
            self._set_known(path, now)
            self._newest = max(self._newest, stat.mzxid, stat.czxid)
            changes.operations += self._between(path, before, now)

    def _set_known(self, path: str, now: _Seen | None) -> None:
        before = self._known.pop(path, None)
        if before is not None and before.stat.ephemeral_owner != NO_OWNER:
            self._ephemerals[before.stat.ephemeral_owner].discard(path)
        if now is not None:
            self._known[path] = now
            if now.stat.ephemeral_owner != NO_OWNER:
                self._ephemerals.setdefault(now.stat.ephemeral_owner, set()).add(path)

    def _between(self, path: str, before: _Seen | None, now: _Seen) -> Iterator[_Operation]:
        """Yield what must have happened to a znode that exists, since it was read before."""
        stat, owner = now.stat, now.stat.ephemeral_owner
        if before is None or before.stat.czxid != stat.czxid:
            if before is not None:
                deleted = min(self._deleted.pop(path, stat.czxid), stat.czxid)
                yield _Operation(deleted, DeleteTxn(path), before.stat.ephemeral_owner)
            # The data with which the znode was created are not known if it was set since.
            first = None if stat.version else now.data
            yield _Operation(stat.czxid, CreateTxn(path, first, owner != NO_OWNER, stat.cversion), owner)
            if stat.version:
                yield _Operation(stat.mzxid, SetDataTxn(path, now.data, stat.version), owner)
        elif before.stat.version != stat.version:
            yield _Operation(stat.mzxid, SetDataTxn(path, now.data, stat.version), owner)

    # --- transactions

    def _transactions(self, changes: _Changes) -> list[Transaction]:
        operations = [*changes.operations, *self._deletions(changes)]
        operations.sort(key=lambda one: one.zxid)
        made: list[Transaction] = []
        for zxid, together in groupby(operations, key=lambda one: one.zxid):
            made += self._transaction(zxid, list(together))
        return made

    def _deletions(self, changes: _Changes) -> Iterator[_Operation]:
        """Yield the deletions, each with the zxid of the watch event, or else with that of the parent's last change."""
        for path, seen in reversed(changes.gone):  # a parent is read before its children, and deleted after them
            zxid = self._deleted.pop(path, NONE) or changes.last_child_change.get(paths.parent(path), NONE)
            yield _Operation(zxid or self._newest, DeleteTxn(path), seen.stat.ephemeral_owner)

    def _transaction(self, zxid: Zxid, together: list[_Operation]) -> Iterator[Transaction]:
        """Yield the end of each session whose znodes are gone, and what else the transaction did."""
        now_ms = self._wall_ms()
        ended: dict[SessionId, list[str]] = {}
        rest: list[_Operation] = []
        for one in together:
            if isinstance(one.op, DeleteTxn) and one.owner != NO_OWNER and not self._ephemerals.get(one.owner):
                ended.setdefault(one.owner, []).append(one.op.path)
            else:
                rest.append(one)
        for session_id, gone in ended.items():
            yield Transaction(zxid, session_id, 0, now_ms, (CloseSessionTxn(tuple(sorted(gone))),))
        if rest:
            owners = (one.owner for one in rest if isinstance(one.op, CreateTxn))
            writer = next((owner for owner in owners if owner != NO_OWNER), NO_OWNER)
            ops = tuple(one.op for one in _parents_first(rest))
            yield Transaction(zxid, writer, 0, now_ms, ops, is_multi=len(ops) > 1)


def _parents_first(operations: Iterable[_Operation]) -> list[_Operation]:
    """Order the operations of one transaction: deletions as they are, then the others by path."""

    def key(one: _Operation) -> tuple[bool, str]:
        is_deletion = isinstance(one.op, DeleteTxn)
        return not is_deletion, "" if is_deletion else _path_of(one.op)

    return sorted(operations, key=key)


def _path_of(op: Txn) -> str:
    assert isinstance(op, CreateTxn | SetDataTxn | DeleteTxn)
    return op.path


def _is_read(path: str) -> bool:
    return path not in LEFT_OUT and (paths.parent(path) != "/" or path in TOP_LEVEL)


def _requests(path: str) -> tuple[GetData | GetChildren, ...]:
    """Return the reads of a znode, each with a watch."""
    known = parsed(path)
    if known is not None and known.kind in LEAVES:
        return (GetData(path, watch=True),)
    if known is not None and known.kind in CONTAINERS:
        return (GetChildren(path, watch=True),)
    return GetData(path, watch=True), GetChildren(path, watch=True)


def _stored(path: str, seen: _Seen) -> StoredZnode:
    stat = seen.stat
    times = (stat.czxid, stat.mzxid, stat.ctime_ms, stat.mtime_ms)
    return StoredZnode(path, seen.data, *times, stat.version, stat.cversion, stat.aversion, stat.ephemeral_owner, stat.pzxid)
