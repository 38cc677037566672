"""A proxy in front of a broker's listener: it holds back, delays or slows down what the network between two nodes would.

The broker advertises the proxy's port, so that brokers and clients connect to it. The first request of a connection names
its client: brokers use their id (requests of the controller, and to it) or broker-N-fetcher-M; other clients are nodes by
their client ids. Bytes are forwarded unchanged.

Left out: a new connection over a cut link is accepted, and stalls with its first request; a network would not open it.
"""

import asyncio
import re
import struct
from contextlib import suppress
from enum import Enum
from typing import Protocol

from kcsim.brokers.apache_kafka.properties import HOST
from kcsim.zk.servers.free_ports import free_ports

READ_BYTES = 64 * 1024
MOST_UNDER_WAY = 1_024
"""So many parts are taken from the sender and have not arrived; then it has to wait."""
UNKNOWN = "(unknown)"
"""The node of a client that does not name itself."""
_LENGTH = struct.Struct(">i")
_CLIENT_ID_LENGTH = struct.Struct(">h")
_CLIENT_ID_AT = 8  # after the API key, its version, and the correlation id
_BROKERS = re.compile(r"([0-9]+)|broker-([0-9]+)-fetcher-[0-9]+")


class LinkState(Enum):
    """What a link does with bytes."""

    PASSES = "passes"
    HOLDS = "holds"
    REFUSES = "refuses"


class ProxiedLinks(Protocol):
    """The links between nodes, as they are at present."""

    def state(self, source: str, target: str) -> LinkState: ...
    def delay_ms(self, source: str, target: str) -> int:
        """Return how long something that is sent now takes to arrive."""
        ...

    def bytes_per_s(self, source: str, target: str) -> int | None:
        """Return how much may pass on each connection; None: any amount."""
        ...


class ArrivalTimes:
    """When what is sent over a link of one connection arrives: in order, each part after all bytes before it have left."""

    def __init__(self, links: ProxiedLinks, source: str, target: str) -> None:
        self._links = links
        self._link = source, target
        self._left_s = 0.0
        self._arrived_s = 0.0

    def arrives_s(self, now_s: float, size_bytes: int) -> float:
        """Return when a part arrives that is sent now."""
        rate = self._links.bytes_per_s(*self._link)
        self._left_s = now_s if rate is None else max(now_s, self._left_s) + size_bytes / rate
        self._arrived_s = max(self._arrived_s, self._left_s + self._links.delay_ms(*self._link) / 1000)
        return self._arrived_s


class ListenerProxy:
    """The proxy of one broker, on its own port of 127.0.0.1.

    Args:
        node: the broker's name.
        target_port: of the broker's own listener.
        port: of 127.0.0.1; None takes a free one.
    """

    def __init__(self, node: str, target_port: int, links: ProxiedLinks, port: int | None = None) -> None:
        self.node = node
        self.port = free_ports(1)[0] if port is None else port
        self._target_port = target_port
        self._links = links
        self._changed = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[asyncio.StreamWriter, str] = {}

    async def start(self) -> None:
        """Start to listen. Raises: OSError if the port was taken meanwhile."""
        self._listener = await asyncio.start_server(self._accept, HOST, self.port)

    async def stop(self) -> None:
        """Break all connections and stop listening. Idempotent."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def sources(self) -> list[str]:
        """The node at the other end of each open connection."""
        return list(self._open.values())

    def break_off(self, source: str) -> None:
        """Break the connections that a node has opened."""
        for client, opened_by in list(self._open.items()):
            if opened_by == source:
                client.transport.abort()

    def notice_change(self) -> None:
        """Forward what may pass now, and break the connections over links that refuse."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for source in {*self._open.values()}:
            if self._refuses(source):
                self.break_off(source)

    def _refuses(self, source: str) -> bool:
        return LinkState.REFUSES in (self._links.state(source, self.node), self._links.state(self.node, source))

    # --- connections

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        server: asyncio.StreamWriter | None = None
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                length = await reader.readexactly(_LENGTH.size)
                first = length + await reader.readexactly(_LENGTH.unpack(length)[0])
                source = self._open[client] = source_of(first[_LENGTH.size :])
                if self._refuses(source):
                    return
                now_s = asyncio.get_running_loop().time()
                await asyncio.sleep(ArrivalTimes(self._links, source, self.node).arrives_s(now_s, len(first)) - now_s)
                await self._until_it_passes(source, self.node)
                from_server, server = await asyncio.open_connection(HOST, self._target_port)
                server.write(first)
                await self._forward_both(source, (reader, server), (from_server, client))
        finally:
            self._open.pop(client, None)
            for writer in (client, server):
                if writer is not None:
                    writer.close()

    async def _forward_both(
        self,
        source: str,
        there: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        back: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Return when one of the two ends has closed the connection, and the link has let its end pass."""
        pumps = [
            asyncio.ensure_future(self._forward(*there, (source, self.node))),
            asyncio.ensure_future(self._forward(*back, (self.node, source))),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: tuple[str, str]) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_UNDER_WAY)
        reading = asyncio.ensure_future(self._read(reader, under_way, link))
        try:
            with suppress(OSError):
                while True:
                    arrives_s, data = await under_way.get()
                    if (left_s := arrives_s - asyncio.get_running_loop().time()) > 0:
                        await asyncio.sleep(left_s)
                    await self._until_it_passes(*link)
                    if not data:
                        return
                    writer.write(data)
                    await writer.drain()
        finally:
            reading.cancel()

    async def _read(
        self, reader: asyncio.StreamReader, under_way: "asyncio.Queue[tuple[float, bytes]]", link: tuple[str, str]
    ) -> None:
        """Take what is sent over a link, until its end, which is empty."""
        line, data = ArrivalTimes(self._links, *link), b"-"
        while data:
            try:
                data = await reader.read(READ_BYTES)
            except OSError:
                data = b""
            await under_way.put((line.arrives_s(asyncio.get_running_loop().time(), len(data)), data))

    async def _until_it_passes(self, source: str, target: str) -> None:
        while self._links.state(source, target) is LinkState.HOLDS:
            await self._changed.wait()


def source_of(request: bytes) -> str:
    """Return the node that sends a request, given without its length, by its client id."""
    try:
        (length,) = _CLIENT_ID_LENGTH.unpack_from(request, _CLIENT_ID_AT)
    except struct.error:
        return UNKNOWN
    begin = _CLIENT_ID_AT + _CLIENT_ID_LENGTH.size
    client_id = request[begin : begin + length].decode(errors="replace") if length > 0 else UNKNOWN
    broker = _BROKERS.fullmatch(client_id)
    return client_id if broker is None else f"broker-{broker[1] or broker[2]}"
