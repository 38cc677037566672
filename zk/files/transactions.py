"""The transactions of ZooKeeper's log as values, and their decoding from the bytes of an entry.

Pure. Names are ZooKeeper's (org.apache.zookeeper.txn). Numbers are signed, as written; a session id is the same number that
the client has and that is the ephemeralOwner of its znodes.

Left out: the ACLs themselves (everything is world:anyone here), and the tree digest that 3.6 and newer append.
Source: ZooKeeper 3.9, zookeeper.jute; checked on files of 3.5.9 and 3.9.5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct, error

from kcsim.vocabulary import SessionId, ZkVersion, Zxid


@dataclass(frozen=True, slots=True)
class CreateTxn:
    """The creation of a znode. `ttl_ms` and `is_container` are set for TTL and container znodes only."""

    path: str
    data: bytes | None
    ephemeral: bool
    parent_cversion: int  # of the parent, after the creation
    is_container: bool = False
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteTxn:
    path: str


@dataclass(frozen=True, slots=True)
class SetDataTxn:
    path: str
    data: bytes | None
    version: ZkVersion  # the new version


@dataclass(frozen=True, slots=True)
class SetAclTxn:
    path: str
    aversion: int  # the new version


@dataclass(frozen=True, slots=True)
class CheckVersionTxn:
    """A version check that succeeded; part of a multi."""

    path: str
    version: ZkVersion  # the version requested; the file holds that plus one


@dataclass(frozen=True, slots=True)
class CreateSessionTxn:
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class CloseSessionTxn:
    """A session was closed or expired.

    `deleted` are its ephemeral znodes; None when the entry does not name them (ZooKeeper 3.5): derive them from the tree.
    """

    deleted: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ErrorTxn:
    """A refused write, which changed nothing. In a refused multi: 0 before the operation that failed, -2 after it.

    The file has the operations before the failed one as they were requested. The server treats each of them as error 0 when
    it applies the multi, and so does decode_entry: `ops` never contains a write that was not applied.
    """

    code: int


@dataclass(frozen=True, slots=True)
class UnknownTxn:
    """A transaction of a type that this project does not know."""

    type: int
    body: bytes


Txn = (
    CreateTxn
    | DeleteTxn
    | SetDataTxn
    | SetAclTxn
    | CheckVersionTxn
    | CreateSessionTxn
    | CloseSessionTxn
    | ErrorTxn
    | UnknownTxn
)


@dataclass(frozen=True, slots=True)
class Transaction:
    """The transaction of one zxid.

    Attributes:
        cxid: the client's number of the request; 0 for transactions of the server itself (expiry).
        time_ms: the leader's clock, ms since 1970.
        ops: one operation, or those of a multi in order.
    """

    zxid: Zxid
    session_id: SessionId
    cxid: int
    time_ms: int
    ops: tuple[Txn, ...]
    is_multi: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the transaction is a write or a multi that failed and changed nothing."""
        return any(isinstance(op, ErrorTxn) for op in self.ops)


class MalformedEntryError(ValueError):
    """An entry with a correct checksum does not have the format of a transaction."""


MULTI = 14
DIGEST_LENGTH = 12
HEADER = Struct(">qiqqi")  # session id, cxid, zxid, time, type
ZXID_OFFSET = 12
INT = Struct(">i")
LONG = Struct(">q")
FLAG_AND_INT = Struct(">?i")
ALL_PERMISSIONS = 31
OPEN_ACL_UNSAFE = b"".join((INT.pack(1), INT.pack(ALL_PERMISSIONS), INT.pack(5), b"world", INT.pack(6), b"anyone"))
"""The ACL of all znodes that Kafka writes: a vector with one element."""
_unpack_int = INT.unpack_from

Decode = Callable[[bytes, int], tuple[Txn, int]]
"""Takes an entry and the offset of a body in it; returns the transaction and the offset of the body's end."""


def decode_entry(entry: bytes) -> Transaction:
    """Decode an entry: header, body, and perhaps a digest, which is ignored. Raises: MalformedEntryError."""
    try:
        session_id, cxid, zxid, time_ms, type_ = HEADER.unpack_from(entry)
        is_multi = type_ == MULTI
        ops = _multi(entry, HEADER.size) if is_multi else (_decode_body(type_, entry, HEADER.size),)
    except (error, IndexError, UnicodeDecodeError) as problem:
        raise MalformedEntryError(f"{problem}; entry begins {entry[:48].hex()}") from None
    return Transaction(Zxid(zxid), SessionId(session_id), cxid, time_ms, ops, is_multi)


def _multi(entry: bytes, at: int) -> tuple[Txn, ...]:
    count, at = _int(entry, at)
    ops = []
    for _ in range(count):
        type_, at = _int(entry, at)
        body, at = _buffer(entry, at)
        ops.append(_decode_body(type_, body or b"", 0))
    if any(isinstance(op, ErrorTxn) for op in ops):
        return tuple(op if isinstance(op, ErrorTxn) else ErrorTxn(0) for op in ops)
    return tuple(ops)


def _int(entry: bytes, at: int) -> tuple[int, int]:
    return _unpack_int(entry, at)[0], at + 4


def _buffer(entry: bytes, at: int) -> tuple[bytes | None, int]:
    length: int = _unpack_int(entry, at)[0]
    at += 4
    if length == -1:
        return None, at
    end = at + length
    if length < 0 or end > len(entry):
        raise IndexError(f"{length} bytes announced at {at}, {len(entry) - at} there")
    return entry[at:end], end


def _string(entry: bytes, at: int) -> tuple[str, int]:
    text, at = _buffer(entry, at)
    return (text or b"").decode(), at


def _past_acl(entry: bytes, at: int) -> int:
    if entry.startswith(OPEN_ACL_UNSAFE, at):  # almost always
        return at + len(OPEN_ACL_UNSAFE)
    count, at = _int(entry, at)
    for _ in range(count):
        _, at = _buffer(entry, at + 4)  # permissions, scheme
        _, at = _buffer(entry, at)  # id
    return at


def _create(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    data, at = _buffer(entry, at)
    at = _past_acl(entry, at)
    ephemeral, parent_cversion = FLAG_AND_INT.unpack_from(entry, at)
    return CreateTxn(path, data, ephemeral, parent_cversion), at + FLAG_AND_INT.size


def _create_container(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    data, at = _buffer(entry, at)
    parent_cversion, at = _int(entry, _past_acl(entry, at))
    return CreateTxn(path, data, False, parent_cversion, is_container=True), at


def _create_ttl(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    data, at = _buffer(entry, at)
    parent_cversion, at = _int(entry, _past_acl(entry, at))
    (ttl_ms,) = LONG.unpack_from(entry, at)
    return CreateTxn(path, data, False, parent_cversion, ttl_ms=ttl_ms), at + 8


def _delete(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    return DeleteTxn(path), at


def _set_data(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    data, at = _buffer(entry, at)
    version, at = _int(entry, at)
    return SetDataTxn(path, data, ZkVersion(version)), at


def _set_acl(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    aversion, at = _int(entry, _past_acl(entry, at))
    return SetAclTxn(path, aversion), at


def _check_version(entry: bytes, at: int) -> tuple[Txn, int]:
    path, at = _string(entry, at)
    version, at = _int(entry, at)
    return CheckVersionTxn(path, ZkVersion(version - 1)), at


def _create_session(entry: bytes, at: int) -> tuple[Txn, int]:
    timeout_ms, at = _int(entry, at)
    return CreateSessionTxn(timeout_ms), at


def _close_session(entry: bytes, at: int) -> tuple[Txn, int]:
    # Neither 3.5 nor a server with closeSessionTxn disabled writes the vector; the bytes after the header may be a digest.
    start = at
    try:
        count, at = _int(entry, at)
        paths = []
        for _ in range(count):
            path, at = _string(entry, at)
            paths.append(path)
    except (error, IndexError, UnicodeDecodeError):
        return CloseSessionTxn(None), start
    if len(entry) - at not in (0, DIGEST_LENGTH):
        return CloseSessionTxn(None), start
    return CloseSessionTxn(tuple(paths)), at


def _error(entry: bytes, at: int) -> tuple[Txn, int]:
    code, at = _int(entry, at)
    return ErrorTxn(code), at


DECODERS: dict[int, Decode] = {
    -11: _close_session,
    -10: _create_session,
    -1: _error,
    1: _create,
    2: _delete,
    5: _set_data,
    7: _set_acl,
    13: _check_version,
    15: _create,  # create2: the same as create, only the reply differs
    16: _set_data,  # reconfig: sets /zookeeper/config
    19: _create_container,
    20: _delete,  # deleteContainer
    21: _create_ttl,
}


def _decode_body(type_: int, entry: bytes, at: int) -> Txn:
    decode = DECODERS.get(type_)
    return UnknownTxn(type_, entry[at:]) if decode is None else decode(entry, at)[0]
