"""Both ends of a proxied connection, as plain sockets, for tests of which bytes arrive where."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from kcsim.vocabulary import SessionId
from kcsim.zk.live import wire
from kcsim.zk.operations import Request
from kcsim.zk.proxy import ZooKeeperProxy

T = TypeVar("T")
BOUND_S = 60.0

HELLO = wire.encode_connect(SessionId(0), b"\0" * 16, 4_000)
WELCOME = bytes.fromhex("00000025 00000000 00000fa0 0000000000000007 00000010") + bytes(range(16)) + b"\0"
GONE = bytes.fromhex("00000025 00000000 00000000 0000000000000000 00000010") + b"\0" * 16 + b"\0"
"""Bytes that open a session; that grant session 7; that say that the session no longer exists."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a test, with a bound on its duration."""
    return asyncio.run(asyncio.wait_for(main, 2 * BOUND_S))


def request(xid: int, asked: Request) -> bytes:
    return wire.frame(xid, *wire.encode(asked, ""))


def answer(xid: int, body: bytes = b"") -> bytes:
    head = wire.REPLY_HEAD.pack(xid, 1, 0)
    return wire.INT.pack(len(head + body)) + head + body


class End:
    """One end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), BOUND_S)

    async def receive(self, count: int) -> bytes:
        return await asyncio.wait_for(self.reader.readexactly(count), BOUND_S)

    async def receive_all(self, pause_s: float = 0) -> bytes:
        """Return everything up to the end of the connection, whichever way it ends, with a pause after each read."""
        received = b""
        try:
            while data := await asyncio.wait_for(self.reader.read(65536), BOUND_S):
                received += data
                await asyncio.sleep(pause_s)
        except ConnectionError:
            pass
        return received

    def close(self) -> None:
        """Close the connection when everything has been sent."""
        self.writer.close()

    async def closed(self) -> None:
        with suppress(ConnectionError):
            await self.writer.wait_closed()

    async def die(self) -> None:
        """Close the connection as the system does for a killed process."""
        self.writer.transport.abort()
        await self.closed()


class FakeServer:
    """A server that accepts connections, which the test then handles."""

    def __init__(self) -> None:
        self.port = 0
        self._taken: asyncio.Queue[End] = asyncio.Queue()

    async def connection(self) -> End:
        return await asyncio.wait_for(self._taken.get(), BOUND_S)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FakeServer"]:
        ends: list[End] = []

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            ends.append(End(reader, writer))
            self._taken.put_nowait(ends[-1])

        listener = await asyncio.start_server(take, "127.0.0.1")
        self.port = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()
            for end in ends:
                end.close()


@asynccontextmanager
async def between() -> AsyncIterator[tuple[ZooKeeperProxy, FakeServer]]:
    """Yield a proxy, and the server behind it."""
    async with FakeServer().running() as server, ZooKeeperProxy(f"127.0.0.1:{server.port}/c") as proxy:
        yield proxy, server


async def connect(proxy: ZooKeeperProxy) -> End:
    return End(*await asyncio.open_connection("127.0.0.1", proxy.port))


async def connect_through(proxy: ZooKeeperProxy, server: FakeServer) -> tuple[End, End]:
    """Return the client's end and the server's end of a new connection."""
    client = await connect(proxy)
    return client, await server.connection()


async def session_through(proxy: ZooKeeperProxy, server: FakeServer) -> tuple[End, End]:
    """Return the same, with a session opened on the connection."""
    client, serving = await connect_through(proxy, server)
    await client.send(HELLO)
    assert await serving.receive(len(HELLO)) == HELLO
    await serving.send(WELCOME)
    assert await client.receive(len(WELCOME)) == WELCOME
    return client, serving


async def until(holds: asyncio.Event) -> None:
    await asyncio.wait_for(holds.wait(), BOUND_S)
