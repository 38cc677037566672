"""Numbers for partitions: 0, 1, 2, … in partition order, so that assignors can use integers and ranges of them.

Partition order is the topic's name as a string, then the partition as an integer: t-2 comes before t-10.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate, pairwise, repeat

from kcsim.vocabulary import TopicPartition


class PartitionNumbering:
    """All partitions of some topics. `ranges` has the numbers of each topic's partitions, topics in order."""

    def __init__(self, partition_counts: Mapping[str, int]) -> None:
        topics = sorted(topic for topic, count in partition_counts.items() if count > 0)
        ends = list(accumulate((partition_counts[topic] for topic in topics), initial=0))
        self.ranges = {topic: range(*pair) for topic, pair in zip(topics, pairwise(ends), strict=True)}
        self._topics, self._starts = topics, ends[:-1]
        self._count = ends[-1]

    def __len__(self) -> int:
        return self._count

    @cached_property
    def all_partitions(self) -> list[TopicPartition]:
        """Every partition, at the index that is its number."""
        # The constructor of a named tuple is an interpreted function, and takes twice as long.
        partitions: list[TopicPartition] = []
        for topic, numbers in self.ranges.items():
            partitions += map(tuple.__new__, repeat(TopicPartition), zip(repeat(topic), range(len(numbers)), strict=False))
        return partitions

    def topic_of(self, number: int) -> str:
        return self._topics[bisect_right(self._starts, number) - 1]

    def partitions(self, numbers: Iterable[int]) -> tuple[TopicPartition, ...]:
        """Return the partitions that have these numbers, in the same order."""
        return tuple(map(self.all_partitions.__getitem__, numbers))

    def numbers(self, partitions: Iterable[TopicPartition]) -> list[int]:
        """Return the numbers of these partitions, each once and in the same order; unknown partitions are left out."""
        nowhere = range(0)
        found: dict[int, None] = {}
        for topic, partition in partitions:
            of_topic = self.ranges.get(topic, nowhere)
            if 0 <= partition < len(of_topic):
                found[of_topic.start + partition] = None
        return list(found)
