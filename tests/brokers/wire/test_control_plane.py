"""Connections over TCP between controller and brokers, to servers that answer as a test says."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from kcsim.brokers.wire.apis.controller_requests import ALTER_ISR
from kcsim.brokers.wire.control_plane import TcpControlPlane
from kcsim.brokers.wire.frames import decode_request
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.brokers.wire.tcp_transport import LENGTH
from kcsim.controller.ports import BrokerConnectionError
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    AlterIsrRequest,
    AlterIsrResponse,
    ErrorCode,
    StopReplicaRequest,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.errors import TimedOutError
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from kcsim.zk.servers.free_ports import free_ports
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

HOST, CAUSE = "127.0.0.1", 0
WITHIN_MS, SOON_MS = 60_000, 50
REQUEST = UpdateMetadataRequest(BrokerId(1), ControllerEpoch(2), UNKNOWN_BROKER_EPOCH, {}, ())
RESPONSE = UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH)

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Script = Callable[[TcpControlPlane, int], Coroutine[Any, Any, None]]


def play(serve: Serve, script: Script) -> None:
    """Run a script with a control plane, and the port of a server."""
    runtime = WallClockRuntime()

    async def main() -> None:
        server = await asyncio.start_server(serve, HOST)
        control_plane = TcpControlPlane(runtime, "1", RequestCauses())
        try:
            await script(control_plane, server.sockets[0].getsockname()[1])
        finally:
            control_plane.close()
            server.close()

    runtime.run(main())


async def frame_from(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return await reader.readexactly(length)


def framed(content: bytes) -> bytes:
    return LENGTH.pack(len(content)) + content


def answer_to(request: bytes) -> bytes:
    answer = response_frame(RESPONSE, decode_request(request))
    assert answer is not None
    return framed(answer)


async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request, byte by byte, until the client has gone."""
    try:
        while True:
            for byte in answer_to(await frame_from(reader)):
                writer.write(bytes([byte]))
                await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


def serve_once(answer: Callable[[bytes], bytes]) -> Serve:
    """Return a server that answers one request, and then closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(await frame_from(reader)))
        writer.close()

    return serve


async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read, and never answer."""
    await reader.read()
    writer.close()


def test_requests_are_answered_one_after_the_other() -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        for _ in range(3):
            assert await connection.send(REQUEST, WITHIN_MS, CAUSE) == RESPONSE
        assert connection.is_open

    play(answer_all, script)


def test_an_isr_is_asked_for_as_kafkas_leaders_do() -> None:
    """The same bytes; the answer is that of Kafka's controller."""
    recorded = next(one for one in recorded_exchanges() if one.api_key == ALTER_ISR)
    answer = recorded.response
    assert answer is not None
    received = []

    def answer_recorded(request: bytes) -> bytes:
        received.append(request)
        return framed(answer)

    async def script(control_plane: TcpControlPlane, port: int) -> None:
        tp = TopicPartition("w2", 1)
        before = LeaderAndIsr(BrokerId(1), LeaderEpoch(1), (BrokerId(1), BrokerId(2)), ZkVersion(1))
        request = AlterIsrRequest(BrokerId(1), BrokerEpoch(42), {tp: before})
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        response = await connection.send(request, WITHIN_MS, CAUSE)
        assert response == AlterIsrResponse(partitions={tp: replace(before, zk_version=ZkVersion(2))})

    play(serve_once(answer_recorded), script)
    assert received == [recorded.request]


def test_the_sender_names_itself_and_numbers_its_requests() -> None:
    seen = []

    def answer(request: bytes) -> bytes:
        frame = decode_request(request)
        seen.append((frame.client_id, frame.correlation_id))
        return answer_to(request)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(answer(await frame_from(reader)))
        writer.close()

    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        for _ in range(2):
            await connection.send(REQUEST, WITHIN_MS, CAUSE)

    play(serve, script)
    assert seen == [("1", 0), ("1", 1)]


def test_a_connection_without_a_listener_is_refused() -> None:
    async def script(control_plane: TcpControlPlane, _: int) -> None:
        (nobody,) = free_ports(1)
        with pytest.raises(BrokerConnectionError, match=f"{HOST}:{nobody}: no connection"):
            await control_plane.connect(HOST, nobody, WITHIN_MS)

    play(answer_all, script)


def test_a_request_that_is_not_answered_times_out() -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        with pytest.raises(TimedOutError, match=f"{port}: no answer within {SOON_MS} ms"):
            await connection.send(REQUEST, SOON_MS, CAUSE)

    play(swallow, script)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda request: b"", "broken from the other side"),
        (lambda request: answer_to(request)[:-1], "broken from the other side"),
        (lambda request: LENGTH.pack(-1), "-1 bytes that no request has asked for"),
        (lambda request: framed(b"\0"), "the answer cannot be read"),
        (lambda request: framed(b"\0\0\0\7" + answer_to(request)[8:]), "correlation id 7, the request 0"),
    ],
)
def test_a_connection_breaks_over_an_answer_that_is_none(answer: Callable[[bytes], bytes], why: str) -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        with pytest.raises(BrokerConnectionError, match=why):
            await connection.send(REQUEST, WITHIN_MS, CAUSE)
        assert not connection.is_open
        with pytest.raises(BrokerConnectionError, match=why):
            await connection.send(REQUEST, WITHIN_MS, CAUSE)

    play(serve_once(answer), script)


def test_a_connection_that_breaks_while_idle_is_known_to_be_broken() -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        await connection.send(REQUEST, WITHIN_MS, CAUSE)
        for _ in range(WITHIN_MS // SOON_MS):
            if not connection.is_open:
                return
            await asyncio.sleep(SOON_MS / 1000)
        raise AssertionError("it is still thought to be open")

    play(serve_once(answer_to), script)


def test_a_closed_control_plane_has_no_connections() -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connections = [await control_plane.connect(HOST, port, WITHIN_MS) for _ in range(2)]
        under_way = asyncio.ensure_future(connections[0].send(REQUEST, WITHIN_MS, CAUSE))
        await asyncio.sleep(0)
        control_plane.close()
        with pytest.raises(BrokerConnectionError, match="closed at this end"):
            await under_way
        assert not any(connection.is_open for connection in connections)

    play(swallow, script)


def test_a_value_that_cannot_be_sent_leaves_the_connection_as_it_is() -> None:
    async def script(control_plane: TcpControlPlane, port: int) -> None:
        connection = await control_plane.connect(HOST, port, WITHIN_MS)
        with pytest.raises(ValueError, match="StopReplicaRequest"):
            await connection.send(
                StopReplicaRequest(BrokerId(1 << 40), ControllerEpoch(1), UNKNOWN_BROKER_EPOCH, {}), WITHIN_MS, CAUSE
            )
        assert await connection.send(REQUEST, WITHIN_MS, CAUSE) == RESPONSE

    play(answer_all, script)
