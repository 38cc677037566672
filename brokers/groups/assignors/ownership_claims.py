"""The owners of partitions before a rebalance: the claims that members report, with contradictions resolved.

If a member has missed generations, or two members believe that they own the same partition, not all claims can hold.
Claims on partitions that no longer exist, or that have no subscriber any more, are dropped first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.members import NO_GENERATION, known_generation


class KafkaRules(StrEnum):
    """The Kafka version whose sticky assignor is followed.

    Versions differ in how claims are resolved, in how many partitions a member may keep, and in the order in which members
    are visited. The order matters where claims conflict, and where more members could keep one partition more than are
    allowed to. KAFKA_2_8 is version 2.8.2, with the order of Java's hash map. KAFKA_3 visits members by member id: in Kafka
    3 the order differs between versions, and from 3.4 on members do not even keep the first of what they own.
    """

    KAFKA_2_8 = "2.8"
    KAFKA_3 = "3"


@dataclass(frozen=True, slots=True)
class OwnershipClaims:
    """The members' claims that hold.

    Attributes:
        owned: by member's index, the numbers of its partitions, in the order in which it reported them.
        previous_owner: partition -> index of the member that owned it in the generation before the present owner's.
    """

    owned: list[list[int]]
    previous_owner: dict[int, int] = field(default_factory=dict)


def claims_of_newest_generation(layout: GroupLayout) -> OwnershipClaims:
    """Accept claims of members of the highest generation only; a partition that two of them claim is taken from both.

    Source: Kafka 2.8.2, AbstractStickyAssignor, equal subscriptions.
    """
    newest = max(map(known_generation, layout.members), default=0)
    reported = [
        layout.numbering.numbers(member.owned) if known_generation(member) == newest else [] for member in layout.members
    ]
    return _without_double_claims(reported)


def claims_by_partition(layout: GroupLayout, rules: KafkaRules, visit: Iterable[int]) -> OwnershipClaims:
    """Give each partition to the claimant with the highest generation, and keep the second highest as previous owner.

    If two members claim a partition in one generation, one of them keeps it under 2.8; later versions take it from all. The
    winner may have stopped subscribing to the topic; the caller then has to take the partition away.

    Args:
        visit: all members' indexes, in the order in which their claims are examined.

    Source: Kafka 2.8, AbstractStickyAssignor, unequal subscriptions; 3.x, both.
    """
    reported = [layout.numbering.numbers(member.owned) for member in layout.members]
    generations = [known_generation(member) for member in layout.members]
    claimants: dict[int, list[int]] = {}
    for member in visit:
        for number in reported[member]:
            claimants.setdefault(number, []).append(member)
    winner, previous_owner, claimed_twice = dict[int, int](), dict[int, int](), set[int]()
    for number, members in claimants.items():
        winner[number] = members[0]
        if len(members) > 1:
            newest, *older = sorted({generations[member] for member in members}, reverse=True)
            winner[number] = _foremost(members, newest, generations)
            if older:
                previous_owner[number] = _foremost(members, older[0], generations)
            if sum(generations[member] == newest for member in members) > 1:
                claimed_twice.add(number)
    lost = claimed_twice if rules is KafkaRules.KAFKA_3 else frozenset[int]()
    owned = [[n for n in numbers if winner[n] == member and n not in lost] for member, numbers in enumerate(reported)]
    return OwnershipClaims(owned, previous_owner)


def _foremost(members: Sequence[int], generation: int, generations: Sequence[int]) -> int:
    """Return the member of a generation whose claim Kafka 2.8 keeps: the first; the last if the generation is unknown."""
    tied = [member for member in members if generations[member] == generation]
    return tied[-1] if generation == NO_GENERATION else tied[0]


def _without_double_claims(reported: Sequence[Sequence[int]]) -> OwnershipClaims:
    seen: set[int] = set()
    twice: set[int] = set()
    for numbers in reported:
        twice |= seen.intersection(numbers)
        seen.update(numbers)
    return OwnershipClaims([[n for n in numbers if n not in twice] for numbers in reported])
