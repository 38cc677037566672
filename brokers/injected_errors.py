"""Errors that brokers answer to clients because a fault says so, whatever the state of the cluster.

An injected error concerns the next requests of one kind, from some clients to some brokers: whole requests, or the parts of
them that name a topic or a partition. What it concerns is answered with the error and not carried out, or carried out
nevertheless, as by a broker that fails between the two. Requests that brokers send to one another are not concerned.

Source of the responses: Kafka 2.8, AbstractRequest.getErrorResponse.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Protocol

import msgspec

from kcsim.brokers.admin.change_requests import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ApiError,
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
from kcsim.brokers.network.link_conditions import Links
from kcsim.brokers.ports import Incoming
from kcsim.brokers.requests import (
    CONSUMER,
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
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import TopicPartition

Handle = Callable[[Any, int], Awaitable[Any]]
"""Takes a request, and the event that is its cause, and returns the response."""


@dataclass(frozen=True, slots=True)
class ErrorInjection:
    """What is answered with an error.

    Attributes:
        request: its name in the event log, one of INJECTABLE.
        links: from the brokers that answer to the clients that get the answer.
        topic, partition: the part that is concerned; None: all.
        is_carried_out: the request is carried out nevertheless.
        times: how many answers carry the error.
    """

    request: str
    error: ErrorCode
    links: Links
    topic: str | None = None
    partition: int | None = None
    is_carried_out: bool = False
    times: int = 1

    def concerns(self, part: Any) -> bool:
        """Return whether this part of a request is concerned: a partition, or what has the name of a topic."""
        if self.topic is None:
            return True
        if isinstance(part, TopicPartition):
            return part.topic == self.topic and self.partition in (None, part.partition)
        return self.topic == (part if isinstance(part, str) else getattr(part, "name", None))


class Whole:
    """A request that is refused as a whole. Args: response: its class."""

    def __init__(self, response: Callable[[ErrorCode], Any]) -> None:
        self._response = response

    def parts(self, _request: Any, injection: ErrorInjection) -> tuple[Any, ...]:
        return (None,) if injection.topic is None else ()

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

    def parts(self, request: Any, injection: ErrorInjection) -> tuple[Any, ...]:
        return tuple(part for part in getattr(request, self.parts_field) or () if injection.concerns(part))

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

    def parts(self, request: MetadataRequest, injection: ErrorInjection) -> tuple[Any, ...]:
        return (injection,) if request.topics is None or any(map(injection.concerns, request.topics)) else ()

    def without(self, request: MetadataRequest, _parts: tuple[Any, ...]) -> MetadataRequest:
        return request

    def refused(self, response: MetadataResponse, parts: tuple[Any, ...], error: ErrorCode) -> MetadataResponse:
        (injection,) = parts
        topics = {tp.topic for tp in response.partitions} | response.topic_errors.keys()
        refused = {topic: error for topic in sorted(topics) if injection.concerns(topic)}
        others = {tp: one for tp, one in response.partitions.items() if tp.topic not in refused}
        changes = {"partitions": others, "topic_errors": {**response.topic_errors, **refused}}
        return msgspec.structs.replace(response, **changes)


class RefusableRequest(Protocol):
    """How requests of one class are refused."""

    def parts(self, request: Any, injection: ErrorInjection) -> tuple[Any, ...]:
        """Return the parts of a request that an injection concerns; none if it does not concern the request."""
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
REFUSALS: Mapping[type, RefusableRequest] = {
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
INJECTABLE = tuple(sorted({name_of(kind) for kind in REFUSALS}))
"""The names of the requests that can be answered with an injected error."""


class InjectedErrors:
    """The errors that are armed, at all brokers of a cluster."""

    def __init__(self) -> None:
        self._armed: list[_Armed] = []

    def arm(self, injection: ErrorInjection, cause: int, answered: Callable[[str, str], None]) -> None:
        """Arm an error.

        Args:
            cause: the fault.
            answered: called with the broker and a sentence on each answer that carries the error.
        """
        self._armed.append(_Armed(injection, cause, answered, injection.times))

    def disarm(self) -> int:
        """Drop all that are armed. Return how many answers they would still have changed."""
        left = sum(armed.left for armed in self._armed)
        self._armed.clear()
        return left

    def at(self, broker: str) -> "BrokerErrors":
        """Return those that a broker answers."""
        return BrokerErrors(broker, self)

    def next(self, broker: str, incoming: Incoming) -> "tuple[_Armed, tuple[Any, ...]] | None":
        """Return the armed error that concerns a request, and the parts that it concerns."""
        request = incoming.request
        for armed in self._armed:
            injection = armed.injection
            if name_of(type(request)) != injection.request or (broker, incoming.sender) not in injection.links:
                continue
            parts = REFUSALS[type(request)].parts(request, injection)
            if parts:
                armed.left -= 1
                if not armed.left:
                    self._armed.remove(armed)
                return armed, parts
        return None

    @property
    def is_empty(self) -> bool:
        return not self._armed


class BrokerErrors:
    """The InjectsErrors port of one broker."""

    def __init__(self, broker: str, errors: InjectedErrors) -> None:
        self._broker = broker
        self._errors = errors

    async def answer(self, incoming: Incoming, handle: Handle) -> Any:
        """Return the response to a request: with an injected error, or what handles it returns."""
        request, cause = incoming.request, incoming.cause
        found = None if self._errors.is_empty or is_of_broker(request) else self._errors.next(self._broker, incoming)
        if found is None:
            return await handle(request, cause)
        armed, parts = found
        injection, refusal = armed.injection, REFUSALS[type(request)]
        number = injection.times - armed.left  # before other requests are answered
        carried_out = request if injection.is_carried_out else refusal.without(request, parts)
        response = None if carried_out is None else await handle(carried_out, cause)
        incoming.note_fault(armed.cause)
        armed.answered(
            self._broker,
            f"{self._broker} answers {injection.request} of {incoming.sender} with {injection.error.name}, "
            f"{number} of {injection.times}",
        )
        return refusal.refused(response, parts, injection.error)


@dataclass(slots=True)
class _Armed:
    injection: ErrorInjection
    cause: int
    answered: Callable[[str, str], None]
    left: int


def is_of_broker(request: Any) -> bool:
    """Return whether a broker sent a request that clients send too."""
    return getattr(request, "replica_id", CONSUMER) > CONSUMER
