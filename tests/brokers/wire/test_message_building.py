"""Messages built from plain values."""

from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode

from kcsim.brokers.wire.frames import decode_request, decode_response
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.message_reader import EPOCH
from tests.brokers.wire.recorded_frames import recorded_exchanges
from tests.brokers.wire.test_frames import is_refused

METADATA = 3


def plain(value: Any) -> Any:
    """Return a message as plain values."""
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [plain(element) for element in value]
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    return value.value if isinstance(value, ErrorCode) else value


def test_every_recorded_message_can_be_built() -> None:
    for exchange in recorded_exchanges():
        messages = [decode_request(exchange.request).message]
        if exchange.response is not None and not is_refused(exchange):
            messages.append(decode_response(exchange.response, exchange.api_key, exchange.version)[1])
        for message in messages:
            assert message_of(type(message), plain(message)) == message


@pytest.mark.parametrize("version", range(12))
def test_each_version_takes_the_fields_that_it_has(version: int) -> None:
    values = {
        "throttle_time": 7,
        "brokers": [{"node_id": 1, "host": "h", "port": 9092, "rack": "a"}],
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [{"error_code": 3, "name": "orders", "topic_id": None, "is_internal": False, "partitions": []}],
    }
    message = message_of(load_response_schema(METADATA, version), values)
    has = {one.name for one in fields(message)}
    assert message.topics[0].error_code is ErrorCode.unknown_topic_or_partition
    assert (message.throttle_time == timedelta(milliseconds=7)) if version >= 3 else "throttle_time" not in has
    assert (message.cluster_id == "c") if version >= 2 else "cluster_id" not in has


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(TypeError, match="brokers"):
        message_of(load_response_schema(METADATA, 1), {"topics": []})
