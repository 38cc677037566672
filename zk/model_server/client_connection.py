"""One client's connection: finds frames in its bytes, answers them, and ends where ZooKeeper would end it."""

import asyncio
from typing import Protocol

from kcsim.zk.live.wire import INT
from kcsim.zk.memory.watches import ConnectionId

WORD_BYTES = 4
LONGEST_FRAME = 1024 * 1024 - 1
"""jute.maxbuffer: a client that announces a longer frame is disconnected."""


class Frames(Protocol):
    """What a connection passes its input to."""

    def opened(self, connection: "ClientConnection") -> None: ...
    def word(self, connection: "ClientConnection", word: str) -> None: ...
    def frame(self, connection: "ClientConnection", body: bytes) -> None: ...
    def lost(self, connection: "ClientConnection") -> None: ...


class ClientConnection(asyncio.Protocol):
    """A connection at one member.

    Attributes:
        is_open: whether a session was granted on this connection.
    """

    def __init__(self, number: ConnectionId, member: str, frames: Frames, longest_frame: int = LONGEST_FRAME) -> None:
        self.number = number
        self.member = member
        self.is_open = False
        self.names_read_only = True
        self.address = "127.0.0.1"
        self.port = 0
        self.received = self.sent = 0
        self._frames = frames
        self._longest_frame = longest_frame
        self._inbox = bytearray()
        self._is_first = True
        self._is_held = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.address, self.port = (transport.get_extra_info("peername") or (self.address, 0))[:2]
        self._frames.opened(self)

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        self._read_inbox()

    def eof_received(self) -> bool:
        return False  # close

    def connection_lost(self, exc: Exception | None) -> None:
        self._frames.lost(self)

    # --- pauses

    def hold(self) -> None:
        """Read and answer nothing until `release`; the connection stays open, as one of a stopped process."""
        self._is_held = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()
                self._read_inbox()

    # --- output

    def send(self, frame: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self.sent += 1
            self._transport.write(frame)

    def close(self) -> None:
        """Close the connection after everything that was sent."""
        if self._transport is not None:
            self._transport.close()

    def break_off(self) -> None:
        """Close the connection at once: what was not sent yet is lost."""
        if self._transport is not None:
            self._transport.abort()

    # --- input

    def _read_inbox(self) -> None:
        at = 0
        inbox = self._inbox
        while len(inbox) - at >= WORD_BYTES and not self._is_held and not self._is_closing():
            if self._is_first:
                self._is_first = False
                if bytes(inbox[:WORD_BYTES]).isalpha():
                    self._frames.word(self, inbox[:WORD_BYTES].decode("ascii", "replace"))
                    return
            (length,) = INT.unpack_from(inbox, at)
            if not 0 <= length <= self._longest_frame:
                self.break_off()
                return
            end = at + WORD_BYTES + length
            if len(inbox) < end:
                break
            body = bytes(inbox[at + WORD_BYTES : end])
            at = end
            self.received += 1
            self._frames.frame(self, body)
        del inbox[:at]

    def _is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()
