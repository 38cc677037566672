"""Encodes transactions as bytes of ZooKeeper's log: the inverse of transactions.py.

Pure. The format is that of ZooKeeper 3.5, with the deleted paths of a closed session, which 3.6 and newer add. The tree
digest is left out; every version reads logs without it. ACLs are world:anyone throughout.

In a refused multi each operation is an error: the one that failed has its code, those before it 0, those after it -2.
(ZooKeeper 3.9 writes the operations before it as they were requested; a reader has to treat them as errors nevertheless.)

Source: ZooKeeper 3.9, zookeeper.jute; docs/kafka/zookeeper_files.md 1.
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
    OPEN_ACL_UNSAFE,
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
    """Return the transaction as a whole record: checksum, length, entry, end mark."""
    entry = encode_entry(transaction)
    return RECORD_HEADER.pack(adler32(entry), len(entry)) + entry + RECORD_END


def encode_entry(transaction: Transaction) -> bytes:
    """Return the transaction's header and body, which decode_entry decodes."""
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
            return 7, _string(path) + OPEN_ACL_UNSAFE + INT.pack(aversion)
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
    begin = _string(op.path) + _buffer(op.data) + OPEN_ACL_UNSAFE
    if op.is_container:
        return 19, begin + INT.pack(op.parent_cversion)
    if op.ttl_ms is not None:
        return 21, begin + INT.pack(op.parent_cversion) + LONG.pack(op.ttl_ms)
    return 1, begin + FLAG_AND_INT.pack(op.ephemeral, op.parent_cversion)


def _buffer(data: bytes | None) -> bytes:
    return INT.pack(-1) if data is None else INT.pack(len(data)) + data


def _string(text: str) -> bytes:
    return _buffer(text.encode())
