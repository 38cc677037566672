"""Confidence intervals, compared with published values and with their definition."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.analysis.campaigns.intervals import Estimate, Share, mean, quantile, share


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [  # the tables of Clopper and Pearson (Biometrika 26, 1934) and later tables derived from them
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 100, 0.0490, 0.1762),
        (50, 100, 0.3983, 0.6017),
        (9, 10, 0.5550, 0.9975),
        (3, 1_000_000, 6.187e-07, 8.767e-06),
    ],
)
def test_a_share_has_the_interval_of_clopper_and_pearson(hits: int, of: int, low: float, high: float) -> None:
    found = share(hits, of)

    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-3, abs=1e-4 if of <= 100 else 1e-9)


@pytest.mark.parametrize("n", [30, 100, 1_000, 10_000])
def test_never_seen_is_bounded_by_the_rule_of_three(n: int) -> None:
    """An event not seen in n runs has a probability below about 3/n, at 95 % confidence."""
    found = share(0, n)

    assert found.low == 0
    assert found.high == pytest.approx(3 / n, rel=0.06)
    assert found.high == pytest.approx(1 - 0.05 ** (1 / n))


def test_always_seen_is_bounded_from_below() -> None:
    found = share(100, 100)

    assert found.low == pytest.approx(0.05 ** (1 / 100))
    assert found.high == 1


def test_of_no_run_nothing_is_known() -> None:
    assert share(0, 0) == Share(0, 0, 0.0, 1.0)
    assert share(0, 0).share is None


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_each_end_of_a_share_is_where_what_was_seen_gets_unlikely(seen: tuple[int, int]) -> None:
    """By definition, at either end of the interval this tail probability is left; the tail is summed term by term."""
    hits, of = seen
    found = share(hits, of)
    at_least = sum(_binomial(k, of, found.low) for k in range(hits, of + 1))
    at_most = sum(_binomial(k, of, found.high) for k in range(hits + 1))

    assert at_least == pytest.approx(0.05 if hits == of else 0.025, rel=1e-6)
    assert hits == of or at_most == pytest.approx(0.025, rel=1e-6)


def _binomial(k: int, n: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize(
    ("n", "q", "value", "low", "high"),
    [  # of the numbers 1 … n; the ranks for the median are those of the sign test's tables
        (10, 0.5, 5, 2, 9),
        (20, 0.5, 10, 6, 15),
        (100, 0.5, 50, 40, 61),
        (100, 0.9, 90, 84, 96),
        (100, 0.99, 99, 97, None),
        (5, 0.5, 3, None, None),
        (20, 0.0001, 1, None, 1),
    ],
)
def test_a_quantile_lies_between_two_of_the_values(n: int, q: float, value: int, low: int | None, high: int | None) -> None:
    assert quantile(range(1, n + 1), q) == Estimate(value, low, high)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=80).map(sorted), st.sampled_from([0.1, 0.5, 0.9]))
def test_a_quantile_is_within_its_interval_and_a_wider_one_contains_it(values: list[int], q: float) -> None:
    found, wider = quantile(values, q), quantile(values, q, 0.999)
    ends = [end for end in (wider.low, found.low, found.value, found.high, wider.high) if end is not None]

    assert all(a <= b for a, b in pairwise(ends))


def test_a_mean_has_about_the_interval_of_the_normal_distribution_where_that_holds() -> None:
    values = [math.sin(n) for n in range(1_000)]
    wide = 1.96 * math.sqrt(0.5 / 1_000)
    found = mean(values)

    assert found.value == pytest.approx(sum(values) / 1_000)
    assert found.low == pytest.approx(sum(values) / 1_000 - wide, abs=0.15 * wide)
    assert found.high == pytest.approx(sum(values) / 1_000 + wide, abs=0.15 * wide)


def test_the_same_values_in_any_order_have_the_same_mean_and_interval() -> None:
    values = [0, 0, 0, 0, 12, 7_000, 3]

    assert mean(values) == mean(sorted(values, reverse=True))


def test_a_mean_of_values_that_are_all_alike_is_sure_and_that_of_one_is_not() -> None:
    assert mean([4, 4, 4]) == Estimate(4, 4, 4)
    assert mean([4]) == Estimate(4, None, None)
    assert mean([]) == Estimate(None, None, None)
