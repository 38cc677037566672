"""Java's hash codes of what Kafka keeps in hash tables; they decide in which order it goes through these.

Source: java.lang.String.hashCode, which is part of Java's specification; Kafka 2.8, TopicPartition.hashCode.
"""

from kcsim.zk.vocabulary import TopicPartition

BITS = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """Return Java's hash of a string, as an unsigned number of 32 bits."""
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & BITS
    return value


def partition_hash(partition: TopicPartition, topic_hash: int) -> int:
    """Return Java's hash of a partition, given that of its topic's name; unsigned, 32 bits."""
    return (31 * (31 + partition.partition) + topic_hash) & BITS
