"""In which order Kafka's controller and leaders go through a set of brokers: that of a Scala hash map.

Broker ids 1 to 4 alone come out ascending, which hides that the order is no ascending one: {2, 3, 4, 5} is handled as
5, 2, 3, 4. Whoever comes first among dead brokers loses its place in an ISR first, so the last one is who may stay in it.

Partitions that are to be moved lie in tables of another kind, which can be changed: clicks-1 is moved before clicks-0, and
orders-0 before orders-1.

Source: Scala 2.13, immutable.HashMap and HashSet of more than four Ints, reference state_machines.md 1, znodes.md 6.1;
mutable.HashMap and HashSet; Kafka 2.8, KafkaController.maybeTriggerPartitionReassignment, maybeResumeReassignments.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from kcsim.controller.decisions.java_hash import partition_hash, string_hash
from kcsim.zk.vocabulary import BrokerId, TopicPartition

T = TypeVar("T", bound=Hashable)

SMALL_SET = 4
"""So many members, at most, a Scala Set keeps as they were added."""
BITS_PER_LEVEL = 5
HASH_BITS = 32
SMALLEST_TABLE = 16
FULL = 0.75
"""A table that would become so full is doubled before."""
MASK = 0xFFFFFFFF


def hash_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Sort broker ids as a hash map holds them. Duplicates vanish."""
    by_hash = {improved_hash(broker): broker for broker in brokers}  # no two ids share one: each step can be undone
    return [by_hash[value] for value in _in_trie_order(sorted(by_hash), 0)]


def set_order_by(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """As set_order, of anything: `hash_of` is Java's hash code, of any width. Those that share one stay as given."""
    members = list(dict.fromkeys(items))
    if len(members) <= SMALL_SET:
        return members
    by_hash: dict[int, list[T]] = {}
    for item in members:
        by_hash.setdefault(improved_hash(hash_of(item)), []).append(item)
    return [item for value in _in_trie_order(sorted(by_hash), 0) for item in by_hash[value]]


def set_order(brokers: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """The order in which a set made of these holds them: as given up to four, by hash from five on. Duplicates vanish."""
    members = tuple(dict.fromkeys(brokers))
    return members if len(members) <= SMALL_SET else tuple(hash_order(members))


def improved_hash(broker: int) -> int:
    """The 32 bits that decide, five of them per level of the trie."""
    h = broker & MASK
    h = (h + ~(h << 9)) & MASK
    h ^= h >> 14
    h = (h + (h << 4)) & MASK
    return h ^ (h >> 10)


def _in_trie_order(hashes: Sequence[int], shift: int) -> list[int]:
    """Those alone in their slot of this level by slot; after them the shared slots by slot, each a level further down."""
    if len(hashes) < 2:
        return list(hashes)
    assert shift < HASH_BITS, "two hashes are one"
    slots: dict[int, list[int]] = {}
    for value in hashes:
        slots.setdefault(value >> shift & ((1 << BITS_PER_LEVEL) - 1), []).append(value)
    alone = [slots[slot][0] for slot in sorted(slots) if len(slots[slot]) == 1]
    shared = [_in_trie_order(slots[slot], shift + BITS_PER_LEVEL) for slot in sorted(slots) if len(slots[slot]) > 1]
    return alone + [value for group in shared for value in group]


def partition_order(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions as a mutable hash table holds them into which they were put. Duplicates vanish.

    Left out: a table that once held more does not shrink, and two partitions of one hash stay as they were put.
    """
    members = list(dict.fromkeys(partitions))
    topics = {topic: string_hash(topic) for topic in dict.fromkeys(tp.topic for tp in members)}
    hashes = {tp: partition_hash(tp, topics[tp.topic]) for tp in members}
    spread = {tp: hash_code ^ hash_code >> 16 for tp, hash_code in hashes.items()}
    table = SMALLEST_TABLE
    while len(spread) >= FULL * table:
        table *= 2
    return sorted(spread, key=lambda tp: (spread[tp] & table - 1, _signed(spread[tp])))


def _signed(value: int) -> int:
    return value - (1 << HASH_BITS) if value >> HASH_BITS - 1 else value
