"""The order of hash tables: compared with the output of a Java 17, Apache Kafka 2.8.2 and ZooKeeper 3.9.5.

Source: docs/kafka/state_machines.md 1, docs/kafka/znodes.md 6.1.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.jvm_hash_order import (
    HashedKeys,
    hash_order,
    improved_hash,
    map_order,
    partition_hash,
    partition_order,
    partition_set_order,
    set_order,
    string_hash,
)
from kcsim.vocabulary import BrokerId, TopicPartition

INTS = st.integers(0, 2**31 - 1).map(BrokerId)
UP_TO_20 = [0, 5, 10, 14, 20, 1, 6, 9, 13, 2, 17, 12, 7, 3, 18, 16, 11, 8, 19, 4, 15]
"""docs/kafka/state_machines.md 1: the order of ids 0 to 20, of which no two share a slot."""


def ids(*brokers: int) -> list[BrokerId]:
    return [BrokerId(broker) for broker in brokers]


@pytest.mark.parametrize(
    ("brokers", "order"),
    [
        ((2, 3, 4, 5), (5, 2, 3, 4)),
        ((1, 4, 5), (5, 1, 4)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        (range(21), UP_TO_20),
    ],
)
def test_the_recorded_orders(brokers: Sequence[int], order: Sequence[int]) -> None:
    assert hash_order(ids(*brokers)) == ids(*order)


@given(st.sets(st.integers(0, 20)))
def test_any_of_the_first_21_ids_keep_their_order(brokers: set[int]) -> None:
    """They share no slots, so the presence of other ids changes nothing."""
    assert hash_order(ids(*sorted(brokers))) == [b for b in UP_TO_20 if b in brokers]


def test_ids_that_share_a_slot_come_after_those_that_do_not() -> None:
    """Ids share a slot if the five lowest bits of their hashes are equal; within a shared slot the next five bits decide."""
    first = next(b for b in range(21, 200) if improved_hash(BrokerId(b)) & 31 == improved_hash(BrokerId(0)) & 31)
    order = hash_order(ids(0, first, 5, 15))
    assert order[:2] == ids(5, 15)
    assert order[2:] == sorted(ids(0, first), key=lambda b: improved_hash(b) >> 5 & 31)


@given(st.lists(INTS, max_size=200))
def test_every_id_comes_out_once_whatever_the_order_it_was_given_in(brokers: list[BrokerId]) -> None:
    order = hash_order(brokers)
    assert sorted(order) == sorted(set(brokers))
    assert order == hash_order(reversed(brokers))


@pytest.mark.parametrize(
    ("members", "order"),
    [
        ((3, 1, 2, 4), (3, 1, 2, 4)),
        ((1, 1, 2), (1, 2)),
        ((1, 2, 3, 5, 4), (5, 1, 2, 3, 4)),
        ((5, 1, 3, 4, 2), (5, 1, 2, 3, 4)),
    ],
)
def test_a_set_keeps_up_to_four_as_they_came(members: Sequence[int], order: Sequence[int]) -> None:
    """An ISR of five or more is written, and held, in hash order.

    Source: docs/kafka/znodes.md 6.1, docs/kafka/requests.md 4.3.
    """
    assert set_order(ids(*members)) == tuple(order)


def partitions(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


@pytest.mark.parametrize(
    ("topic", "order"),
    [
        ("clicks", (1, 0)),  # recorded/moves-in-hash-order
        ("orders", (0, 1, 2, 3, 4, 5)),  # recorded: reassign-many
    ],
)
def test_partitions_are_moved_in_the_recorded_order(topic: str, order: Sequence[int]) -> None:
    assert partition_order(partitions(topic, *sorted(order))) == partitions(topic, *order)


@given(st.lists(st.builds(TopicPartition, st.sampled_from(["orders", "clicks", "größe"]), st.integers(0, 100)), max_size=60))
def test_every_partition_comes_out_once_whatever_the_order_it_was_given_in(given: list[TopicPartition]) -> None:
    order = partition_order(given)
    assert sorted(order) == sorted(set(given))
    assert order == partition_order(reversed(given))


def test_a_table_that_is_about_to_be_three_quarters_full_is_doubled() -> None:
    """Adjacent hashes differ by 31: each key lies one slot before the previous one; 16 slots only shift the start."""
    assert partition_order(partitions("t", *range(11))) == partitions("t", 5, 4, 3, 2, 1, 0, 10, 9, 8, 7, 6)
    assert partition_order(partitions("t", *range(12))) == partitions("t", *reversed(range(12)))


def test_up_to_four_partitions_of_a_set_stay_as_they_are_and_more_go_by_hash() -> None:
    """As kafka-preferred-replica-election printed them."""
    printed = ["orders-0", "x.y-0", "zz-1", "orders-3", "dflt-0", "orders-2", "cfg-0", "zz-2", "zz-0", "bcfg-0", "orders-1"]
    partitions = sorted(TopicPartition(name[:-2], int(name[-1])) for name in printed)
    assert [str(partition) for partition in partition_set_order(partitions)] == printed
    assert partition_set_order(partitions[:4]) == partitions[:4]


def test_strings_hash_as_in_java() -> None:
    """By UTF-16 units, so that a character outside the basic multilingual plane counts as two."""
    texts = ["", "Aa", "BB", "consumer1", "orders", "café", "😀"]
    assert [string_hash(text) for text in texts] == [0, 2112, 2112, 3873962747, 3286196965, 3045921, 1772899]


def test_a_partition_hashes_by_its_number_and_its_topic() -> None:
    assert partition_hash(TopicPartition("orders", 7), string_hash("orders")) == 3286198143


def test_keys_come_in_the_order_of_their_buckets_and_the_table_doubles_when_it_is_three_quarters_full() -> None:
    assert map_order(["consumer1", "consumer2", "consumer3"]) == ["consumer3", "consumer2", "consumer1"]
    expected = ["c11", "c10", "c13", "c12", "c14", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]
    assert map_order(f"c{n}" for n in range(1, 15)) == expected


def test_settings_are_listed_in_the_order_of_a_map_created_for_all_settings() -> None:
    printed = ["min.insync.replicas", "retention.ms", "message.format.version"]
    assert map_order(sorted(printed), 64) == printed


def test_keys_of_one_bucket_come_in_the_order_in_which_they_were_put_in() -> None:
    """Aa and BB have the same hash; a key that is removed and inserted again moves to the end."""
    keys = hashed_keys("Aa", "BB", "A")
    assert (keys.in_order(), keys.first()) == (["Aa", "BB", "A"], "Aa")
    keys.remove("Aa")
    keys.add("Aa", string_hash("Aa"))
    assert (keys.in_order(), keys.first()) == (["BB", "Aa", "A"], "BB")


def test_a_table_that_was_larger_once_affects_the_order_of_a_clone() -> None:
    """Both hold a and q, which share a slot of a clone with four slots; a table of 64 has them in the opposite order."""
    numbers = [f"{n}" for n in range(40)]
    grown, small = hashed_keys("q", "a", *numbers), hashed_keys("q", "a")
    for number in numbers:
        grown.remove(number)
    assert small.in_clone_order() == ["q", "a"]
    assert grown.in_clone_order() == ["a", "q"]


def hashed_keys(*texts: str) -> HashedKeys[str]:
    keys = HashedKeys[str]()
    for text in texts:
        keys.add(text, string_hash(text))
    return keys
