"""Round robin: the partitions of all topics are assigned one by one, each to the next subscriber of its topic."""

from bisect import bisect_left
from collections.abc import Collection, Mapping

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.members import GroupMember, in_member_order


def assign_round_robin(partition_counts: Mapping[str, int], members: Collection[GroupMember]) -> Assignment:
    """Assign the partitions in partition order to the members in member order; one cursor continues from topic to topic.

    With equal subscriptions sizes differ by at most 1; with unequal ones the result can be very uneven.

    Args:
        partition_counts: topic -> number of partitions; a subscribed topic that is missing here is ignored.

    Raises: DuplicateMemberError.

    Source: Kafka 2.8, RoundRobinAssignor.
    """
    layout = GroupLayout(partition_counts, in_member_order(members))
    given: list[list[int]] = [[] for _ in layout.members]
    cursor = 0
    for topic, numbers in layout.numbering.ranges.items():
        subscribers = layout.subscribers[topic]
        # Within a topic the cursor visits the subscribers in turn, so the partitions of each are a slice of the topic's.
        first = bisect_left(subscribers, cursor) % len(subscribers)
        turn = subscribers[first:] + subscribers[:first]
        for place, member in enumerate(turn[: len(numbers)]):
            given[member] += numbers[place :: len(turn)]
        cursor = turn[(len(numbers) - 1) % len(turn)] + 1
    return Assignment.of(layout, given)
