"""One transaction as the bytes of ZooKeeper's log: the way back of transactions.py.

Pure. Written in the form of ZooKeeper 3.5 with the paths that a closed session took along, as 3.6 and newer add them; no
digest of the tree, which every version reads without. ACLs are world:anyone throughout.

In a refused multi each operation is an error, the one that failed with its code, those before it with 0, those after it with
-2. (ZooKeeper 3.9 leaves those before it as they were asked for, which a reader has to take for errors all the same.)

Source: ZooKeeper 3.9, zookeeper.jute; reference zookeeper_files.md.
"""

from struct import Struct
from typing import assert_never
from zlib import adler32

from kcsim.zk.files.transactions import (
    FLAG_AND_INT,
    HEADER,
    INT,
    LONG,
    MULTI,
    WORLD_ANYONE,
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

FILE_HEADER = Struct(">4siq")  # magic, version, dbid
MAGIC, VERSION = b"ZKLG", 2
RECORD_HEADER = Struct(">qi")  # Adler-32 of the entry, its length
RECORD_END = b"B"


def encode_record(transaction: Transaction) -> bytes:
    """The transaction as a whole record: checksum, length, entry, end mark."""
    entry = encode_entry(transaction)
    return RECORD_HEADER.pack(adler32(entry), len(entry)) + entry + RECORD_END


def encode_entry(transaction: Transaction) -> bytes:
    """Header and body; what decode_entry reads back."""
    if transaction.is_multi:
        type_, body = MULTI, INT.pack(len(transaction.ops)) + b"".join(map(_part, transaction.ops))
    else:
        (op,) = transaction.ops
        type_, body = _body(op)
    of = transaction
    return HEADER.pack(of.session_id, of.cxid, of.zxid, of.time_ms, type_) + body


def _part(op: Txn) -> bytes:
    type_, body = _body(op)
    return INT.pack(type_) + _buffer(body)


def _body(op: Txn) -> tuple[int, bytes]:
    match op:
        case CreateTxn():
            return _create(op)
        case DeleteTxn(path):
            return 2, _string(path)
        case SetDataTxn(path, data, version):
            return 5, _string(path) + _buffer(data) + INT.pack(version)
        case SetAclTxn(path, aversion):
            return 7, _string(path) + WORLD_ANYONE + INT.pack(aversion)
        case CheckVersionTxn(path, version):
            return 13, _string(path) + INT.pack(version + 1)
        case CreateSessionTxn(timeout_ms):
            return -10, INT.pack(timeout_ms)
        case CloseSessionTxn(deleted):
            return -11, b"" if deleted is None else INT.pack(len(deleted)) + b"".join(map(_string, deleted))
        case ErrorTxn(code):
            return -1, INT.pack(code)
        case UnknownTxn(type_, body):
            return type_, body
        case _:
            assert_never(op)


def _create(op: CreateTxn) -> tuple[int, bytes]:
    begin = _string(op.path) + _buffer(op.data) + WORLD_ANYONE
    if op.is_container:
        return 19, begin + INT.pack(op.parent_cversion)
    if op.ttl_ms is not None:
        return 21, begin + INT.pack(op.parent_cversion) + LONG.pack(op.ttl_ms)
    return 1, begin + FLAG_AND_INT.pack(op.ephemeral, op.parent_cversion)


def _buffer(data: bytes | None) -> bytes:
    return INT.pack(-1) if data is None else INT.pack(len(data)) + data


def _string(text: str) -> bytes:
    return _buffer(text.encode())
