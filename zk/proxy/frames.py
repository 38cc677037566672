"""Finds the frames in a byte stream, however the stream is cut into chunks. Pure.

A frame of ZooKeeper's protocol is a 4-byte length and that many bytes. Nothing is changed: the output pieces, joined, are
the input bytes. Frames that are not inspected are output as they arrive, so that a frame may be longer than memory; a frame
that is inspected whole is held back until it is complete.

The first frame of either direction opens a session, and its length is within narrow bounds. A stream that begins otherwise
(a four-letter word, or another protocol) has no frames.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

LENGTH = Struct("!i")
HANDSHAKE_LENGTHS = range(20, 4097)  # a session id and a password; longer ones have never been seen


class FrameInspection(Enum):
    """How much of a frame is inspected."""

    NOTHING = "nothing"
    HEAD = "head"  # its first bytes, before any byte of it is output
    WHOLE = "whole"


class Piece(NamedTuple):
    """Bytes of the stream. `seen` is the inspected part of the frame that begins with them; None if nothing is inspected."""

    raw: bytes
    seen: bytes | None


class FrameScanner:
    """Finds the frames of one direction of one connection.

    Args:
        head_bytes: the number of bytes after a frame's length that are its head; a shorter frame is all head.
        inspection_of: takes a frame's length and head and returns how much of it is inspected. The first frame is always
            inspected whole.

    Attributes:
        is_raw: whether the stream has no frames, or no further ones.
    """

    def __init__(self, head_bytes: int, inspection_of: Callable[[int, bytes], FrameInspection]) -> None:
        self.is_raw = False
        self._head_bytes = head_bytes
        self._inspection_of = inspection_of
        self._is_first = True
        self._pending = bytearray()  # held back: the beginning of a frame
        self._needed = 0  # number of pending bytes needed before the frame can be processed further
        self._left = 0  # remaining bytes of a frame whose inspection is done

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Yield the pieces that can be forwarded now.

        Handle each piece before requesting the next: the answers of `inspection_of` may change meanwhile.
        """
        self._pending += chunk
        if len(self._pending) < self._needed and not self.is_raw:
            return
        data = bytes(self._pending)
        self._pending.clear()
        begin, at = 0, self._pass_on(0, self._left, len(data))
        while at < len(data):
            found = self._frame_at(data, at)
            if found is None:
                break
            end, seen = found
            if seen is None:
                at = self._pass_on(at, end - at, len(data))
                continue
            if begin < at:
                yield Piece(data[begin:at], None)
            begin, at = at, self._pass_on(at, end - at, len(data))
            yield Piece(data[begin:at], seen)
            begin = at
        self._pending += data[at:]
        if begin < at:
            yield Piece(data[begin:at], None)

    def rest(self) -> bytes:
        """Return the bytes that are still held back, when the stream has ended."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest

    def give_up(self) -> None:
        """Stop looking for frames."""
        self.is_raw = True

    def _pass_on(self, at: int, length: int, size: int) -> int:
        end = min(at + length, size)
        self._left = at + length - end
        return end

    def _frame_at(self, data: bytes, at: int) -> tuple[int, bytes | None] | None:
        """Return the end of the frame at `at`, which may be beyond the data, and its inspected part.

        None means that more bytes are needed.
        """
        if self.is_raw:
            return len(data), None
        if len(data) < at + LENGTH.size:
            self._needed = LENGTH.size
            return None
        (length,) = LENGTH.unpack_from(data, at)
        if length < 0 or (self._is_first and length not in HANDSHAKE_LENGTHS):
            self.is_raw = True
            return len(data), None
        begin = at + LENGTH.size
        head_end = begin + min(length, self._head_bytes)
        if len(data) < head_end:
            self._needed = head_end - at
            return None
        head = data[begin:head_end]
        look = FrameInspection.WHOLE if self._is_first else self._inspection_of(length, head)
        end = begin + length
        if look is FrameInspection.WHOLE and len(data) < end:
            self._needed = end - at
            return None
        self._is_first, self._needed = False, 0
        return end, None if look is FrameInspection.NOTHING else head if look is FrameInspection.HEAD else data[begin:end]
