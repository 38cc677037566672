"""Sets of whole numbers, compared with Python's own."""

from hypothesis import given
from hypothesis import strategies as st

from kcsim.brokers.log.intervals import IntervalSet, Range, covered

RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8)


def numbers(ranges: list[Range]) -> set[int]:
    return {number for start, end in ranges for number in range(start, end)}


def test_ranges_that_touch_are_one() -> None:
    assert IntervalSet.of([(5, 7), (0, 3), (3, 5), (9, 9)]).ranges == ((0, 7),)


def test_its_text_is_as_people_write_it() -> None:
    assert str(IntervalSet.of([(0, 5), (7, 8)])) == "0-4, 7"
    assert str(IntervalSet()) == "none"


def test_a_billion_numbers_are_one_range() -> None:
    billion = IntervalSet.of([(0, 10**9)])
    assert billion.subtract(IntervalSet.of([(5, 7)])).count == 10**9 - 2


@given(RANGES)
def test_of_is_canonical(ranges: list[Range]) -> None:
    """Equal sets are equal values, and counting and membership are those of a set."""
    made = IntervalSet.of(ranges)
    assert list(made) == sorted(numbers(ranges))
    assert made == IntervalSet.of((n, n + 1) for n in numbers(ranges))
    assert (made.count, bool(made)) == (len(numbers(ranges)), bool(numbers(ranges)))
    assert {n for n in range(-1, 32) if n in made} == numbers(ranges)


@given(RANGES, RANGES)
def test_operations_are_those_of_sets(a: list[Range], b: list[Range]) -> None:
    left, right = IntervalSet.of(a), IntervalSet.of(b)
    assert left.union(right) == IntervalSet.of((n, n + 1) for n in numbers(a) | numbers(b))
    assert left.intersection(right) == IntervalSet.of((n, n + 1) for n in numbers(a) & numbers(b))
    assert left.subtract(right) == IntervalSet.of((n, n + 1) for n in numbers(a) - numbers(b))


@given(RANGES)
def test_covering_is_counted_number_by_number(ranges: list[Range]) -> None:
    found = list(covered(ranges))
    assert all(start < end for (start, end), _ in found)
    depths = {n: depth for (start, end), depth in found for n in range(start, end)}
    expected = {n: sum(n in range(*r) for r in ranges) for n in range(31)}
    assert depths == {n: depth for n, depth in expected.items() if depth}
