"""What the leader of a group knows of each member when it computes the assignment."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kcsim.brokers.groups.assignors.errors import DuplicateMemberError
from kcsim.vocabulary import TopicPartition

NO_GENERATION = -1
"""The generation that clients send if they know none. None means the same here."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One consumer of a group.

    Attributes:
        topics: subscribed topics, a pattern already resolved (subscriptions.py); topics without partitions are ignored.
        instance_id: group.instance.id of a static member; it survives restarts, the member id does not.
        rack: client.rack; only rack-aware range uses it.
        owned: the partitions of its former assignment, in the order in which it reports them.
        generation: the generation in which it owned them; None or -1 if it does not know.
    """

    member_id: str
    topics: Collection[str]
    instance_id: str | None = None
    rack: str | None = None
    owned: Sequence[TopicPartition] = ()
    generation: int | None = None


def in_member_order(members: Iterable[GroupMember]) -> list[GroupMember]:
    """Return static members by instance id, then dynamic ones by member id: the order of range and round robin.

    Member ids change with every restart, instance ids do not; this order lets static members keep their partitions.

    Source: Kafka 2.8, AbstractPartitionAssignor.MemberInfo.
    """
    return sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.member_id, m.member_id))


def in_id_order(members: Iterable[GroupMember]) -> list[GroupMember]:
    """Return the members by member id: the order of the sticky assignors."""
    return sorted(members, key=lambda m: m.member_id)


def known_generation(member: GroupMember) -> int:
    """Return the generation that a member reports; -1 if it knows none."""
    return NO_GENERATION if member.generation is None else member.generation


def check_members(members: Iterable[GroupMember]) -> None:
    """Check that all member ids differ. Raises: DuplicateMemberError."""
    seen = set()
    for member in members:
        if member.member_id in seen:
            raise DuplicateMemberError(member.member_id)
        seen.add(member.member_id)
