"""The iteration order of hash tables on the JVM, where Kafka's or ZooKeeper's behaviour depends on it.

Documentation calls these orders unspecified. But the hash codes of strings and integers are part of Java's specification and
the layout of the tables has been the same for years, so a real server's order is known. Three layouts:

- Java's HashMap and HashSet: by bucket, then by insertion. Left out: buckets of eight keys and more, which become trees.
- Scala's immutable Map and Set: as added up to four members, in the order of a hash trie from five on. The broker ids 1 to
  4 happen to come out ascending, but {2, 3, 4, 5} is handled as 5, 2, 3, 4. Dead brokers are removed from an ISR in this
  order, so the last one may stay in it as its only member.
- Scala's mutable HashMap and HashSet, which hold the partitions of a reassignment: clicks-1 is moved before clicks-0, and
  orders-0 before orders-1.

Source: java.lang.String.hashCode, java.util.HashMap; Scala 2.13, immutable.HashMap and HashSet of more than four members,
mutable.HashMap and HashSet; Kafka 2.8, TopicPartition.hashCode, KafkaController.maybeTriggerPartitionReassignment,
maybeResumeReassignments; docs/kafka/state_machines.md 1, docs/kafka/znodes.md 6.1.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

from kcsim.vocabulary import BrokerId, TopicPartition

HASH_BITS = 32
STRINGS_REMEMBERED = 10_000
"""The paths of znodes, of which a run hashes the same ones again and again."""
MASK = (1 << HASH_BITS) - 1
SMALLEST_TABLE = 16
FULL = 0.75
SMALL_SET = 4
"""An immutable Scala Set with at most this many members keeps the order in which they were added."""
BITS_PER_LEVEL = 5

Key = TypeVar("Key", bound=Hashable)


# --- hash codes ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=STRINGS_REMEMBERED)
def string_hash(text: str) -> int:
    """Return Java's hash of a string, as an unsigned number of 32 bits."""
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & MASK
    return value


def partition_hash(partition: TopicPartition, topic_hash: int) -> int:
    """Return Java's hash of a partition, given that of its topic's name; unsigned, 32 bits."""
    return (31 * (31 + partition.partition) + topic_hash) & MASK


# --- Java's HashMap --------------------------------------------------------------------------------------------------------


class HashedKeys(Generic[Key]):
    """The keys of a Java HashMap. A table that has grown does not shrink, so removed keys still affect the order."""

    def __init__(self, capacity: int = SMALLEST_TABLE) -> None:
        self._spread: dict[Key, int] = {}
        self._table = _power_of_two(capacity)

    def __bool__(self) -> bool:
        return bool(self._spread)

    def add(self, key: Key, hash_code: int) -> None:
        self._spread[key] = _spread(hash_code)
        while len(self._spread) > FULL * self._table:
            self._table *= 2

    def remove(self, key: Key) -> None:
        """Remove a key. Raises: KeyError."""
        del self._spread[key]

    def first(self) -> Key:
        """Return the first key in iteration order. Raises: ValueError when there is none."""
        return min(self._spread, key=self._bucket)

    def in_order(self) -> list[Key]:
        # Keys of one bucket keep their insertion order, which is the order of this dict.
        return sorted(self._spread, key=self._bucket)

    def in_clone_order(self) -> list[Key]:
        """Return the keys in the order of a clone, whose table is sized for these keys and filled in this map's order."""
        table = _power_of_two(int(len(self._spread) / FULL + 1))
        return sorted(self.in_order(), key=lambda key: self._spread[key] & table - 1)

    def _bucket(self, key: Key) -> int:
        return self._spread[key] & self._table - 1


def map_order(texts: Iterable[str], capacity: int = SMALLEST_TABLE) -> list[str]:
    """Return texts in the iteration order of a Java HashMap that was created for `capacity` entries.

    Args:
        texts: in insertion order; texts of one bucket keep that order. Duplicates are removed.
    """
    keys = HashedKeys[str](capacity)
    for text in texts:
        keys.add(text, string_hash(text))
    return keys.in_order()


def java_set_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Return the members of a Java HashSet of broker ids in its order. Duplicates are removed."""
    keys = HashedKeys[BrokerId]()
    for broker in brokers:
        keys.add(broker, broker)
    return keys.in_order()


# --- Scala's immutable sets ------------------------------------------------------------------------------------------------


def hash_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Sort broker ids in the order of a hash trie, however few they are. Duplicates are removed."""
    return _trie_order(dict.fromkeys(brokers), int)


def set_order(brokers: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """Return the members of a Scala set in its order: as given up to four, by hash from five on. Duplicates are removed."""
    return tuple(_set_order(brokers, int))


def partition_set_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return the members of a Scala set of partitions in its order, as `set_order` does."""
    return _set_order(partitions, lambda tp: partition_hash(tp, string_hash(tp.topic)))


def improved_hash(hash_code: int) -> int:
    """Return the 32 bits that decide the order, five of them per level of the trie."""
    h = hash_code & MASK
    h = (h + ~(h << 9)) & MASK
    h ^= h >> 14
    h = (h + (h << 4)) & MASK
    return h ^ (h >> 10)


def _set_order(items: Iterable[Key], hash_of: Callable[[Key], int]) -> list[Key]:
    members = list(dict.fromkeys(items))
    return members if len(members) <= SMALL_SET else _trie_order(members, hash_of)


def _trie_order(members: Iterable[Key], hash_of: Callable[[Key], int]) -> list[Key]:
    """Sort members, none of them twice, in the order of a hash trie; those with the same hash keep the given order."""
    by_hash: dict[int, list[Key]] = {}
    for member in members:
        by_hash.setdefault(improved_hash(hash_of(member)), []).append(member)
    return [member for value in _hashes_in_trie_order(sorted(by_hash), 0) for member in by_hash[value]]


def _hashes_in_trie_order(hashes: Sequence[int], shift: int) -> list[int]:
    """Sort hashes in the order of a hash trie.

    Hashes that are alone in their slot of this level come first, by slot; then the shared slots, by slot, each sorted one
    level further down.
    """
    if len(hashes) < 2:
        return list(hashes)
    assert shift < HASH_BITS, "two hashes are one"
    slots: dict[int, list[int]] = {}
    for value in hashes:
        slots.setdefault(value >> shift & ((1 << BITS_PER_LEVEL) - 1), []).append(value)
    alone = [slots[slot][0] for slot in sorted(slots) if len(slots[slot]) == 1]
    shared = [_hashes_in_trie_order(slots[slot], shift + BITS_PER_LEVEL) for slot in sorted(slots) if len(slots[slot]) > 1]
    return alone + [value for group in shared for value in group]


# --- Scala's mutable HashMap -----------------------------------------------------------------------------------------------


def partition_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions in the order of a mutable hash table into which they were put. Duplicates are removed.

    Left out: a table that once held more does not shrink; partitions with the same hash keep the order in which they were
    put.
    """
    members = list(dict.fromkeys(partitions))
    topics = {topic: string_hash(topic) for topic in dict.fromkeys(tp.topic for tp in members)}
    spread = {tp: _spread(partition_hash(tp, topics[tp.topic])) for tp in members}
    table = SMALLEST_TABLE
    while len(spread) >= FULL * table:  # a table is doubled before it becomes this full
        table *= 2
    return sorted(spread, key=lambda tp: (spread[tp] & table - 1, _signed(spread[tp])))


def _spread(hash_code: int) -> int:
    return hash_code ^ hash_code >> 16


def _power_of_two(capacity: int) -> int:
    return 1 << max(capacity - 1, 0).bit_length()


def _signed(value: int) -> int:
    return value - (1 << HASH_BITS) if value >> HASH_BITS - 1 else value
