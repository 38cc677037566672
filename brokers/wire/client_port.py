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
from typing import Any, NamedTuple, Protocol

from kcsim.brokers.ports import AddressInUseError, ConnectionEnd, Incoming
from kcsim.brokers.wire.apis.api import AnsweredRequestError, ConnectionRefusedByApiError, Values
from kcsim.brokers.wire.apis.registry import answer_frame, is_served, refusal_of_api_versions, request_of, response_values
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, UnknownVersionError, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
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


class AnsweredRequest(NamedTuple):
    """A request, and what became of it.

    Attributes:
        response: the broker's; None: the answer was known without the broker.
        values: the fields of the answer; None: the client expects none.
        size: bytes of the request and of the answer.
        latency_ms: from when the request had arrived until its answer was written.
        cause: the event that the answer's errors follow from, where the port knows it.
    """

    frame: RequestFrame
    response: Any
    values: Values | None
    size: int
    latency_ms: float
    cause: int | None = None


class PortObserver(Protocol):
    """Receives what happens to the clients of a port, which are named by host and port."""

    def received(self, frame: RequestFrame) -> int:
        """A request has arrived. Return the event that the broker's events for the request follow from."""
        ...

    def answered(self, request: AnsweredRequest) -> None:
        """The response to a request was written to its connection, if the client expects one."""
        ...

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it."""
        ...

    def disconnected(self, client: str, end: ConnectionEnd) -> None:
        """A connection ended for another reason."""
        ...


class ClientPort:
    """Listens on a TCP port, and passes on the requests that arrive there.

    Args:
        address: host and port; port 0: any free one.
        deliver: called with each request.
        observer: receives what happens to clients.

    Raises: AddressInUseError.
    """

    def __init__(
        self,
        runtime: Runtime,
        address: tuple[str, int],
        deliver: Callable[[Incoming], None],
        observer: PortObserver,
        limits: ConnectionLimits = ConnectionLimits(),
    ) -> None:
        self._runtime = runtime
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
        self._loop = asyncio.get_running_loop()
        self._starting = self._loop.create_task(self._start())

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
            self._observer.disconnected(client, ConnectionEnd.PORT_CLOSED)
        except (MalformedFrameError, ConnectionRefusedByApiError) as error:
            self._observer.closed(client, str(error))
        except TimeoutError:
            self._observer.disconnected(client, ConnectionEnd.IDLE)
        except (OSError, asyncio.IncompleteReadError):
            self._observer.disconnected(client, ConnectionEnd.CLOSED_BY_CLIENT)
        except (asyncio.CancelledError, Killed):
            self._observer.disconnected(client, ConnectionEnd.PORT_CLOSED)
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str) -> None:
        while not self._is_closed:
            async with asyncio.timeout(self._limits.connections_max_idle_ms / 1000):
                content = await self._read_frame(reader)
            began_s = self._loop.time()
            frame, response, values, answer = await self._answer(content, client)
            if answer is not None:
                writer.write(LENGTH.pack(len(answer)) + answer)
                await writer.drain()
            if frame is not None:
                latency_ms = (self._loop.time() - began_s) * 1000
                size = len(content) + len(answer or b"")
                self._observer.answered(AnsweredRequest(frame, response, values, size, latency_ms))

    async def _read_frame(self, reader: asyncio.StreamReader) -> bytes:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if not 0 <= length <= self._limits.socket_request_max_bytes:
            most = self._limits.socket_request_max_bytes
            raise MalformedFrameError(f"a frame of {length} bytes; socket.request.max.bytes is {most}")
        return await reader.readexactly(length)

    async def _answer(self, content: bytes, client: str) -> tuple[RequestFrame | None, Any, Values | None, bytes | None]:
        """Return a request, the broker's response, and the answer to the client as fields and as a frame.

        There is no request if its version is not known, and no response if the broker was not asked.
        """
        try:
            frame = decode_request(content, client, self._fetch_sessions)
            if not is_served(frame.api_key, frame.version):
                raise UnknownVersionError(frame.api_key, frame.version, frame.correlation_id)
        except UnknownVersionError as error:
            if error.api_key != API_VERSIONS:
                raise MalformedFrameError(str(error)) from error
            return None, None, None, refusal_of_api_versions(error.correlation_id)
        cause = self._observer.received(frame)
        try:
            request = ClientRequest(request_of(frame), cause, self._runtime.promise())
        except AnsweredRequestError as error:
            return frame, None, error.values, answer_frame(error.values, frame)
        self._deliver(request)
        response = await request.answer.wait()
        values = response_values(response, frame)
        return frame, response, values, None if values is None else answer_frame(values, frame)


class ClientRequest:
    """The Incoming port: a request that came over TCP. Attributes: answer: the broker's response."""

    __slots__ = ("answer", "cause", "request")

    def __init__(self, request: Any, cause: int, answer: Promise[Any]) -> None:
        self.request = request
        self.cause = cause
        self.answer = answer

    def respond(self, response: Any) -> None:
        self.answer.resolve(response)
