"""Requests of the controller and to the controller, as frames, and the responses to them.

They are sent in the versions that follow from inter.broker.protocol.version, without asking the recipient which it
knows, as Kafka's do.

Source: Kafka 2.8, ControllerChannelManager, RequestSendThread, KafkaServer.controlledShutdown; docs/kafka/requests.md 1.
"""

import struct
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, assert_never

from kio.index import load_request_schema

from kcsim.brokers.wire.apis.api import Values, by_topic, sorted_by_topic
from kcsim.brokers.wire.frames import decode_response, encode_request, encode_request_header
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.packed_reading import PACKED_RESPONSES, error_of, read_leader_and_isr_response_by_id
from kcsim.brokers.wire.packed_requests import StateChangePacker
from kcsim.controller.requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerRequest,
    BrokerResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.vocabulary import NO_LEADER, LeaderAndIsr, TopicPartition


class RequestEncoder:
    """Makes the frames of one sender's requests. Args: client_id: what the sender calls itself in them."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._packer = StateChangePacker()

    def encode(self, request: BrokerRequest, correlation_id: int) -> bytes:
        """Return the frame of a request. Raises: ValueError for a value that a field cannot have."""
        match request:
            case LeaderAndIsrRequest() | UpdateMetadataRequest():
                return self._packed(request, correlation_id)
            case StopReplicaRequest():
                return self._encode(request, _stop_replica_values(request), correlation_id)
            case ControlledShutdownRequest() | AllocateProducerIdsRequest():
                values = {"broker_id": request.broker_id, "broker_epoch": request.broker_epoch}
                return self._encode(request, values, correlation_id)
            case AlterIsrRequest():
                return self._encode(request, _alter_isr_values(request), correlation_id)
            case _:
                assert_never(request)

    def _packed(self, request: LeaderAndIsrRequest | UpdateMetadataRequest, correlation_id: int) -> bytes:
        header = encode_request_header(request.api_key, request.version, correlation_id, self._client_id)
        try:
            if isinstance(request, UpdateMetadataRequest):
                return header + self._packer.update_metadata(request)
            return header + self._packer.leader_and_isr(request)
        except struct.error as error:
            raise ValueError(f"{type(request).__name__}: {error}") from error

    def _encode(self, request: BrokerRequest, values: Values, correlation_id: int) -> bytes:
        message = message_of(load_request_schema(request.api_key, request.version), values)
        return encode_request(message, correlation_id, self._client_id)


def decode_answer(frame: bytes, request: BrokerRequest) -> tuple[int, BrokerResponse]:
    """Return correlation id and content of the response to a request. Raises: MalformedFrameError."""
    packed = PACKED_RESPONSES
    if isinstance(request, LeaderAndIsrRequest) and request.topic_ids is not None:
        topics = {topic_id: topic for topic, topic_id in request.topic_ids.items()}
        packed = {(request.api_key, request.version): partial(read_leader_and_isr_response_by_id, topics)}
    correlation_id, message = decode_response(frame, request.api_key, request.version, packed)
    if isinstance(request, LeaderAndIsrRequest):
        return correlation_id, message
    error = error_of(message.error_code.value)
    match request:
        case UpdateMetadataRequest():
            return correlation_id, UpdateMetadataResponse(error)
        case StopReplicaRequest():
            return correlation_id, StopReplicaResponse(error, _errors(message.partition_errors))
        case ControlledShutdownRequest():
            remaining = (TopicPartition(one.topic_name, one.partition_index) for one in message.remaining_partitions)
            return correlation_id, ControlledShutdownResponse(error, tuple(remaining))
        case AllocateProducerIdsRequest():
            response = AllocateProducerIdsResponse(error, message.producer_id_start, message.producer_id_len)
            return correlation_id, response
        case AlterIsrRequest():
            return correlation_id, AlterIsrResponse(error, _altered(message.topics))
        case _:
            assert_never(request)


def _stop_replica_values(request: StopReplicaRequest) -> Values:
    return {
        "controller_id": request.controller_id,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "topic_states": [
            {
                "topic_name": topic,
                "partition_states": [
                    {
                        "partition_index": number,
                        "leader_epoch": one.leader_epoch,
                        "delete_partition": one.delete_partition,
                    }
                    for number, one in partitions
                ],
            }
            for topic, partitions in by_topic(request.partitions)
        ],
    }


def _alter_isr_values(request: AlterIsrRequest) -> Values:
    return {
        "broker_id": request.broker_id,
        "broker_epoch": request.broker_epoch,
        "topics": [
            {
                "topic_name": topic,
                "partitions": [
                    {
                        "partition_index": number,
                        "leader_epoch": asked.leader_epoch,
                        "new_isr": asked.isr,
                        "partition_epoch": asked.zk_version,
                    }
                    for number, asked in partitions
                ],
            }
            for topic, partitions in sorted_by_topic(request.partitions)
        ],
    }


def _altered(topics: Iterable[Any]) -> Mapping[TopicPartition, LeaderAndIsr | ErrorCode]:
    altered: dict[TopicPartition, LeaderAndIsr | ErrorCode] = {}
    for topic in topics:
        for one in topic.partitions:
            error = error_of(one.error_code.value)
            altered[TopicPartition(topic.topic_name, one.partition_index)] = (
                LeaderAndIsr(
                    None if one.leader_id == NO_LEADER else one.leader_id, one.leader_epoch, one.isr, one.partition_epoch
                )
                if error is ErrorCode.NONE
                else error
            )
    return altered


def _errors(errors: Iterable[Any]) -> Mapping[TopicPartition, ErrorCode]:
    return {TopicPartition(one.topic_name, one.partition_index): error_of(one.error_code.value) for one in errors}
