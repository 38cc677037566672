"""Decompresses the output of Java's SnappyOutputStream: a header, then blocks, each preceded by its length.

Source: snappy-java, which ZooKeeper 3.9.5 writes its compressed snapshots with; the format of a block is that of Snappy.
"""

from struct import Struct
from typing import IO

HEADER = Struct(">8sii")  # magic, version, the oldest version that can read the stream
MAGIC = b"\x82SNAPPY\0"
LENGTH = Struct(">i")
LONGEST_BLOCK = 256 * 1024 * 1024
"""Bytes; a longer length counts as damage. A block has 32 KB unless the writer's block size was changed."""


class BadSnappyError(ValueError):
    """The data is not a Snappy stream, or the stream is truncated or damaged."""


class SnappyStream:
    """Reads a compressed stream block by block."""

    def __init__(self, stream: IO[bytes]) -> None:
        from pyarrow import Codec

        self._codec = Codec("snappy")
        self._stream = stream
        self._held = b""
        self._is_begun = False

    def read(self, length: int) -> bytes:
        """Return up to `length` bytes; no bytes at the end only. Raises: BadSnappyError."""
        if not self._is_begun:
            self._read_header()
        if not self._held:
            self._held = self._next_block()
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _read_header(self) -> None:
        header = self._stream.read(HEADER.size)
        if not header.startswith(MAGIC) or len(header) < HEADER.size:
            raise BadSnappyError(f"no Snappy stream, it begins {header[:8].hex()}")
        self._is_begun = True

    def _next_block(self) -> bytes:
        announced = self._stream.read(LENGTH.size)
        if not announced:
            return b""
        if len(announced) < LENGTH.size:
            raise BadSnappyError("cut short")
        (length,) = LENGTH.unpack(announced)
        if not 0 < length <= LONGEST_BLOCK:
            raise BadSnappyError(f"a block of {length} bytes")
        block = self._stream.read(length)
        if len(block) < length:
            raise BadSnappyError("cut short")
        try:
            return bytes(self._codec.decompress(block, decompressed_size=_size_of(block), asbytes=True))
        except OSError as error:
            raise BadSnappyError(str(error)) from None


def _size_of(block: bytes) -> int:
    """Return the uncompressed length of a block, with which the block begins: seven bits per byte, the lowest bits first."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if size > LONGEST_BLOCK:
                break
            return size
    raise BadSnappyError("a block without a length")
