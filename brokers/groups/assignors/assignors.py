"""All assignors by name, behind one function."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import assert_never

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.cooperative_sticky import assign_cooperatively
from kcsim.brokers.groups.assignors.members import GroupMember
from kcsim.brokers.groups.assignors.ownership_claims import KafkaRules
from kcsim.brokers.groups.assignors.rack_aware_range import PartitionRacks, assign_range_by_rack
from kcsim.brokers.groups.assignors.range_assignor import assign_range
from kcsim.brokers.groups.assignors.round_robin_assignor import assign_round_robin
from kcsim.brokers.groups.assignors.sticky_assignor import assign_sticky


class AssignmentStrategy(StrEnum):
    """The values of partition.assignment.strategy, by the names that assignors have in the protocol."""

    RANGE = "range"
    ROUND_ROBIN = "roundrobin"
    STICKY = "sticky"
    COOPERATIVE_STICKY = "cooperative-sticky"


def assign(
    strategy: AssignmentStrategy,
    partition_counts: Mapping[str, int],
    members: Collection[GroupMember],
    rules: KafkaRules = KafkaRules.KAFKA_2_8,
    partition_racks: PartitionRacks | None = None,
) -> Assignment:
    """Return the assignment that the members are sent; for cooperative sticky, the one of this round.

    Args:
        partition_counts: topic -> number of partitions; a subscribed topic that is missing here is ignored.
        rules: the Kafka version to follow; the sticky assignors differ between versions.
        partition_racks: makes range rack-aware, as it is from Kafka 3.5 on; the other assignors ignore it.

    Raises: DuplicateMemberError.
    """
    match strategy:
        case AssignmentStrategy.RANGE:
            if partition_racks:
                return assign_range_by_rack(partition_counts, members, partition_racks)
            return assign_range(partition_counts, members)
        case AssignmentStrategy.ROUND_ROBIN:
            return assign_round_robin(partition_counts, members)
        case AssignmentStrategy.STICKY:
            return assign_sticky(partition_counts, members, rules)
        case AssignmentStrategy.COOPERATIVE_STICKY:
            return assign_cooperatively(partition_counts, members, rules).sent
        case _:
            assert_never(strategy)
