"""Topics that clients create, grow and delete.

Source: Kafka 2.8, CreateTopicsRequest, CreatePartitionsRequest, DeleteTopicsRequest; docs/kafka/requests.md 14.
"""

from collections.abc import Mapping
from typing import Any

from kcsim.brokers.admin.change_requests import (
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    GrowableTopic,
)
from kcsim.brokers.wire.apis.api import Api, Values, milliseconds, topic_id_in, uuid_of
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ApiError, ErrorCode

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
FIRST_WITH_DELETION_DISABLED = 3
"""The version of DeleteTopics from which TOPIC_DELETION_DISABLED is known to clients."""


def outcome_values(outcome: ApiError) -> Values:
    """Return the two fields of a result that most responses have."""
    return {"error_code": outcome.error, "error_message": outcome.message}


def _create_request(frame: RequestFrame) -> CreateTopicsRequest:
    message = frame.message
    topics = tuple(
        CreatableTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            {one.partition_index: one.broker_ids for one in topic.assignments},
            {one.name: one.value for one in topic.configs},
        )
        for topic in message.topics
    )
    return CreateTopicsRequest(topics, milliseconds(message.timeout), getattr(message, "validate_only", False))


def _create_values(response: CreateTopicsResponse, _: RequestFrame) -> Values:
    return {"throttle_time": 0, "topics": [_created(result) for result in response.topics]}


def _created(result: CreatableTopicResult) -> Values:
    return {
        "name": result.name,
        "topic_id": uuid_of(result.topic_id),
        **outcome_values(result.outcome),
        "topic_config_error_code": ErrorCode.NONE,
        "num_partitions": result.partitions,
        "replication_factor": result.replication_factor,
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "read_only": entry.is_read_only,
                "config_source": entry.source,
                "is_sensitive": entry.is_sensitive,
            }
            for entry in result.configs
        ],
    }


def _delete_request(frame: RequestFrame) -> DeleteTopicsRequest:
    message = frame.message
    if hasattr(message, "topics"):
        topics = tuple(DeletableTopic(topic.name, topic_id_in(topic.topic_id)) for topic in message.topics)
    else:
        topics = tuple(map(DeletableTopic, message.topic_names))
    return DeleteTopicsRequest(topics, milliseconds(message.timeout))


def _delete_values(response: DeleteTopicsResponse, frame: RequestFrame) -> Values:
    return {
        "throttle_time": 0,
        "responses": [
            {"name": topic.name, "topic_id": uuid_of(topic.topic_id), **outcome_values(_known_to(frame.version, outcome))}
            for topic, outcome in response.topics
        ],
    }


def _known_to(version: int, outcome: ApiError) -> ApiError:
    is_disabled = outcome.error is ErrorCode.TOPIC_DELETION_DISABLED
    return ApiError(ErrorCode.INVALID_REQUEST) if is_disabled and version < FIRST_WITH_DELETION_DISABLED else outcome


def _grow_request(frame: RequestFrame) -> CreatePartitionsRequest:
    message = frame.message
    topics = tuple(
        GrowableTopic(
            topic.name,
            topic.count,
            None if topic.assignments is None else tuple(one.broker_ids for one in topic.assignments),
        )
        for topic in message.topics
    )
    return CreatePartitionsRequest(topics, milliseconds(message.timeout), message.validate_only)


def _grow_values(response: CreatePartitionsResponse, _: RequestFrame) -> Values:
    results: list[Mapping[str, Any]] = [{"name": name, **outcome_values(one)} for name, one in response.topics.items()]
    return {"throttle_time": 0, "results": results}


APIS: Mapping[int, Api] = {
    CREATE_TOPICS: Api(range(8), _create_request, _create_values),
    DELETE_TOPICS: Api(range(7), _delete_request, _delete_values),
    CREATE_PARTITIONS: Api(range(4), _grow_request, _grow_values),
}
