"""What consumers and their group's coordinator say to each other.

Left out: throttle times, older versions of the protocol (a member without an id is always told to take one first), the
administrator's requests (DescribeGroups, DeleteGroups), transactional commits. Subscriptions and assignments are values, not
bytes; the coordinator does not look into them all the same. The `cause` of an answer is the event that it tells of at the
coordinator; it takes no part in equality.

Source: Kafka 2.8, FindCoordinator 3, JoinGroup 7, SyncGroup 5, Heartbeat 4, LeaveGroup 4, OffsetCommit 8, OffsetFetch 7;
reference consumer_groups.md 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kcsim.controller.requests import ErrorCode
from kcsim.zk.vocabulary import BrokerId, Endpoint, TopicPartition

NO_MEMBER_ID = ""
"""How a member that joins for the first time spells that it has no id yet."""
NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member tells its leader, one for each assignor it supports.

    Attributes:
        topics: sorted; a pattern is resolved already.
        owned: what it still owns; only cooperative members say so, and sticky ones, as their last assignment.
        generation: in which it owned them; None: it does not say.
    """

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest:
    group_id: str


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse:
    """`node` and `endpoint` are there if there is no error."""

    error: ErrorCode
    node: BrokerId | None = None
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupRequest:
    """A member wants to be part of the next generation.

    Attributes:
        protocols: the assignors that the member supports, the one it likes best first, each with its subscription.
        rebalance_timeout_ms: how long others wait for this member to rejoin; a consumer's max.poll.interval.ms.
        client_id: what a new member's id begins with.
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
    """A member as its leader hears of it."""

    member_id: str
    subscription: Subscription
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    """The join phase is over, or the join is refused.

    Attributes:
        member_id: the member's own; with MEMBER_ID_REQUIRED the one to join again with.
        members: all members, for the leader only.
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
    """A member asks for its assignment; the leader brings those of all."""

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
    """A member leaves by its id; an administrator removes a static member by its instance id."""

    group_id: str
    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest:
    """Where a member would go on. Without a generation: from outside any group, which is fine while it has no members."""

    group_id: str
    offsets: Mapping[TopicPartition, int]
    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER_ID
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    """The same for all partitions."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest:
    group_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse:
    """Of the partitions asked for, those that have a committed offset."""

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
