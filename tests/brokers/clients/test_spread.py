"""The partition of each record: any number of records is spread as if the records came one by one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.clients.spread import pattern_of, spread
from kcsim.vocabulary import TopicPartition

A, B, C = (TopicPartition("orders", number) for number in range(3))


def test_equal_shares_take_turns() -> None:
    assert pattern_of({A: 1, B: 1, C: 1}) == (A, B, C)


def test_a_large_share_is_spread_evenly() -> None:
    assert pattern_of({A: 3, B: 1}) == (A, A, B, A)


@pytest.mark.parametrize(("first", "expected"), [(0, {A: 2, B: 1, C: 1}), (1, {A: 1, B: 2, C: 1}), (5, {A: 1, B: 1, C: 2})])
def test_whose_turn_it_is_depends_on_what_went_before(first: int, expected: dict[TopicPartition, int]) -> None:
    assert spread((A, B, C), first, 4) == expected


def test_partitions_that_get_nothing_are_left_out() -> None:
    assert spread((A, B, C), 4, 1) == {B: 1}


@given(
    shares=st.dictionaries(st.sampled_from((A, B, C)), st.integers(1, 5), min_size=1),
    first=st.integers(0, 40),
    count=st.integers(0, 60),
)
def test_many_at_once_go_where_they_would_go_one_by_one(shares: dict[TopicPartition, int], first: int, count: int) -> None:
    pattern = pattern_of(shares)
    assert Counter(pattern) == Counter(shares)
    assert spread(pattern, first, count) == Counter(pattern[n % len(pattern)] for n in range(first, first + count))
