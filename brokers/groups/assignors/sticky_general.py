"""Sticky for unequal subscriptions: unowned partitions go to the member with the fewest, then partitions move to balance.

Kafka keeps, for every partition, the list of all members that could have it; with a thousand members and a hundred thousand
partitions these lists exhaust the memory. Here topics with the same subscribers share one array of them, and a partition is
a number. The results are the same.

Two of Kafka's checks are left out because they cannot change a result: the check whether the whole state is balanced
(isBalanced) merely ends a pass early in which no partition could move any more; and members that cannot take part in a
reassignment subscribe to no topic that could be moved at all.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from kcsim.brokers.groups.assignors.layout import GroupLayout
from kcsim.brokers.groups.assignors.numbering import PartitionNumbering
from kcsim.brokers.groups.assignors.ownership_claims import OwnershipClaims
from kcsim.jvm_hash_order import HashedKeys, partition_hash, string_hash

NO_CONSUMER = -1
MIN_GAP = 2
"""A partition moves only to a member that has at least this many fewer; then the sizes of the two members get closer."""

TopicPartitions = tuple[str, Sequence[int]]
"""A topic, and numbers of partitions of it."""


def assign_generally(layout: GroupLayout, claims: OwnershipClaims) -> list[list[int]]:
    """Return each member's partitions in partition order.

    The result is valid and balanced: no partition could move to a member with at least 2 fewer. As many partitions as
    possible stay with their owners, but the algorithm is greedy and does not always find the fewest moves.

    Source: Kafka 2.8, AbstractStickyAssignor.generalAssign.
    """
    return _Balancer(layout, claims).balanced()


class _Balancer:
    """One rebalance. `_owner` is by partition number, `_sizes` by member index; members are in id order."""

    def __init__(self, layout: GroupLayout, claims: OwnershipClaims) -> None:
        self._layout = layout
        self._ranges = layout.numbering.ranges
        self._owner = [NO_CONSUMER] * len(layout.numbering)
        self._sizes = [0] * len(layout.members)
        # (size, member) as one number, so that the minimum over an array of members is the member that gets the next
        # partition.
        self._keys = np.arange(len(layout.members), dtype=np.int64)
        arrays = {subscribers: np.array(subscribers) for subscribers in layout.subscribers.values()}
        self._can_take_part = {member for subscribers in arrays if len(subscribers) > 1 for member in subscribers}
        self._subscribers = {topic: arrays[subscribers] for topic, subscribers in layout.subscribers.items()}
        self._moves = _Moves(layout.numbering)
        self._must_revoke = self._keep(claims.owned)
        self._previous = self._still_subscribed(claims.previous_owner)

    def balanced(self) -> list[list[int]]:
        was_empty = not any(self._sizes)
        topics = sorted(self._ranges, key=lambda topic: (len(self._subscribers[topic]), topic))
        unassigned = [(topic, [n for n in self._ranges[topic] if self._owner[n] == NO_CONSUMER]) for topic in topics]
        self._fill(unassigned)
        filled_owner, filled_sizes = self._owner.copy(), self._sizes.copy()
        if not self._must_revoke:
            self._reassign(self._movable(unassigned))
        has_moved = self._reassign(self._movable((topic, self._ranges[topic]) for topic in topics))
        if has_moved and not was_empty and self._imbalance(self._sizes) >= self._imbalance(filled_sizes):
            self._owner = filled_owner
        given: list[list[int]] = [[] for _ in self._sizes]
        for number, owner in enumerate(self._owner):
            given[owner].append(number)
        return given

    def _keep(self, owned: Iterable[Iterable[int]]) -> bool:
        """Leave partitions with their owners. Return True if an owner must lose some because it no longer subscribes."""
        must_revoke = False
        topics = [frozenset(member.topics) for member in self._layout.members]
        topic_of = self._layout.numbering.topic_of
        for member, numbers in enumerate(owned):
            for number in numbers:
                if topic_of(number) in topics[member]:
                    self._give(number, member)
                else:
                    must_revoke = True
        return must_revoke

    def _still_subscribed(self, previous: dict[int, int]) -> dict[int, int]:
        # Kafka 2.8 would give a partition back even to a member that no longer subscribes to its topic.
        topics, topic_of = [member.topics for member in self._layout.members], self._layout.numbering.topic_of
        return {number: member for number, member in previous.items() if topic_of(number) in topics[member]}

    def _movable(self, partitions: Iterable[TopicPartitions]) -> list[TopicPartitions]:
        """Return the partitions that more than one member could have."""
        return [(topic, numbers) for topic, numbers in partitions if len(self._subscribers[topic]) > 1 and numbers]

    def _imbalance(self, sizes: Sequence[int]) -> int:
        """Return the sum, over all pairs of members that can take part, of the difference in size."""
        ascending = sorted(sizes[member] for member in self._can_take_part)
        return sum(size * (2 * place - len(ascending) + 1) for place, size in enumerate(ascending))

    # --- steps

    def _fill(self, partitions: Iterable[TopicPartitions]) -> None:
        for topic, numbers in partitions:
            subscribers = self._subscribers[topic]
            for number in numbers:
                self._give(number, self._least(subscribers))

    def _reassign(self, partitions: Collection[TopicPartitions]) -> bool:
        """Make passes over the partitions until one moves nothing. Return True if any partition moved.

        Kafka may loop here for ever: to avoid swaps it moves another partition than the selected one, and that can undo what
        an earlier pass did. Once a state recurs, the selected partitions are moved; from then on every move improves
        balance.
        """
        passes, remembered_at = 0, 1
        remembered: list[int] = []
        while self._pass(partitions):
            passes += 1
            if self._owner == remembered:
                self._moves.allow_swaps()
            if passes == remembered_at:
                remembered, remembered_at = self._owner.copy(), 2 * remembered_at
        return passes > 0

    def _pass(self, partitions: Iterable[TopicPartitions]) -> bool:
        has_moved = False
        for topic, numbers in partitions:
            subscribers = self._subscribers[topic]
            target = self._least(subscribers)
            for number in numbers:
                better = self._better_owner(number, target)
                if better == NO_CONSUMER:
                    continue
                self._move(topic, number, better)
                target = self._least(subscribers)
                has_moved = True
        return has_moved

    def _better_owner(self, number: int, least: int) -> int:
        size = self._sizes[self._owner[number]]
        previous = self._previous.get(number, NO_CONSUMER)
        if previous != NO_CONSUMER and size - self._sizes[previous] >= MIN_GAP:
            return previous
        return least if size - self._sizes[least] >= MIN_GAP else NO_CONSUMER

    # --- single changes

    def _least(self, subscribers: npt.NDArray[np.int64]) -> int:
        """Return the subscriber with the least (size, id)."""
        return int(subscribers[self._keys[subscribers].argmin()])

    def _give(self, number: int, member: int) -> None:
        self._owner[number] = member
        self._resize(member, +1)

    def _move(self, topic: str, number: int, target: int) -> None:
        number = self._moves.instead_of(topic, number, self._owner[number], target)
        owner = self._owner[number]
        self._moves.record(topic, number, owner, target)
        self._resize(owner, -1)
        self._give(number, target)

    def _resize(self, member: int, by: int) -> None:
        self._sizes[member] += by
        self._keys[member] += by * len(self._sizes)


class _Moves:
    """The net moves of one rebalance; they prevent that two partitions of a topic are swapped between two members."""

    def __init__(self, numbering: PartitionNumbering) -> None:
        self._partitions = numbering.all_partitions
        self._topic_hashes = {topic: string_hash(topic) for topic in numbering.ranges}
        self._may_swap = False
        self._origin: dict[int, int] = {}
        self._moved: dict[tuple[str, int, int], HashedKeys[int]] = {}

    def instead_of(self, topic: str, number: int, owner: int, target: int) -> int:
        """Return the partition to move to `target`: one that `target` has lost before in this rebalance, else this one."""
        given_up = self._moved.get((topic, target, self._origin.get(number, owner)))
        return given_up.first() if given_up and not self._may_swap else number

    def allow_swaps(self) -> None:
        """From now on, let instead_of return the selected partition, even if that results in a swap."""
        self._may_swap = True

    def record(self, topic: str, number: int, owner: int, target: int) -> None:
        origin = self._origin.pop(number, owner)
        if origin != owner:
            self._moved[topic, origin, owner].remove(number)
        if origin != target:
            self._origin[number] = origin
            hash_code = partition_hash(self._partitions[number], self._topic_hashes[topic])
            self._moved.setdefault((topic, origin, target), HashedKeys()).add(number, hash_code)
