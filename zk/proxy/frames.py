"""Where the frames of a byte stream begin and end, however the stream is cut into chunks. Pure.

A frame of ZooKeeper's protocol is a 4-byte length and that many bytes. Nothing is changed: the pieces that come out are, one
after the other, the bytes that went in. What nobody wants to see goes on as it comes, so that a frame may be longer than
memory; what somebody wants to see whole is kept back until it is whole.

The first frame of either direction opens a session, and its length is within narrow bounds. A stream that begins otherwise
(a four-letter word, or no ZooKeeper at all) has no frames.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

LENGTH = Struct("!i")
HANDSHAKE_LENGTHS = range(20, 4097)  # a session id and a password; longer ones have never been seen


class Look(Enum):
    """How much of a frame somebody wants to see."""

    NOTHING = "nothing"
    HEAD = "head"  # its first bytes, before any of it goes on
    WHOLE = "whole"


class Piece(NamedTuple):
    """Bytes of the stream. `seen` is what was asked for of the frame that begins with them; None when nothing was."""

    raw: bytes
    seen: bytes | None


class FrameScanner:
    """Finds the frames of one direction of one connection.

    Args:
        head_bytes: how much of a frame, after its length, is its head; a shorter frame is all head.
        look: given a frame's length and head, says what to show of it. The first frame is always shown whole.

    Attributes:
        is_raw: the stream has no frames, or none from here on.
    """

    def __init__(self, head_bytes: int, look: Callable[[int, bytes], Look]) -> None:
        self.is_raw = False
        self._head_bytes = head_bytes
        self._look = look
        self._is_first = True
        self._pending = bytearray()  # kept back: the begin of a frame
        self._needed = 0  # how many bytes must be pending before anything new can be said
        self._left = 0  # bytes to come of a frame that nobody wants to see any more

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """Yield the pieces that can go on now. Each is to be dealt with before the next is asked for: `look` may change."""
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
        """Return what is kept back still, when the stream has ended."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest

    def give_up(self) -> None:
        """Look for no more frames."""
        self.is_raw = True

    def _pass_on(self, at: int, length: int, size: int) -> int:
        end = min(at + length, size)
        self._left = at + length - end
        return end

    def _frame_at(self, data: bytes, at: int) -> tuple[int, bytes | None] | None:
        """Return where the frame at `at` ends, perhaps after the data, and what is to be seen; None: too little has come."""
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
        look = Look.WHOLE if self._is_first else self._look(length, head)
        end = begin + length
        if look is Look.WHOLE and len(data) < end:
            self._needed = end - at
            return None
        self._is_first, self._needed = False, 0
        return end, None if look is Look.NOTHING else head if look is Look.HEAD else data[begin:end]
