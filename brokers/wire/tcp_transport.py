"""Connections over TCP to brokers, on asyncio: of brokers to each other, and of simulated clients.

Each connection has one request under way, as that of Kafka's RequestSendThread.

Source: Kafka 2.8, RequestSendThread, NetworkClientUtils; docs/kafka/requests.md 3.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Any, Protocol

from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime

LENGTH = struct.Struct(">i")


class RequestCodec(Protocol):
    """Makes the frames of the requests on one connection, and reads the responses."""

    def encode(self, request: Any, correlation_id: int) -> bytes:
        """Return the frame of a request. Raises: ValueError for a value that a field cannot have."""
        ...

    def decode(self, frame: bytes, request: Any) -> tuple[int, Any]:
        """Return correlation id and content of the response to a request. Raises: MalformedFrameError."""
        ...


class TcpTransport:
    """The BrokerTransport port of one process.

    Args:
        new_codec: returns the codec of a new connection.
        causes: where the recipients look for the causes of requests.
    """

    def __init__(self, runtime: Runtime, new_codec: Callable[[], RequestCodec], causes: RequestCauses) -> None:
        self._runtime = runtime
        self._new_codec = new_codec
        self._causes = causes
        self._opened: set[TcpConnection] = set()

    async def connect(self, host: str, port: int, timeout_ms: int) -> "TcpConnection":
        connection = TcpConnection(self._runtime, (host, port), self._new_codec(), self._causes, self._opened)
        try:
            await connection.open(timeout_ms)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Break all connections. Idempotent."""
        for connection in list(self._opened):
            connection.close()


class TcpConnection(asyncio.Protocol):
    """The BrokerConnection port.

    Args:
        opened: the open connections of its process.
    """

    def __init__(
        self,
        runtime: Runtime,
        address: tuple[str, int],
        codec: RequestCodec,
        causes: RequestCauses,
        opened: "set[TcpConnection]",
    ) -> None:
        self._runtime = runtime
        self._address = address
        self._codec = codec
        self._causes = causes
        self._opened = opened
        self._own_end = ""  # host and port, once it is established
        self._established: Promise[None] = runtime.promise()
        self._under_way: Promise[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None
        self._broken: str | None = None  # why it is broken
        self._received = bytearray()
        self._sent = 0
        opened.add(self)

    # --- the BrokerConnection port

    async def open(self, timeout_ms: int) -> None:
        """Open the connection and wait until it is established. Raises: BrokerConnectionError, TimedOutError."""
        self._opening = asyncio.get_running_loop().create_task(self._connect())
        await self._wait(self._established, timeout_ms)

    @property
    def is_open(self) -> bool:
        return self._broken is None

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        if self._broken is not None or self._transport is None:
            raise self._error(self._broken or "it was never established")
        correlation_id, self._sent = self._sent, self._sent + 1
        frame = self._codec.encode(request, correlation_id)
        answer: Promise[bytes] = self._runtime.promise()
        self._under_way = answer
        self._causes.sent(self._own_end, cause)
        self._transport.write(LENGTH.pack(len(frame)))
        self._transport.write(frame)
        received = await self._wait(answer, timeout_ms)
        try:
            answered_id, response = self._codec.decode(received, request)
        except MalformedFrameError as error:
            why = f"the answer cannot be read: {error}"
        else:
            if answered_id == correlation_id:
                return response
            why = f"the answer has correlation id {answered_id}, the request {correlation_id}"
        self._break(why)
        raise self._error(why)

    def close(self) -> None:
        self._break("it was closed at this end")

    # --- what asyncio calls

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if self._broken is not None:
            transport.abort()
            return
        self._own_end = "{}:{}".format(*transport.get_extra_info("sockname")[:2])
        self._established.resolve(None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._received)
            end = LENGTH.size + length
            if length < 0 or self._under_way is None:
                self._break(f"{length} bytes that no request has asked for")
                return
            if len(self._received) < end:
                return
            answer, self._under_way = self._under_way, None
            answer.resolve(bytes(self._received[LENGTH.size : end]))
            del self._received[:end]

    def connection_lost(self, exc: Exception | None) -> None:
        self._break(f"the connection was broken from the other side{f': {exc}' if exc else ''}")

    async def _connect(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, *self._address)
        except OSError as error:
            self._break(f"no connection: {error}")

    def _break(self, why: str) -> None:
        if self._broken is not None:
            return
        self._broken = why
        self._opened.discard(self)
        if self._opening is not None:
            self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._causes.closed(self._own_end)
        self._established.fail(self._error(why))
        if self._under_way is not None:
            self._under_way.fail(self._error(why))

    async def _wait(self, promise: "Promise[Any]", timeout_ms: int) -> Any:
        try:
            return await promise.wait(timeout_ms)
        except TimedOutError:
            raise TimedOutError(f"{self._text}: no answer within {timeout_ms} ms") from None

    @property
    def _text(self) -> str:
        return "{}:{}".format(*self._address)

    def _error(self, why: str) -> BrokerConnectionError:
        return BrokerConnectionError(f"{self._text}: {why}")
