"""A group's state at its coordinator: state, generation, members, offsets. Time and requests are left to coordinator.py.

Source: Kafka 2.8, GroupMetadata and MemberMetadata; docs/kafka/consumer_groups.md 10.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from kcsim.brokers.groups.requests import (
    CONSUMER_PROTOCOL_TYPE,
    NO_DETAILS,
    NO_MEMBER_ID,
    NOT_ASSIGNED,
    AssignmentData,
    JoinedMember,
    OffsetDetails,
    SubscriptionData,
)
from kcsim.vocabulary import TopicPartition


class GroupState(Enum):
    EMPTY = "Empty"  # no members; offsets may remain
    PREPARING_REBALANCE = "PreparingRebalance"  # waiting for members to join
    COMPLETING_REBALANCE = "CompletingRebalance"  # waiting for the leader's assignment
    STABLE = "Stable"
    DEAD = "Dead"  # removed, or its coordinator is another broker now


_S = GroupState
ENTERED_FROM: Mapping[GroupState, frozenset[GroupState]] = MappingProxyType(
    {
        _S.EMPTY: frozenset({_S.PREPARING_REBALANCE}),
        _S.PREPARING_REBALANCE: frozenset({_S.STABLE, _S.COMPLETING_REBALANCE, _S.EMPTY}),
        _S.COMPLETING_REBALANCE: frozenset({_S.PREPARING_REBALANCE}),
        _S.STABLE: frozenset({_S.COMPLETING_REBALANCE}),
        _S.DEAD: frozenset(_S),
    }
)
"""State -> the states from which a group may enter it."""


class IllegalGroupStateError(AssertionError):
    """A transition that ENTERED_FROM does not allow."""

    def __init__(self, group_id: str, state: GroupState, wanted: GroupState) -> None:
        super().__init__(f"group {group_id} cannot go from {state.value} to {wanted.value}")


@dataclass(slots=True)
class MemberMetadata:
    """One member.

    Attributes:
        protocols: assignor -> subscription, in the member's order of preference.
        assignment: of the current generation, once the leader has sent it.
        client_id, client_host: of the client that joined, for administrators.
    """

    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, SubscriptionData], ...]
    assignment: AssignmentData = NOT_ASSIGNED
    client_id: str = ""
    client_host: str = ""

    def subscription(self, protocol: str) -> SubscriptionData:
        """Return the subscription that the member sent for this assignor. Raises: KeyError."""
        return dict(self.protocols)[protocol]

    def vote(self, candidates: Iterable[str]) -> str:
        """Return the assignor that the member prefers among the candidates, which all members support."""
        allowed = set(candidates)
        return next(name for name, _ in self.protocols if name in allowed)


@dataclass
class GroupMetadata:
    """One group. `state` is changed by transition_to only.

    Attributes:
        generation: of the last join phase that ended; 0 before the first.
        protocol_type: of the members, and of the last ones if there are none; None before the first.
        protocol: the assignor of that generation.
        leader: id of the member that computes the assignment.
        members: in the order in which they joined.
        pending: ids given to new members that have not joined with them yet.
        static_members: instance id -> member id.
        offsets: the last committed offsets.
        offset_details: what is stored beside them, where it is not NO_DETAILS.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = field(init=False, default=None)
    members: dict[str, MemberMetadata] = field(init=False, default_factory=dict)
    pending: dict[str, None] = field(init=False, default_factory=dict)
    static_members: dict[str, str] = field(init=False, default_factory=dict)
    offsets: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    offset_details: dict[TopicPartition, OffsetDetails] = field(init=False, default_factory=dict)

    def is_in(self, *states: GroupState) -> bool:
        return self.state in states

    def transition_to(self, state: GroupState) -> None:
        """Change the state. Raises: IllegalGroupStateError."""
        if self.state not in ENTERED_FROM[state]:
            raise IllegalGroupStateError(self.group_id, self.state, state)
        self.state = state

    # --- members

    def add(self, member: MemberMetadata, protocol_type: str = CONSUMER_PROTOCOL_TYPE) -> None:
        """Add a member. The first one becomes leader, and determines the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> MemberMetadata | None:
        """Remove a member; if it was the leader, the next member becomes leader. Return None if it was not in the group."""
        self.pending.pop(member_id, None)
        member = self.members.pop(member_id, None)
        instance_id = member.instance_id if member is not None else None
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, instance_id: str, new_id: str) -> MemberMetadata:
        """Give a static member that has come back a new id. It keeps its assignment, and the leadership if it was leader."""
        old_id = self.static_members[instance_id]
        former = self.members[old_id]
        successor = replace(former, member_id=new_id)
        # The member keeps its place in the order of joining as well.
        self.members = {(new_id if m == old_id else m): (successor if m == old_id else v) for m, v in self.members.items()}
        self.static_members[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return successor

    def choose_leader(self, joined: Iterable[str]) -> None:
        """Make a member leader that has joined in this phase; the present leader stays if it has joined."""
        candidates = list(joined)
        if candidates and self.leader not in candidates:
            self.leader = candidates[0]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance time-out of all members, in milliseconds; 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- assignors

    @property
    def candidate_protocols(self) -> set[str]:
        """The assignors that every member supports."""
        supported = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*supported) if supported else set()

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Return True if a member with these assignors could be in the group."""
        if not self.members:
            return bool(protocol_type) and any(True for _ in protocols)
        return protocol_type == self.protocol_type and not self.candidate_protocols.isdisjoint(protocols)

    def selected_protocol(self) -> str:
        """Return the assignor with the most votes; of several, the first in string order."""
        candidates = self.candidate_protocols
        assert candidates, f"group {self.group_id}: its members have no assignor in common"
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return min(votes, key=lambda name: (-votes[name], name))

    # --- generations

    def next_generation(self) -> None:
        """End the join phase: the present members form the next generation. Without members, the group becomes Empty."""
        self.generation += 1
        if self.members:
            self.protocol = self.selected_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE)
        else:
            self.protocol = None
            self.transition_to(GroupState.EMPTY)

    def take_assignment(
        self, assignments: Mapping[str, AssignmentData], not_assigned: AssignmentData = NOT_ASSIGNED
    ) -> None:
        """Store the assignment that the leader sent, and `not_assigned` for members that it does not mention."""
        for member_id, member in self.members.items():
            member.assignment = assignments.get(member_id, not_assigned)

    def members_for_leader(self) -> tuple[JoinedMember, ...]:
        """Return all members with their subscriptions for the selected assignor."""
        assert self.protocol is not None, f"group {self.group_id} has chosen no assignor"
        return tuple(JoinedMember(m.member_id, m.subscription(self.protocol), m.instance_id) for m in self.members.values())

    @property
    def leader_or_no_member_id(self) -> str:
        return self.leader if self.leader is not None else NO_MEMBER_ID

    # --- offsets

    def commit(self, record: "OffsetRecord") -> None:
        """Take over an offset that has been stored."""
        self.offsets[record.partition] = record.offset
        if record.details == NO_DETAILS:
            self.offset_details.pop(record.partition, None)
        else:
            self.offset_details[record.partition] = record.details

    def remove_offsets(self, partitions: Collection[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Remove offsets. Return the partitions that had one."""
        removed = tuple(tp for tp in partitions if self.offsets.pop(tp, None) is not None)
        for tp in removed:
            self.offset_details.pop(tp, None)
        return removed

    # --- as a record of __consumer_offsets

    def snapshot(
        self, assignments: Mapping[str, AssignmentData] | None = None, not_assigned: AssignmentData = NOT_ASSIGNED
    ) -> "GroupRecord":
        """Return the group as it is stored; with `assignments` instead of its members' assignments, if given."""
        members = tuple(
            replace(m, assignment=m.assignment if assignments is None else assignments.get(m.member_id, not_assigned))
            for m in self.members.values()
        )
        return GroupRecord(self.group_id, self.generation, self.protocol, self.leader, members, self.protocol_type)


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """The stored state of a group, written when a generation gets its assignment or the group loses its last member."""

    group_id: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[MemberMetadata, ...]
    protocol_type: str | None = CONSUMER_PROTOCOL_TYPE

    def restore(self) -> GroupMetadata:
        """Return the group as a new coordinator finds it: Stable, or Empty without members."""
        group = GroupMetadata(
            self.group_id, generation=self.generation, protocol_type=self.protocol_type, protocol=self.protocol
        )
        for member in self.members:
            group.add(replace(member), self.protocol_type or "")
        group.leader = self.leader
        if self.members:
            group.state = GroupState.STABLE
        return group


@dataclass(frozen=True, slots=True)
class OffsetRecord:
    """One committed offset."""

    group_id: str
    partition: TopicPartition
    offset: int
    details: OffsetDetails = NO_DETAILS


@dataclass(frozen=True, slots=True)
class GroupTombstone:
    """The removal of a group; its offsets have tombstones of their own."""

    group_id: str


@dataclass(frozen=True, slots=True)
class OffsetTombstone:
    """The removal of one committed offset."""

    group_id: str
    partition: TopicPartition


StoredRecord = GroupRecord | OffsetRecord | GroupTombstone | OffsetTombstone


def restored(records: Iterable[StoredRecord]) -> dict[str, GroupMetadata]:
    """Return the groups stored in a partition of __consumer_offsets. Records are given oldest first; the last one counts."""
    newest: dict[str, GroupRecord] = {}
    offsets: dict[tuple[str, TopicPartition], OffsetRecord] = {}
    for record in records:
        match record:
            case GroupRecord():
                newest[record.group_id] = record
            case OffsetRecord():
                offsets[record.group_id, record.partition] = record
            case GroupTombstone():
                newest.pop(record.group_id, None)
            case OffsetTombstone():
                offsets.pop((record.group_id, record.partition), None)
    groups = {group_id: record.restore() for group_id, record in newest.items()}
    for (group_id, _), committed in offsets.items():
        groups.setdefault(group_id, GroupMetadata(group_id)).commit(committed)
    return groups
