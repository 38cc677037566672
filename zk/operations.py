"""ZooKeeper's requests and replies as values: what is asked of a session, whichever adapter answers.

Paths are absolute, below the chroot if there is one. Data is bytes, or None for ZooKeeper's null data (which differs from
b""). A reply stands at the place of its request; a refused request has a ZooKeeperError at its place, not raised.

Left out: ACLs (everything is world:anyone, Kafka's default), quotas, TTL and container znodes, reconfig.
Source: ZooKeeper 3.9 Programmer's Guide; operation codes of ZooDefs.OpCode.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.vocabulary import ANY_VERSION, SessionId, ZkVersion, Zxid


class Stat(NamedTuple):
    """ZooKeeper's bookkeeping of one znode. Times in ms since 1970; `ephemeral_owner` 0 for a persistent znode."""

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


# --- requests ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """Create a znode. `sequential` appends the parent's ten-digit counter to the path."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: ZkVersion = ANY_VERSION


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: bytes | None
    version: ZkVersion = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Nothing but a condition on a version; only inside a Multi."""

    path: str
    version: ZkVersion


@dataclass(frozen=True, slots=True)
class Exists:
    """`watch` arms a watch whether or not the znode exists."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetData:
    """`watch` arms a watch only if the znode exists."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    """`watch` arms a child watch only if the znode exists."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """Let the server one is connected to catch up with the leader."""

    path: str = "/"


WriteOp = Create | Delete | SetData | Check


@dataclass(frozen=True, slots=True)
class Multi:
    """Several writes as one transaction: all or none, one zxid."""

    ops: tuple[WriteOp, ...]


@dataclass(frozen=True, slots=True)
class MultiRead:
    """Several reads as one request (operation code 22, ZooKeeper 3.6 and newer); each succeeds or fails by itself.

    Sets no watches: the server takes none with this request.
    """

    ops: tuple[GetData | GetChildren, ...]


Request = Create | Delete | SetData | Exists | GetData | GetChildren | Sync | Multi | MultiRead

# --- replies -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Created:
    path: str  # with the counter, if sequential
    stat: Stat | None  # None inside a Multi, whose plain create does not carry it
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class Deleted:
    path: str
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class DataSet:
    path: str
    stat: Stat
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class Checked:
    path: str
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class Found:
    """Answer to Exists when the znode is there; NoNodeError when it is not."""

    path: str
    stat: Stat
    zxid: Zxid  # of the last transaction the server had applied, as for every read


@dataclass(frozen=True, slots=True)
class DataRead:
    path: str
    data: bytes | None
    stat: Stat
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class ChildrenRead:
    path: str
    children: tuple[str, ...]  # sorted by name; ZooKeeper itself promises no order
    stat: Stat | None  # None inside a MultiRead, whose plain getChildren does not carry it
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class Synced:
    path: str
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class MultiDone:
    """Per-operation results of a Multi. `error` is None when all was applied, else that of the first failing operation.

    When refused, operations before the failing one carry RolledBackError, later ones RuntimeInconsistencyError.
    """

    results: "tuple[Created | Deleted | DataSet | Checked | ZooKeeperError, ...]"
    error: ZooKeeperError | None
    zxid: Zxid


@dataclass(frozen=True, slots=True)
class MultiReadDone:
    results: "tuple[DataRead | ChildrenRead | ZooKeeperError, ...]"
    zxid: Zxid


Reply = Created | Deleted | DataSet | Found | DataRead | ChildrenRead | Synced | MultiDone | MultiReadDone
ReplyOrError = Reply | ZooKeeperError

# --- notices: what a session hears without asking -----------------------------------------------------------------------


class WatchKind(Enum):
    """What a watch saw; the values are ZooKeeper's event types."""

    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A watch fired. `zxid` is that of the transaction that fired it; 0 when the server does not tell (before 3.9)."""

    kind: WatchKind
    path: str
    zxid: Zxid


class SessionState(Enum):
    """A session as its client sees it."""

    CONNECTING = "connecting"  # before the first connection
    CONNECTED = "connected"
    SUSPENDED = "suspended"  # the connection is lost; the session may or may not live on
    EXPIRED = "expired"  # the server said so; final
    CLOSED = "closed"  # we said so; final


@dataclass(frozen=True, slots=True)
class SessionStateChanged:
    """`cause` is the event of the fault behind it, as far as the adapter was told of one; it takes no part in equality."""

    state: SessionState
    cause: int | None = field(default=None, compare=False)


Notice = WatchEvent | SessionStateChanged
