"""ZooKeeper's requests, replies and notices as values, the same for every adapter.

Paths are absolute, below the chroot if there is one. Data is bytes, or None for ZooKeeper's null data (which differs from
b""). A reply has the index of its request; a refused request has a ZooKeeperError at its index, which is not raised.

Left out: reading and changing ACLs (every znode is created with world:anyone, Kafka's default, unless Create says
otherwise), quotas, reconfig.
Source: ZooKeeper 3.9 Programmer's Guide; operation codes of ZooDefs.OpCode.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import msgspec

from kcsim.vocabulary import ANY_VERSION, SessionId, ZkVersion, Zxid
from kcsim.zk.errors import ZooKeeperError


class Stat(NamedTuple):
    """ZooKeeper's metadata of one znode. Times are in ms since 1970; `ephemeral_owner` is 0 for a persistent znode."""

    czxid: Zxid
    mzxid: Zxid
    ctime_ms: int
    mtime_ms: int
    version: ZkVersion
    cversion: int
    aversion: int
    ephemeral_owner: SessionId
    data_length: int
    num_children: int
    pzxid: Zxid


class Acl(NamedTuple):
    """One entry of a znode's access control list. `perms` is a sum of 1 read, 2 write, 4 create, 8 delete, 16 admin."""

    perms: int
    scheme: str
    id: str


OPEN_ACL: tuple[Acl, ...] = (Acl(31, "world", "anyone"),)
"""Everybody may do everything."""


# --- requests ----------------------------------------------------------------------------------------------------------


class Create(msgspec.Struct, frozen=True):
    """A request to create a znode. `sequential` appends the parent's ten-digit counter to the path.

    The server deletes a container after its last child, and a znode with a `ttl_ms` that has no children and has not been
    changed for so long.
    """

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False
    acl: tuple[Acl, ...] = OPEN_ACL
    is_container: bool = False
    ttl_ms: int | None = None


class Delete(msgspec.Struct, frozen=True):
    path: str
    version: ZkVersion = ANY_VERSION


class SetData(msgspec.Struct, frozen=True):
    path: str
    data: bytes | None
    version: ZkVersion = ANY_VERSION


class Check(msgspec.Struct, frozen=True):
    """A condition on a znode's version that writes nothing; only allowed inside a Multi."""

    path: str
    version: ZkVersion


class Exists(msgspec.Struct, frozen=True):
    """A request for a znode's Stat. `watch` arms a watch whether or not the znode exists."""

    path: str
    watch: bool = False


class GetData(msgspec.Struct, frozen=True):
    """A request for a znode's data. `watch` arms a watch only if the znode exists."""

    path: str
    watch: bool = False


class GetChildren(msgspec.Struct, frozen=True):
    """A request for the names of a znode's children. `watch` arms a child watch only if the znode exists."""

    path: str
    watch: bool = False


class Sync(msgspec.Struct, frozen=True):
    """A request that makes the server of this connection catch up with the leader."""

    path: str = "/"


WriteOp = Create | Delete | SetData | Check


class Multi(msgspec.Struct, frozen=True):
    """Several writes in one transaction: all or none is applied, under one zxid."""

    ops: tuple[WriteOp, ...]


class MultiRead(msgspec.Struct, frozen=True):
    """Several reads as one request (operation code 22, ZooKeeper 3.6 and newer); each succeeds or fails by itself.

    It arms no watches: the server does not support watches with this request.
    """

    ops: tuple[GetData | GetChildren, ...]


Request = Create | Delete | SetData | Exists | GetData | GetChildren | Sync | Multi | MultiRead

# --- replies -----------------------------------------------------------------------------------------------------------


class Created(msgspec.Struct, frozen=True):
    path: str  # with the counter, if sequential
    stat: Stat | None  # None inside a Multi, whose reply to a create has no Stat
    zxid: Zxid


class Deleted(msgspec.Struct, frozen=True):
    path: str
    zxid: Zxid


class DataSet(msgspec.Struct, frozen=True):
    path: str
    stat: Stat
    zxid: Zxid


class Checked(msgspec.Struct, frozen=True):
    path: str
    zxid: Zxid


class NodeFound(msgspec.Struct, frozen=True):
    """The reply to Exists when the znode exists; the reply is NoNodeError when it does not."""

    path: str
    stat: Stat
    zxid: Zxid  # of the last transaction that the server had applied, as in every reply to a read


class DataRead(msgspec.Struct, frozen=True):
    path: str
    data: bytes | None
    stat: Stat
    zxid: Zxid


class ChildrenRead(msgspec.Struct, frozen=True):
    path: str
    children: tuple[str, ...]  # sorted by name; ZooKeeper itself promises no order
    stat: Stat | None  # None inside a MultiRead, whose reply to a getChildren has no Stat
    zxid: Zxid


class Synced(msgspec.Struct, frozen=True):
    path: str
    zxid: Zxid


class MultiDone(msgspec.Struct, frozen=True):
    """The results of a Multi's operations. `error` is None when all were applied, else the failed operation's error.

    When the Multi was refused, operations before the failed one have RolledBackError, later ones RuntimeInconsistencyError.
    """

    results: "tuple[Created | Deleted | DataSet | Checked | ZooKeeperError, ...]"
    error: ZooKeeperError | None
    zxid: Zxid


class MultiReadDone(msgspec.Struct, frozen=True):
    results: "tuple[DataRead | ChildrenRead | ZooKeeperError, ...]"
    zxid: Zxid


Reply = Created | Deleted | DataSet | NodeFound | DataRead | ChildrenRead | Synced | MultiDone | MultiReadDone
ReplyOrError = Reply | ZooKeeperError

# --- notices: what a session receives without a request -----------------------------------------------------------------


class WatchKind(Enum):
    """The kinds of change that fire a watch; the values are ZooKeeper's event types."""

    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


class WatchEvent(msgspec.Struct, frozen=True):
    """A watch fired. `zxid` is that of the transaction that fired it; 0 when the server does not send it (before 3.9)."""

    kind: WatchKind
    path: str
    zxid: Zxid


class SessionState(Enum):
    """The state of a session as its client sees it."""

    CONNECTING = "connecting"  # before the first connection
    CONNECTED = "connected"
    SUSPENDED = "suspended"  # the connection is lost; the session may or may not still exist
    EXPIRED = "expired"  # the server reported the expiry; final
    CLOSED = "closed"  # the client closed the session; final


@dataclass(frozen=True, slots=True)
class SessionStateChanged:
    """A session changed its state. `cause` is the event of the causing fault, if the adapter knows it; `==` ignores it."""

    state: SessionState
    cause: int | None = field(default=None, compare=False)


Notice = WatchEvent | SessionStateChanged
