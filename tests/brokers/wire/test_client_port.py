"""A broker's TCP port, with Kafka's clients and with raw bytes."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from confluent_kafka.admin import AdminClient
from kio.index import load_request_schema

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.ports import AddressInUseError, ConnectionEnd
from kcsim.brokers.requests import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
)
from kcsim.brokers.wire.apis.state_changes import LEADER_AND_ISR
from kcsim.brokers.wire.client_connection import AnsweredRequest, ConnectionLimits
from kcsim.brokers.wire.client_port import ClientPort
from kcsim.brokers.wire.control_plane import TcpControlPlane
from kcsim.brokers.wire.frames import API_VERSIONS, RequestFrame, decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.controller.capabilities import Release
from kcsim.controller.requests import UNKNOWN_BROKER_EPOCH, ErrorCode, UpdateMetadataRequest, UpdateMetadataResponse
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import BrokerId, ControllerEpoch, Endpoint, LeaderEpoch, TopicPartition
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.test_frames import is_refused

HOST = "127.0.0.1"
WITHIN_S = 120
CAUSE = 7


class Port:
    """A port, a task that answers its requests, and what it has reported."""

    def __init__(self, runtime: WallClockRuntime, limits: ConnectionLimits) -> None:
        self.runtime = runtime
        self.reported: list[str] = []
        self.requests: list[AnsweredRequest] = []
        self.ends: list[ConnectionEnd] = []
        self.listener = MemoryNetwork(runtime).interface("broker-1").listen(HOST, 9092)
        self.opened = ClientPort(runtime, (HOST, 0), self.listener, self, RequestCauses(), limits)
        self.answering = runtime.spawn("answering", self._answer())

    def closed(self, client: str, why: str) -> None:
        assert client.startswith(f"{HOST}:")
        self.reported.append(why)

    def refused_broker(self, broker: str, request: str, why: str) -> None:
        self.reported.append(f"{request} of {broker}: {why}")

    def received(self, frame: RequestFrame) -> int:
        assert frame.client.startswith(f"{HOST}:")
        return CAUSE

    def received_from_broker(self, broker: str, request: str) -> int:
        self.reported.append(f"{request} of {broker}")
        return CAUSE

    def answered(self, request: AnsweredRequest) -> None:
        self.requests.append(request)

    def disconnected(self, client: str, end: ConnectionEnd) -> None:
        assert client.startswith(f"{HOST}:")
        self.ends.append(end)

    async def _answer(self) -> None:
        while True:
            incoming = await self.listener.accept()
            assert incoming.cause == CAUSE
            match incoming.request:
                case ApiVersionsRequest():
                    incoming.respond(ApiVersionsResponse())
                case MetadataRequest():
                    incoming.respond(self.metadata())
                case UpdateMetadataRequest():
                    incoming.respond(UpdateMetadataResponse(ErrorCode.NONE))

    def metadata(self) -> MetadataResponse:
        one, two = BrokerId(1), BrokerId(2)
        return MetadataResponse(
            brokers={one: Endpoint("PLAINTEXT", "PLAINTEXT", HOST, self.opened.port)},
            controller_id=one,
            partitions={
                TopicPartition("orders", 0): PartitionMetadata(
                    one, LeaderEpoch(3), ErrorCode.NONE, (one, two), (one,), (two,)
                ),
                TopicPartition("orders", 1): PartitionMetadata(
                    None, LeaderEpoch(5), ErrorCode.LEADER_NOT_AVAILABLE, (two,), (two,), (two,)
                ),
            },
            racks={one: "a"},
            cluster_id="the-cluster",
        )

    async def exchange(self, *frames: bytes) -> list[bytes | None]:
        """Send frames on one connection, all at once, and return an answer for each; None: the connection was closed."""
        reader, writer = await asyncio.open_connection(HOST, self.opened.port)
        writer.write(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
        answers: list[bytes | None] = []
        async with asyncio.timeout(WITHIN_S):
            for _ in frames:
                try:
                    (length,) = struct.unpack(">i", await reader.readexactly(4))
                    answers.append(await reader.readexactly(length))
                except (asyncio.IncompleteReadError, ConnectionError):
                    answers.append(None)
        writer.transport.abort()
        return answers


def on_a_port(story: Callable[[Port], Awaitable[None]], limits: ConnectionLimits | None = None) -> None:
    runtime = WallClockRuntime()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Port]:
        port = Port(runtime, limits or ConnectionLimits())
        try:
            yield port
        finally:
            port.opened.close()
            port.answering.kill()
            await port.answering.join()

    async def main() -> None:
        async with opened() as port:
            await story(port)

    runtime.run(main())


def test_a_client_learns_the_topics_and_their_leaders() -> None:
    async def story(port: Port) -> None:
        client = AdminClient({"bootstrap.servers": f"{HOST}:{port.opened.port}"})
        seen = await asyncio.to_thread(client.list_topics, timeout=WITHIN_S)
        assert (str(seen.cluster_id), seen.controller_id) == ("the-cluster", 1)
        assert {broker.id: f"{broker.host}:{broker.port}" for broker in seen.brokers.values()} == {
            1: f"{HOST}:{port.opened.port}"
        }
        orders = seen.topics["orders"].partitions
        assert (orders[0].leader, orders[0].replicas, orders[0].isrs, orders[0].error) == (1, [1, 2], [1], None)
        assert orders[1].leader == -1
        assert orders[1].error is not None
        assert orders[1].error.name() == ErrorCode.LEADER_NOT_AVAILABLE.name
        assert port.reported == []

    on_a_port(story)


def test_an_unknown_version_of_api_versions_gets_kafkas_answer() -> None:
    async def story(port: Port) -> None:
        refused = [exchange for exchange in recorded_exchanges() if is_refused(exchange)]
        assert refused
        for exchange in refused:
            assert await port.exchange(exchange.request) == [exchange.response]

    on_a_port(story)


def test_requests_that_are_sent_at_once_are_answered_in_order() -> None:
    frames = [struct.pack(">hhih", API_VERSIONS, 0, number, -1) for number in range(50)]

    async def story(port: Port) -> None:
        answers = await port.exchange(*frames)
        numbers = [decode_response(answer, API_VERSIONS, 0)[0] for answer in answers if answer is not None]
        assert numbers == list(range(50))

    on_a_port(story)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "API 18245 is not known in version 21536"),
        (struct.pack(">hhih", 0, 99, 1, -1), "API 0 is not known in version 99"),
        (b"\0\x03", "2 bytes are no header of a request"),
        (struct.pack(">hhihi", 3, 0, 1, -1, 1_000_000), "an array of 1000000 elements, 0 bytes are left"),
    ],
)
def test_what_is_no_request_closes_its_connection_and_no_other(frame: bytes, why: str) -> None:
    async def story(port: Port) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.opened.port)
        assert await port.exchange(frame) == [None]
        assert port.reported == [why]
        request = struct.pack(">hhih", API_VERSIONS, 0, 1, -1)
        writer.write(struct.pack(">i", len(request)) + request)
        async with asyncio.timeout(WITHIN_S):
            assert len(await reader.readexactly(4)) == 4
        writer.transport.abort()

    on_a_port(story)


@pytest.mark.parametrize("length", [-1, 1_001])
def test_a_frame_of_a_wrong_length_closes_the_connection(length: int) -> None:
    async def story(port: Port) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.opened.port)
        writer.write(struct.pack(">i", length))
        async with asyncio.timeout(WITHIN_S):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
        writer.transport.abort()
        assert port.reported == [f"a frame of {length} bytes; socket.request.max.bytes is 1000"]

    on_a_port(story, ConnectionLimits(socket_request_max_bytes=1_000))


def test_a_broker_whose_requests_are_of_a_newer_release_loses_its_connection() -> None:
    """As with Kafka 2.8.2, which is sent a LeaderAndIsr 7 by a controller at protocol version 3.9."""
    values = {
        "is_k_raft_controller": False,
        "type_": 0,
        "controller_id": 3,
        "controller_epoch": 1,
        "broker_epoch": 1,
        "topic_states": (),
        "live_leaders": (),
    }
    frame = encode_request(message_of(load_request_schema(LEADER_AND_ISR, 7), values), 1, "3")

    async def story(port: Port) -> None:
        port.listener.release = Release("2.8")
        assert await port.exchange(frame) == [None]
        assert port.reported == [
            "LeaderAndIsr of broker-3: Kafka 2.8, the release of this broker, does not know version 7; the sender's "
            "inter.broker.protocol.version is that of a newer release"
        ]

    on_a_port(story)


def test_an_idle_connection_is_closed() -> None:
    async def story(port: Port) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.opened.port)
        async with asyncio.timeout(WITHIN_S):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
        writer.transport.abort()
        assert port.reported == []

    on_a_port(story, ConnectionLimits(connections_max_idle_ms=50))


def test_a_port_in_use_is_refused_and_a_closed_one_is_free_again() -> None:
    async def story(port: Port) -> None:
        number = port.opened.port
        with pytest.raises(AddressInUseError, match=f"{HOST}:{number} is in use"):
            ClientPort(port.runtime, (HOST, number), port.listener, port, RequestCauses())
        port.opened.close()
        await asyncio.sleep(0)
        with socket.create_server((HOST, number)):
            pass

    on_a_port(story)


def test_a_request_of_a_broker_in_another_process_is_no_client_s() -> None:
    async def story(port: Port) -> None:
        control_plane = TcpControlPlane(port.runtime, "5", RequestCauses())
        connection = await control_plane.connect(HOST, port.opened.port, WITHIN_S * 1000)
        request = UpdateMetadataRequest(BrokerId(5), ControllerEpoch(2), UNKNOWN_BROKER_EPOCH, {}, ())
        assert await connection.send(request, WITHIN_S * 1000, cause=0) == UpdateMetadataResponse(ErrorCode.NONE)
        assert port.reported == ["UpdateMetadata of broker-5"]
        assert port.requests == []
        connection.close()

    on_a_port(story)
