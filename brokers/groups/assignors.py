"""The assignors by their names, behind one function."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import assert_never

from kcsim.brokers.groups.assignment import Assignment
from kcsim.brokers.groups.claims import KafkaRules
from kcsim.brokers.groups.cooperative_sticky import assign_cooperatively
from kcsim.brokers.groups.members import GroupMember
from kcsim.brokers.groups.rack_aware_range import PartitionRacks, assign_range_by_rack
from kcsim.brokers.groups.range_assignor import assign_range
from kcsim.brokers.groups.round_robin_assignor import assign_round_robin
from kcsim.brokers.groups.sticky_assignor import assign_sticky


class Strategy(StrEnum):
    """What partition.assignment.strategy chooses from; the values are the names that assignors have in the protocol."""

    RANGE = "range"
    ROUND_ROBIN = "roundrobin"
    STICKY = "sticky"
    COOPERATIVE_STICKY = "cooperative-sticky"


def assign(
    strategy: Strategy,
    partition_counts: Mapping[str, int],
    members: Collection[GroupMember],
    rules: KafkaRules = KafkaRules.KAFKA_2_8,
    partition_racks: PartitionRacks | None = None,
) -> Assignment:
    """Return what the members are told: for cooperative sticky, in this round.

    Args:
        partition_counts: topic -> how many partitions it has; a subscribed topic that is missing here is ignored.
        rules: of which Kafka; the sticky assignors differ.
        partition_racks: makes range rack-aware, as it is from Kafka 3.5 on; the others do not look at it.

    Raises: DuplicateMemberError.
    """
    match strategy:
        case Strategy.RANGE:
            if partition_racks:
                return assign_range_by_rack(partition_counts, members, partition_racks)
            return assign_range(partition_counts, members)
        case Strategy.ROUND_ROBIN:
            return assign_round_robin(partition_counts, members)
        case Strategy.STICKY:
            return assign_sticky(partition_counts, members, rules)
        case Strategy.COOPERATIVE_STICKY:
            return assign_cooperatively(partition_counts, members, rules).sent
        case _:
            assert_never(strategy)
