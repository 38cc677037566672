"""The znode tree at a transaction: a snapshot, or the initial tree of every server, plus the log's transactions since.

Pure. Applying a transaction whose effect is in the tree already changes nothing; so a fuzzy snapshot becomes an exact tree:
each znode has the zxid of its creation and the zxid of its last change.

Left out: ACLs, and the counters of TTL and container znodes.
Source: ZooKeeper 3.9, DataTree; checked against trees of 3.9.5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.snapshot import SnapshotFile, StoredZnode
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    SetAclTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from kcsim.znodes import paths

ROOT = "/"
BROUGHT_ALONG = (ROOT, "/zookeeper", "/zookeeper/config", "/zookeeper/quota")
NO_OWNER = SessionId(0)
NONE = Zxid(0)


class PastChangeKind(Enum):
    CREATED = "create"
    CHANGED = "set"
    DELETED = "delete"


@dataclass(slots=True)
class PastZnode:
    """Data and metadata of one znode; the fields are those of StoredZnode."""

    data: bytes | None
    czxid: Zxid
    mzxid: Zxid
    ctime_ms: int
    mtime_ms: int
    version: ZkVersion = field(default=ZkVersion(0))
    cversion: int = 0
    aversion: int = 0
    ephemeral_owner: SessionId = NO_OWNER
    pzxid: Zxid = NONE


class PastChange(NamedTuple):
    """The creation, change or deletion of one znode by a transaction.

    `before` and `data` are the data before and after; `before` is None for a creation, `data` is None for a deletion.
    `version` is the znode's present data version, or its last; `owner` is its ephemeral owner.
    """

    kind: PastChangeKind
    path: str
    before: bytes | None
    data: bytes | None
    version: ZkVersion
    owner: SessionId


class PastTree:
    """A tree to which later transactions can be applied.

    Attributes:
        znodes: path -> znode, in no particular order.
        sessions: the live sessions, with their time-outs in ms.
        zxid: of the last transaction applied.
        newest_zxid: the highest zxid in the snapshot that the tree was made from: before that zxid the tree is not exact.
            If znodes were deleted while the snapshot was written, the tree is not exact before the snapshot's end.
    """

    def __init__(self, znodes: Iterable[StoredZnode] = (), zxid: Zxid = NONE) -> None:
        self.znodes: dict[str, PastZnode] = {}
        self.sessions: dict[SessionId, int] = {}
        self.zxid = self.newest_zxid = zxid
        self._owned: dict[SessionId, dict[str, None]] = {}
        for znode in znodes:
            self.znodes[znode.path] = PastZnode(*znode[1:])
            self.newest_zxid = max(self.newest_zxid, znode.czxid, znode.mzxid, znode.pzxid)
            if znode.ephemeral_owner != NO_OWNER:
                self._owned.setdefault(znode.ephemeral_owner, {})[znode.path] = None

    @classmethod
    def empty(cls) -> "PastTree":
        """Return the initial tree of a new server."""
        return cls(StoredZnode(path, b"", NONE, NONE, 0, 0, ZkVersion(0), 0, 0, NO_OWNER, NONE) for path in BROUGHT_ALONG)

    @classmethod
    def of(cls, snapshot: SnapshotFile) -> "PastTree":
        """Return the tree in a snapshot. Raises: BadSnapshotError."""
        tree = cls(snapshot.znodes(), snapshot.zxid)
        tree.sessions.update(snapshot.sessions)
        return tree

    def apply(self, transaction: Transaction) -> list[PastChange]:
        """Apply the next transaction and return the changes that it made, in order."""
        changes: list[PastChange] = []
        self.zxid = transaction.zxid
        if not transaction.is_refused:
            for op in transaction.ops:
                changes.extend(self._apply(op, transaction))
        return changes

    def children(self, path: str) -> list[str]:
        """Return the paths of a znode's children, sorted."""
        return sorted(p for p in self.znodes if p != ROOT and paths.parent(p) == path)

    def _apply(self, op: Txn, of: Transaction) -> Sequence[PastChange]:
        match op:
            case CreateTxn():
                return self._create(op, of)
            case SetDataTxn(path, data, version):
                return self._set_data(path, data, version, of)
            case DeleteTxn(path):
                return self._delete(path, of.zxid)
            case SetAclTxn(path, aversion) if path in self.znodes:
                self.znodes[path].aversion = max(aversion, self.znodes[path].aversion)
            case CreateSessionTxn(timeout_ms):
                self.sessions[of.session_id] = timeout_ms
            case CloseSessionTxn(deleted):
                return self._close(of, deleted or ())
            case _:
                pass  # checks and refusals change nothing
        return ()

    def _create(self, op: CreateTxn, of: Transaction) -> Sequence[PastChange]:
        found, above = self.znodes.get(op.path), self._above(op.path, of.zxid)
        if above is not None:
            above.cversion = max(above.cversion, op.parent_cversion)
            above.pzxid = max(above.pzxid, of.zxid)
        if found is not None and found.czxid >= of.zxid:
            return ()
        owner = of.session_id if op.ephemeral else NO_OWNER
        znode = PastZnode(op.data, of.zxid, of.zxid, of.time_ms, of.time_ms, ephemeral_owner=owner, pzxid=of.zxid)
        self.znodes[op.path] = znode
        if op.ephemeral:
            self._owned.setdefault(owner, {})[op.path] = None
        return (PastChange(PastChangeKind.CREATED, op.path, None, op.data, znode.version, owner),)

    def _above(self, path: str, zxid: Zxid) -> PastZnode | None:
        """Return the parent znode; None if there is none or it was created after this transaction."""
        above = self.znodes.get(paths.parent(path))
        return above if above is not None and above.czxid <= zxid else None

    def _set_data(self, path: str, data: bytes | None, version: ZkVersion, of: Transaction) -> Sequence[PastChange]:
        znode = self.znodes.get(path)
        if znode is None or (znode.mzxid, znode.version) >= (of.zxid, version):
            return ()
        before = znode.data
        znode.data, znode.version, znode.mzxid, znode.mtime_ms = data, version, of.zxid, of.time_ms
        return (PastChange(PastChangeKind.CHANGED, path, before, data, version, znode.ephemeral_owner),)

    def _delete(self, path: str, zxid: Zxid) -> Sequence[PastChange]:
        znode, above = self.znodes.get(path), self._above(path, zxid)
        if above is not None:
            above.pzxid = max(above.pzxid, zxid)
        if znode is None or znode.czxid > zxid:
            return ()
        del self.znodes[path]
        if znode.ephemeral_owner != NO_OWNER:
            self._owned.get(znode.ephemeral_owner, {}).pop(path, None)
        return (PastChange(PastChangeKind.DELETED, path, znode.data, None, znode.version, znode.ephemeral_owner),)

    def _close(self, of: Transaction, deleted: Sequence[str]) -> Sequence[PastChange]:
        """Delete the ephemeral znodes of an ended session: the logged paths and all others that the session owns.

        Servers before 3.6 do not log the paths.
        """
        self.sessions.pop(of.session_id, None)
        owned = self._owned.pop(of.session_id, {})
        gone = dict.fromkeys((*deleted, *owned))
        return [change for path in gone for change in self._delete(path, of.zxid)]
