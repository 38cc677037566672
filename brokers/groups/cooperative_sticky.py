"""Cooperative sticky: the sticky result, handed out in rounds, so that members keep consuming what they keep.

A partition that changes hands is first withheld: its owner learns that it is gone, revokes it, and joins again; only the
next round gives it to its new owner. Nothing to revoke (a member crashed, partitions were added): one round is all.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kcsim.brokers.groups.assignment import Assignment
from kcsim.brokers.groups.claims import KafkaRules
from kcsim.brokers.groups.members import GroupMember
from kcsim.brokers.groups.sticky_assignor import settle_sticky
from kcsim.zk.vocabulary import TopicPartition


@dataclass(frozen=True, slots=True)
class CooperativeRound:
    """One round.

    Attributes:
        target: the sticky assignment, to which this and the following round lead.
        sent: what members are told now; of `target`, all but what is withheld.
        withheld: partition -> the member that will get it once its owner has given it up.
        revoked: member -> what it owns and is not sent; members that have nothing to give up are missing.
    """

    target: Assignment
    sent: Assignment
    withheld: Mapping[TopicPartition, str]
    revoked: Mapping[str, tuple[TopicPartition, ...]]


def assign_cooperatively(
    partition_counts: Mapping[str, int], members: Collection[GroupMember], rules: KafkaRules = KafkaRules.KAFKA_2_8
) -> CooperativeRound:
    """Compute the sticky assignment for members that still own what they say they own, and send what can be sent at once.

    Under 2.8 the generations of the members are not looked at: that version's protocol does not carry them here.

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
        # By quota, a partition that two members claim is withheld whoever gets it. Otherwise one of them just keeps it.
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
