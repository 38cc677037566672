"""Range: the partitions of each topic are divided into consecutive ranges, one for each subscriber."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.members import GroupMember, in_member_order


def assign_range(partition_counts: Mapping[str, int], members: Collection[GroupMember]) -> Assignment:
    """Give each subscriber of a topic, in member order, a range of partitions; the first ones get one partition more.

    They get one more of *every* topic, so the imbalance grows with the number of topics. In return, for topics with equal
    numbers of partitions and equal subscribers, each member gets the same partition numbers of all of them.

    Args:
        partition_counts: topic -> number of partitions; a subscribed topic that is missing here is ignored.

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
    """Return the number of each topic's partition 0, by subscribers and partition count: those topics are cut alike."""
    starts = defaultdict(list)
    for topic, numbers in layout.numbering.ranges.items():
        starts[layout.subscribers[topic], len(numbers)].append(numbers.start)
    return starts
