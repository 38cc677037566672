"""Responses with an error to requests of clients: to the whole request, or to the parts of it that are concerned.

Source: Kafka 2.8, AbstractRequest.getErrorResponse.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import msgspec

from kcsim.brokers.admin.change_requests import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    IncrementalAlterConfigsRequest,
)
from kcsim.brokers.admin.requests import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribedConfigs,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kcsim.brokers.groups.admin_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from kcsim.brokers.groups.requests import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupMembersRequest,
    LeaveGroupMembersResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.requests import (
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.controller.requests import ApiError, ErrorCode

Concerns = Callable[[Any], bool]
"""Returns whether an error concerns a part of a request: a partition, or what names a topic. None is the whole request."""


class Whole:
    """A request that is refused as a whole. Args: response: its class."""

    def __init__(self, response: Callable[[ErrorCode], Any]) -> None:
        self._response = response

    def parts(self, _request: Any, concerns: Concerns) -> tuple[Any, ...]:
        return (None,) if concerns(None) else ()

    def without(self, _request: Any, _parts: tuple[Any, ...]) -> Any | None:
        return None

    def refused(self, _response: Any, _parts: tuple[Any, ...], error: ErrorCode) -> Any:
        return self._response(error)


@dataclass(frozen=True, slots=True)
class ByPart:
    """A request whose parts are refused one by one.

    Attributes:
        response: its class.
        parts_field: the field of the request that has the parts: a mapping by part, or a tuple.
        results_field: the field of the response that has the results: a mapping, or a tuple if `listed_by` is set.
        result: from a part and the error to its result.
        key: from a part to what its result is found by.
        listed_by: from a result in a tuple to what it is found by.
    """

    response: Callable[..., Any]
    parts_field: str
    results_field: str
    result: Callable[[Any, ErrorCode], Any]
    key: Callable[[Any], Any] = lambda part: part
    listed_by: Callable[[Any], Any] | None = None

    def parts(self, request: Any, concerns: Concerns) -> tuple[Any, ...]:
        return tuple(part for part in getattr(request, self.parts_field) or () if concerns(part))

    def without(self, request: Any, parts: tuple[Any, ...]) -> Any | None:
        there, refused = getattr(request, self.parts_field), set(map(self.key, parts))
        others = [part for part in there if self.key(part) not in refused]
        if not others:
            return None
        is_mapping = isinstance(there, Mapping)
        kept: Any = {part: there[part] for part in others} if is_mapping else tuple(others)
        wait = {"max_wait_ms": 0} if isinstance(request, FetchRequest) else {}  # an error is answered at once
        return _replaced(request, {self.parts_field: kept, **wait})

    def refused(self, response: Any | None, parts: tuple[Any, ...], error: ErrorCode) -> Any:
        results = {self.key(part): self.result(part, error) for part in parts}
        if self.listed_by is None:
            there = {} if response is None else getattr(response, self.results_field)
            changes: Mapping[str, Any] = {self.results_field: {**there, **results}}
        else:
            listed = () if response is None else getattr(response, self.results_field)
            others = [result for result in listed if self.listed_by(result) not in results]
            changes = {self.results_field: (*others, *results.values())}
        return self.response(**changes) if response is None else _replaced(response, changes)


class MetadataTopics:
    """A Metadata request: brokers and controller are answered in any case, and topics are refused one by one."""

    def parts(self, request: MetadataRequest, concerns: Concerns) -> tuple[Any, ...]:
        return (concerns,) if request.topics is None or any(map(concerns, request.topics)) else ()

    def without(self, request: MetadataRequest, _parts: tuple[Any, ...]) -> MetadataRequest:
        return request

    def refused(self, response: MetadataResponse, parts: tuple[Any, ...], error: ErrorCode) -> MetadataResponse:
        (concerns,) = parts
        topics = {tp.topic for tp in response.partitions} | response.topic_errors.keys()
        refused = {topic: error for topic in sorted(topics) if concerns(topic)}
        others = {tp: one for tp, one in response.partitions.items() if tp.topic not in refused}
        changes = {"partitions": others, "topic_errors": {**response.topic_errors, **refused}}
        return msgspec.structs.replace(response, **changes)


class RefusableRequest(Protocol):
    """How requests of one class are refused."""

    def parts(self, request: Any, concerns: Concerns) -> tuple[Any, ...]:
        """Return the parts of a request that are concerned; none if the request is not."""
        ...

    def without(self, request: Any, parts: tuple[Any, ...]) -> Any | None:
        """Return a request for the other parts; None if there are none."""
        ...

    def refused(self, response: Any, parts: tuple[Any, ...], error: ErrorCode) -> Any:
        """Return a response with the error for these parts. Args: response: to the rest of the request, or None."""
        ...


def name_of(request: type) -> str:
    """Return the name of a request's class in the event log; LeaveGroup has two classes."""
    return "LeaveGroup" if request is LeaveGroupMembersRequest else request.__name__.removesuffix("Request")


def _replaced(message: Any, changes: Mapping[str, Any]) -> Any:
    if isinstance(message, msgspec.Struct):
        return msgspec.structs.replace(message, **changes)
    return replace(message, **changes)


def _api_error(_: Any, error: ErrorCode) -> ApiError:
    return ApiError(error)


def _refused_group(group_id: str, error: ErrorCode) -> DescribedGroup:
    return DescribedGroup(error, group_id)


def _error(_: Any, error: ErrorCode) -> ErrorCode:
    return error


_CONFIGS = ByPart(AlterConfigsResponse, "resources", "resources", _api_error)
REFUSABLE: Mapping[type, RefusableRequest] = {
    ProduceRequest: ByPart(ProduceResponse, "batches", "results", lambda _, error: ProduceResult(error)),
    FetchRequest: ByPart(FetchResponse, "partitions", "partitions", lambda _, error: FetchedPartition(error)),
    ListOffsetsRequest: ByPart(ListOffsetsResponse, "partitions", "partitions", lambda _, error: ListedOffset(error)),
    OffsetsForLeaderEpochRequest: ByPart(
        OffsetsForLeaderEpochResponse, "partitions", "partitions", lambda _, error: EpochEnd(error)
    ),
    InitProducerIdRequest: Whole(InitProducerIdResponse),
    MetadataRequest: MetadataTopics(),
    FindCoordinatorRequest: Whole(FindCoordinatorResponse),
    JoinGroupRequest: Whole(JoinGroupResponse),
    SyncGroupRequest: Whole(SyncGroupResponse),
    HeartbeatRequest: Whole(HeartbeatResponse),
    LeaveGroupRequest: Whole(LeaveGroupResponse),
    LeaveGroupMembersRequest: Whole(LeaveGroupMembersResponse),
    OffsetCommitRequest: ByPart(
        lambda **fields: OffsetCommitResponse(ErrorCode.NONE, **fields), "offsets", "partition_errors", _error
    ),
    OffsetFetchRequest: Whole(OffsetFetchResponse),
    OffsetDeleteRequest: ByPart(
        lambda **fields: OffsetDeleteResponse(ErrorCode.NONE, **fields), "partitions", "partition_errors", _error
    ),
    DescribeGroupsRequest: ByPart(
        DescribeGroupsResponse,
        "groups",
        "groups",
        _refused_group,
        listed_by=attrgetter("group_id"),
    ),
    ListGroupsRequest: Whole(ListGroupsResponse),
    DeleteGroupsRequest: ByPart(DeleteGroupsResponse, "groups", "errors", _error),
    CreateTopicsRequest: ByPart(
        CreateTopicsResponse,
        "topics",
        "topics",
        lambda topic, error: CreatableTopicResult(topic.name, ApiError(error)),
        attrgetter("name"),
        attrgetter("name"),
    ),
    DeleteTopicsRequest: ByPart(
        DeleteTopicsResponse, "topics", "topics", lambda topic, error: (topic, ApiError(error)), listed_by=itemgetter(0)
    ),
    CreatePartitionsRequest: ByPart(CreatePartitionsResponse, "topics", "topics", _api_error, attrgetter("name")),
    DeleteRecordsRequest: ByPart(DeleteRecordsResponse, "offsets", "partitions", lambda _, error: DeletedRecords(error)),
    DescribeConfigsRequest: ByPart(
        DescribeConfigsResponse,
        "resources",
        "results",
        lambda resource, error: DescribedConfigs(resource, error=error),
        listed_by=attrgetter("resource"),
    ),
    AlterConfigsRequest: _CONFIGS,
    IncrementalAlterConfigsRequest: _CONFIGS,
    AlterPartitionReassignmentsRequest: ByPart(AlterPartitionReassignmentsResponse, "targets", "partitions", _api_error),
    ListPartitionReassignmentsRequest: Whole(ListPartitionReassignmentsResponse),
    ElectLeadersRequest: ByPart(ElectLeadersResponse, "partitions", "partitions", _api_error),
}
"""By the class of a request, how it is refused."""
