"""Rack-aware range: range that lets members read from replicas in their own rack, if that does not affect balance.

Kafka 3.5 and newer (KIP-881); 2.8 does not have it. Balance and co-partitioning take precedence over racks.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from kcsim.brokers.groups.assignors.assignment import Assignment
from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.members import GroupMember, in_member_order
from kcsim.vocabulary import TopicPartition

PartitionRacks = Mapping[TopicPartition, Collection[str]]
"""The racks of each partition's replicas; a partition that is missing has no replica in a known rack."""


def assign_range_by_rack(
    partition_counts: Mapping[str, int], members: Collection[GroupMember], partition_racks: PartitionRacks
) -> Assignment:
    """Assign ranges in which members find as many replicas in their own rack as balance allows; lists are in order.

    Racks matter to a topic if a subscriber is in the rack of one of its replicas, and not every partition has replicas in
    all racks of the topic. If racks matter to no topic, the result is that of plain range.

    Raises: DuplicateMemberError.

    Source: Kafka 3.5, RangeAssignor.
    """
    layout = GroupLayout(partition_counts, in_member_order(members))
    topics = [_Topic(layout, topic, partition_racks) for topic in layout.numbering.ranges]
    if any(topic.needs_racks for topic in topics):
        for alike in _co_partitioned(topics):
            if len(alike) > 1:
                _assign_together(alike)
            elif alike[0].needs_racks:
                alike[0].assign_where(alike[0].matches)
    given: list[list[int]] = [[] for _ in layout.members]
    for topic in topics:
        topic.assign_where(lambda member, partition: True)
        for member, partitions in topic.given.items():
            given[member].extend(topic.numbers[partition] for partition in partitions)
    return Assignment.of(layout, [sorted(numbers) for numbers in given])


def rack_mismatches(
    assignment: Mapping[str, Iterable[TopicPartition]], members: Iterable[GroupMember], partition_racks: PartitionRacks
) -> int:
    """Count the partitions without a replica in the rack of their member. Members without a rack are not counted."""
    racks = {member.member_id: member.rack for member in members}
    return sum(
        racks[member_id] is not None and racks[member_id] not in partition_racks.get(tp, ())
        for member_id, partitions in assignment.items()
        for tp in partitions
    )


class _Topic:
    """One topic while it is being assigned. Partitions are numbered within the topic from 0; members are indexes."""

    def __init__(self, layout: GroupLayout, topic: str, partition_racks: PartitionRacks) -> None:
        self.numbers = layout.numbering.ranges[topic]
        self.subscribers = layout.subscribers[topic]
        self._racks = {member: layout.members[member].rack for member in self.subscribers}
        self._replica_racks = [
            frozenset(partition_racks.get(TopicPartition(topic, partition), ())) for partition in range(len(self.numbers))
        ]
        self._each, self._extras = divmod(len(self.numbers), len(self.subscribers))
        self._unassigned = dict.fromkeys(range(len(self.numbers)))
        self.given: dict[int, list[int]] = {member: [] for member in self.subscribers}

    @property
    def needs_racks(self) -> bool:
        all_racks = frozenset[str]().union(*self._replica_racks)
        return not all_racks.isdisjoint(rack for rack in self._racks.values() if rack is not None) and any(
            racks != all_racks for racks in self._replica_racks
        )

    @property
    def shape(self) -> tuple[tuple[tuple[int, str | None], ...], int]:
        """What co-partitioned topics have in common: subscribers with their racks, and the number of partitions."""
        return tuple(self._racks.items()), len(self.numbers)

    def matches(self, member: int, partition: int) -> bool:
        """Return True if the partition has a replica in the member's rack, or the member has no rack."""
        rack = self._racks[member]
        return rack is None or rack in self._replica_racks[partition]

    def room(self, member: int) -> int:
        """Return how many more partitions the member may get."""
        return max(0, self._each + (self._extras > 0) - len(self.given[member]))

    def assign(self, member: int, partitions: Sequence[int]) -> None:
        had_extra = len(self.given[member]) > self._each
        self.given[member].extend(partitions)
        self._extras -= len(self.given[member]) > self._each and not had_extra
        for partition in partitions:
            del self._unassigned[partition]

    def assign_where(self, is_wanted: Callable[[int, int], bool]) -> None:
        """Give each subscriber in order the first unassigned partitions that are wanted, up to its limit."""
        for member in self.subscribers:
            wanted = (partition for partition in self._unassigned if is_wanted(member, partition))
            self.assign(member, list(islice(wanted, self.room(member))))


def _co_partitioned(topics: Iterable[_Topic]) -> list[list[_Topic]]:
    alike = defaultdict(list)
    for topic in topics:
        alike[topic.shape].append(topic)
    return list(alike.values())


def _assign_together(topics: Sequence[_Topic]) -> None:
    """Give each partition number of all topics to the first member with a replica of each in its rack and room for it."""
    for partition in range(len(topics[0].numbers)):
        for member in topics[0].subscribers:
            if all(topic.room(member) and topic.matches(member, partition) for topic in topics):
                for topic in topics:
                    topic.assign(member, [partition])
                break
