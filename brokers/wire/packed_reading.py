"""Reads what packed_requests.py packs, without kio.

A new controller sends each broker a LeaderAndIsr request with all of that broker's replicas, and each is named in the
response. Equal lists of brokers are one tuple, as in the controller.

Source: Kafka 2.8, LeaderAndIsrRequest, UpdateMetadataRequest, LeaderAndIsrResponse.
"""

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

from kcsim.brokers.wire.frames import ReadPacked
from kcsim.brokers.wire.message_reader import MalformedFrameError, pass_over_tagged, read_varint
from kcsim.brokers.wire.packed_requests import (
    INT16,
    INT32,
    LISTS_KEPT,
    PARTITION_ERROR,
    SECURITY_PROTOCOLS,
    SENDER_AND_RECIPIENT,
)
from kcsim.controller.decisions.state_change_requests import (
    LEADER_AND_ISR_WITH_IDS,
    LEADER_AND_ISR_WITHOUT_IDS,
    UPDATE_METADATA_WITH_IDS,
    UPDATE_METADATA_WITHOUT_IDS,
)
from kcsim.controller.decisions.topic_ids import BYTES as TOPIC_ID_BYTES
from kcsim.controller.decisions.topic_ids import topic_id_of
from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveLeader,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import (
    NO_LEADER,
    BrokerId,
    Endpoint,
    LeaderAndIsr,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
)

T = TypeVar("T")
ReadOne = Callable[[bytes, int], tuple[T, int]]

_STATE = struct.Struct(">iiii")
_NO_TOPIC_ID = bytes(TOPIC_ID_BYTES)
_ERRORS = {error.value: error for error in ErrorCode}


def read_leader_and_isr(frame: bytes, at: int) -> LeaderAndIsrRequest:
    """Return the LeaderAndIsr request whose body is at this offset of a frame. Raises: MalformedFrameError."""
    return _whole(_leader_and_isr, frame, at)


def read_leader_and_isr_with_ids(frame: bytes, at: int) -> LeaderAndIsrRequest:
    """Return the LeaderAndIsr request of version 5 whose body is at this offset of a frame. Raises: MalformedFrameError."""
    return _whole(_leader_and_isr_with_ids, frame, at)


def read_update_metadata(frame: bytes, at: int) -> UpdateMetadataRequest:
    """Return the UpdateMetadata request whose body is at this offset of a frame. Raises: MalformedFrameError."""
    return _whole(_update_metadata, frame, at)


def read_update_metadata_with_ids(frame: bytes, at: int) -> UpdateMetadataRequest:
    """Return the UpdateMetadata request of version 7 at this offset of a frame. Raises: MalformedFrameError."""
    return _whole(partial(_update_metadata, has_ids=True), frame, at)


def read_leader_and_isr_response(frame: bytes, at: int) -> LeaderAndIsrResponse:
    """Return the response whose body is at this offset of a frame. Raises: MalformedFrameError."""
    return _whole(_leader_and_isr_response, frame, at)


def read_leader_and_isr_response_by_id(topics: Mapping[str, str], frame: bytes, at: int) -> LeaderAndIsrResponse:
    """Return the response of version 5 whose body is at this offset of a frame; a topic that was not asked for is left out.

    Args:
        topics: id -> name, of those in the request.

    Raises: MalformedFrameError.
    """
    return _whole(partial(_leader_and_isr_response_by_id, topics), frame, at)


def error_of(number: int) -> ErrorCode:
    """Return the error that a number stands for; as in Kafka, one that is not known is UNKNOWN_SERVER_ERROR."""
    return _ERRORS.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


def _whole(read: ReadOne[T], frame: bytes, at: int) -> T:
    try:
        return read(frame, at)[0]
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedFrameError(f"{error}, in {len(frame)} bytes") from error


def _leader_and_isr(frame: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, broker_epoch = SENDER_AND_RECIPIENT.unpack_from(frame, at)
    partitions, at = _topics(frame, at + SENDER_AND_RECIPIENT.size, _led)
    live_leaders, at = _each(frame, at, _live_leader)
    at = _tags(frame, at)
    return LeaderAndIsrRequest(controller_id, controller_epoch, broker_epoch, partitions, live_leaders), at


def _leader_and_isr_with_ids(frame: bytes, at: int) -> tuple[LeaderAndIsrRequest, int]:
    controller_id, controller_epoch, broker_epoch = SENDER_AND_RECIPIENT.unpack_from(frame, at)
    topic_ids: dict[str, str] = {}
    after_type = at + SENDER_AND_RECIPIENT.size + 1
    partitions, at = _topics(frame, after_type, _led, topic_ids)
    live_leaders, at = _each(frame, at, _live_leader)
    at = _tags(frame, at)
    return LeaderAndIsrRequest(controller_id, controller_epoch, broker_epoch, partitions, live_leaders, topic_ids), at


def _update_metadata(frame: bytes, at: int, has_ids: bool = False) -> tuple[UpdateMetadataRequest, int]:
    controller_id, controller_epoch, broker_epoch = SENDER_AND_RECIPIENT.unpack_from(frame, at)
    topic_ids: dict[str, str] | None = {} if has_ids else None
    partitions, at = _topics(frame, at + SENDER_AND_RECIPIENT.size, _metadata, topic_ids)
    live_brokers, at = _each(frame, at, _broker)
    at = _tags(frame, at)
    return UpdateMetadataRequest(controller_id, controller_epoch, broker_epoch, partitions, live_brokers, topic_ids), at


def _leader_and_isr_response(frame: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    (error,) = INT16.unpack_from(frame, at)
    left, at = _length(frame, at + INT16.size)
    errors: dict[TopicPartition, ErrorCode] = {}
    while left > 0:
        read, at = _errors_of_topic(frame, at, left, errors)
        left -= read
    return LeaderAndIsrResponse(error_of(error), errors), _tags(frame, at)


def _leader_and_isr_response_by_id(names: Mapping[str, str], frame: bytes, at: int) -> tuple[LeaderAndIsrResponse, int]:
    (error,) = INT16.unpack_from(frame, at)
    topics, at = _length(frame, at + INT16.size)
    errors: dict[TopicPartition, ErrorCode] = {}
    for _ in range(topics):
        name = names.get(topic_id_of(frame[at : at + TOPIC_ID_BYTES]))
        count, at = _length(frame, at + TOPIC_ID_BYTES)
        for _ in range(count):
            number, code = PARTITION_ERROR.unpack_from(frame, at)
            at = _tags(frame, at + PARTITION_ERROR.size)
            if name is not None:
                errors[TopicPartition(name, number)] = error_of(code)
        at = _tags(frame, at)
    return LeaderAndIsrResponse(error_of(error), errors), _tags(frame, at)


def _errors_of_topic(frame: bytes, at: int, most: int, errors: dict[TopicPartition, ErrorCode]) -> tuple[int, int]:
    """Read consecutive partitions of one topic, each of which has the topic's name, into `errors`.

    Returns: how many, and the offset after them.
    """
    topic, after_name = _text(frame, at)
    number, code = PARTITION_ERROR.unpack_from(frame, after_name)
    errors[TopicPartition(topic, number)] = error_of(code)
    end = _tags(frame, after_name + PARTITION_ERROR.size)
    name = frame[at:after_name]
    alike = struct.Struct(f">{len(name)}sihB")
    count = 1
    with memoryview(frame) as view:
        rest = view[end : end + min(most - 1, (len(frame) - end) // alike.size) * alike.size]
        for its_name, number, code, tags in alike.iter_unpack(rest):
            if its_name != name or tags:
                break  # another topic, or something that has tags
            errors[TopicPartition(topic, number)] = _ERRORS.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)
            count += 1
    return count, end + (count - 1) * alike.size


# --- partitions ------------------------------------------------------------------------------------------------------------


def _topics(
    frame: bytes,
    at: int,
    read: Callable[[bytes, int], tuple[int, T, int]],
    topic_ids: dict[str, str] | None = None,
) -> tuple[dict[TopicPartition, T], int]:
    """Read the topics with their partitions. Args: topic_ids: gets the topics' ids; None: the version has none."""
    partitions: dict[TopicPartition, T] = {}
    topics, at = _length(frame, at)
    for _ in range(topics):
        topic, at = _text(frame, at)
        if topic_ids is not None:
            if (topic_id := frame[at : at + TOPIC_ID_BYTES]) != _NO_TOPIC_ID:
                topic_ids[topic] = topic_id_of(topic_id)
            at += TOPIC_ID_BYTES
        count, at = _length(frame, at)
        for _ in range(count):
            number, partition, at = read(frame, at)
            partitions[TopicPartition(topic, number)] = partition
        at = _tags(frame, at)
    return partitions, at


def _led(frame: bytes, at: int) -> tuple[int, LeaderAndIsrPartitionState, int]:
    number, state, at = _state(frame, at)
    replicas, at = _brokers(frame, at)
    adding, at = _brokers(frame, at)
    removing, at = _brokers(frame, at)
    assignment = ReplicaAssignment(replicas, adding, removing)
    return number, LeaderAndIsrPartitionState(state, assignment, frame[at] != 0), _tags(frame, at + 1)


def _metadata(frame: bytes, at: int) -> tuple[int, UpdateMetadataPartitionState, int]:
    number, state, at = _state(frame, at)
    replicas, at = _brokers(frame, at)
    offline, at = _brokers(frame, at)
    return number, UpdateMetadataPartitionState(state, replicas, offline), _tags(frame, at)


def _state(frame: bytes, at: int) -> tuple[int, PartitionState, int]:
    number, controller_epoch, leader, leader_epoch = _STATE.unpack_from(frame, at)
    isr, at = _brokers(frame, at + _STATE.size)
    (zk_version,) = INT32.unpack_from(frame, at)
    decided = LeaderAndIsr(None if leader == NO_LEADER else leader, leader_epoch, isr, zk_version)
    return number, PartitionState(decided, controller_epoch), at + INT32.size


def _brokers(frame: bytes, at: int) -> tuple[tuple[BrokerId, ...], int]:
    count, at = _length(frame, at)
    end = at + count * INT32.size
    if end > len(frame):
        raise MalformedFrameError(f"a list of {count} brokers, {len(frame) - at} bytes are left")
    return _broker_ids(frame[at:end]), end


@lru_cache(LISTS_KEPT)
def _broker_ids(packed: bytes) -> tuple[Any, ...]:
    return struct.unpack(f">{len(packed) // INT32.size}i", packed)


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _each(frame: bytes, at: int, read: ReadOne[T]) -> tuple[tuple[T, ...], int]:
    count, at = _length(frame, at)
    elements = []
    for _ in range(count):
        element, at = read(frame, at)
        elements.append(element)
        at = _tags(frame, at)
    return tuple(elements), at


def _live_leader(frame: bytes, at: int) -> tuple[LiveLeader, int]:
    (broker_id,) = INT32.unpack_from(frame, at)
    host, at = _text(frame, at + INT32.size)
    (port,) = INT32.unpack_from(frame, at)
    return LiveLeader(broker_id, host, port), at + INT32.size


def _broker(frame: bytes, at: int) -> tuple[UpdateMetadataBroker, int]:
    (broker_id,) = INT32.unpack_from(frame, at)
    endpoints, at = _each(frame, at + INT32.size, _endpoint)
    rack, at = (None, at + 1) if frame[at] == 0 else _text(frame, at)
    return UpdateMetadataBroker(broker_id, endpoints, rack), at


def _endpoint(frame: bytes, at: int) -> tuple[Endpoint, int]:
    (port,) = INT32.unpack_from(frame, at)
    host, at = _text(frame, at + INT32.size)
    listener, at = _text(frame, at)
    (protocol,) = INT16.unpack_from(frame, at)
    return Endpoint(listener, security_protocol(protocol), host, port), at + INT16.size


def security_protocol(number: int) -> str:
    """Return the security protocol that a number stands for. Raises: MalformedFrameError."""
    if not 0 <= number < len(SECURITY_PROTOCOLS):
        raise MalformedFrameError(f"{number} is no security protocol")
    return SECURITY_PROTOCOLS[number]


# --- primitive types -------------------------------------------------------------------------------------------------------


def _length(frame: bytes, at: int) -> tuple[int, int]:
    """Read the length of an array or a text, neither of which may be null here."""
    number = frame[at]
    if number < 0x80:
        at += 1
    else:
        number, at = read_varint(frame, at)
    if number == 0:
        raise MalformedFrameError("null where an array or a text is expected")
    return number - 1, at


def _text(frame: bytes, at: int) -> tuple[str, int]:
    length, at = _length(frame, at)
    end = at + length
    if end > len(frame):
        raise MalformedFrameError(f"a text of {length} bytes, {len(frame) - at} are left")
    return frame[at:end].decode(), end


def _tags(frame: bytes, at: int) -> int:
    return at + 1 if frame[at] == 0 else pass_over_tagged(frame, at)


PACKED_REQUESTS: Mapping[tuple[int, int], ReadPacked] = {
    (LeaderAndIsrRequest.api_key, LEADER_AND_ISR_WITHOUT_IDS): read_leader_and_isr,
    (LeaderAndIsrRequest.api_key, LEADER_AND_ISR_WITH_IDS): read_leader_and_isr_with_ids,
    (UpdateMetadataRequest.api_key, UPDATE_METADATA_WITHOUT_IDS): read_update_metadata,
    (UpdateMetadataRequest.api_key, UPDATE_METADATA_WITH_IDS): read_update_metadata_with_ids,
}
PACKED_RESPONSES: Mapping[tuple[int, int], ReadPacked] = {
    (LeaderAndIsrRequest.api_key, LEADER_AND_ISR_WITHOUT_IDS): read_leader_and_isr_response,
}
"""What is read without kio, by API key and version."""
