"""Sticky: balance comes first; then as many partitions as possible stay with their owners."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.members import GroupMember, in_id_order
from kcsim.brokers.groups.assignors.ownership_claims import (
    KafkaRules,
    OwnershipClaims,
    claims_by_partition,
    claims_of_newest_generation,
)
from kcsim.brokers.groups.assignors.sticky_quota import assign_quotas_2_8, assign_quotas_3
from kcsim.jvm_hash_order import map_order


class StickyAlgorithm(StrEnum):
    """AUTO: by quota if subscriptions are equal, else general. GENERAL: always general, as up to Kafka 2.3."""

    AUTO = "auto"
    GENERAL = "general"


class StickyResult(NamedTuple):
    """An assignment, the claims it is based on (by index of the layout's members), and whether it was computed by quota."""

    assignment: Assignment
    layout: GroupLayout
    claims: OwnershipClaims
    by_quota: bool


def assign_sticky(
    partition_counts: Mapping[str, int],
    members: Collection[GroupMember],
    rules: KafkaRules = KafkaRules.KAFKA_2_8,
    algorithm: StickyAlgorithm = StickyAlgorithm.AUTO,
    visit_order: Sequence[str] | None = None,
) -> Assignment:
    """Assign all partitions of subscribed topics, leaving as many with their owners as balance allows.

    With equal subscriptions sizes differ by at most 1. With unequal ones no partition could move to a member that has at
    least 2 fewer.

    Args:
        partition_counts: topic -> number of partitions; a subscribed topic that is missing here is ignored.
        visit_order: all member ids, in the order in which members are visited; None: see KafkaRules.

    Raises: DuplicateMemberError.

    Source: Kafka 2.8.2, AbstractStickyAssignor; 3.x under KAFKA_3.
    """
    return settle_sticky(partition_counts, members, rules, algorithm, visit_order).assignment


def settle_sticky(
    partition_counts: Mapping[str, int],
    members: Collection[GroupMember],
    rules: KafkaRules,
    algorithm: StickyAlgorithm = StickyAlgorithm.AUTO,
    visit_order: Sequence[str] | None = None,
) -> StickyResult:
    """Assign like assign_sticky, and return in addition which of the members' claims hold."""
    layout = GroupLayout(partition_counts, in_id_order(members))
    visit = _visited(layout, rules, visit_order)
    by_quota = layout.subscriptions_are_equal and algorithm is StickyAlgorithm.AUTO
    if by_quota and rules is KafkaRules.KAFKA_2_8:
        claims = claims_of_newest_generation(layout)
    else:
        claims = claims_by_partition(layout, rules, visit)
    if not by_quota:
        # This one alone needs numpy, which takes longer to import than most runs take.
        from kcsim.brokers.groups.assignors.sticky_general import assign_generally

        numbers = assign_generally(layout, claims)
    elif not layout.members:
        numbers = []
    else:
        assign_quotas = assign_quotas_2_8 if rules is KafkaRules.KAFKA_2_8 else assign_quotas_3
        numbers = assign_quotas(claims.owned, len(layout.numbering), visit)
    return StickyResult(Assignment.of(layout, numbers), layout, claims, by_quota)


def _visited(layout: GroupLayout, rules: KafkaRules, order: Sequence[str] | None) -> list[int]:
    index = {member.member_id: index for index, member in enumerate(layout.members)}
    if order is None:
        order = list(index) if rules is KafkaRules.KAFKA_3 else map_order(index)
    return [index[member_id] for member_id in order]
