"""Range: each topic by itself is cut into runs of consecutive partitions, one for each subscriber."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from kcsim.brokers.groups.assignment import Assignment
from kcsim.brokers.groups.layout import GroupLayout
from kcsim.brokers.groups.members import GroupMember, in_member_order


def assign_range(partition_counts: Mapping[str, int], members: Collection[GroupMember]) -> Assignment:
    """Give each subscriber of a topic, in member order, its share of consecutive partitions; the first ones get one more.

    They get one more of *every* topic, so the imbalance grows with the number of topics. In return, topics of equal size
    and equal subscribers have the same partition numbers at the same member.

    Args:
        partition_counts: topic -> how many partitions it has; a subscribed topic that is missing here is ignored.

    Raises: DuplicateMemberError.

    Source: Kafka 2.8, RangeAssignor.
    """
    layout = GroupLayout(partition_counts, in_member_order(members))
    given: list[list[int]] = [[] for _ in layout.members]
    for (subscribers, count), starts in _cut_alike(layout).items():
        each, extra = divmod(count, len(subscribers))
        first = 0
        for place, member in enumerate(subscribers[:count]):
            end = first + each + (place < extra)
            given[member] += [start + partition for partition in range(first, end) for start in starts]
            first = end
    for numbers in given:
        numbers.sort()
    return Assignment.of(layout, given)


def _cut_alike(layout: GroupLayout) -> dict[tuple[tuple[int, ...], int], list[int]]:
    """Topics with the same subscribers and number of partitions are cut alike: -> the number of each one's partition 0."""
    starts = defaultdict(list)
    for topic, numbers in layout.numbering.ranges.items():
        starts[layout.subscribers[topic], len(numbers)].append(numbers.start)
    return starts
