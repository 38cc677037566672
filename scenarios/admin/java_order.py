"""In which order Java's hash maps, and Scala's sets, hold what Kafka's tools print: names, and partitions.

Source: java.util.HashMap and String.hashCode; TopicPartition.hashCode of Kafka 2.8.
"""

from collections.abc import Iterable

from kcsim.controller.decisions.hash_order import set_order_by
from kcsim.zk.vocabulary import TopicPartition

MASK = 0xFFFFFFFF
LOAD_FACTOR = 0.75


def map_order(names: Iterable[str], capacity: int) -> list[str]:
    """The order in which a HashMap made for `capacity` entries holds these names.

    Args:
        names: in the order in which they are put in; within a bucket they keep it.
    """
    given = list(dict.fromkeys(names))
    buckets = _power_of_two(capacity)
    while len(given) > LOAD_FACTOR * buckets:
        buckets *= 2
    return sorted(given, key=lambda name: _spread(hash_code(name)) & (buckets - 1))


def described_order(topics: Iterable[str]) -> list[str]:
    """The order in which an admin client describes topics: through a map, its copy, and a map made of that."""
    names = sorted(topics)
    copied = map_order(map_order(names, len(names)), int(len(names) / LOAD_FACTOR) + 1)
    return map_order(copied, len(names))


def partition_set_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The order in which a Scala set holds partitions; up to four as given."""
    return set_order_by(partitions, lambda tp: 31 * (31 + tp.partition) + hash_code(tp.topic) & MASK)


def hash_code(text: str) -> int:
    """Java's hash of a text, as 32 bits without sign."""
    found = 0
    units = text.encode("utf-16-be")
    for place in range(0, len(units), 2):
        found = 31 * found + int.from_bytes(units[place : place + 2], "big") & MASK
    return found


def _spread(value: int) -> int:
    return value ^ value >> 16


def _power_of_two(capacity: int) -> int:
    return 1 << max(capacity - 1, 0).bit_length()
