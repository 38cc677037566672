"""Ten brokers in a process of their own that acknowledge over TCP what a controller asks of them, and do nothing else.

They accept LeaderAndIsr 4, UpdateMetadata 6 and StopReplica 3, as of inter.broker.protocol.version 2.6: from any controller,
Apache Kafka's or ours.
"""

import asyncio
import multiprocessing
import struct
import time
from collections.abc import Sequence
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import decode_request
from kcsim.brokers.wire.packed_reading import read_leader_and_isr
from kcsim.brokers.wire.packed_requests import pack_leader_and_isr_response
from kcsim.controller.requests import ErrorCode, LeaderAndIsrResponse, StopReplicaResponse
from tests.brokers.wire.response_frames import response_frame

LENGTH, CORRELATION_ID = struct.Struct(">i"), struct.Struct(">i")
HEADER = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id, which follows."""
NO_TAGS = b"\0"
NO_ERROR = struct.pack(">hB", 0, 0)
SENDER_AND_RECIPIENT = 16
"""Bytes of controller and epochs at the start of a request's body; the rest of a LeaderAndIsr request is the same for each
controller that finds the cluster unchanged."""
ANSWERS_KEPT = 64
HOST = "127.0.0.1"


class Acknowledged(NamedTuple):
    """What the brokers have acknowledged so far.

    Attributes:
        last_s: when the last answer was sent, by time.monotonic().
        partitions: how many partitions the LeaderAndIsr requests had in all.
        request_bytes: the lengths of all requests.
        cpu_s: the processor time of the brokers' process.
    """

    last_s: float
    partitions: int
    requests: int
    request_bytes: int
    cpu_s: float


class AcknowledgingBrokers:
    """A context in which the brokers answer. Attributes: ports: one of 127.0.0.1 for each broker."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = tuple(ports)
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.ports, theirs), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        assert self.acknowledged().requests == 0, "they answer"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def acknowledged(self) -> Acknowledged:
        self._ours.send(None)
        found: Acknowledged = self._ours.recv()
        return found


def _serve(ports: Sequence[int], parent: Connection) -> None:
    asyncio.run(_Server(parent).serve(ports))


class _Server:
    def __init__(self, parent: Connection) -> None:
        self.done = Acknowledged(time.monotonic(), 0, 0, 0, 0.0)
        self._parent = parent

    async def serve(self, ports: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()
        for port in ports:
            await loop.create_server(lambda: _Answering(self), HOST, port)
        loop.add_reader(self._parent.fileno(), self._report)
        await asyncio.Event().wait()

    def _report(self) -> None:
        self._parent.recv()
        self._parent.send(self.done._replace(cpu_s=time.process_time()))

    def note(self, request: bytes, partitions: int) -> None:
        done = self.done
        self.done = done._replace(
            last_s=time.monotonic(),
            partitions=done.partitions + partitions,
            requests=done.requests + 1,
            request_bytes=done.request_bytes + len(request),
        )


class _Answering(asyncio.Protocol):
    """A connection of a controller."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._received = bytearray()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._received)
            if len(self._received) < LENGTH.size + length:
                return
            request = bytes(self._received[LENGTH.size : LENGTH.size + length])
            del self._received[: LENGTH.size + length]
            answer, partitions = answer_to(request)
            self._transport.write(LENGTH.pack(len(answer)) + answer)
            self._server.note(request, partitions)


def answer_to(request: bytes) -> tuple[bytes, int]:
    """Return the frame that acknowledges a request, and how many partitions a LeaderAndIsr request has."""
    api_key, version, correlation_id, client_id_length = HEADER.unpack_from(request)
    header = CORRELATION_ID.pack(correlation_id) + NO_TAGS
    match api_key, version:
        case (4, 4):
            body, partitions = _led(request[HEADER.size + client_id_length + len(NO_TAGS) + SENDER_AND_RECIPIENT :])
            return header + body, partitions
        case (6, 6):
            return header + NO_ERROR, 0
        case (5, 3):
            frame = decode_request(request)
            stopped = dict.fromkeys(request_of(frame).partitions, ErrorCode.NONE)
            answer = response_frame(StopReplicaResponse(ErrorCode.NONE, stopped), frame)
            assert answer is not None
            return answer, 0
        case other:
            raise AssertionError(f"a request that these brokers do not know: API and version {other}")


@lru_cache(ANSWERS_KEPT)
def _led(content: bytes) -> tuple[bytes, int]:
    """Return the body of the answer to a LeaderAndIsr request, and the number of partitions."""
    partitions = read_leader_and_isr(bytes(SENDER_AND_RECIPIENT) + content, 0).partitions
    response = LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys(partitions, ErrorCode.NONE))
    return pack_leader_and_isr_response(response), len(partitions)
