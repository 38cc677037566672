"""Requests and responses between consumers and their group's coordinator.

Left out: throttle times, transactional commits. The subscriptions and assignments of simulated consumers are values; those
of clients over TCP are the bytes that they sent (consumer_protocol.py). The coordinator passes both on without inspecting
them. The `cause` of a response is the event at the coordinator that the response reports, or 0 if it came over TCP; equality
ignores it. The requests of administrators are in admin_requests.py.

Source: Kafka 2.8, FindCoordinator 3, JoinGroup 7, SyncGroup 5, Heartbeat 4, LeaveGroup 4, OffsetCommit 8, OffsetFetch 7;
docs/kafka/consumer_groups.md 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import msgspec

from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of groups of consumers. Kafka Connect and others have their own."""
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


SubscriptionData = Subscription | bytes
AssignmentData = tuple[TopicPartition, ...] | bytes
NOT_ASSIGNED: AssignmentData = ()


class OffsetDetails(msgspec.Struct, frozen=True):
    """What a client stores beside an offset.

    Attributes:
        leader_epoch: of the last consumed record; -1: not known.
        metadata: any text.
    """

    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    metadata: str = ""


NO_DETAILS = OffsetDetails()


class CoordinatorKind(IntEnum):
    """What a coordinator is for; the numbers are those of the protocol."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    """A request for the coordinator of a group, or of a transactional producer; the latter have none."""

    group_id: str
    kind: CoordinatorKind = CoordinatorKind.GROUP


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
        client_host: the client's address, as it is described to administrators.
        is_id_required: a new dynamic member is given an id, with which it has to join again; else it joins at once.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    protocols: tuple[tuple[str, SubscriptionData], ...]
    client_id: str
    instance_id: str | None = None
    protocol_type: str = CONSUMER_PROTOCOL_TYPE
    client_host: str = ""
    is_id_required: bool = True


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member as the coordinator describes it to the group's leader."""

    member_id: str
    subscription: SubscriptionData
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    """The end of the join phase, or the refusal of the join.

    Attributes:
        member_id: the member's own id; with MEMBER_ID_REQUIRED, the id with which it must join again.
        members: all members; sent to the leader only.
        protocol_type: None with an error.
    """

    error: ErrorCode
    member_id: str = NO_MEMBER_ID
    generation: int = NO_GENERATION
    protocol: str | None = None
    leader: str = NO_MEMBER_ID
    members: tuple[JoinedMember, ...] = ()
    cause: int = field(default=0, compare=False)
    protocol_type: str | None = None


@dataclass(frozen=True, slots=True)
class SyncGroupRequest:
    """A member's request for its assignment. The leader's request carries the assignments of all members.

    Attributes:
        not_assigned: the assignment of members that the leader's assignments do not mention.
        protocol_type, protocol: as the member knows them; None: its version of the request does not say.
    """

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None = None
    assignments: Mapping[str, AssignmentData] = field(default_factory=dict)
    not_assigned: AssignmentData = NOT_ASSIGNED
    protocol_type: str | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class SyncGroupResponse:
    """A member's assignment. `protocol_type` and `protocol` are those of the generation; None with an error."""

    error: ErrorCode
    assignment: AssignmentData = NOT_ASSIGNED
    cause: int = field(default=0, compare=False)
    protocol_type: str | None = field(default=None, compare=False)
    protocol: str | None = field(default=None, compare=False)


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


class MemberIdentity(NamedTuple):
    """A member that leaves: by its id, or a static one by its instance id alone."""

    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroupMembersRequest:
    """A request to remove members: LeaveGroup from version 3 on."""

    group_id: str
    members: tuple[MemberIdentity, ...]


@dataclass(frozen=True, slots=True)
class LeaveGroupMembersResponse:
    """One error per member, in the order of the request; none if the whole request was refused."""

    error: ErrorCode
    members: tuple[tuple[MemberIdentity, ErrorCode], ...] = ()


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    """The offsets at which a member would resume.

    Without a generation the request comes from outside the group, which is allowed while the group has no members.

    Attributes:
        details: what is stored beside the offsets; NO_DETAILS for those that it does not mention.
    """

    group_id: str
    offsets: Mapping[TopicPartition, int]
    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    instance_id: str | None = None
    details: Mapping[TopicPartition, OffsetDetails] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    """The result of a commit: an error for all partitions but those of `partition_errors`."""

    error: ErrorCode
    partition_errors: Mapping[TopicPartition, ErrorCode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest:
    """A request for the committed offsets of partitions; None: of all that have one."""

    group_id: str
    partitions: tuple[TopicPartition, ...] | None


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse:
    """The committed offsets of the requested partitions that have one, and the details that are stored beside them."""

    error: ErrorCode
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    details: Mapping[TopicPartition, OffsetDetails] = field(default_factory=dict)


GroupRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | LeaveGroupMembersRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
)
GroupResponse = (
    FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | LeaveGroupMembersResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
)
