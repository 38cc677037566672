"""Reads a server's snapshot: its sessions, then its znodes one by one, so that only one znode is in memory at a time.

A snapshot is fuzzy: the server wrote it while it processed requests, so it may contain effects of transactions later than
the one it is named after. `PastTree` makes it exact by applying the log's transactions.

After the tree follows a checksum of all bytes before it; only this checksum distinguishes a complete snapshot from a
truncated one. A snapshot without a checksum, as the oldest servers write it, is accepted when its tree is complete. What 3.6
and newer append (a digest of the tree, the last zxid) is not read. Compressed snapshots (snapshot.compression.method: gz,
snappy) are recognized by their names.

Source: ZooKeeper 3.9, SnapStream and DataTree; checked on files of 3.9.5 in all three forms.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from struct import Struct
from typing import IO, NamedTuple, Protocol, Self
from zlib import adler32

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.snappy_stream import BadSnappyError, SnappyStream
from kcsim.zk.files.transactions import INT, LONG

FILE_HEADER = Struct(">4siq")  # magic, version, dbid
MAGIC, VERSION = b"ZKSN", 2
SESSION = Struct(">qi")
STAT = Struct(">qqqqiiiqq")
SNAPSHOT_NAME = re.compile(r"snapshot\.([0-9a-f]+)(\.gz|\.snappy)?")
END_OF_TREE = "/"  # the root znode itself has the empty path
CHUNK = 256 * 1024
LONGEST_FIELD = 64 * 1024 * 1024
"""Bytes; a longer length counts as damage. A server's own limit is 1 MB."""


class BadSnapshotError(ValueError):
    """The file is not a snapshot, or the snapshot is truncated or damaged. The message has the file and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class StoredZnode(NamedTuple):
    """A znode in a snapshot. `cversion` counts the children ever created below it; times are in ms since 1970."""

    path: str
    data: bytes | None
    czxid: Zxid
    mzxid: Zxid
    ctime_ms: int
    mtime_ms: int
    version: ZkVersion
    cversion: int
    aversion: int
    ephemeral_owner: SessionId
    pzxid: Zxid


class SnapshotFile:
    """One snapshot, read once from its beginning.

    Attributes:
        zxid: of the last transaction when the snapshot was begun, from the file's name.
        sessions: session id -> time-out in ms.
    """

    def __init__(self, path: Path) -> None:
        """Open the snapshot and read everything before the tree. Raises: OSError; BadSnapshotError."""
        self.path = path
        self.zxid = snapshot_zxid(path)
        self._file = path.open("rb")
        self._bytes = _Bytes(path, _uncompressed(path, self._file))
        try:
            self._read_file_header()
            self.sessions: Mapping[SessionId, int] = dict(self._read_sessions())
            self._pass_acls()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def znodes(self) -> Iterator[StoredZnode]:
        """Yield each znode, the root first, parents before their children.

        Raises: BadSnapshotError, also at the end when the checksum does not match: the yielded znodes are unreliable then.
        """
        while (path := self._bytes.next_string()) != END_OF_TREE:
            data = self._bytes.next_buffer()
            self._bytes.take(LONG.size)  # the number of the ACL
            czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, pzxid = STAT.unpack(self._bytes.take(STAT.size))
            yield StoredZnode(
                path or "/", data, czxid, mzxid, ctime, mtime, version, cversion, aversion, SessionId(owner), pzxid
            )
        checksum = self._bytes.checksum
        if not self._bytes.is_at_end() and self._bytes.next_long() != checksum:
            raise BadSnapshotError(self.path, "its checksum does not fit what is in it")

    def _read_file_header(self) -> None:
        header = self._bytes.take(FILE_HEADER.size)
        magic, version, _dbid = FILE_HEADER.unpack(header)
        if (magic, version) != (MAGIC, VERSION):
            raise BadSnapshotError(self.path, f"no snapshot of version 2, it begins {header[:8].hex()}")

    def _read_sessions(self) -> Iterator[tuple[SessionId, int]]:
        for _ in range(self._bytes.next_int()):
            session_id, timeout_ms = SESSION.unpack(self._bytes.take(SESSION.size))
            yield SessionId(session_id), timeout_ms

    def _pass_acls(self) -> None:
        for _ in range(self._bytes.next_int()):
            self._bytes.take(LONG.size)
            for _ in range(self._bytes.next_int()):
                self._bytes.take(INT.size)  # permissions
                self._bytes.next_buffer()  # scheme
                self._bytes.next_buffer()  # id


class Readable(Protocol):
    """A stream of bytes; `read` returns up to `length` bytes, and no bytes only at the end."""

    def read(self, length: int, /) -> bytes: ...


class _Bytes:
    """Reads fields from a stream and computes the Adler-32 of all bytes read."""

    def __init__(self, path: Path, stream: Readable) -> None:
        self._path = path
        self._stream = stream
        self._chunk = b""
        self._at = 0
        self._summed = 1  # Adler-32 of the chunks before this one

    @property
    def checksum(self) -> int:
        return adler32(self._chunk[: self._at], self._summed)

    def take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._chunk):
            self._fill(length)
            end = length
        taken = self._chunk[self._at : end]
        self._at = end
        return taken

    def next_int(self) -> int:
        value: int = INT.unpack(self.take(INT.size))[0]
        return value

    def next_long(self) -> int:
        value: int = LONG.unpack(self.take(LONG.size))[0]
        return value

    def next_buffer(self) -> bytes | None:
        length = self.next_int()
        if length == -1:
            return None
        if not 0 <= length <= LONGEST_FIELD:
            raise BadSnapshotError(self._path, f"a field of {length} bytes")
        return self.take(length)

    def next_string(self) -> str:
        try:
            return (self.next_buffer() or b"").decode()
        except UnicodeDecodeError as error:
            raise BadSnapshotError(self._path, f"a path that is no text: {error}") from None

    def is_at_end(self) -> bool:
        if self._at == len(self._chunk):
            self._fill(0)
        return self._at == len(self._chunk)

    def _fill(self, wanted: int) -> None:
        """Drop the bytes already taken and read until `wanted` bytes are available."""
        self._summed = self.checksum
        self._chunk, self._at = self._chunk[self._at :], 0
        while len(self._chunk) < max(wanted, 1):
            try:
                more = self._stream.read(max(CHUNK, wanted - len(self._chunk)))
            except (EOFError, zlib.error, gzip.BadGzipFile, BadSnappyError) as error:
                raise BadSnapshotError(self._path, f"cannot be uncompressed: {error}") from None
            if not more:
                break
            self._chunk += more
        if len(self._chunk) < wanted:
            raise BadSnapshotError(self._path, "it is cut short")


def _uncompressed(path: Path, file: IO[bytes]) -> Readable:
    match path.suffix:
        case ".gz":
            return gzip.GzipFile(fileobj=file)
        case ".snappy":
            return SnappyStream(file)
        case _:
            return file


def snapshot_files(directory: Path) -> list[Path]:
    """Return the snapshots of a data directory's version-2, oldest first; none if it does not exist."""
    return sorted((path for path in directory.glob("snapshot.*") if SNAPSHOT_NAME.fullmatch(path.name)), key=snapshot_zxid)


def snapshot_zxid(path: Path) -> Zxid:
    """Return the zxid in a snapshot's name; 0 for a file that does not have a snapshot's name."""
    named = SNAPSHOT_NAME.fullmatch(path.name)
    return Zxid(int(named[1], 16) if named else 0)
