"""ZooKeeper's wire format: encodes the requests of operations.py as bytes, and decodes bytes as its replies.

A frame is a 4-byte length and that many bytes. A request begins with xid and operation code, a reply with xid, zxid and
error code; all numbers are big-endian, a length of -1 is null. Only the requests and replies of operations.py are supported.

Source: zookeeper.jute and ZooDefs.OpCode of ZooKeeper 3.9.
"""

from struct import Struct
from typing import NamedTuple, assert_never

from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import RolledBackError, RuntimeInconsistencyError, ZooKeeperError, error_of_code
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
    Multi,
    MultiDone,
    MultiRead,
    MultiReadDone,
    NodeFound,
    ReplyOrError,
    Request,
    SetData,
    Stat,
    Sync,
    Synced,
    WriteOp,
)

CREATE, DELETE, EXISTS, GET_DATA, SET_DATA, GET_CHILDREN, SYNC = 1, 2, 3, 4, 5, 8, 9
GET_CHILDREN_2, CHECK, MULTI, CREATE_2, MULTI_READ, SET_WATCHES, CLOSE_SESSION = 12, 13, 14, 15, 22, 101, -11
CREATE_CONTAINER, CREATE_TTL = 19, 21
ERROR = -1

WATCH_EVENT_XID, PING_XID, SET_WATCHES_XID = -1, -2, -8
"""Values in place of a request's xid, by which the client recognizes frames that are not replies to its requests."""

INT = Struct("!i")
LONG = Struct("!q")
FRAME_HEAD = Struct("!iii")  # length of what follows, xid, operation code
REPLY_HEAD = Struct("!iqi")  # xid, zxid, error
_EVENT = Struct("!iii")  # type, state, length of the path
_STAT = Struct("!qqqqiiiqiiq")
_OP_HEAD = Struct("!ibi")  # operation code, whether this is the end, error
_RESULT_HEAD = Struct("!ibii")  # the same, and the 4 bytes that every result but set, delete and check begins with
_CONNECT = Struct("!iqiqi")  # protocol version, last zxid seen, time-out, session id, length of the password
_CONNECTED = Struct("!iiq")  # protocol version, time-out, session id

_OPEN_ACL_UNSAFE = INT.pack(1) + INT.pack(31) + INT.pack(5) + b"world" + INT.pack(6) + b"anyone"
_END_OF_OPS = _OP_HEAD.pack(ERROR, 1, -1)


class WireWatchEvent(NamedTuple):
    """A watch event as it is on the wire; the path includes the chroot."""

    kind: int
    path: str


# --- requests ----------------------------------------------------------------------------------------------------------


def encode(request: Request, chroot: str) -> tuple[int, bytes]:
    """Return a request's operation code and body. `chroot` is "" or "/a/b"; it is put before every path."""
    match request:
        case Create():
            return _create_code(request, CREATE_2), _encode_create(request, chroot)
        case Delete(path, version):
            return DELETE, _string(below_chroot(chroot, path)) + INT.pack(version)
        case SetData(path, data, version):
            return SET_DATA, _string(below_chroot(chroot, path)) + _buffer(data) + INT.pack(version)
        case Exists(path, watch):
            return EXISTS, _encode_read(path, watch, chroot)
        case GetData(path, watch):
            return GET_DATA, _encode_read(path, watch, chroot)
        case GetChildren(path, watch):
            return GET_CHILDREN_2, _encode_read(path, watch, chroot)
        case Sync(path):
            return SYNC, _string(below_chroot(chroot, path))
        case Multi(ops):
            return MULTI, b"".join(_encode_write_op(op, chroot) for op in ops) + _END_OF_OPS
        case MultiRead(ops):
            return MULTI_READ, b"".join(_encode_read_op(op, chroot) for op in ops) + _END_OF_OPS
        case _:
            assert_never(request)


def _encode_create(request: Create, chroot: str) -> bytes:
    """The flags are those of CreateMode: 4 is a container, 5 and 6 have a time to live."""
    flags = (1 if request.ephemeral else 0) | (2 if request.sequential else 0)
    time_to_live = b""
    if request.is_container:
        flags = 4
    elif request.ttl_ms is not None:
        flags, time_to_live = (6 if request.sequential else 5), LONG.pack(request.ttl_ms)
    path = _string(below_chroot(chroot, request.path))
    return path + _buffer(request.data) + _encode_acl(request.acl) + INT.pack(flags) + time_to_live


def _create_code(request: Create, usual: int) -> int:
    return CREATE_CONTAINER if request.is_container else usual if request.ttl_ms is None else CREATE_TTL


def _encode_acl(acl: tuple[Acl, ...]) -> bytes:
    if acl is OPEN_ACL:
        return _OPEN_ACL_UNSAFE
    return INT.pack(len(acl)) + b"".join(INT.pack(perms) + _string(scheme) + _string(id_) for perms, scheme, id_ in acl)


def _encode_read(path: str, watch: bool, chroot: str) -> bytes:
    return _string(below_chroot(chroot, path)) + (b"\1" if watch else b"\0")


def _encode_write_op(op: WriteOp, chroot: str) -> bytes:
    match op:
        case Create():
            return _OP_HEAD.pack(_create_code(op, CREATE), 0, -1) + _encode_create(op, chroot)
        case Check(path, version):
            return _OP_HEAD.pack(CHECK, 0, -1) + _string(below_chroot(chroot, path)) + INT.pack(version)
        case _:
            code, body = encode(op, chroot)
            return _OP_HEAD.pack(code, 0, -1) + body


def _encode_read_op(op: GetData | GetChildren, chroot: str) -> bytes:
    code = GET_DATA if isinstance(op, GetData) else GET_CHILDREN
    return _OP_HEAD.pack(code, 0, -1) + _encode_read(op.path, False, chroot)


def encode_connect(session_id: SessionId, password: bytes, timeout_ms: int) -> bytes:
    """Return the frame that requests a connection to an existing session."""
    body = _CONNECT.pack(0, 0, timeout_ms, session_id, len(password)) + password + b"\0"
    return INT.pack(len(body)) + body


def encode_set_watches(relative_zxid: int, data: list[str], exist: list[str], child: list[str]) -> bytes:
    """Return the body of a SetWatches request; watches that missed a change since relative_zxid fire at once.

    The paths include the chroot.
    """
    vectors = (INT.pack(len(paths)) + b"".join(map(_string, paths)) for paths in (data, exist, child))
    return LONG.pack(relative_zxid) + b"".join(vectors)


def frame(xid: int, code: int, body: bytes) -> bytes:
    return FRAME_HEAD.pack(8 + len(body), xid, code) + body


def below_chroot(chroot: str, path: str) -> str:
    return path if not chroot else chroot if path == "/" else chroot + path


def _string(text: str) -> bytes:
    return _buffer(text.encode())


def _buffer(data: bytes | None) -> bytes:
    return INT.pack(-1) if data is None else INT.pack(len(data)) + data


# --- replies -----------------------------------------------------------------------------------------------------------


def decode(request: Request, chroot: str, zxid: Zxid, error: int, body: bytes, at: int) -> ReplyOrError:
    """Return the reply that begins at offset `at` of `body`, its paths without chroot."""
    if error:
        return error_of_code(error, path_of(request))
    match request:
        case Create():
            path, at = _read_string(body, at)
            return Created(without_chroot(chroot, path), _read_stat(body, at), zxid)
        case Delete(path):
            return Deleted(path, zxid)
        case SetData(path):
            return DataSet(path, _read_stat(body, at), zxid)
        case Exists(path):
            return NodeFound(path, _read_stat(body, at), zxid)
        case GetData(path):
            data, at = _read_buffer(body, at)
            return DataRead(path, data, _read_stat(body, at), zxid)
        case GetChildren(path):
            (count,) = INT.unpack_from(body, at)
            children, at = _read_children(body, at + 4, count)
            return ChildrenRead(path, children, _read_stat(body, at), zxid)
        case Sync(path):
            return Synced(path, zxid)
        case Multi(ops):
            return _decode_multi(ops, chroot, zxid, body, at)
        case MultiRead(ops):
            return _decode_multi_read(ops, zxid, body, at)
        case _:
            assert_never(request)


def path_of(request: Request) -> str | None:
    """Return the path that an error about a whole request names; None for a request with several paths."""
    return None if isinstance(request, Multi | MultiRead) else request.path


def _decode_multi(ops: tuple[WriteOp, ...], chroot: str, zxid: Zxid, body: bytes, at: int) -> MultiDone:
    results: list[Created | Deleted | DataSet | Checked | ZooKeeperError] = []
    for op in ops:
        code, _, _ = _OP_HEAD.unpack_from(body, at)
        at += _OP_HEAD.size
        if code == ERROR:
            results.append(error_of_code(INT.unpack_from(body, at)[0], op.path))
            at += 4
        elif code in (CREATE, CREATE_CONTAINER, CREATE_TTL):
            path, at = _read_string(body, at)
            results.append(Created(without_chroot(chroot, path), None, zxid))
        elif code == SET_DATA:
            results.append(DataSet(op.path, _read_stat(body, at), zxid))
            at += _STAT.size
        else:
            results.append(Deleted(op.path, zxid) if code == DELETE else Checked(op.path, zxid))
    bystanders = (RolledBackError, RuntimeInconsistencyError)
    error = next((r for r in results if isinstance(r, ZooKeeperError) and not isinstance(r, bystanders)), None)
    return MultiDone(tuple(results), error, zxid)


def _decode_multi_read(ops: tuple[GetData | GetChildren, ...], zxid: Zxid, body: bytes, at: int) -> MultiReadDone:
    results: list[DataRead | ChildrenRead | ZooKeeperError] = []
    # This loop dominates the cost of a failover: one unpack for the head and the length after it, one for the Stat.
    for op in ops:
        code, _, _, length = _RESULT_HEAD.unpack_from(body, at)
        at += 13
        if code == GET_DATA:
            end = at if length < 0 else at + length
            stat = Stat._make(_STAT.unpack_from(body, end))
            results.append(DataRead(op.path, None if length < 0 else body[at:end], stat, zxid))
            at = end + 68
        elif code == GET_CHILDREN:
            children, at = _read_children(body, at, length)
            results.append(ChildrenRead(op.path, children, None, zxid))
        else:
            results.append(error_of_code(length, op.path))
    return MultiReadDone(tuple(results), zxid)


def decode_event(body: bytes, at: int) -> WireWatchEvent:
    kind, _, length = _EVENT.unpack_from(body, at)
    at += _EVENT.size
    return WireWatchEvent(kind, body[at : at + length].decode())


def decode_connected(body: bytes) -> tuple[int, SessionId]:
    """Return the granted time-out in ms and the session id; a time-out of 0 or less means that the session has ended."""
    _, timeout_ms, session_id = _CONNECTED.unpack_from(body, 0)
    return timeout_ms, SessionId(session_id)


def without_chroot(chroot: str, path: str) -> str:
    """Return a path of the server without the chroot, as the session's owner knows it."""
    return path if not chroot else path[len(chroot) :] or "/"


def _read_stat(body: bytes, at: int) -> Stat:
    return Stat._make(_STAT.unpack_from(body, at))


def _read_buffer(body: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = INT.unpack_from(body, at)
    at += 4
    return (None, at) if length < 0 else (body[at : at + length], at + length)


def _read_string(body: bytes, at: int) -> tuple[str, int]:
    (length,) = INT.unpack_from(body, at)
    at += 4
    return body[at : at + length].decode(), at + length


def _read_children(body: bytes, at: int, count: int) -> tuple[tuple[str, ...], int]:
    children = []
    for _ in range(count):
        child, at = _read_string(body, at)
        children.append(child)
    return tuple(sorted(children)), at
