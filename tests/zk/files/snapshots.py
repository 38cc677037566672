"""Writer of snapshots in ZooKeeper's format, for tests of reading; written only from the description of the format."""

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from struct import pack
from zlib import adler32

from kcsim.vocabulary import SessionId
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.snapshot import StoredZnode
from tests.zk.files.encoding import OPEN_ACL_UNSAFE, buffer, string

FILE_HEADER = b"ZKSN" + pack(">iq", 2, -1)
NOTHING_MORE = b""


def digest(zxid: int) -> bytes:
    """Return what 3.9 appends after the seal: two parts, each with its own seal."""
    return pack(">qiq", zxid, 2, 0x1234) + pack(">q", 7) + string("/") + pack(">q", zxid) + pack(">q", 7) + string("/")


def body_of(znodes: Iterable[StoredZnode], sessions: Mapping[SessionId, int]) -> bytes:
    """Return all bytes that the seal covers."""
    parts = [FILE_HEADER, pack(">i", len(sessions))]
    parts += [pack(">qi", session, timeout) for session, timeout in sessions.items()]
    parts += [pack(">i", 1), pack(">q", 1), OPEN_ACL_UNSAFE]
    for z in znodes:
        stat = (z.czxid, z.mzxid, z.ctime_ms, z.mtime_ms, z.version, z.cversion, z.aversion, z.ephemeral_owner, z.pzxid)
        path = "" if z.path == "/" else z.path
        parts.append(string(path) + buffer(z.data) + pack(">q", 1) + pack(">qqqqiiiqq", *stat))
    return b"".join([*parts, string("/")])


def sealed(body: bytes, more: bytes = NOTHING_MORE) -> bytes:
    return body + pack(">q", adler32(body)) + string("/") + more


def write_snapshot(
    directory: Path,
    zxid: int,
    znodes: Iterable[StoredZnode],
    sessions: Mapping[SessionId, int] | None = None,
    suffix: str = "",
) -> Path:
    """Write a whole snapshot, compressed if the suffix is .gz, as 3.9 does."""
    content = sealed(body_of(znodes, sessions or {}), digest(zxid))
    path = directory / f"snapshot.{zxid:x}{suffix}"
    path.write_bytes(gzip.compress(content) if suffix == ".gz" else snappy(content) if suffix == ".snappy" else content)
    return path


def znodes_of(tree: PastTree) -> list[StoredZnode]:
    """Return the znodes of a tree as a snapshot has them, parents first."""
    return [StoredZnode(path, *astuple(znode)) for path, znode in sorted(tree.znodes.items())]


def snappy(content: bytes, block_size: int = 64) -> bytes:
    """Return the output of Java's SnappyOutputStream, but with uncompressed blocks, which the format allows."""
    blocks = [content[at : at + block_size] for at in range(0, len(content), block_size)]
    framed = [
        bytes([len(block)]) + bytes([(len(block) - 1) << 2]) + block if len(block) <= 60 else _long(block)
        for block in blocks
    ]
    return b"\x82SNAPPY\0" + pack(">ii", 1, 1) + b"".join(pack(">i", len(f)) + f for f in framed)


def _long(block: bytes) -> bytes:
    """Return a block of 61 to 127 bytes: its length, and one literal whose length has its own byte."""
    return bytes([len(block), 60 << 2, len(block) - 1]) + block
