"""One TCP connection of a Kafka client to a broker, on asyncio.

As in Kafka, each connection has one request at a time in the broker: the next one is taken when the last one has been
answered, so answers go in order, and a client that sends faster than the broker answers is held back by TCP.

Source: Kafka 2.8, SocketServer.Processor and NetworkReceive.
"""

import asyncio
import re
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kcsim.brokers.network.client_link import ClientLink, ClientListener
from kcsim.brokers.network.link_conditions import CLIENT
from kcsim.brokers.ports import ConnectionEnd
from kcsim.brokers.wire.apis.api import AnsweredRequestError, ConnectionRefusedByApiError, Values
from kcsim.brokers.wire.apis.registry import (
    answer_frame,
    is_served,
    name_of_request,
    packed_response,
    refusal_of_api_versions,
    request_of,
    response_values,
)
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, UnknownVersionError, client_id_in, decode_request
from kcsim.brokers.wire.message_reader import MalformedFrameError
from kcsim.brokers.wire.packed_reading import PACKED_REQUESTS
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.controller.capabilities import Release
from kcsim.errors import Killed
from kcsim.eventlog.outages import BROKER_PREFIX
from kcsim.runtime.ports import Promise, Runtime

LENGTH = struct.Struct(">i")
READ_AHEAD_BYTES = 1 << 20
"""What a client may have sent that the broker has not taken yet, before TCP holds the client back."""
OF_BROKERS = frozenset(
    {"LeaderAndIsr", "UpdateMetadata", "StopReplica", "ControlledShutdown", "AlterIsr", "AllocateProducerIds"}
)
"""The requests between controller and brokers. A broker's client id is its own id."""
OF_FOLLOWERS = frozenset({"Fetch", "OffsetsForLeaderEpoch", "ListOffsets"})
"""The requests of followers to their leaders."""
_FETCHER = re.compile(r"broker-([0-9]+)-fetcher-[0-9]+")
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

    def received_from_broker(self, broker: str, request: str) -> int:
        """A request of a broker in another process has arrived. Return the event that its consequences follow from."""
        ...

    def answered(self, request: AnsweredRequest) -> None:
        """The response to a request was written to its connection, if the client expects one."""
        ...

    def closed(self, client: str, why: str) -> None:
        """A connection was closed because of what came over it."""
        ...

    def refused_broker(self, broker: str, request: str, why: str) -> None:
        """The connection of a broker was closed because this broker's release does not know the version of its request."""
        ...

    def disconnected(self, client: str, end: ConnectionEnd) -> None:
        """A connection ended for another reason."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What all connections of a port share.

    Attributes:
        listener: receives the requests, and gives each connection its link.
        observer: receives what happens to clients.
        causes: those of requests from brokers of the run.
        connections: those that are open.
    """

    runtime: Runtime
    listener: ClientListener
    observer: PortObserver
    causes: RequestCauses
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
        self._is_broken = False
        self._may_write = asyncio.Event()
        self._may_write.set()

    def close(self) -> None:
        """Break the connection. Idempotent."""
        self._serving.cancel()
        self._transport.abort()

    # --- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._client = "{}:{}".format(*transport.get_extra_info("peername")[:2])
        self._context.connections.add(self)
        self._loop = asyncio.get_running_loop()
        self._serving = self._loop.create_task(self._serve())
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
        name = name_of_request(frame)
        if not self._link.is_sender_known and (client_id := client_id_in(frame)) is not None:
            self._link.name_sender(_node_of(client_id, name))
        self._link.bring(name, frame)

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
        self._is_broken = True
        self.close()

    # --- requests and answers

    async def _serve(self) -> None:
        observer = self._context.observer
        try:
            while (frame := await self._next_frame()) is not None:
                await self._answer(frame)
                await self._may_write.wait()
            observer.disconnected(self._client, ConnectionEnd.CLOSED_BY_CLIENT)
        except (MalformedFrameError, ConnectionRefusedByApiError) as error:
            observer.closed(self._client, str(error))
        except _UnservedBrokerError as error:
            observer.refused_broker(self._link.ends[0], error.request, str(error))
        except TimeoutError:
            observer.disconnected(self._client, ConnectionEnd.IDLE)
        except (asyncio.CancelledError, Killed):
            observer.disconnected(self._client, ConnectionEnd.BROKEN if self._is_broken else ConnectionEnd.PORT_CLOSED)
        finally:
            self._context.fetch_sessions.opening.pop(self._client, None)
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
        context, began_s, name = self._context, self._loop.time(), name_of_request(content)
        try:
            frame = decode_request(content, self._client, context.fetch_sessions, PACKED_REQUESTS)
            if not is_served(frame.api_key, frame.version, context.listener.release):
                raise UnknownVersionError(frame.api_key, frame.version, frame.correlation_id)
        except UnknownVersionError as error:
            if error.api_key != API_VERSIONS:
                if self._link.ends[0].startswith(BROKER_PREFIX):
                    raise _UnservedBrokerError(name, error.version, context.listener.release) from error
                raise MalformedFrameError(str(error)) from error
            answer = refusal_of_api_versions(error.correlation_id)
            self._link.answer(name, len(answer), self._write, answer)
            return
        cause, is_reported = self._cause_of(frame, name)
        under_way = _UnderWay(frame, len(content), began_s, name, is_reported)
        try:
            request = ClientRequest(
                request_of(frame._replace(cause=cause)), self._link.ends[0], cause, context.runtime.promise()
            )
        except AnsweredRequestError as error:
            self._respond(under_way, None, error.values)
            return
        context.listener.put(request)
        if context.listener.breaks_now(self._link, name):
            self._link.sever("")
            return
        response = await request.answer.wait()
        packed = packed_response(response, frame)
        if packed is None:
            self._respond(under_way, response, response_values(response, frame), request.fault)
        else:
            self._link.answer(name, len(packed), self._write, packed)

    def _cause_of(self, frame: RequestFrame, name: str) -> tuple[int, bool]:
        """Return the event that a request's consequences follow from, and whether the request is a client's."""
        context, sender = self._context, self._link.ends[0]
        within_run = context.causes.of(self._client)
        if within_run is not None:
            return within_run, False
        if sender.startswith(BROKER_PREFIX):
            return context.observer.received_from_broker(sender, name), False
        return context.observer.received(frame), True

    def _respond(self, under_way: "_UnderWay", response: Any, values: Values | None, fault: int | None = None) -> None:
        """Send an answer, or none if the client expects none."""
        frame, size, began_s, name, is_reported = under_way
        answer = None if values is None else answer_frame(values, frame)

        def write() -> None:
            is_written = answer is None or self._write(answer)
            if is_written and is_reported:
                latency_ms, total = (self._loop.time() - began_s) * 1000, size + len(answer or b"")
                self._context.observer.answered(AnsweredRequest(frame, response, values, total, latency_ms, fault))

        if answer is None:
            write()
        else:
            self._link.answer(name, len(answer), write)

    def _write(self, answer: bytes) -> bool:
        """Write an answer. Return False if the connection is closed."""
        if self._transport.is_closing():
            return False
        self._transport.writelines((LENGTH.pack(len(answer)), answer))
        return True


def _node_of(client_id: str, request: str) -> str:
    """Return the node that calls itself so in its first request."""
    if request in OF_BROKERS and client_id.isdecimal():
        return f"{BROKER_PREFIX}{client_id}"
    if request in OF_FOLLOWERS and (fetcher := _FETCHER.fullmatch(client_id)) is not None:
        return f"{BROKER_PREFIX}{fetcher[1]}"
    return f"{CLIENT}{client_id}"


class _UnservedBrokerError(Exception):
    """A broker sends a request in a version that is not served. Attributes: request: its name."""

    def __init__(self, request: str, version: int, release: Release | None) -> None:
        own = "this broker" if release is None else f"Kafka {release}, the release of this broker,"
        super().__init__(
            f"{own} does not know version {version}; the sender's inter.broker.protocol.version is that of a newer release"
        )
        self.request = request


class _UnderWay(NamedTuple):
    """A request that is being answered.

    Attributes:
        size: bytes.
        name: in the event log.
        is_reported: whether it came from a client, and not from a broker of the run.
    """

    frame: RequestFrame
    size: int
    began_s: float
    name: str
    is_reported: bool


class ClientRequest:
    """The Incoming port: a request that came over TCP.

    Attributes:
        answer: the broker's response.
        fault: the fault because of which the answer carries an error.
    """

    __slots__ = ("answer", "cause", "fault", "request", "sender")

    def __init__(self, request: Any, sender: str, cause: int, answer: Promise[Any]) -> None:
        self.request = request
        self.sender = sender
        self.cause = cause
        self.answer = answer
        self.fault: int | None = None

    def note_fault(self, cause: int) -> None:
        self.fault = cause

    def respond(self, response: Any) -> None:
        self.answer.resolve(response)
