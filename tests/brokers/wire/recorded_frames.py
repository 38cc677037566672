"""Frames that real clients and brokers exchanged with Apache Kafka 2.8.2: tests/vectors/wire-frames."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[2] / "vectors" / "wire-frames" / "frames.json"


class Exchange(NamedTuple):
    """A request and its response, which is None where Kafka sent none."""

    api_key: int
    version: int
    client: str
    request: bytes
    response: bytes | None


@cache
def recorded_exchanges() -> tuple[Exchange, ...]:
    """Return all recorded exchanges."""
    return tuple(
        Exchange(
            one["api_key"],
            one["version"],
            one["client"],
            bytes.fromhex(exchange["request"]),
            None if exchange["response"] is None else bytes.fromhex(exchange["response"]),
        )
        for one in json.loads(FILE.read_text())
        for exchange in one["exchanges"]
    )
