"""What members and administrators ask about the committed offsets of a group.

Source: Kafka 2.8, KafkaApis.handleOffsetCommitRequest, handleOffsetFetchRequest, handleOffsetDeleteRequest;
docs/kafka/consumer_groups.md 10.4, 12.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from kcsim.brokers.groups.admin_requests import OffsetDeleteRequest, OffsetDeleteResponse
from kcsim.brokers.groups.requests import (
    NO_DETAILS,
    NO_GENERATION,
    NO_MEMBER_ID,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDetails,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kcsim.brokers.wire.apis.api import Api, Values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

OFFSET_COMMIT, OFFSET_FETCH, OFFSET_DELETE = 8, 9, 47
NO_OFFSET = -1
FIRST_VERSION_WITH_ONE_ERROR = 2
"""From here on OffsetFetch has an error of its own: before, each partition has it."""

# --- commit ----------------------------------------------------------------------------------------------------------------


def _commit_request(frame: RequestFrame) -> OffsetCommitRequest:
    message = frame.message
    committed = {
        TopicPartition(topic.name, one.partition_index): one for topic in message.topics for one in topic.partitions
    }
    details = {tp: _details(one) for tp, one in committed.items()}
    return OffsetCommitRequest(
        message.group_id,
        {tp: one.committed_offset for tp, one in committed.items()},
        getattr(message, "generation_id_or_member_epoch", NO_GENERATION),
        getattr(message, "member_id", NO_MEMBER_ID),
        getattr(message, "group_instance_id", None),
        {tp: one for tp, one in details.items() if one != NO_DETAILS},
    )


def _details(one: Any) -> OffsetDetails:
    return OffsetDetails(getattr(one, "committed_leader_epoch", NO_DETAILS.leader_epoch), one.committed_metadata or "")


def _commit_values(response: OffsetCommitResponse, frame: RequestFrame) -> Values:
    errors = response.partition_errors
    asked = [TopicPartition(topic.name, one.partition_index) for topic in frame.message.topics for one in topic.partitions]
    return {"throttle_time": 0, "topics": _with_errors({tp: errors.get(tp, response.error) for tp in asked})}


# --- fetch -----------------------------------------------------------------------------------------------------------------


def _fetch_request(frame: RequestFrame) -> OffsetFetchRequest:
    topics = frame.message.topics
    return OffsetFetchRequest(frame.message.group_id, None if topics is None else _asked_for(frame))


def _asked_for(frame: RequestFrame) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, one) for topic in frame.message.topics for one in topic.partition_indexes)


def _fetch_values(response: OffsetFetchResponse, frame: RequestFrame) -> Values:
    asked = response.offsets if frame.message.topics is None else _asked_for(frame)
    if response.error is not ErrorCode.NONE and frame.version >= FIRST_VERSION_WITH_ONE_ERROR:
        asked = ()
    return {
        "throttle_time": 0,
        "topics": _by_topic(asked, lambda tp: _fetched(tp, response)),
        "error_code": response.error,
    }


def _fetched(tp: TopicPartition, response: OffsetFetchResponse) -> Values:
    details = response.details.get(tp, NO_DETAILS)
    return {
        "committed_offset": response.offsets.get(tp, NO_OFFSET),
        "committed_leader_epoch": details.leader_epoch,
        "metadata": details.metadata,
        "error_code": response.error,
    }


# --- delete ----------------------------------------------------------------------------------------------------------------


def _delete_request(frame: RequestFrame) -> OffsetDeleteRequest:
    topics = frame.message.topics
    partitions = tuple(TopicPartition(topic.name, one.partition_index) for topic in topics for one in topic.partitions)
    return OffsetDeleteRequest(frame.message.group_id, partitions)


def _delete_values(response: OffsetDeleteResponse, _: RequestFrame) -> Values:
    return {"throttle_time": 0, "error_code": response.error, "topics": _with_errors(response.partition_errors)}


# --- partitions by topic ---------------------------------------------------------------------------------------------------


def _with_errors(errors: Mapping[TopicPartition, ErrorCode]) -> list[Values]:
    return _by_topic(errors, lambda tp: {"error_code": errors[tp]})


def _by_topic(partitions: Iterable[TopicPartition], values_of: Callable[[TopicPartition], Values]) -> list[Values]:
    return [
        {"name": topic, "partitions": [{"partition_index": tp.partition, **values_of(tp)} for tp in group]}
        for topic, group in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]


APIS: Mapping[int, Api] = {
    OFFSET_COMMIT: Api(range(9), _commit_request, _commit_values),
    OFFSET_FETCH: Api(range(8), _fetch_request, _fetch_values),
    OFFSET_DELETE: Api(range(1), _delete_request, _delete_values),
}
