"""A client that sends exactly the requests that a test wants, in any version, to any broker: of ours or of Apache Kafka."""

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from crc32c import crc32c
from kio.index import load_request_schema

from kcsim.brokers.record_batches import CHECKSUM_STARTS_AT
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.frames import decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of

LENGTH = struct.Struct(">i")
WITHIN_S = 120.0
CLIENT_ID = "raw"
FIRST = -1


class RawClient:
    """Holds one connection to each broker that it has asked.

    Attributes:
        addresses: of the brokers, by their ids; that of FIRST is the server that was asked for them.
    """

    def __init__(self) -> None:
        self.addresses: dict[int, tuple[str, int]] = {}
        self.streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._sent = 0

    async def discover(self, servers: str) -> None:
        """Learn the addresses of all brokers from the first of these servers ("host:port,…")."""
        host, port = servers.split(",")[0].rsplit(":", 1)
        self.addresses[FIRST] = host, int(port)
        metadata = await self.call(FIRST, METADATA, 8, **ALL_BROKERS)
        self.addresses.update({one.node_id: (str(one.host), one.port) for one in metadata.brokers})

    async def call(self, broker: int, api_key: int, version: int, **values: Any) -> Any:
        """Send a request to a broker, and return the message of its response.

        Args:
            values: the fields of the message, those of all versions: see message_of.
        """
        self._sent += 1
        message = message_of(load_request_schema(api_key, version), values)
        answer = await self.exchange(broker, encode_request(message, self._sent, CLIENT_ID))
        correlation_id, response = decode_response(answer, api_key, version)
        assert correlation_id == self._sent
        return response

    async def exchange(self, broker: int, frame: bytes) -> bytes:
        """Send a frame to a broker, and return the frame of its answer.

        Raises: asyncio.IncompleteReadError if the broker closes the connection. The next request opens another one.
        """
        if broker not in self.streams:
            self.streams[broker] = await asyncio.open_connection(*self.addresses[broker])
        reader, writer = self.streams[broker]
        writer.write(LENGTH.pack(len(frame)) + frame)
        try:
            async with asyncio.timeout(WITHIN_S):
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                return await reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            del self.streams[broker]
            writer.transport.abort()
            raise

    def close(self) -> None:
        for _, writer in self.streams.values():
            writer.transport.abort()


@asynccontextmanager
async def raw_client(servers: str) -> AsyncIterator[RawClient]:
    """Yield a client that knows all brokers. Args: servers: "host:port,…"."""
    client = RawClient()
    try:
        await client.discover(servers)
        yield client
    finally:
        client.close()


ALL_BROKERS: Mapping[str, Any] = {
    "topics": (),
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}


def produce(
    topic: str, partition: int, records: bytes | None, acks: int = -1, transactional_id: str | None = None
) -> dict[str, Any]:
    """Return the fields of a Produce request for one partition."""
    parts = ({"index": partition, "records": records},)
    topics = ({"name": topic, "partition_data": parts},)
    return {"transactional_id": transactional_id, "acks": acks, "timeout": 30_000, "topic_data": topics}


def with_checksum(batch: bytes) -> bytes:
    """Return a batch with the checksum that belongs to its content."""
    return batch[:17] + crc32c(batch[CHECKSUM_STARTS_AT:]).to_bytes(4, "big") + batch[CHECKSUM_STARTS_AT:]
