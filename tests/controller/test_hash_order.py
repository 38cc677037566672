"""The order of a Scala hash map. Source: reference state_machines.md 1, znodes.md 6.1."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.controller.decisions.hash_order import hash_order, improved_hash, partition_order, set_order
from kcsim.zk.vocabulary import BrokerId, TopicPartition

INTS = st.integers(0, 2**31 - 1).map(BrokerId)
UP_TO_20 = [0, 5, 10, 14, 20, 1, 6, 9, 13, 2, 17, 12, 7, 3, 18, 16, 11, 8, 19, 4, 15]
"""state_machines.md 1: the order of ids 0 to 20, of which no two share a slot."""


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
    """No slot is shared among them, so the presence of others changes nothing."""
    assert hash_order(ids(*sorted(brokers))) == [b for b in UP_TO_20 if b in brokers]


def test_ids_that_share_a_slot_come_after_those_that_do_not() -> None:
    """Which ids do is a matter of the five lowest bits of the hash; a shared slot is ordered by the next five."""
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
    """znodes.md 6.1 and requests.md 4.3: an ISR of five or more is written, and held, by hash."""
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
    """Neighbours lie 31 apart: in 32 slots each just before the last, in 16 so too but for where the first one begins."""
    assert partition_order(partitions("t", *range(11))) == partitions("t", 5, 4, 3, 2, 1, 0, 10, 9, 8, 7, 6)
    assert partition_order(partitions("t", *range(12))) == partitions("t", *reversed(range(12)))
