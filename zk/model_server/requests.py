"""Decodes what clients send: the bytes of ZooKeeper's requests as values. Pure.

Source: zookeeper.jute and ZooDefs.OpCode of ZooKeeper 3.9.
"""

from dataclasses import dataclass
from struct import Struct, error

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.live.wire import (
    CHECK,
    CLOSE_SESSION,
    CREATE,
    CREATE_2,
    CREATE_CONTAINER,
    CREATE_TTL,
    DELETE,
    EXISTS,
    GET_CHILDREN,
    GET_CHILDREN_2,
    GET_DATA,
    INT,
    LONG,
    MULTI,
    MULTI_READ,
    SET_DATA,
    SET_WATCHES,
    SYNC,
)
from kcsim.zk.operations import (
    OPEN_ACL,
    Acl,
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    Request,
    SetData,
    Sync,
    WriteOp,
)

GET_ACL, SET_ACL, CHECK_WATCHES, REMOVE_WATCHES, PING, AUTH = 6, 7, 17, 18, 11, 100
GET_EPHEMERALS, COUNT_DESCENDANTS, SET_WATCHES_2, ADD_WATCH, WHO_AM_I = 103, 104, 105, 106, 107
HEAD = Struct("!ii")  # xid, operation code
_OP_HEAD = Struct("!ibi")  # operation code, whether this is the end, error
_CONNECT = Struct("!iqiq")  # protocol version, last zxid seen, time-out, session id
CREATES = (CREATE, CREATE_2, CREATE_CONTAINER, CREATE_TTL)
_FLAGS = {0: "", 1: "e", 2: "s", 3: "es", 4: "c", 5: "t", 6: "ts"}

__all__ = ["CLOSE_SESSION", "CREATES", "SET_WATCHES"]


class BadFrameError(Exception):
    """A frame that is no request of ZooKeeper's protocol, or breaks off."""


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """The first frame of a connection. `names_read_only` is False for clients older than 3.4."""

    seen: Zxid
    timeout_ms: int
    session_id: SessionId
    password: bytes
    names_read_only: bool


def connect_request(body: bytes) -> ConnectRequest:
    """Decode the opening of a session. Raises: BadFrameError."""
    reader = Reader(body)
    _, seen, timeout_ms, session_id = reader.unpack(_CONNECT)
    password = reader.buffer() or b""
    return ConnectRequest(Zxid(seen), timeout_ms, SessionId(session_id), password, reader.left > 0)


class Reader:
    """Reads values from the bytes of one frame, in order. Each method raises BadFrameError if the frame breaks off."""

    def __init__(self, body: bytes, at: int = 0) -> None:
        self._body = body
        self._at = at

    @property
    def left(self) -> int:
        return len(self._body) - self._at

    def unpack(self, of: Struct) -> tuple[int, ...]:
        try:
            values = of.unpack_from(self._body, self._at)
        except error:
            raise BadFrameError from None
        self._at += of.size
        return values

    def int32(self) -> int:
        return self.unpack(INT)[0]

    def boolean(self) -> bool:
        return self._take(1) != b"\0"

    def buffer(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self._take(length)

    def string(self) -> str:
        try:
            return (self.buffer() or b"").decode()
        except UnicodeDecodeError:
            raise BadFrameError from None

    def strings(self) -> list[str]:
        return [self.string() for _ in range(self.int32())]

    def acl(self) -> tuple[Acl, ...]:
        entries = tuple(Acl(self.int32(), self.string(), self.string()) for _ in range(self.int32()))
        return OPEN_ACL if entries == OPEN_ACL else entries

    def _take(self, length: int) -> bytes:
        if length > self.left:
            raise BadFrameError
        self._at += length
        return self._body[self._at - length : self._at]

    # --- requests

    def request(self, code: int) -> Request | None:
        """Return the request with this operation code; None if it is not one of operations.py. Raises: BadFrameError."""
        if code in CREATES or code in (DELETE, SET_DATA):
            return self._write(code)
        match code:
            case _ if code == EXISTS:
                return Exists(self.string(), self.boolean())
            case _ if code == GET_DATA:
                return GetData(self.string(), self.boolean())
            case _ if code in (GET_CHILDREN, GET_CHILDREN_2):
                return GetChildren(self.string(), self.boolean())
            case _ if code == SYNC:
                return Sync(self.string())
            case _ if code == MULTI:
                return Multi(tuple(self._write_ops()))
            case _ if code == MULTI_READ:
                return MultiRead(tuple(self._read_ops()))
        return None

    def _write(self, code: int) -> Create | Delete | SetData:
        path = self.string()
        if code == DELETE:
            return Delete(path, ZkVersion(self.int32()))
        data = self.buffer()
        if code == SET_DATA:
            return SetData(path, data, ZkVersion(self.int32()))
        acl, flags = self.acl(), self.int32()
        if flags not in _FLAGS:
            raise BadFrameError
        kind = _FLAGS[flags]
        ttl_ms = self.unpack(LONG)[0] if code == CREATE_TTL else None
        return Create(path, data, "e" in kind, "s" in kind, acl, "c" in kind, ttl_ms)

    def _write_ops(self) -> list[WriteOp]:
        ops: list[WriteOp] = []
        while True:
            code, is_end, _ = self.unpack(_OP_HEAD)
            if is_end:
                return ops
            if code == CHECK:
                ops.append(Check(self.string(), ZkVersion(self.int32())))
            elif code in CREATES or code in (DELETE, SET_DATA):
                ops.append(self._write(code))
            else:
                raise BadFrameError

    def _read_ops(self) -> list[GetData | GetChildren]:
        ops: list[GetData | GetChildren] = []
        while True:
            code, is_end, _ = self.unpack(_OP_HEAD)
            if is_end:
                return ops
            if code not in (GET_DATA, GET_CHILDREN):
                raise BadFrameError
            ops.append((GetData if code == GET_DATA else GetChildren)(self.string(), self.boolean()))
