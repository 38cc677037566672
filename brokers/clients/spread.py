"""The partition of each record of a producer: in turn, or in proportion to shares.

Pure, and for any number of records at once. Source: Kafka 2.8, RoundRobinPartitioner. Shares model a distribution of keys,
whose hashes would send them to the same partitions every time. Left out: the sticky partitioner (KIP-480), which fills one
batch after the other and results in the same distribution in the long run.
"""

from collections.abc import Mapping, Sequence

from kcsim.vocabulary import TopicPartition

MAX_SHARE = 1_000
"""Largest share of one partition. The repeated pattern of partitions is as long as the sum of all shares."""


def pattern_of(shares: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
    """Return the repeated order in which records go to partitions; each partition occurs as often as its share says.

    A large share is spread evenly, not consecutively: {a: 3, b: 1} results in a, a, b, a.
    """
    owed = dict.fromkeys(shares, 0)
    pattern = []
    for _ in range(sum(shares.values())):
        for tp, share in shares.items():
            owed[tp] += share
        chosen = max(owed, key=owed.__getitem__)  # the first of several
        owed[chosen] -= sum(shares.values())
        pattern.append(chosen)
    return tuple(pattern)


def spread(pattern: Sequence[TopicPartition], first: int, count: int) -> dict[TopicPartition, int]:
    """Return how many of `count` records go to each partition; those with none are left out.

    Args:
        first: how many records were spread before.
    """
    rounds, rest = divmod(count, len(pattern))
    shares: dict[TopicPartition, int] = {}
    for place, tp in enumerate(pattern):
        is_once_more = (place - first) % len(pattern) < rest
        shares[tp] = shares.get(tp, 0) + rounds + is_once_more
    return {tp: share for tp, share in shares.items() if share}
