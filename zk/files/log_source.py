"""Where the bytes of a log file come from: a file as it lies there, perhaps growing, or one compressed with gzip."""

import gzip
import os
import zlib
from pathlib import Path
from typing import Protocol

LONGEST_RECORD_IN_GZIP = 64 * 1024 * 1024
"""How long a record may claim to be where the end of the file is not known; a server's own limit is 1 MB."""


class NotCompressedError(ValueError):
    """Not what gzip writes."""


class LogSource(Protocol):
    """Bytes by their place. Places asked for never go back."""

    broken: str | None
    """Why there are no more bytes than were read, when there should be some."""

    def read(self, length: int, offset: int) -> bytes:
        """Up to so many bytes from there on; fewer only at the end. Raises: NotCompressedError, the first time."""
        ...

    def has(self, length: int, offset: int) -> bool:
        """Tell whether so many bytes are there from `offset` on, or could be."""
        ...

    def close(self) -> None: ...


def source_of(path: Path) -> LogSource:
    """Open a log file. Raises: OSError."""
    return GzipSource(path) if path.suffix == ".gz" else PlainSource(path)


class PlainSource:
    """The file itself; what is appended to it can be read."""

    def __init__(self, path: Path) -> None:
        self.broken: str | None = None
        self._file = os.open(path, os.O_RDONLY)

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self._file, length, offset)

    def has(self, length: int, offset: int) -> bool:
        return offset + length <= os.fstat(self._file).st_size

    def close(self) -> None:
        os.close(self._file)


class GzipSource:
    """A compressed file, uncompressed as it is read, once: no more of it is held than was asked for last."""

    def __init__(self, path: Path) -> None:
        self.broken: str | None = None
        self._file = gzip.GzipFile(path, "rb")
        self._begin = 0  # the place of the first byte held
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
