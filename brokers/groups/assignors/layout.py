"""An assignor's input, in integers: members in order, partitions numbered, and the subscribers of each topic."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import merge

from kcsim.brokers.groups.assignors.members import GroupMember, check_members
from kcsim.brokers.groups.assignors.numbering import PartitionNumbering

Subscribers = dict[str, tuple[int, ...]]
"""Topic -> indexes of the members that subscribe to it, ascending; topics in order."""


class GroupLayout:
    """Members by their index in the order given, and the partitions of the topics that have subscribers.

    Attributes:
        members: in the order given; elsewhere each is represented by its index.
        numbering: the partitions to be assigned.
        subscribers: topic -> indexes of its subscribers, ascending. Topics with the same subscribers share one tuple:
            that saves memory with a thousand members and topics, and lets assignors work per set of subscribers.
        subscriptions_are_equal: whether all members name the same topics; topics without partitions count, too.
    """

    def __init__(self, partition_counts: Mapping[str, int], members: Sequence[GroupMember]) -> None:
        check_members(members)
        alike: dict[frozenset[str], list[int]] = defaultdict(list)
        for index, member in enumerate(members):
            alike[frozenset(member.topics)].append(index)
        self.members = members
        self.subscribers = _subscribers(alike, partition_counts)
        self.numbering = PartitionNumbering({topic: partition_counts[topic] for topic in self.subscribers})
        self.subscriptions_are_equal = len(alike) <= 1


def _subscribers(alike: Mapping[frozenset[str], Sequence[int]], partition_counts: Mapping[str, int]) -> Subscribers:
    groups_of_topic: dict[str, list[int]] = defaultdict(list)
    for group, topics in enumerate(alike):
        for topic in topics:
            if partition_counts.get(topic, 0) > 0:
                groups_of_topic[topic].append(group)
    indexes = list(alike.values())
    merged: dict[tuple[int, ...], tuple[int, ...]] = {}
    subscribers = {}
    for topic in sorted(groups_of_topic):
        groups = tuple(groups_of_topic[topic])
        if groups not in merged:
            merged[groups] = tuple(merge(*(indexes[group] for group in groups)))
        subscribers[topic] = merged[groups]
    return subscribers
