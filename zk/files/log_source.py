"""Sources of a log file's bytes: a plain file, which may be growing, or a file compressed with gzip."""

import gzip
import os
import zlib
from pathlib import Path
from typing import Protocol

LONGEST_RECORD_IN_GZIP = 64 * 1024 * 1024
"""Bytes; the longest record length accepted where the end of the file is not known. A server's own limit is 1 MB."""


class NotCompressedError(ValueError):
    """The file is not in gzip's format."""


class LogSource(Protocol):
    """Random access to the bytes of a log. The offsets of successive reads never decrease."""

    broken: str | None
    """The reason why reading stopped before the end of the data; None if it did not."""

    def read(self, length: int, offset: int) -> bytes:
        """Return `length` bytes from `offset` on; fewer only at the end. Raises: NotCompressedError, at the first read."""
        ...

    def has(self, length: int, offset: int) -> bool:
        """Return whether `length` bytes exist from `offset` on, or could exist where the end is not known."""
        ...

    def close(self) -> None: ...


def source_of(path: Path) -> LogSource:
    """Open a log file. Raises: OSError."""
    return GzipSource(path) if path.suffix == ".gz" else PlainSource(path)


class PlainSource:
    """An uncompressed file; bytes that are appended to it later can be read."""

    def __init__(self, path: Path) -> None:
        self.broken: str | None = None
        self._file = path.open("rb", buffering=0)  # a server writes over the zeros that it has filled the file with

    def read(self, length: int, offset: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length) or b""

    def has(self, length: int, offset: int) -> bool:
        return offset + length <= self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()


class GzipSource:
    """A compressed file, decompressed once while it is read: only the bytes of the last read are kept in memory."""

    def __init__(self, path: Path) -> None:
        self.broken: str | None = None
        self._compressed = path.open("rb")
        self._file = gzip.GzipFile(fileobj=self._compressed)
        self._begin = 0  # the offset of the first byte held
        self._held = b""

    def read(self, length: int, offset: int) -> bytes:
        self._held = self._held[offset - self._begin :]
        self._begin = offset
        while len(self._held) < length and self.broken is None:
            try:
                more = self._file.read(length - len(self._held))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                if isinstance(error, gzip.BadGzipFile) and self._begin == 0 and not self._held:
                    raise NotCompressedError(f"gzip: {error}") from None
                self.broken = f"gzip: {error}"
                break
            if not more:
                break
            self._held += more
        return self._held[:length]

    def has(self, length: int, offset: int) -> bool:
        return length <= LONGEST_RECORD_IN_GZIP

    def close(self) -> None:
        self._file.close()
        self._compressed.close()
