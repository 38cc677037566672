"""Frames of Kafka's protocol: what was recorded is read, and written again byte for byte."""

import struct
from contextlib import suppress
from pkgutil import resolve_name

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.index import schema_name_map
from kio.serial import entity_reader

from kcsim.brokers.wire.frames import (
    API_VERSIONS,
    UnknownVersionError,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kcsim.brokers.wire.message_reader import MalformedFrameError, message_reader
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges

VERSION_0 = 0
UNSUPPORTED_VERSION = 35
LIST_OFFSETS, METADATA, LEADER_AND_ISR, UPDATE_METADATA, CONTROLLED_SHUTDOWN = 2, 3, 4, 6, 7


def is_refused(exchange: Exchange) -> bool:
    """Return whether Kafka did not know the version, and answered in version 0."""
    return exchange.api_key == API_VERSIONS and exchange.version > 3


ANSWERED = [one for one in recorded_exchanges() if not is_refused(one)]


def test_requests_are_read_and_written_byte_for_byte() -> None:
    for exchange in recorded_exchanges():
        request = decode_request(exchange.request)
        assert (request.api_key, request.version) == (exchange.api_key, exchange.version)
        again = encode_request(request.message, request.correlation_id, request.client_id)
        assert again == exchange.request[: len(again)], exchange
    assert len(recorded_exchanges()) > 600


def test_responses_are_read_and_written_byte_for_byte() -> None:
    for exchange in ANSWERED:
        if exchange.response is not None:
            correlation_id, message = decode_response(exchange.response, exchange.api_key, exchange.version)
            assert correlation_id == decode_request(exchange.request).correlation_id
            assert encode_response(message, correlation_id) == exchange.response, exchange


def test_the_recordings_have_requests_of_clients_and_of_controllers() -> None:
    keys = {exchange.api_key for exchange in ANSWERED}
    assert {0, 1, LIST_OFFSETS, METADATA, LEADER_AND_ISR, 5, UPDATE_METADATA, 7, 56} <= keys
    assert len(keys) > 35


def test_a_refusal_of_an_unknown_version_is_read_as_version_0() -> None:
    refusals = [exchange for exchange in recorded_exchanges() if is_refused(exchange)]
    assert refusals
    for exchange in refusals:
        assert exchange.response is not None
        _, message = decode_response(exchange.response, API_VERSIONS, VERSION_0)
        assert (message.error_code, [key.api_key for key in message.api_keys]) == (UNSUPPORTED_VERSION, [API_VERSIONS])


def test_what_follows_a_message_is_ignored() -> None:
    exchange = recorded_exchanges()[0]
    assert decode_request(exchange.request + b"\0\0\0") == decode_request(exchange.request)


@pytest.mark.parametrize(("api_key", "version"), [(API_VERSIONS, 99), (LIST_OFFSETS, -1), (12_345, 0)])
def test_an_unknown_version_is_reported_with_what_an_answer_needs(api_key: int, version: int) -> None:
    with pytest.raises(UnknownVersionError) as caught:
        decode_request(struct.pack(">hhih", api_key, version, 7, -1))
    assert (caught.value.api_key, caught.value.version, caught.value.correlation_id) == (api_key, version, 7)


@pytest.mark.parametrize("length", range(8))
def test_a_frame_without_a_whole_header_is_malformed(length: int) -> None:
    with pytest.raises(MalformedFrameError, match=f"{length} bytes"):
        decode_request(bytes(length))


def test_a_value_that_a_field_cannot_have_is_refused_when_it_is_written() -> None:
    exchange = next(one for one in ANSWERED if one.api_key == LEADER_AND_ISR)
    message = decode_request(exchange.request).message
    object.__setattr__(message, "controller_id", 1 << 40)
    with pytest.raises(ValueError, match="LeaderAndIsrRequest"):
        encode_request(message, 1, None)


def test_an_unknown_tagged_field_is_passed_over() -> None:
    exchange = next(one for one in ANSWERED if one.api_key == API_VERSIONS and one.version == 3)
    assert exchange.request.endswith(b"\0")  # the number of tagged fields
    assert decode_request(exchange.request[:-1] + b"\x01\x09\x01x") == decode_request(exchange.request)


@pytest.mark.parametrize("length", [0x7F_FF_FF_FF, 1000, -2])
def test_an_array_longer_than_its_frame_is_malformed(length: int) -> None:
    """Nothing is allocated for it."""
    metadata_0 = struct.pack(">hhihi", METADATA, 0, 7, -1, length)
    with pytest.raises(MalformedFrameError, match=f"array of {length} elements"):
        decode_request(metadata_0)


def test_messages_are_read_as_kio_reads_them() -> None:
    for exchange in ANSWERED:
        schema = load_request_schema(exchange.api_key, exchange.version)
        _, at = entity_reader(schema.__header_schema__)(exchange.request, 0)
        assert decode_request(exchange.request).message == entity_reader(schema)(exchange.request, at)[0]
        if exchange.response is not None:
            of_response = load_response_schema(exchange.api_key, exchange.version)
            _, at = entity_reader(of_response.__header_schema__)(exchange.response, 0)
            _, message = decode_response(exchange.response, exchange.api_key, exchange.version)
            assert message == entity_reader(of_response)(exchange.response, at)[0]


def test_every_message_of_kio_can_be_read() -> None:
    """Also those that no recording has: no field has a type that is not known."""
    count = 0
    for versions in schema_name_map.values():
        for version in versions.values():
            for path in version.values():
                message_reader(resolve_name(path))
                count += 1
    assert count > 600


def test_the_oldest_header_names_no_client() -> None:
    request = decode_request(struct.pack(">hhii", CONTROLLED_SHUTDOWN, 0, 7, 1))
    assert (request.client_id, request.correlation_id, request.message.broker_id) == (None, 7, 1)
    assert encode_request(request.message, 7, "ignored") == struct.pack(">hhii", CONTROLLED_SHUTDOWN, 0, 7, 1)


@given(st.sampled_from(recorded_exchanges()), st.data())
def test_a_damaged_frame_is_read_or_refused(exchange: Exchange, data: st.DataObject) -> None:
    """No other exception is raised, whatever bytes come."""
    damaged = bytearray(exchange.request)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(damaged)))
    for frame in (bytes(damaged), bytes(damaged[:end])):
        with suppress(MalformedFrameError, UnknownVersionError):
            decode_request(frame)
