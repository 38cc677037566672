"""Requests of admin clients that change the cluster, and their responses.

Left out: ids of topics, the forms of other versions, quotas. Source: Kafka 2.8, CreateTopicsRequest, DeleteTopicsRequest,
CreatePartitionsRequest,
AlterConfigsRequest, IncrementalAlterConfigsRequest, DeleteRecordsRequest,
AlterPartitionReassignmentsRequest, ElectLeadersRequest.
"""

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from kcsim.brokers.admin.requests import ConfigEntry
from kcsim.controller.decisions.placement import Replicas
from kcsim.controller.events import ElectionType, ReassignmentTargets
from kcsim.controller.requests import SUCCESS, ApiError, ErrorCode
from kcsim.vocabulary import TopicPartition

# --- errors ------------------------------------------------------------------------------------------------------------


class AlterConfigOp(IntEnum):
    """How a setting is changed; APPEND and SUBTRACT change a list. The numbers are those of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


# --- topics ------------------------------------------------------------------------------------------------------------


class CreatableTopic(msgspec.Struct, frozen=True):
    """A topic to create.

    Attributes:
        partitions, replication_factor: -1: the broker's default, or as assigned.
        assignment: the replicas by partition; empty to have them placed.
        configs: settings as text. A value of None is refused.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignment: Mapping[int, Replicas] = msgspec.field(default_factory=dict)
    configs: Mapping[str, str | None] = msgspec.field(default_factory=dict)


class CreateTopicsRequest(msgspec.Struct, frozen=True):
    """A request for new topics. Attributes: timeout_ms: how long to wait until all of them have leaders."""

    topics: tuple[CreatableTopic, ...]
    timeout_ms: int
    validate_only: bool = False


class CreatableTopicResult(msgspec.Struct, frozen=True):
    """The result for one topic.

    Attributes:
        partitions, replication_factor: of the topic; -1 with an error.
        configs: all settings of the topic; none with an error.
        topic_id: None with an error, for a topic that was not to be created, and where topics have no ids.
    """

    name: str
    outcome: ApiError = SUCCESS
    partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigEntry, ...] = ()
    topic_id: str | None = None


class CreateTopicsResponse(msgspec.Struct, frozen=True):
    topics: tuple[CreatableTopicResult, ...]


class DeletableTopic(msgspec.Struct, frozen=True):
    """A topic to delete, by its name or by its id; in a response both, if a request by id found the topic."""

    name: str | None
    topic_id: str | None = None


class DeleteTopicsRequest(msgspec.Struct, frozen=True):
    """A request to delete topics. Attributes: timeout_ms: how long to wait until they are gone."""

    topics: tuple[DeletableTopic, ...]
    timeout_ms: int


class DeleteTopicsResponse(msgspec.Struct, frozen=True):
    """One result per topic of the request, in its order."""

    topics: tuple[tuple[DeletableTopic, ApiError], ...]


class GrowableTopic(msgspec.Struct, frozen=True):
    """A topic that is to have more partitions.

    Attributes:
        count: of partitions in all.
        assignments: the replicas of each new partition; None to have them placed.
    """

    name: str
    count: int
    assignments: tuple[Replicas, ...] | None = None


class CreatePartitionsRequest(msgspec.Struct, frozen=True):
    """A request for more partitions. Attributes: timeout_ms: how long to wait until the new ones have leaders."""

    topics: tuple[GrowableTopic, ...]
    timeout_ms: int
    validate_only: bool = False


class CreatePartitionsResponse(msgspec.Struct, frozen=True):
    """One result per name in the request."""

    topics: Mapping[str, ApiError]


# --- settings ----------------------------------------------------------------------------------------------------------


class AlterConfigsResource(msgspec.Struct, frozen=True):
    """What has settings. Attributes: resource_type: a ConfigResourceType, or any other number; name: empty: all brokers."""

    resource_type: int
    name: str


class AlterConfigsRequest(msgspec.Struct, frozen=True):
    """A request to replace all settings of topics and brokers. A value of None is refused."""

    resources: Mapping[AlterConfigsResource, Mapping[str, str | None]]
    validate_only: bool = False


class AlterableConfig(msgspec.Struct, frozen=True):
    """A change of one setting. Attributes: op: an AlterConfigOp; any other number is refused."""

    name: str
    op: int
    value: str | None = None


class IncrementalAlterConfigsRequest(msgspec.Struct, frozen=True):
    """A request to change some settings of topics and brokers."""

    resources: Mapping[AlterConfigsResource, tuple[AlterableConfig, ...]]
    validate_only: bool = False


class AlterConfigsResponse(msgspec.Struct, frozen=True):
    """One result per resource. It answers both kinds of requests."""

    resources: Mapping[AlterConfigsResource, ApiError]


# --- records -----------------------------------------------------------------------------------------------------------

HIGH_WATERMARK = -1
"""As an offset: the high watermark."""


class DeleteRecordsRequest(msgspec.Struct, frozen=True):
    """A request to delete all records before an offset, by partition.

    Attributes:
        timeout_ms: how long to wait until the live followers have deleted them, too.
    """

    offsets: Mapping[TopicPartition, int]
    timeout_ms: int


class DeletedRecords(msgspec.Struct, frozen=True):
    """The result for one partition. Attributes: low_watermark: the smallest log start offset of its live replicas."""

    error: ErrorCode = ErrorCode.NONE
    low_watermark: int = -1


class DeleteRecordsResponse(msgspec.Struct, frozen=True):
    partitions: Mapping[TopicPartition, DeletedRecords]


# --- replicas and leaders ----------------------------------------------------------------------------------------------


class AlterPartitionReassignmentsRequest(msgspec.Struct, frozen=True):
    """A request to start, replace or (None) cancel reassignments."""

    targets: ReassignmentTargets


class AlterPartitionReassignmentsResponse(msgspec.Struct, frozen=True):
    """An error that refuses the whole request, or one result per partition."""

    outcome: ApiError = SUCCESS
    partitions: Mapping[TopicPartition, ApiError] = msgspec.field(default_factory=dict)


class ElectLeadersRequest(msgspec.Struct, frozen=True):
    """A request to elect leaders.

    Attributes:
        partitions: None: all that the broker knows.
        timeout_ms: how long to wait until the broker's metadata show the new leaders.
    """

    election_type: ElectionType
    partitions: tuple[TopicPartition, ...] | None
    timeout_ms: int


class ElectLeadersResponse(msgspec.Struct, frozen=True):
    """One result per partition. If all were meant, those that needed no election are left out."""

    partitions: Mapping[TopicPartition, ApiError]
