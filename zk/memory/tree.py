"""The znode tree: the replies to reads, and the effect of each transaction on every field of every Stat.

A transaction is applied operation by operation, and each operation sees the effects of those before it; if one fails, all
are undone. The changes of a transaction are returned as values, from which watches, ephemerals and event log are updated.

Two oddities of the real server are kept. The sequential counter of a parent counts the children ever created below it, while
cversion also counts the deleted children, and is computed as twice the creations minus the present children (so that the
root's cversion, whose first child came with the server, starts at -1). A create reports a missing parent before an illegal
name.

Source: ZooKeeper 3.9.5, observed over its wire protocol; Programmer's Guide, "ZooKeeper Stat Structure", "Sequence Nodes".
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from kcsim.vocabulary import ANY_VERSION, SessionId, ZkVersion, Zxid
from kcsim.zk.errors import (
    BadArgumentsError,
    BadVersionError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistencyError,
    ZooKeeperError,
)
from kcsim.zk.memory.acl import ADMIN, CREATE, DELETE, READ, WRITE, Identities, allows, resolved, without_secrets
from kcsim.zk.memory.paths import CONFIG, RESERVED, ROOT, is_legal, name_of, parent_of
from kcsim.zk.operations import (
    OPEN_ACL,
    Acl,
    Check,
    Checked,
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
    MultiDone,
    MultiRead,
    MultiReadDone,
    NodeFound,
    SetData,
    Stat,
    WriteOp,
)

NO_OWNER = SessionId(0)
"""The ephemeral owner of a persistent znode."""
CONTAINER_MARK = -(2**63)
TTL_MARK = -(2**56)
"""What the Stat of a container, and of a znode with a time to live (to which its ms are added), has as ephemeral owner."""
LONGEST_TTL_MS = 2**40 - 1


class ChangeKind(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class ZnodeChange(NamedTuple):
    """The creation, change or deletion of one znode by a transaction.

    `version` is the znode's present data version, or its last; `owner` is its ephemeral owner; `session_id` is the session
    of the transaction. `data` is what was written, None for a deletion; `parent_cversion` is the number of children ever
    created below the parent, set for a creation only.
    """

    kind: ChangeKind
    path: str
    data: bytes | None
    version: ZkVersion
    owner: SessionId
    zxid: Zxid
    session_id: SessionId
    parent_cversion: int = 0


class _Znode:
    __slots__ = (
        "acl",
        "aversion",
        "children",
        "created",
        "ctime_ms",
        "czxid",
        "data",
        "kind_mark",
        "mtime_ms",
        "mzxid",
        "owner",
        "pzxid",
        "version",
    )

    def __init__(self, data: bytes | None, zxid: int, time_ms: int, owner: SessionId) -> None:
        self.data = data
        self.czxid = self.mzxid = self.pzxid = Zxid(zxid)
        self.ctime_ms = self.mtime_ms = time_ms
        self.version = 0
        self.aversion = 0
        self.owner = owner
        self.acl = OPEN_ACL
        self.kind_mark = 0  # in place of the owner in the Stat of a container or a znode with a time to live
        self.children: dict[str, None] = {}
        self.created = 0  # children ever created below it: the sequential counter

    def stat(self) -> Stat:
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime_ms,
            self.mtime_ms,
            ZkVersion(self.version),
            2 * self.created - len(self.children),
            self.aversion,
            self.owner or SessionId(self.kind_mark),
            len(self.data) if self.data is not None else 0,
            len(self.children),
            self.pzxid,
        )


class _Transaction(msgspec.Struct):
    """A transaction in progress: its changes so far, and the functions that undo them, to be called in reverse order."""

    zxid: Zxid
    time_ms: int
    session_id: SessionId
    identities: Identities = None
    changes: list[ZnodeChange] = msgspec.field(default_factory=list)
    undo: list[Callable[[], None]] = msgspec.field(default_factory=list)

    def note(self, kind: ChangeKind, path: str, data: bytes | None, znode: _Znode, parent_cversion: int = 0) -> None:
        version = ZkVersion(znode.version)
        zxid, session_id = self.zxid, self.session_id
        self.changes.append(ZnodeChange(kind, path, data, version, znode.owner, zxid, session_id, parent_cversion))


Written = Created | Deleted | DataSet | Checked
Changes = Sequence[ZnodeChange]


class ZnodeTree:
    """All znodes, including those of a new server: /, /zookeeper, and config and quota below /zookeeper."""

    def __init__(self) -> None:
        self._znodes: dict[str, _Znode] = {ROOT: _Znode(b"", 0, 0, NO_OWNER)}
        for path in RESERVED:
            self._znodes[path] = _Znode(b"", 0, 0, NO_OWNER)
            self._znodes[parent_of(path)].children[name_of(path)] = None
        self._znodes[CONFIG].aversion = -1

    def __contains__(self, path: str) -> bool:
        return path in self._znodes

    def __len__(self) -> int:
        return len(self._znodes)

    # --- reads

    def exists(self, request: Exists, zxid: Zxid) -> NodeFound | ZooKeeperError:
        if "\0" in request.path:
            return BadArgumentsError(request.path)
        znode = self._znodes.get(request.path)
        return NodeFound(request.path, znode.stat(), zxid) if znode else NoNodeError(request.path)

    def get_data(self, request: GetData, zxid: Zxid, identities: Identities = None) -> DataRead | ZooKeeperError:
        znode = self._znodes.get(request.path)
        if znode is None:
            return NoNodeError(request.path)
        if not allows(znode.acl, READ, identities):
            return NoAuthError(request.path)
        return DataRead(request.path, znode.data, znode.stat(), zxid)

    def get_children(
        self, request: GetChildren, zxid: Zxid, with_stat: bool = True, identities: Identities = None
    ) -> ChildrenRead | ZooKeeperError:
        znode = self._znodes.get(request.path)
        if znode is None:
            return NoNodeError(request.path)
        if not allows(znode.acl, READ, identities):
            return NoAuthError(request.path)
        return ChildrenRead(request.path, tuple(sorted(znode.children)), znode.stat() if with_stat else None, zxid)

    def multi_read(self, request: MultiRead, zxid: Zxid, identities: Identities = None) -> MultiReadDone:
        return MultiReadDone(
            tuple(
                self.get_data(op, zxid, identities)
                if isinstance(op, GetData)
                else self.get_children(op, zxid, with_stat=False, identities=identities)
                for op in request.ops
            ),
            zxid,
        )

    def get_acl(self, path: str, identities: Identities = None) -> tuple[tuple[Acl, ...], Stat]:
        """Return the ACL of a znode, as far as this client may see it. Raises: NoNodeError, NoAuthError."""
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNodeError(path)
        if not allows(znode.acl, READ | ADMIN, identities):
            raise NoAuthError(path)
        return without_secrets(znode.acl, identities), znode.stat()

    def count_descendants(self, path: str, identities: Identities = None) -> int:
        """Return the number of znodes below a path. Raises: NoNodeError, NoAuthError."""
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNodeError(path)
        if not allows(znode.acl, READ, identities):
            raise NoAuthError(path)
        above = path.rstrip("/") + "/"
        return sum(1 for other in self._znodes if other.startswith(above) and other != ROOT)

    def unused(self, now_ms: int) -> list[str]:
        """Return the containers whose last child is deleted, and the znodes without children whose time to live is over."""
        return [path for path, znode in self._znodes.items() if znode.kind_mark and _is_unused(znode, now_ms)]

    def zxids(self, path: str) -> tuple[Zxid, Zxid] | None:
        """Return a znode's mzxid and pzxid, which show the changes that a client's watches missed; None if it is absent."""
        znode = self._znodes.get(path)
        return (znode.mzxid, znode.pzxid) if znode else None

    # --- transactions

    def write(
        self,
        op: Create | Delete | SetData,
        zxid: Zxid,
        time_ms: int,
        session_id: SessionId,
        identities: Identities = None,
    ) -> tuple[Created | Deleted | DataSet | ZooKeeperError, Changes]:
        """Apply one operation as its own transaction; return its reply and its changes, which are empty if it is refused."""
        transaction = _Transaction(zxid, time_ms, session_id, identities)
        try:
            written = self._apply(op, transaction)
        except ZooKeeperError as error:
            return error.with_traceback(None), ()
        assert not isinstance(written, Checked)
        return written, transaction.changes

    def write_all(
        self,
        ops: Sequence[WriteOp],
        zxid: Zxid,
        time_ms: int,
        session_id: SessionId,
        identities: Identities = None,
    ) -> tuple[MultiDone, Changes]:
        """Apply all operations as one transaction, or none; return the reply and the changes, empty if one is refused."""
        transaction = _Transaction(zxid, time_ms, session_id, identities)
        results: list[Written] = []
        for op in ops:
            try:
                result = self._apply(op, transaction)
            except ZooKeeperError as error:
                for undo in reversed(transaction.undo):
                    undo()
                undone = (RolledBackError(earlier.path) for earlier in ops[: len(results)])
                untried = (RuntimeInconsistencyError(later.path) for later in ops[len(results) + 1 :])
                return MultiDone((*undone, error, *untried), error.with_traceback(None), zxid), ()
            # A create inside a multi is the operation `create`, whose reply has no Stat, not `create2`.
            results.append(_without_stat(result))
        return MultiDone(tuple(results), None, zxid), transaction.changes

    def set_acl(self, path: str, acl: Sequence[Acl], aversion: int, identities: Identities = None) -> Stat:
        """Replace the ACL of a znode. Raises: ZooKeeperError."""
        stored = resolved(acl, path, identities)
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNodeError(path) if is_legal(path) else BadArgumentsError(path)
        if not allows(znode.acl, ADMIN, identities):
            raise NoAuthError(path)
        if aversion not in (ANY_VERSION, znode.aversion):
            raise BadVersionError(path)
        znode.acl = stored
        znode.aversion += 1
        return znode.stat()

    def remove_all(self, paths: Sequence[str], zxid: Zxid, session_id: SessionId) -> Changes:
        """Delete the ephemeral znodes of an ended session in this order; return the changes."""
        transaction = _Transaction(zxid, 0, session_id)
        for path in paths:
            self._delete(Delete(path), transaction)
        return transaction.changes

    def _apply(self, op: WriteOp, transaction: _Transaction) -> Written:
        match op:
            case Create():
                return self._create(op, transaction)
            case SetData():
                return self._set_data(op, transaction)
            case Delete():
                return self._delete(op, transaction)
            case Check():
                self._writable(op.path, op.version, READ, transaction.identities)
                return Checked(op.path, transaction.zxid)

    def _create(self, op: Create, transaction: _Transaction) -> Created:
        path = op.path
        if "/" not in path or "\0" in path:
            raise BadArgumentsError(path)
        if op.ttl_ms is not None and not 0 < op.ttl_ms <= LONGEST_TTL_MS:
            raise BadArgumentsError(path)
        acl = resolved(op.acl, path, transaction.identities)
        parent = self._znodes.get(parent_of(path))
        if parent is None:
            raise NoNodeError(path)
        if parent is self._znodes[CONFIG] or not allows(parent.acl, CREATE, transaction.identities):
            raise NoAuthError(path)
        if op.sequential:
            path = f"{path}{parent.created:010d}"
        if not is_legal(path):
            raise BadArgumentsError(op.path)
        if path in self._znodes:
            raise NodeExistsError(op.path)
        if parent.owner != NO_OWNER:
            raise NoChildrenForEphemeralsError(op.path)

        owner = transaction.session_id if op.ephemeral else NO_OWNER
        znode = _Znode(op.data, transaction.zxid, transaction.time_ms, owner)
        znode.acl = acl
        if op.is_container or op.ttl_ms is not None:
            znode.kind_mark = CONTAINER_MARK if op.ttl_ms is None else TTL_MARK | op.ttl_ms
        name, pzxid = name_of(path), parent.pzxid
        self._znodes[path] = znode
        parent.children[name] = None
        parent.created += 1
        parent.pzxid = transaction.zxid

        def undo() -> None:
            del self._znodes[path], parent.children[name]
            parent.created -= 1
            parent.pzxid = pzxid

        transaction.undo.append(undo)
        transaction.note(ChangeKind.CREATED, path, op.data, znode, parent.created)
        return Created(path, znode.stat(), transaction.zxid)

    def _set_data(self, op: SetData, transaction: _Transaction) -> DataSet:
        if op.path == CONFIG:
            raise NoAuthError(op.path)
        znode = self._writable(op.path, op.version, WRITE, transaction.identities)
        before = znode.data, znode.version, znode.mzxid, znode.mtime_ms

        def undo() -> None:
            znode.data, znode.version, znode.mzxid, znode.mtime_ms = before

        znode.data = op.data
        znode.version += 1
        znode.mzxid, znode.mtime_ms = transaction.zxid, transaction.time_ms
        transaction.undo.append(undo)
        transaction.note(ChangeKind.CHANGED, op.path, op.data, znode)
        return DataSet(op.path, znode.stat(), transaction.zxid)

    def _delete(self, op: Delete, transaction: _Transaction) -> Deleted:
        path = op.path
        if "/" not in path or "\0" in path or path == ROOT or path in RESERVED:
            raise BadArgumentsError(path)
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNodeError(path)
        if not allows(self._znodes[parent_of(path)].acl, DELETE, transaction.identities):
            raise NoAuthError(path)
        _check_version(path, op.version, znode)
        if znode.children:
            raise NotEmptyError(path)

        parent, name = self._znodes[parent_of(path)], name_of(path)
        pzxid = parent.pzxid
        del self._znodes[path], parent.children[name]
        parent.pzxid = transaction.zxid

        def undo() -> None:
            self._znodes[path] = znode
            parent.children[name] = None
            parent.pzxid = pzxid

        transaction.undo.append(undo)
        transaction.note(ChangeKind.DELETED, path, None, znode)
        return Deleted(path, transaction.zxid)

    def _writable(self, path: str, version: ZkVersion, permission: int, identities: Identities) -> _Znode:
        """Return the znode if it exists, has this version, and its ACL grants this permission.

        Raises: NoNodeError, NoAuthError, BadVersionError; BadArgumentsError if it does not exist and its path is illegal.
        """
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNodeError(path) if is_legal(path) else BadArgumentsError(path)
        if not allows(znode.acl, permission, identities):
            raise NoAuthError(path)
        _check_version(path, version, znode)
        return znode


def _is_unused(znode: _Znode, now_ms: int) -> bool:
    if znode.children:
        return False
    if znode.kind_mark == CONTAINER_MARK:
        return znode.created > 0
    return znode.mtime_ms + (znode.kind_mark & LONGEST_TTL_MS) < now_ms


def _check_version(path: str, expected: ZkVersion, znode: _Znode) -> None:
    if expected not in (ANY_VERSION, znode.version):
        raise BadVersionError(path)


def _without_stat(result: Written) -> Written:
    return Created(result.path, None, result.zxid) if isinstance(result, Created) else result
