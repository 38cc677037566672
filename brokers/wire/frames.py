"""Requests and responses of Kafka's protocol as bytes: the frames between clients and brokers, without their length prefix.

The message classes are those of the package kio, which generates them from Kafka's own definitions of its messages.

Source: Kafka 2.8, RequestHeader, ResponseHeader and ApiVersionsRequest; recordings of clients and brokers in
tests/vectors/wire-frames.
"""

import struct
from collections.abc import Callable, Mapping
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from kio.index import KioIndexError, load_request_schema, load_response_schema
from kio.serial import entity_writer
from kio.serial.errors import SerialError

from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.message_reader import MalformedFrameError, message_reader
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ

API_VERSIONS = 18
ReadPacked = Callable[[bytes, int], Any]
"""Reads a message without kio's class of it. From a frame, and the offset of the message, to what the message says."""
NOTHING_PACKED: Mapping[tuple[int, int], ReadPacked] = {}
_BEFORE_CLIENT_ID = struct.Struct(">hhi")


class UnknownVersionError(Exception):
    """An API, or a version of it, that is not known.

    Attributes:
        api_key, version, correlation_id: as the header gives them.
    """

    def __init__(self, api_key: int, version: int, correlation_id: int) -> None:
        super().__init__(f"API {api_key} is not known in version {version}")
        self.api_key, self.version, self.correlation_id = api_key, version, correlation_id


class RequestFrame(NamedTuple):
    """A request.

    Attributes:
        client_id: None: the client has not named itself.
        message: kio's message of this API and version.
        client: the client's host and port.
        fetch_sessions: those of the broker that got the request.
        cause: the event that the broker's events for the request follow from.
    """

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    message: Any
    client: str = ""
    fetch_sessions: FetchSessions | None = None
    cause: int = RUN_STARTED_SEQ


def decode_request(
    frame: bytes,
    client: str = "",
    fetch_sessions: FetchSessions | None = None,
    packed: Mapping[tuple[int, int], ReadPacked] = NOTHING_PACKED,
) -> RequestFrame:
    """Return the request in a frame.

    What follows the message is ignored, as Kafka does: librdkafka appends three bytes to some requests.

    Args:
        packed: by API key and version, what reads the message instead of kio's classes.

    Raises: UnknownVersionError; MalformedFrameError.
    """
    if len(frame) < _BEFORE_CLIENT_ID.size:
        raise MalformedFrameError(f"{len(frame)} bytes are no header of a request")
    api_key, version, correlation_id = _BEFORE_CLIENT_ID.unpack_from(frame)
    try:
        codec = _codec_of_requests(api_key, version)
    except KioIndexError:
        raise UnknownVersionError(api_key, version, correlation_id) from None
    header, message = codec.read(frame, packed.get((api_key, version)))
    client_id = getattr(header, "client_id", None)  # the oldest form of the header has none
    return RequestFrame(api_key, version, correlation_id, client_id, message, client, fetch_sessions)


def client_id_in(frame: bytes) -> str | None:
    """Return the client id in the header of a request; None: it has none."""
    if len(frame) < _BEFORE_CLIENT_ID.size + 2:
        return None
    begin = _BEFORE_CLIENT_ID.size + 2
    length = int.from_bytes(frame[begin - 2 : begin], "big", signed=True)
    return None if length < 0 else frame[begin : begin + length].decode(errors="replace")


def encode_request(message: Any, correlation_id: int, client_id: str | None) -> bytes:
    """Return the frame of a request. Args: message: kio's. Raises: ValueError for a value that a field cannot have."""
    api_key, version = message.__api_key__, message.__version__
    header = encode_request_header(api_key, version, correlation_id, client_id)
    return header + _codec_of_requests(api_key, version).write_message(message)


def encode_request_header(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Return what is before the message in the frame of a request. Raises: ValueError for a number out of range."""
    fields: dict[str, int | str | None]
    fields = {"request_api_key": api_key, "request_api_version": version, "correlation_id": correlation_id}
    codec = _codec_of_requests(api_key, version)
    if "client_id" in codec.header.__dataclass_fields__:
        fields["client_id"] = client_id
    return codec.write_header(codec.header(**fields))


def decode_response(
    frame: bytes, api_key: int, version: int, packed: Mapping[tuple[int, int], ReadPacked] = NOTHING_PACKED
) -> tuple[int, Any]:
    """Return correlation id and message of the response to a request of this API and version.

    A broker answers an ApiVersions request whose version it does not know in version 0.

    Args:
        packed: as for decode_request.

    Raises: MalformedFrameError.
    """
    header, message = _codec_of_responses(api_key, version).read(frame, packed.get((api_key, version)))
    return header.correlation_id, message


def encode_response(message: Any, correlation_id: int) -> bytes:
    """Return the frame of a response. Args: message: kio's. Raises: ValueError for a value that a field cannot have."""
    api_key, version = message.__api_key__, message.__version__
    header = encode_response_header(api_key, version, correlation_id)
    return header + _codec_of_responses(api_key, version).write_message(message)


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """Return what is before the message in the frame of a response."""
    codec = _codec_of_responses(api_key, version)
    return codec.write_header(codec.header(correlation_id=correlation_id))


class _Codec:
    """Reads and writes the frames of one API and version in one direction. Attributes: header: kio's class of it."""

    def __init__(self, schema: Any) -> None:
        self.header = schema.__header_schema__
        self._read_header, self._read_message = message_reader(self.header), message_reader(schema)
        self._write_header, self._write_message = entity_writer(self.header), entity_writer(schema)

    def read(self, frame: bytes, packed: ReadPacked | None = None) -> tuple[Any, Any]:
        """Return header and message. Args: packed: reads the message instead of kio's class. Raises: MalformedFrameError."""
        header, end_of_header = self._read_header(frame, 0)
        if packed is not None:
            return header, packed(frame, end_of_header)
        message, _ = self._read_message(frame, end_of_header)
        return header, message

    def write_header(self, header: Any) -> bytes:
        return _written(self._write_header, header)

    def write_message(self, message: Any) -> bytes:
        return _written(self._write_message, message)


def _written(write: Callable[[BytesIO, Any], None], entity: Any) -> bytes:
    """Return the bytes of one of kio's classes. Raises: ValueError for a value that a field cannot have."""
    written = BytesIO()
    try:
        write(written, entity)
    except (SerialError, struct.error, TypeError) as error:
        raise ValueError(f"{type(entity).__name__}: {error}") from error
    return written.getvalue()


@cache
def _codec_of_requests(api_key: int, version: int) -> _Codec:
    return _Codec(load_request_schema(api_key, version))


@cache
def _codec_of_responses(api_key: int, version: int) -> _Codec:
    return _Codec(load_response_schema(api_key, version))
