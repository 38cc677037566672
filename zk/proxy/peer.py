"""One end of a connection, on asyncio's streams: reading, sending, closing, and whether the peer has ended its side."""

import asyncio
import os
import select
import socket
from contextlib import suppress
from dataclasses import dataclass

_READ_BYTES = 64 * 1024


@dataclass(frozen=True, eq=False)
class Peer:
    """The process at the other end of a connection. Network errors count as the end of the connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_closing(self) -> bool:
        """Whether the connection was cut or closed, by the proxy or because sending failed."""
        return self.writer.is_closing()

    @property
    def _socket(self) -> socket.socket | None:
        """The connection's socket; None after the end of an encrypted connection."""
        sock: socket.socket | None = self.writer.get_extra_info("socket")
        return sock

    async def read(self) -> bytes:
        """Return the next bytes; empty at the end of the connection, for whatever reason."""
        try:
            return await self.reader.read(_READ_BYTES)
        except OSError:
            return b""

    async def send(self, data: bytes) -> None:
        """Send data; return when nearly all of it has been accepted. Nothing is sent, and no error raised, after the end."""
        if data and not self.is_closing:
            with suppress(OSError):
                self.writer.write(data)
                await self.writer.drain()

    def send_end(self) -> None:
        """Signal the end of the data, which the peer receives after all bytes. An encrypted connection is closed then."""
        with suppress(OSError):
            if self.is_closing:
                return
            if self.writer.can_write_eof():
                self.writer.write_eof()
            else:
                self.close()

    def close(self) -> None:
        """Stop reading, and close when all bytes have been sent to the peer."""
        self.writer.close()

    def break_off(self) -> None:
        """Close at once, whatever is still to be sent. No effect on a closed connection."""
        sock = self._socket
        # In Python 3.11, asyncio raises an error when a closed connection is aborted.
        if sock is not None and sock.fileno() >= 0:
            self.writer.transport.abort()

    async def closed(self) -> None:
        with suppress(OSError):
            await self.writer.wait_closed()

    def is_gone(self) -> bool:
        """Return whether the peer has ended its side, even if bytes that it sent before are still unread."""
        sock = self._socket
        if sock is None or self.is_closing or self.reader.at_eof():
            return True
        if hasattr(select, "POLLRDHUP"):
            poll = select.poll()
            poll.register(sock.fileno(), select.POLLRDHUP)
            return bool(poll.poll(0))
        # On other systems an end can only be seen once all bytes before it were read. asyncio's socket object does not offer
        # a peek: peek through a duplicate.
        with socket.socket(fileno=os.dup(sock.fileno())) as twin:
            twin.setblocking(False)
            try:
                return twin.recv(1, socket.MSG_PEEK) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
