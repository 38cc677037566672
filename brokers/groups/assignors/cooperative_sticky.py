"""Cooperative sticky: the sticky assignment, sent in rounds, so that members go on consuming the partitions that they keep.

A partition that changes its owner is first withheld: its owner is sent an assignment without it, revokes it and rejoins;
only the next round gives it to its new owner. If nothing must be revoked (a member crashed, partitions were added), one
round is enough.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.sticky_assignor import settle_sticky
from kcsim.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class CooperativeRound:
    """One round of a cooperative rebalance.

    Attributes:
        target: the sticky assignment, to which this and the following round lead.
        sent: the assignment that members are sent now: `target` without what is withheld.
        withheld: partition -> the member that gets it once its owner has revoked it.
        revoked: member -> what it owns and is not sent; members that give up nothing are missing.
    """

    target: Assignment
    sent: Assignment
    withheld: Mapping[TopicPartition, str]
    revoked: Mapping[str, tuple[TopicPartition, ...]]


def assign_cooperatively(
    partition_counts: Mapping[str, int], members: Collection[GroupMember], rules: KafkaRules = KafkaRules.KAFKA_2_8
) -> CooperativeRound:
    """Compute the sticky assignment, and send each member the part of it that no other member still owns.

    Under 2.8 the members' generations are ignored, because that version's protocol does not carry them here.

    Raises: DuplicateMemberError.

    Source: Kafka 2.8, CooperativeStickyAssignor; 3.x under KAFKA_3.
    """
    if rules is KafkaRules.KAFKA_2_8:
        members = [replace(member, generation=None) for member in members]
    target, layout, claims, by_quota = settle_sticky(partition_counts, members, rules)
    reported = [set(layout.numbering.numbers(member.owned)) for member in layout.members]
    is_claimed = set[int]().union(*reported)
    sent: dict[str, list[int]] = {}
    withheld: dict[int, str] = {}
    for member, owned, honoured in zip(layout.members, reported, claims.owned, strict=True):
        # By quota, a partition that two members claim is withheld from every new owner. Otherwise one of the two keeps it.
        own = owned.intersection(honoured) if by_quota else owned
        goes = target.numbers[member.member_id]
        sent[member.member_id] = [n for n in goes if n in own or n not in is_claimed]
        withheld.update((n, member.member_id) for n in goes if n in is_claimed and n not in own)
    revoked = {}
    for member in layout.members:
        given_up = set(member.owned).difference(layout.numbering.partitions(sent[member.member_id]))
        if given_up:
            revoked[member.member_id] = tuple(sorted(given_up))
    partitions = layout.numbering.all_partitions
    return CooperativeRound(
        target, Assignment(layout.numbering, sent), {partitions[n]: withheld[n] for n in sorted(withheld)}, revoked
    )
