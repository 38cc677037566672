"""The part of ZooKeeper's protocol that the proxy decodes: the opening of sessions, and the writes of requests. Pure.

All numbers are big-endian, a length of -1 is null. A request that cannot be decoded (a future format, a damaged request)
counts as one without writes, and is forwarded.

Source: zookeeper.jute and ZooDefs.OpCode of ZooKeeper 3.9.
"""

from dataclasses import dataclass
from struct import Struct, error
from typing import NamedTuple

from kcsim.vocabulary import SessionId, ZkVersion
from kcsim.zk.live.wire import (
    CHECK,
    CLOSE_SESSION,
    CREATE,
    CREATE_2,
    CREATE_CONTAINER,
    CREATE_TTL,
    DELETE,
    MULTI,
    SET_DATA,
    without_chroot,
)

CREATES = frozenset({CREATE, CREATE_2, CREATE_CONTAINER, CREATE_TTL})
WRITES = CREATES | {DELETE, SET_DATA, MULTI}

REQUEST_HEAD = Struct("!ii")  # xid, operation code
REPLY_HEAD = Struct("!i")  # xid
_INT = Struct("!i")
_CONNECT = Struct("!iqiq")  # protocol version, last zxid seen, time-out, session id
_CONNECTED = Struct("!iiq")  # protocol version, time-out, session id; then the password
_OP_HEAD = Struct("!i?i")  # of an operation within a multi: code, whether this is the end, error

__all__ = [
    "CLOSE_SESSION",
    "REPLY_HEAD",
    "REQUEST_HEAD",
    "WRITES",
    "ConnectResponse",
    "ProxiedWrite",
    "granted_session",
    "requested_session",
    "writes_of",
]


@dataclass(frozen=True, slots=True)
class ProxiedWrite:
    """One write of a request.

    Attributes:
        op: create, set, delete; or check, the condition in a multi.
        path: relative to the chroot of the proxy's connect string; the whole path when it is not below the chroot.
        data: None for null data, or for an operation without data.
        version: the version that the write is conditional on; -1 for any version; None for a create.
    """

    op: str
    path: str
    data: bytes | None = None
    version: ZkVersion | None = None


class ConnectResponse(NamedTuple):
    """The server's answer to a client that opens a session or reconnects to one.

    A `timeout_ms` of 0 or less means that there is no such session.
    """

    session_id: SessionId
    password: bytes
    timeout_ms: int


def requested_session(body: bytes) -> SessionId | None:
    """Return the session to which a client reconnects; None when it requests a new session."""
    try:
        *_, session_id = _CONNECT.unpack_from(body)
    except error:
        return None
    return SessionId(session_id) if session_id else None


def granted_session(body: bytes) -> ConnectResponse | None:
    """Return the server's answer to the opening of a session; None when the frame is no such answer."""
    try:
        _, timeout_ms, session_id = _CONNECTED.unpack_from(body)
        password, _ = _read_buffer(body, _CONNECTED.size)
    except error:
        return None
    return ConnectResponse(SessionId(session_id), password or b"", timeout_ms)


def writes_of(request: bytes, chroot: str) -> tuple[ProxiedWrite, ...]:
    """Return the writes of a request, in order; empty when it only reads or cannot be decoded.

    Args:
        request: the whole frame, without its length.
        chroot: "" or "/a/b".
    """
    try:
        _, code = REQUEST_HEAD.unpack_from(request)
        if code == MULTI:
            return _writes_of_multi(request, REQUEST_HEAD.size, chroot)
        return (_read_write(code, request, REQUEST_HEAD.size, chroot)[0],) if code in WRITES else ()
    except (error, UnicodeDecodeError):
        return ()


def _writes_of_multi(body: bytes, at: int, chroot: str) -> tuple[ProxiedWrite, ...]:
    writes: list[ProxiedWrite] = []
    while True:
        code, is_end, _ = _OP_HEAD.unpack_from(body, at)
        if is_end:
            return tuple(writes)
        if code not in CREATES | {DELETE, SET_DATA, CHECK}:
            return ()  # the operation is unknown, and therefore also where the next one begins
        write, at = _read_write(code, body, at + _OP_HEAD.size, chroot)
        writes.append(write)


def _read_write(code: int, body: bytes, at: int, chroot: str) -> tuple[ProxiedWrite, int]:
    """Return the write at offset `at`, and the offset of its end."""
    text, at = _read_buffer(body, at)
    path = _below(chroot, (text or b"").decode())
    if code in CREATES:
        data, at = _read_buffer(body, at)
        return ProxiedWrite("create", path, data), _skip_acl(body, at) + (12 if code == CREATE_TTL else 4)
    data = None
    if code == SET_DATA:
        data, at = _read_buffer(body, at)
    (version,) = _INT.unpack_from(body, at)
    op = {SET_DATA: "set", DELETE: "delete", CHECK: "check"}[code]
    return ProxiedWrite(op, path, data, ZkVersion(version)), at + 4


def _below(chroot: str, path: str) -> str:
    is_below = path == chroot or path.startswith(chroot + "/")
    return without_chroot(chroot, path) if is_below else path


def _skip_acl(body: bytes, at: int) -> int:
    """Return the offset of the end of a vector of permissions, scheme and id."""
    (count,) = _INT.unpack_from(body, at)
    at += 4
    for _ in range(count):
        _, at = _read_buffer(body, at + 4)
        _, at = _read_buffer(body, at)
    return at


def _read_buffer(body: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = _INT.unpack_from(body, at)
    at += 4
    if length < 0:
        return None, at
    if len(body) < at + length:
        raise error("a length that points beyond the end")
    return body[at : at + length], at + length
