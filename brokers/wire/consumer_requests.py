"""The requests of consumers as frames, and the responses to them, in the versions that a consumer of Kafka 2.8 sends.

Each fetch lists all its partitions: there is no fetch session. Responses over TCP do not say which event they follow from.

Source: Kafka 2.8, Fetcher, AbstractCoordinator, ConsumerCoordinator; docs/kafka/consumer_groups.md 10;
docs/kafka/requests.md 7.1, 8, 14.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kio.index import load_request_schema

from kcsim.brokers.groups.consumer_protocol import assignment_bytes, subscription_bytes
from kcsim.brokers.groups.requests import (
    NO_DETAILS,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDetails,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.requests import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
)
from kcsim.brokers.wire.apis.api import Values, by_topic, sorted_by_topic, topic_id_in
from kcsim.brokers.wire.apis.group_offsets import OFFSET_COMMIT, OFFSET_FETCH
from kcsim.brokers.wire.apis.groups import FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from kcsim.brokers.wire.apis.metadata import METADATA, NO_CONTROLLER
from kcsim.brokers.wire.apis.offsets import LIST_OFFSETS
from kcsim.brokers.wire.apis.records import FETCH
from kcsim.brokers.wire.follower_requests import (
    fetch_values,
    fetched_partition,
    list_offsets_values,
    listed_offsets,
    partitions_in,
)
from kcsim.brokers.wire.frames import decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.brokers.wire.packed_reading import error_of
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import NO_LEADER, BrokerId, Endpoint, LeaderEpoch, TopicPartition

PLAINTEXT = "PLAINTEXT"


class ConsumerRequests:
    """The codec of a consumer's connections. Args: client_id: what the consumer calls itself."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id

    def encode(self, request: Any, correlation_id: int) -> bytes:
        """Return the frame of a request. Raises: ValueError for a value that a field cannot have."""
        of = _OF_REQUEST[type(request)]
        message = message_of(load_request_schema(of.api_key, of.version), of.values(request))
        return encode_request(message, correlation_id, self._client_id)

    def decode(self, frame: bytes, request: Any) -> tuple[int, Any]:
        """Return correlation id and content of the response to a request. Raises: MalformedFrameError."""
        of = _OF_REQUEST[type(request)]
        correlation_id, message = decode_response(frame, of.api_key, of.version)
        return correlation_id, of.response(message, request)


class _ConsumerApi(NamedTuple):
    """An API as consumers use it.

    Attributes:
        values: from a request to the fields of its message.
        response: from the message of the response, and the request, to the response.
    """

    api_key: int
    version: int
    values: Callable[[Any], Values]
    response: Callable[[Any, Any], Any]


def _endpoint(message: Any) -> Endpoint:
    """Return where a broker is reached. The name of its listener is not sent; consumers use no encryption."""
    return Endpoint(PLAINTEXT, PLAINTEXT, message.host, message.port)


# --- metadata --------------------------------------------------------------------------------------------------------------


def _metadata_values(request: MetadataRequest) -> Values:
    return {
        "topics": None if request.topics is None else [{"topic_id": None, "name": topic} for topic in request.topics],
        "allow_auto_topic_creation": request.allow_auto_topic_creation,
        "include_topic_authorized_operations": False,
    }


def _metadata(message: Any, _: MetadataRequest) -> MetadataResponse:
    brokers = {BrokerId(one.node_id): one for one in message.brokers}
    known = [topic for topic in message.topics if topic.partitions]
    ids = {topic.name: topic_id_in(topic.topic_id) for topic in known}
    return MetadataResponse(
        {broker: _endpoint(one) for broker, one in brokers.items()},
        None if message.controller_id == NO_CONTROLLER else BrokerId(message.controller_id),
        {TopicPartition(topic.name, one.partition_index): _partition(one) for topic in known for one in topic.partitions},
        {topic.name: error_of(topic.error_code.value) for topic in message.topics if not topic.partitions},
        {broker: one.rack for broker, one in brokers.items() if one.rack is not None},
        message.cluster_id,
        {topic: topic_id for topic, topic_id in ids.items() if topic_id is not None},
    )


def _partition(one: Any) -> PartitionMetadata:
    return PartitionMetadata(
        None if one.leader_id == NO_LEADER else BrokerId(one.leader_id),
        LeaderEpoch(one.leader_epoch),
        error_of(one.error_code.value),
        tuple(one.replica_nodes),
        tuple(one.isr_nodes),
        tuple(one.offline_replicas),
    )


# --- records and offsets ---------------------------------------------------------------------------------------------------


def _consumer_fetch_values(request: FetchRequest) -> Values:
    return {
        "replica_id": request.replica_id,
        "max_wait": request.max_wait_ms,
        "min_bytes": request.min_bytes,
        "max_bytes": request.max_bytes,
        "topics": [
            {"topic": topic, "partitions": [fetch_values(number, fetch) for number, fetch in partitions]}
            for topic, partitions in by_topic(request.partitions)
        ],
        "forgotten_topics_data": (),
    }


def _fetched(message: Any, request: FetchRequest) -> FetchResponse:
    answered = partitions_in((topic.topic, topic.partitions, "partition_index") for topic in message.responses)
    return FetchResponse({tp: fetched_partition(one, request.partitions[tp]) for tp, one in answered})


def _listed(message: Any, _: ListOffsetsRequest) -> Any:
    return listed_offsets(message)


# --- the group -------------------------------------------------------------------------------------------------------------


def _find_values(request: FindCoordinatorRequest) -> Values:
    return {"key": request.group_id, "key_type": request.kind}


def _found(message: Any, _: FindCoordinatorRequest) -> FindCoordinatorResponse:
    error = error_of(message.error_code.value)
    if error is not ErrorCode.NONE:
        return FindCoordinatorResponse(error)
    return FindCoordinatorResponse(error, BrokerId(message.node_id), _endpoint(message))


def _join_values(request: JoinGroupRequest) -> Values:
    return {
        "group_id": request.group_id,
        "session_timeout": request.session_timeout_ms,
        "rebalance_timeout": request.rebalance_timeout_ms,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "protocol_type": request.protocol_type,
        "protocols": [{"name": name, "metadata": subscription_bytes(sent)} for name, sent in request.protocols],
    }


def _joined(message: Any, _: JoinGroupRequest) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_of(message.error_code.value),
        message.member_id,
        message.generation_id,
        message.protocol_name,
        message.leader,
        tuple(JoinedMember(one.member_id, one.metadata, one.group_instance_id) for one in message.members),
        protocol_type=message.protocol_type,
    )


def _sync_values(request: SyncGroupRequest) -> Values:
    return {
        "group_id": request.group_id,
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "protocol_type": request.protocol_type,
        "protocol_name": request.protocol,
        "assignments": [
            {"member_id": member, "assignment": assignment_bytes(assigned)}
            for member, assigned in request.assignments.items()
        ],
    }


def _synced(message: Any, _: SyncGroupRequest) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_of(message.error_code.value),
        message.assignment,
        protocol_type=message.protocol_type,
        protocol=message.protocol_name,
    )


def _heartbeat_values(request: HeartbeatRequest) -> Values:
    return {
        "group_id": request.group_id,
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
    }


def _heartbeat(message: Any, _: HeartbeatRequest) -> HeartbeatResponse:
    return HeartbeatResponse(error_of(message.error_code.value))


def _leave_values(request: LeaveGroupRequest) -> Values:
    return {
        "group_id": request.group_id,
        "members": [{"member_id": request.member_id, "group_instance_id": request.instance_id}],
    }


def _left(message: Any, _: LeaveGroupRequest) -> LeaveGroupResponse:
    errors = [message.error_code, *(one.error_code for one in message.members)]
    return LeaveGroupResponse(next((error_of(error.value) for error in errors if error.value), ErrorCode.NONE))


# --- committed offsets -----------------------------------------------------------------------------------------------------


def _commit_values(request: OffsetCommitRequest) -> Values:
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    _commit_partition(number, offset, request.details.get(TopicPartition(topic, number), NO_DETAILS))
                    for number, offset in partitions
                ],
            }
            for topic, partitions in sorted_by_topic(request.offsets)
        ],
    }


def _commit_partition(number: int, offset: int, details: OffsetDetails) -> Values:
    return {
        "partition_index": number,
        "committed_offset": offset,
        "committed_leader_epoch": details.leader_epoch,
        "committed_metadata": details.metadata,
    }


def _committed(message: Any, _: OffsetCommitRequest) -> OffsetCommitResponse:
    """Return the error that all partitions have, or each partition's own."""
    found = {tp: error_of(one.error_code.value) for tp, one in _in(message.topics)}
    errors = set(found.values())
    if len(errors) == 1:
        return OffsetCommitResponse(errors.pop())
    return OffsetCommitResponse(ErrorCode.NONE, {tp: error for tp, error in found.items() if error})


def _offset_fetch_values(request: OffsetFetchRequest) -> Values:
    if request.partitions is None:
        return {"group_id": request.group_id, "topics": None}
    partitions = sorted_by_topic(dict.fromkeys(request.partitions))
    return {
        "group_id": request.group_id,
        "topics": [{"name": topic, "partition_indexes": [number for number, _ in of]} for topic, of in partitions],
    }


def _offsets_fetched(message: Any, _: OffsetFetchRequest) -> OffsetFetchResponse:
    found = {tp: one for tp, one in _in(message.topics) if one.committed_offset >= 0}
    details = {tp: OffsetDetails(LeaderEpoch(one.committed_leader_epoch), one.metadata or "") for tp, one in found.items()}
    return OffsetFetchResponse(
        error_of(message.error_code.value),
        {tp: one.committed_offset for tp, one in found.items()},
        {tp: one for tp, one in details.items() if one != NO_DETAILS},
    )


def _in(topics: Iterable[Any]) -> Iterable[tuple[TopicPartition, Any]]:
    return partitions_in((topic.name, topic.partitions, "partition_index") for topic in topics)


_OF_REQUEST: Mapping[type, _ConsumerApi] = {
    MetadataRequest: _ConsumerApi(METADATA, 11, _metadata_values, _metadata),
    FetchRequest: _ConsumerApi(FETCH, 12, _consumer_fetch_values, _fetched),
    ListOffsetsRequest: _ConsumerApi(LIST_OFFSETS, 6, list_offsets_values, _listed),
    FindCoordinatorRequest: _ConsumerApi(FIND_COORDINATOR, 3, _find_values, _found),
    JoinGroupRequest: _ConsumerApi(JOIN_GROUP, 7, _join_values, _joined),
    SyncGroupRequest: _ConsumerApi(SYNC_GROUP, 5, _sync_values, _synced),
    HeartbeatRequest: _ConsumerApi(HEARTBEAT, 4, _heartbeat_values, _heartbeat),
    LeaveGroupRequest: _ConsumerApi(LEAVE_GROUP, 4, _leave_values, _left),
    OffsetCommitRequest: _ConsumerApi(OFFSET_COMMIT, 8, _commit_values, _committed),
    OffsetFetchRequest: _ConsumerApi(OFFSET_FETCH, 7, _offset_fetch_values, _offsets_fetched),
}
