"""One end of a connection, over asyncio's streams: how it is read, sent to and closed, and whether it is still there."""

import asyncio
import os
import select
import socket
from contextlib import suppress
from dataclasses import dataclass

_READ_BYTES = 64 * 1024


@dataclass(frozen=True, eq=False)
class Peer:
    """Who is at the end. Errors of the network are ends, too."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_closing(self) -> bool:
        """Whether it was cut or closed, by us or because nothing could be sent to it."""
        return self.writer.is_closing()

    @property
    def _socket(self) -> socket.socket:
        sock: socket.socket = self.writer.get_extra_info("socket")
        return sock

    async def read(self) -> bytes:
        """The next bytes; none when there will be no more, however that came about."""
        try:
            return await self.reader.read(_READ_BYTES)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        """Return when nearly all of it has been taken. Who is gone is sent nothing, without a word."""
        if data and not self.is_closing:
            with suppress(OSError):
                self.writer.write(data)
                await self.writer.drain()

    def send_end(self) -> None:
        """There will be no more: the peer hears of it when it has been sent everything."""
        with suppress(OSError):
            if not self.is_closing and self.writer.can_write_eof():
                self.writer.write_eof()

    def close(self) -> None:
        """Read no more, and close when the peer has been sent everything."""
        self.writer.close()

    def break_off(self) -> None:
        """Close at once, whatever is still to be sent. No effect once it is closed."""
        if self._socket.fileno() >= 0:  # aborting what is closed already is an error of asyncio's in Python 3.11
            self.writer.transport.abort()

    async def closed(self) -> None:
        with suppress(OSError):
            await self.writer.wait_closed()

    def is_gone(self) -> bool:
        """Whether the peer has ended its side, even if bytes that it sent before are still to be read."""
        sock = self._socket
        if self.is_closing or self.reader.at_eof():
            return True
        if hasattr(select, "POLLRDHUP"):
            poll = select.poll()
            poll.register(sock.fileno(), select.POLLRDHUP)
            return bool(poll.poll(0))
        # Elsewhere an end can only be seen once all before it was read: asyncio's own socket offers no look.
        with socket.socket(fileno=os.dup(sock.fileno())) as twin:
            twin.setblocking(False)
            try:
                return twin.recv(1, socket.MSG_PEEK) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
