"""What brokers ask of the controller: ControlledShutdown before a broker stops, AlterIsr for the partitions that it leads,
AllocateProducerIds for producer ids.

Source: Kafka 2.8, ControlledShutdownRequest, AlterIsrRequest; 3.9, AllocateProducerIdsRequest; docs/kafka/requests.md 10.
"""

from collections.abc import Mapping
from typing import Any

from kcsim.brokers.wire.apis.api import Api, Values, sorted_by_topic
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterIsrRequest,
    AlterIsrResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
)
from kcsim.vocabulary import NO_LEADER, LeaderAndIsr, TopicPartition

CONTROLLED_SHUTDOWN, ALTER_ISR, ALLOCATE_PRODUCER_IDS = 7, 56, 67
SINCE_INELIGIBLE_REPLICA = 2
"""The first version of AlterIsr that has INELIGIBLE_REPLICA; before, it is OPERATION_NOT_ATTEMPTED."""


def _controlled_shutdown_request(frame: RequestFrame) -> ControlledShutdownRequest:
    message = frame.message
    return ControlledShutdownRequest(message.broker_id, getattr(message, "broker_epoch", UNKNOWN_BROKER_EPOCH))


def _controlled_shutdown_values(response: ControlledShutdownResponse, _: RequestFrame) -> Values:
    return {
        "error_code": response.error,
        "remaining_partitions": [
            {"topic_name": tp.topic, "partition_index": tp.partition} for tp in response.remaining_partitions
        ],
    }


def _alter_isr_request(frame: RequestFrame) -> AlterIsrRequest:
    message = frame.message
    return AlterIsrRequest(
        message.broker_id,
        message.broker_epoch,
        {
            TopicPartition(topic.topic_name, one.partition_index): LeaderAndIsr(
                message.broker_id, one.leader_epoch, tuple(one.new_isr), one.partition_epoch
            )
            for topic in message.topics
            for one in topic.partitions
        },
    )


def _alter_isr_values(response: AlterIsrResponse, frame: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "topics": [
            {
                "topic_name": topic,
                "partitions": [_altered(number, _known_to(frame.version, result)) for number, result in results],
            }
            for topic, results in sorted_by_topic(response.partitions)
        ],
    }


def _known_to(version: int, result: LeaderAndIsr | ErrorCode) -> LeaderAndIsr | ErrorCode:
    """Return the result with an error that this version of the API has."""
    if result is ErrorCode.INELIGIBLE_REPLICA and version < SINCE_INELIGIBLE_REPLICA:
        return ErrorCode.OPERATION_NOT_ATTEMPTED
    return result


def _altered(number: int, result: LeaderAndIsr | ErrorCode) -> Mapping[str, Any]:
    if isinstance(result, ErrorCode):
        return {"partition_index": number, "error_code": result, **NOTHING}
    return {
        "partition_index": number,
        "error_code": ErrorCode.NONE,
        "leader_id": NO_LEADER if result.leader is None else result.leader,
        "leader_epoch": result.leader_epoch,
        "isr": result.isr,
        "partition_epoch": result.zk_version,
    }


def _allocate_producer_ids_request(frame: RequestFrame) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(frame.message.broker_id, frame.message.broker_epoch)


def _allocate_producer_ids_values(response: AllocateProducerIdsResponse, _: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "error_code": response.error,
        "producer_id_start": response.first,
        "producer_id_len": response.count,
    }


NOTHING: Mapping[str, Any] = {"leader_id": 0, "leader_epoch": 0, "isr": (), "partition_epoch": 0}
"""The fields about the state in an answer with an error."""

APIS: Mapping[int, Api] = {
    CONTROLLED_SHUTDOWN: Api(range(4), _controlled_shutdown_request, _controlled_shutdown_values),
    ALTER_ISR: Api(range(1), _alter_isr_request, _alter_isr_values),
    ALLOCATE_PRODUCER_IDS: Api(range(1), _allocate_producer_ids_request, _allocate_producer_ids_values),
}
