"""Encodes what the server sends: the frames of ZooKeeper's replies and notifications. Pure.

Source: zookeeper.jute of ZooKeeper 3.9, and frames of 3.9.5.
"""

from collections.abc import Iterable, Sequence
from struct import Struct

from kcsim.vocabulary import Zxid
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.live.wire import CHECK, CREATE, DELETE, ERROR, GET_CHILDREN, GET_DATA, INT, SET_DATA, WATCH_EVENT_XID
from kcsim.zk.memory.server import SessionGranted
from kcsim.zk.operations import (
    Acl,
    Checked,
    ChildrenRead,
    Created,
    DataRead,
    DataSet,
    Deleted,
    MultiDone,
    MultiReadDone,
    NodeFound,
    Reply,
    Stat,
    Synced,
    WatchEvent,
)

_HEAD = Struct("!iiqi")  # length, xid, zxid, error
_CONNECTED = Struct("!iiiqi")  # length, protocol version, time-out, session id, length of the password
_EVENT = Struct("!ii")  # type, state
_OP_HEAD = Struct("!ibi")  # operation code, whether this is the end, error
_STAT = Struct("!qqqqiiiqiiq")
_END_OF_OPS = _OP_HEAD.pack(ERROR, 1, ERROR)
CONNECTED_STATE = 3
"""KeeperState.SyncConnected, the state in every event of a znode."""
NO_ZXID = -1
PASSWORD_BYTES = 16


def framed(xid: int, zxid: Zxid, error: int = 0, body: bytes = b"") -> bytes:
    """Return the frame of a reply."""
    return _HEAD.pack(16 + len(body), xid, zxid, error) + body


def connected(granted: SessionGranted | None, names_read_only: bool) -> bytes:
    """Return the answer to the opening of a session; None: the session does not exist."""
    read_only = b"\0" if names_read_only else b""
    password = granted.password if granted else bytes(PASSWORD_BYTES)
    timeout_ms, session_id = (granted.timeout_ms, granted.session_id) if granted else (0, 0)
    length = _CONNECTED.size - 4 + len(password) + len(read_only)
    return _CONNECTED.pack(length, 0, timeout_ms, session_id, len(password)) + password + read_only


def notification(event: WatchEvent) -> bytes:
    """Return the frame of a watch event."""
    body = _EVENT.pack(event.kind.value, CONNECTED_STATE) + string(event.path)
    return framed(WATCH_EVENT_XID, Zxid(event.zxid or NO_ZXID), 0, body)


def body_of(reply: Reply, with_stat: bool) -> bytes:
    """Return the body of a reply.

    Args:
        with_stat: whether the reply to a create or getChildren has a Stat: it does for create2 and getChildren2.
    """
    match reply:
        case Created(path, stat):
            return string(path) + (stat_bytes(stat) if with_stat and stat is not None else b"")
        case Deleted() | Checked():
            return b""
        case DataSet(_, stat) | NodeFound(_, stat):
            return stat_bytes(stat)
        case DataRead(_, data, stat):
            return buffer(data) + stat_bytes(stat)
        case ChildrenRead(_, children, stat):
            return strings(children) + (stat_bytes(stat) if with_stat and stat is not None else b"")
        case Synced(path):
            return string(path)
        case MultiDone(results) | MultiReadDone(results):
            return b"".join(map(_result, results)) + _END_OF_OPS


_RESULT_CODES = {
    Created: CREATE,
    Deleted: DELETE,
    DataSet: SET_DATA,
    Checked: CHECK,
    DataRead: GET_DATA,
    ChildrenRead: GET_CHILDREN,
}


def _result(result: Created | Deleted | DataSet | Checked | DataRead | ChildrenRead | ZooKeeperError) -> bytes:
    if isinstance(result, ZooKeeperError):
        return _OP_HEAD.pack(ERROR, 0, result.code) + INT.pack(result.code)
    body = b"" if isinstance(result, Checked) else body_of(result, with_stat=False)
    return _OP_HEAD.pack(_RESULT_CODES[type(result)], 0, 0) + body


def acl_bytes(acl: Sequence[Acl]) -> bytes:
    return INT.pack(len(acl)) + b"".join(INT.pack(e.perms) + string(e.scheme) + string(e.id) for e in acl)


def stat_bytes(stat: Stat) -> bytes:
    return _STAT.pack(*stat)


def strings(texts: Iterable[str]) -> bytes:
    texts = list(texts)
    return INT.pack(len(texts)) + b"".join(map(string, texts))


def string(text: str) -> bytes:
    return buffer(text.encode())


def buffer(data: bytes | None) -> bytes:
    return INT.pack(-1) if data is None else INT.pack(len(data)) + data
