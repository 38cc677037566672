"""One TCP connection of a Kafka client to a broker, on asyncio.

As in Kafka, each connection has one request at a time in the broker: the next one is taken when the last one has been
answered, so answers go in order, and a client that sends faster than the broker answers is held back by TCP.

Source: Kafka 2.8, SocketServer.Processor and NetworkReceive.
"""

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from kcsim.brokers.network.client_link import ClientLink, ClientListener
from kcsim.brokers.wire.apis.api import AnsweredRequestError, ConnectionRefusedByApiError
from kcsim.brokers.wire.apis.registry import (
    answer_frame,
    is_served,
    name_of_request,
    refusal_of_api_versions,
    request_of,
    response_frame,
)
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, UnknownVersionError, client_id_in, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.errors import Killed
from kcsim.runtime.ports import Promise, Runtime

LENGTH = struct.Struct(">i")
READ_AHEAD_BYTES = 1 << 20
"""What a client may have sent that the broker has not taken yet, before TCP holds the client back."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing the socket sends a reset."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a broker allows on a connection; the names and defaults are those of Kafka's settings.

    Attributes:
        socket_request_max_bytes: the length of a frame.
        connections_max_idle_ms: how long a connection may be idle before it is closed.
    """

    socket_request_max_bytes: int = 100 * 1024 * 1024
    connections_max_idle_ms: int = 600_000


DEFAULT_LIMITS = ConnectionLimits()


class PortObserver(Protocol):
    """Receives what happens to the clients of a port."""

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it. Args: client: host and port."""
        ...

    def answered(self, frame: RequestFrame, response: Any) -> None:
        """The broker's response to a request was written to its connection, if the client expects one."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What all connections of a port share.

    Attributes:
        cause: the event that the events of the broker for requests follow from.
        listener: receives the requests, and gives each connection its link.
        observer: receives what happens to clients.
        connections: those that are open.
    """

    runtime: Runtime
    cause: int
    listener: ClientListener
    observer: PortObserver
    limits: ConnectionLimits
    fetch_sessions: FetchSessions
    connections: "set[KafkaClientConnection]"


class KafkaClientConnection(asyncio.Protocol):
    """Reads the frames of a client, and answers them one after the other."""

    def __init__(self, context: ConnectionContext) -> None:
        self._context = context
        self._received = bytearray()
        self._frames: asyncio.Queue[bytes | MalformedFrameError | None] = asyncio.Queue()  # None: the client has gone
        self._not_taken_bytes = 0
        self._is_malformed = False
        self._may_write = asyncio.Event()
        self._may_write.set()

    def close(self) -> None:
        """Break the connection. Idempotent."""
        self._serving.cancel()

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._client = "{}:{}".format(*transport.get_extra_info("peername")[:2])
        self._context.connections.add(self)
        self._serving = asyncio.get_running_loop().create_task(self._serve())
        self._link: ClientLink = self._context.listener.client_link(self)

    def data_received(self, data: bytes) -> None:
        received, limit = self._received, self._context.limits.socket_request_max_bytes
        received += data
        begin = 0
        while len(received) - begin >= LENGTH.size and not self._is_malformed:
            (length,) = LENGTH.unpack_from(received, begin)
            if not 0 <= length <= limit:
                why = f"a frame of {length} bytes; socket.request.max.bytes is {limit}"
                self._frames.put_nowait(MalformedFrameError(why))
                self._is_malformed = True
                self._transport.pause_reading()
                return
            end = begin + LENGTH.size + length
            if len(received) < end:
                break
            self._take_over(bytes(received[begin + LENGTH.size : end]))
            begin = end
        del received[:begin]

    def _take_over(self, frame: bytes) -> None:
        self._not_taken_bytes += len(frame)
        if self._not_taken_bytes > READ_AHEAD_BYTES:
            self._transport.pause_reading()
        if not self._link.is_client_known and (client_id := client_id_in(frame)) is not None:
            self._link.name_client(client_id)
        self._link.bring(name_of_request(frame), frame)

    def connection_lost(self, _: Exception | None) -> None:
        self._may_write.set()
        self._link.leave()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    # --- the ClientEnd port

    def receive(self, frame: bytes) -> None:
        self._frames.put_nowait(frame)

    def hang_up(self) -> None:
        self._frames.put_nowait(None)

    def reset(self) -> None:
        with suppress(OSError):  # the client may have gone
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.close()

    # --- requests and answers

    async def _serve(self) -> None:
        try:
            while (frame := await self._next_frame()) is not None:
                await self._answer(frame)
                await self._may_write.wait()
        except (MalformedFrameError, ConnectionRefusedByApiError) as error:
            self._context.observer.closed(self._client, str(error))
        except (OSError, TimeoutError, asyncio.CancelledError, Killed):
            pass  # the client was idle for too long, or this end is closed
        finally:
            self._context.connections.discard(self)
            self._link.close()
            self._transport.abort()

    async def _next_frame(self) -> bytes | None:
        if self._frames.empty():
            async with asyncio.timeout(self._context.limits.connections_max_idle_ms / 1000):
                frame = await self._frames.get()
        else:
            frame = self._frames.get_nowait()
        if isinstance(frame, MalformedFrameError):
            raise frame
        if frame is not None:
            self._not_taken_bytes -= len(frame)
            if self._not_taken_bytes <= READ_AHEAD_BYTES and not self._is_malformed:
                self._transport.resume_reading()
        return frame

    async def _answer(self, content: bytes) -> None:
        """Answer a request."""
        context = self._context
        try:
            frame = decode_request(content, self._client, context.fetch_sessions)
            if not is_served(frame.api_key, frame.version):
                raise UnknownVersionError(frame.api_key, frame.version, frame.correlation_id)
        except UnknownVersionError as error:
            if error.api_key != API_VERSIONS:
                raise MalformedFrameError(str(error)) from error
            self._send(name_of_request(content), refusal_of_api_versions(error.correlation_id))
            return
        name = name_of_request(content)
        try:
            request = ClientRequest(request_of(frame), self._link.ends[0], context.cause, context.runtime.promise())
        except AnsweredRequestError as error:
            self._send(name, answer_frame(error.values, frame))
            return
        context.listener.put(request)
        if context.listener.breaks_now(self._link, name):
            self._link.sever("")
            return
        response = await request.answer.wait()
        answer = response_frame(response, frame)
        if answer is None:
            context.observer.answered(frame, response)
        else:
            self._link.answer(name, len(answer), self._write_response, answer, frame, response)

    def _send(self, name: str, answer: bytes) -> None:
        self._link.answer(name, len(answer), self._write, answer)

    def _write_response(self, answer: bytes, frame: RequestFrame, response: Any) -> None:
        if not self._transport.is_closing():
            self._write(answer)
            self._context.observer.answered(frame, response)

    def _write(self, answer: bytes) -> None:
        self._transport.writelines((LENGTH.pack(len(answer)), answer))


class ClientRequest:
    """The Incoming port: a request that came over TCP. Attributes: answer: the broker's response."""

    __slots__ = ("answer", "cause", "request", "sender")

    def __init__(self, request: Any, sender: str, cause: int, answer: Promise[Any]) -> None:
        self.request = request
        self.sender = sender
        self.cause = cause
        self.answer = answer

    def respond(self, response: Any) -> None:
        self.answer.resolve(response)
