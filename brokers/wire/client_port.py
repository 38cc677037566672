"""A TCP port on which Kafka's clients reach a broker, on asyncio.

As in Kafka, each connection has one request at a time in the broker: the next one is read when the last one has been
answered, so answers go in order, and a client that sends faster than the broker answers is held back by TCP.

Source: Kafka 2.8, SocketServer.Processor and NetworkReceive.
"""

import asyncio
import errno
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kcsim.brokers.ports import AddressInUseError, Incoming
from kcsim.brokers.wire.apis.api import AnsweredRequestError, ConnectionRefusedByApiError
from kcsim.brokers.wire.apis.registry import answer_frame, is_served, refusal_of_api_versions, request_of, response_frame
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, UnknownVersionError, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.packed_reading import PACKED_REQUESTS
from kcsim.errors import Killed
from kcsim.runtime.ports import Promise, Runtime

LENGTH = struct.Struct(">i")
BACKLOG = 50


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a broker allows on a connection; the names and defaults are those of Kafka's settings.

    Attributes:
        socket_request_max_bytes: the length of a frame.
        connections_max_idle_ms: how long a connection may be idle before it is closed.
    """

    socket_request_max_bytes: int = 100 * 1024 * 1024
    connections_max_idle_ms: int = 600_000


class PortObserver(Protocol):
    """Receives what happens to the clients of a port."""

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it. Args: client: host and port."""
        ...

    def answered(self, frame: RequestFrame, response: Any) -> None:
        """The broker's response to a request was written to its connection, if the client expects one."""
        ...


class ClientPort:
    """Listens on a TCP port, and passes on the requests that arrive there.

    Args:
        address: host and port; port 0: any free one.
        cause_of: from a client's host and port to the event that the broker's events for its next request follow from.
        deliver: called with each request.
        observer: receives what happens to clients.

    Raises: AddressInUseError.
    """

    def __init__(
        self,
        runtime: Runtime,
        address: tuple[str, int],
        cause_of: Callable[[str], int],
        deliver: Callable[[Incoming], None],
        observer: PortObserver,
        limits: ConnectionLimits = ConnectionLimits(),
    ) -> None:
        self._runtime = runtime
        self._cause_of = cause_of
        self._deliver = deliver
        self._observer = observer
        self._limits = limits
        self._fetch_sessions = FetchSessions(runtime.now_ms)
        self._connections: set[asyncio.Task[None]] = set()
        self._is_closed = False
        try:
            self._socket = socket.create_server(address, backlog=BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise AddressInUseError("{}:{} is in use".format(*address)) from error
        self._server: asyncio.Server | None = None
        self._starting = asyncio.get_running_loop().create_task(self._start())

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Refuse connections from now on, and break the open ones. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._server is None:
            self._starting.cancel()
            self._socket.close()
        else:
            self._server.close()
        for connection in self._connections:
            connection.cancel()

    # --- connections

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._connected, sock=self._socket)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        client = "{}:{}".format(*writer.get_extra_info("peername")[:2])
        try:
            await self._serve(reader, writer, client)
        except (MalformedFrameError, ConnectionRefusedByApiError) as error:
            self._observer.closed(client, str(error))
        except (OSError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError, Killed):
            pass  # the client has gone, was idle for too long, or this end is closed
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str) -> None:
        while not self._is_closed:
            async with asyncio.timeout(self._limits.connections_max_idle_ms / 1000):
                content = await self._read_frame(reader)
            frame, response, answer = await self._answer(content, client)
            if answer is not None:
                writer.write(LENGTH.pack(len(answer)) + answer)
                await writer.drain()
            if frame is not None:
                self._observer.answered(frame, response)

    async def _read_frame(self, reader: asyncio.StreamReader) -> bytes:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if not 0 <= length <= self._limits.socket_request_max_bytes:
            most = self._limits.socket_request_max_bytes
            raise MalformedFrameError(f"a frame of {length} bytes; socket.request.max.bytes is {most}")
        return await reader.readexactly(length)

    async def _answer(self, content: bytes, client: str) -> tuple[RequestFrame | None, Any, bytes | None]:
        """Return a request with its response and the response's frame; no request if the broker was not asked."""
        try:
            frame = decode_request(content, client, self._fetch_sessions, PACKED_REQUESTS)
            if not is_served(frame.api_key, frame.version):
                raise UnknownVersionError(frame.api_key, frame.version, frame.correlation_id)
        except UnknownVersionError as error:
            if error.api_key != API_VERSIONS:
                raise MalformedFrameError(str(error)) from error
            return None, None, refusal_of_api_versions(error.correlation_id)
        try:
            request = ClientRequest(request_of(frame), self._cause_of(client), self._runtime.promise())
        except AnsweredRequestError as error:
            return None, None, answer_frame(error.values, frame)
        self._deliver(request)
        response = await request.answer.wait()
        return frame, response, response_frame(response, frame)


class ClientRequest:
    """The Incoming port: a request that came over TCP. Attributes: answer: the broker's response."""

    __slots__ = ("answer", "cause", "request")

    def __init__(self, request: Any, cause: int, answer: Promise[Any]) -> None:
        self.request = request
        self.cause = cause
        self.answer = answer

    def respond(self, response: Any) -> None:
        self.answer.resolve(response)
