"""Writer of transaction logs in ZooKeeper's format, for tests of reading; made only from the description of the format."""

from collections.abc import Sequence
from pathlib import Path
from struct import pack
from zlib import adler32

from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetAclTxn,
    SetDataTxn,
    Transaction,
    Txn,
    UnknownTxn,
)

FILE_HEADER = b"ZKLG" + pack(">iq", 2, 0)
DIGEST = pack(">iq", 4, 0x1234_5678_9ABC_DEF0)


def buffer(data: bytes | None) -> bytes:
    return pack(">i", -1) if data is None else pack(">i", len(data)) + data


def string(text: str) -> bytes:
    return buffer(text.encode())


OPEN_ACL_UNSAFE = pack(">i", 1) + pack(">i", 31) + string("world") + string("anyone")


def body_of(op: Txn) -> tuple[int, bytes]:
    match op:
        case CreateTxn(path, data, _, parent, is_container=True):
            return 19, string(path) + buffer(data) + OPEN_ACL_UNSAFE + pack(">i", parent)
        case CreateTxn(path, data, _, parent, ttl_ms=int(ttl_ms)):
            return 21, string(path) + buffer(data) + OPEN_ACL_UNSAFE + pack(">iq", parent, ttl_ms)
        case CreateTxn(path, data, ephemeral, parent):
            return 1, string(path) + buffer(data) + OPEN_ACL_UNSAFE + pack(">?i", ephemeral, parent)
        case DeleteTxn(path):
            return 2, string(path)
        case SetDataTxn(path, data, version):
            return 5, string(path) + buffer(data) + pack(">i", version)
        case SetAclTxn(path, aversion):
            return 7, string(path) + OPEN_ACL_UNSAFE + pack(">i", aversion)
        case CheckVersionTxn(path, version):
            return 13, string(path) + pack(">i", version + 1)
        case CreateSessionTxn(timeout_ms):
            return -10, pack(">i", timeout_ms)
        case CloseSessionTxn(None):
            return -11, b""
        case CloseSessionTxn(paths):
            return -11, pack(">i", len(paths or ())) + b"".join(map(string, paths or ()))
        case ErrorTxn(code):
            return -1, pack(">i", code)
        case UnknownTxn(type_, body):
            return type_, body


def entry_of(transaction: Transaction, digest: bytes = DIGEST) -> bytes:
    if transaction.is_multi:
        bodies = [body_of(op) for op in transaction.ops]
        type_, body = 14, pack(">i", len(bodies)) + b"".join(pack(">i", t) + buffer(b) for t, b in bodies)
    else:
        type_, body = body_of(transaction.ops[0])
    header = pack(">qiqqi", transaction.session_id, transaction.cxid, transaction.zxid, transaction.time_ms, type_)
    return header + body + digest


def record_of_entry(entry: bytes) -> bytes:
    return pack(">qi", adler32(entry), len(entry)) + entry + b"B"


def record(transaction: Transaction) -> bytes:
    return record_of_entry(entry_of(transaction))


def write_log(directory: Path, transactions: Sequence[Transaction], padding: int = 1024) -> Path:
    """Write a log file under the name that its first transaction determines."""
    path = directory / f"log.{transactions[0].zxid:x}"
    path.write_bytes(FILE_HEADER + b"".join(map(record, transactions)) + bytes(padding))
    return path
