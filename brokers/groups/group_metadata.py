"""A group as its coordinator has it: state, generation, members, offsets. No time, no requests: those are coordinator.py's.

Source: Kafka 2.8, GroupMetadata and MemberMetadata; reference consumer_groups.md 10.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from kcsim.brokers.groups.requests import NO_MEMBER_ID, JoinedMember, Subscription
from kcsim.zk.vocabulary import TopicPartition


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
"""State -> where a group may be when it enters it."""


class IllegalGroupStateError(AssertionError):
    """A group was to go where the table does not let it."""

    def __init__(self, group_id: str, state: GroupState, wanted: GroupState) -> None:
        super().__init__(f"group {group_id} cannot go from {state.value} to {wanted.value}")


@dataclass(slots=True)
class MemberMetadata:
    """One member.

    Attributes:
        protocols: assignor -> subscription, the one it likes best first.
        assignment: of the current generation, once the leader has brought it.
    """

    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, Subscription], ...]
    assignment: tuple[TopicPartition, ...] = ()

    def subscription(self, protocol: str) -> Subscription:
        """What it said beside that assignor. Raises: KeyError."""
        return dict(self.protocols)[protocol]

    def vote(self, candidates: Iterable[str]) -> str:
        """The assignor that it likes best among those that all support."""
        allowed = set(candidates)
        return next(name for name, _ in self.protocols if name in allowed)


@dataclass
class GroupMetadata:
    """One group. `state` changes by transition_to only.

    Attributes:
        generation: of the last join phase that ended; 0 before the first.
        protocol: the assignor of that generation.
        leader: member id of who computes the assignment.
        members: in the order in which they joined.
        pending: ids given to members that have not joined with them yet.
        static_members: instance id -> member id.
        offsets: what was committed last.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, MemberMetadata] = field(default_factory=dict)
    pending: dict[str, None] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    offsets: dict[TopicPartition, int] = field(default_factory=dict)

    def is_in(self, *states: GroupState) -> bool:
        return self.state in states

    def transition_to(self, state: GroupState) -> None:
        """Raises: IllegalGroupStateError."""
        if self.state not in ENTERED_FROM[state]:
            raise IllegalGroupStateError(self.group_id, self.state, state)
        self.state = state

    # --- members

    def add(self, member: MemberMetadata) -> None:
        """A member is in from now on. The first one leads."""
        if not self.members:
            self.protocol_type = "consumer"
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> MemberMetadata | None:
        """A member is out; another leads if it did. None if it was not in."""
        self.pending.pop(member_id, None)
        member = self.members.pop(member_id, None)
        instance_id = member.instance_id if member is not None else None
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static(self, instance_id: str, new_id: str) -> MemberMetadata:
        """A static member is back under another id, and takes the place of its former self; the lead, too."""
        old_id = self.static_members[instance_id]
        former = self.members[old_id]
        successor = replace(former, member_id=new_id)
        # The place in the order of joining stays as well.
        self.members = {(new_id if m == old_id else m): (successor if m == old_id else v) for m, v in self.members.items()}
        self.static_members[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return successor

    def choose_leader(self, joined: Iterable[str]) -> None:
        """Let the leader be one that has joined this phase: the one it is, if it has."""
        candidates = list(joined)
        if candidates and self.leader not in candidates:
            self.leader = candidates[0]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest of the members'."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- assignors

    @property
    def candidate_protocols(self) -> set[str]:
        """The assignors that every member supports."""
        supported = [{name for name, _ in member.protocols} for member in self.members.values()]
        return set.intersection(*supported) if supported else set()

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these assignors could be in the group."""
        if not self.members:
            return bool(protocol_type) and any(True for _ in protocols)
        return protocol_type == self.protocol_type and not self.candidate_protocols.isdisjoint(protocols)

    def selected_protocol(self) -> str:
        """The assignor with most votes; the first in string order of several."""
        candidates = self.candidate_protocols
        assert candidates, f"group {self.group_id}: its members have no assignor in common"
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return min(votes, key=lambda name: (-votes[name], name))

    # --- generations

    def next_generation(self) -> None:
        """The join phase is over: all members that there are make a generation, or nobody does."""
        self.generation += 1
        if self.members:
            self.protocol = self.selected_protocol()
            self.transition_to(GroupState.COMPLETING_REBALANCE)
        else:
            self.protocol = None
            self.transition_to(GroupState.EMPTY)

    def take_assignment(self, assignments: Mapping[str, tuple[TopicPartition, ...]]) -> None:
        """Keep what the leader has brought; a member that it does not mention gets nothing."""
        for member_id, member in self.members.items():
            member.assignment = assignments.get(member_id, ())

    def members_for_leader(self) -> tuple[JoinedMember, ...]:
        """All members with what they said beside the chosen assignor."""
        assert self.protocol is not None, f"group {self.group_id} has chosen no assignor"
        return tuple(JoinedMember(m.member_id, m.subscription(self.protocol), m.instance_id) for m in self.members.values())

    @property
    def leader_or_nobody(self) -> str:
        return self.leader if self.leader is not None else NO_MEMBER_ID

    # --- as a record of __consumer_offsets

    def snapshot(self, assignments: Mapping[str, tuple[TopicPartition, ...]] | None = None) -> "GroupRecord":
        """The group as it is kept; with other assignments than its members have, if any are given."""
        members = tuple(
            replace(m, assignment=m.assignment if assignments is None else assignments.get(m.member_id, ()))
            for m in self.members.values()
        )
        return GroupRecord(self.group_id, self.generation, self.protocol, self.leader, members)


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """What is kept of a group when a generation gets its assignment, or loses its last member."""

    group_id: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[MemberMetadata, ...]

    def restore(self) -> GroupMetadata:
        """The group as a new coordinator finds it: stable, or empty."""
        group = GroupMetadata(self.group_id, generation=self.generation, protocol=self.protocol)
        for member in self.members:
            group.add(replace(member))
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


StoredRecord = GroupRecord | OffsetRecord


def restored(records: Iterable[StoredRecord]) -> dict[str, GroupMetadata]:
    """The groups that a partition of __consumer_offsets tells of, oldest record first; the last word on each counts."""
    newest: dict[str, GroupRecord] = {}
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for record in records:
        match record:
            case GroupRecord():
                newest[record.group_id] = record
            case OffsetRecord():
                offsets.setdefault(record.group_id, {})[record.partition] = record.offset
    groups = {group_id: record.restore() for group_id, record in newest.items()}
    for group_id, committed in offsets.items():
        group = groups.setdefault(group_id, GroupMetadata(group_id))
        group.offsets = committed
    return groups
