"""A client of Kafka's protocol that sends what a test gives it, and returns the response as plain values."""

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any

from kio.index import load_request_schema
from kio.schema.errors import ErrorCode

from kcsim.brokers.wire.frames import decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of

LENGTH = struct.Struct(">i")
WITHIN_S = 120.0


class WireClient:
    """Sends requests to one broker, each over a connection of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port

    async def ask(self, api_key: int, version: int, values: Mapping[str, Any]) -> Any:
        """Send a request and return the response by kio's field names. Args: values: as message_of takes them."""
        async with asyncio.timeout(WITHIN_S):
            reader, writer = await asyncio.open_connection(*self._address)
            try:
                frame = encode_request(message_of(load_request_schema(api_key, version), values), 7, "test")
                writer.write(LENGTH.pack(len(frame)) + frame)
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                _, message = decode_response(await reader.readexactly(length), api_key, version)
            finally:
                writer.transport.abort()
        return plain(message)


def plain(value: Any) -> Any:
    """Return a message as mappings, lists, names of errors and numbers of ms."""
    if isinstance(value, ErrorCode):
        return value.name
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return [plain(one) for one in value] if isinstance(value, tuple) else value
