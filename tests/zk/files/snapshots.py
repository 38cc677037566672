"""Writes snapshots as ZooKeeper does, for the tests of their reading. Written from the format's description only."""

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from struct import pack
from zlib import adler32

from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.vocabulary import SessionId
from tests.zk.files.encoding import WORLD_ANYONE, buffer, string

FILE_HEADER = b"ZKSN" + pack(">iq", 2, -1)
NOTHING_MORE = b""


def digest(zxid: int) -> bytes:
    """What 3.9 appends behind the seal: each part sealed again."""
    return pack(">qiq", zxid, 2, 0x1234) + pack(">q", 7) + string("/") + pack(">q", zxid) + pack(">q", 7) + string("/")


def body_of(znodes: Iterable[StoredZnode], sessions: Mapping[SessionId, int]) -> bytes:
    """All that the seal is of."""
    parts = [FILE_HEADER, pack(">i", len(sessions))]
    parts += [pack(">qi", session, timeout) for session, timeout in sessions.items()]
    parts += [pack(">i", 1), pack(">q", 1), WORLD_ANYONE]
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
    """Write a whole one, compressed if the suffix is .gz, as 3.9 does."""
    content = sealed(body_of(znodes, sessions or {}), digest(zxid))
    path = directory / f"snapshot.{zxid:x}{suffix}"
    path.write_bytes(gzip.compress(content) if suffix == ".gz" else snappy(content) if suffix == ".snappy" else content)
    return path


def znodes_of(tree: PastTree) -> list[StoredZnode]:
    """A tree as a snapshot has it, parents first."""
    return [StoredZnode(path, *astuple(znode)) for path, znode in sorted(tree.znodes.items())]


def snappy(content: bytes, block_size: int = 64) -> bytes:
    """As Java's SnappyOutputStream writes, but in blocks without any compression in them, which the format allows."""
    blocks = [content[at : at + block_size] for at in range(0, len(content), block_size)]
    framed = [
        bytes([len(block)]) + bytes([(len(block) - 1) << 2]) + block if len(block) <= 60 else _long(block)
        for block in blocks
    ]
    return b"\x82SNAPPY\0" + pack(">ii", 1, 1) + b"".join(pack(">i", len(f)) + f for f in framed)


def _long(block: bytes) -> bytes:
    """A block of 61 to 127 bytes: its length, one literal with its length in a byte of its own."""
    return bytes([len(block), 60 << 2, len(block) - 1]) + block
