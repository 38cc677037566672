"""Requests and responses between consumers and their group's coordinator.

Left out: throttle times, older versions of the protocol (a member without an id must always fetch one first), the
administrator's requests (DescribeGroups, DeleteGroups), transactional commits. Subscriptions and assignments are values, not
bytes; the coordinator does not inspect them all the same. The `cause` of a response is the event at the coordinator that the
response reports; equality ignores it.

Source: Kafka 2.8, FindCoordinator 3, JoinGroup 7, SyncGroup 5, Heartbeat 4, LeaveGroup 4, OffsetCommit 8, OffsetFetch 7;
docs/kafka/consumer_groups.md 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, TopicPartition

NO_MEMBER_ID = ""
"""The member id of a member that joins for the first time and has no id yet."""
NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member sends to the group's leader, one for each assignor it supports.

    Attributes:
        topics: sorted; a pattern is already resolved.
        owned: the partitions that the member still owns. Only cooperative members send them, and sticky members, as their
            last assignment.
        generation: the generation in which it owned them; None if the member does not send it.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    group_id: str


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse:
    """The coordinator of a group. `node` and `endpoint` are set if there is no error."""

    error: ErrorCode
    node: BrokerId | None = None
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    """A request to be part of the next generation.

    Attributes:
        protocols: the assignors that the member supports, in its order of preference, each with its subscription.
        rebalance_timeout_ms: how long the others wait for this member to rejoin; a consumer's max.poll.interval.ms.
        client_id: the beginning of a new member's id.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    protocols: tuple[tuple[str, Subscription], ...]
    client_id: str
    instance_id: str | None = None
    protocol_type: str = "consumer"


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the coordinator describes it to the group's leader."""

    member_id: str
    subscription: Subscription
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    """The end of the join phase, or the refusal of the join.

    Attributes:
        member_id: the member's own id; with MEMBER_ID_REQUIRED, the id with which it must join again.
        members: all members; sent to the leader only.
    """

    error: ErrorCode
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    protocol: str | None = None
    leader: str = NO_MEMBER_ID
    members: tuple[JoinedMember, ...] = ()
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    """A member's request for its assignment. The leader's request carries the assignments of all members."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    assignments: Mapping[str, tuple[TopicPartition, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncGroupResponse:
    error: ErrorCode
    assignment: tuple[TopicPartition, ...] = ()
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    error: ErrorCode
    cause: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LeaveGroupRequest:
    """A request to leave. A member leaves by its id; an administrator removes a static member by its instance id."""

    group_id: str
    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    """The offsets at which a member would resume.

    Without a generation the request comes from outside the group, which is allowed while the group has no members.
    """

    group_id: str
    offsets: Mapping[TopicPartition, int]
    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    """The result of a commit; the same for all partitions."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest:
    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse:
    """The committed offsets of the requested partitions that have one."""

    error: ErrorCode
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)


GroupRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
)
GroupResponse = (
    FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
)
