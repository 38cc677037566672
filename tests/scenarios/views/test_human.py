"""Figures in the form in which people read them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.scenarios.views.human import (
    DURATION_EDGES_MS,
    class_of,
    count,
    duration,
    duration_ticks,
    percent,
    round_step_ms,
    size,
    ticks,
    time_ticks,
)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (350, "350 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (1_254, "1.25 s"),
        (59_960, "1 min"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_599_900, "60 min"),
        (9_000_000, "2 h 30 min"),
        (367_200_000, "4 d 6 h"),
        (1_000 * 86_400_000, "1,000 d"),
    ],
)
def test_a_duration_has_a_unit_that_fits(ms: int, text: str) -> None:
    assert duration(ms) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.0, "0 %"),
        (0.99, "99 %"),
        (0.999873, "99.9873 %"),
        (0.99999999999, "99.9999999 %"),
    ],
)
def test_what_is_not_whole_is_never_rounded_up_to_the_whole(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(("number", "text"), [(1234567, "1,234,567"), (12.345, "12.3"), (0.00421, "0.00421"), (3.0, "3")])
def test_counts(number: float, text: str) -> None:
    assert count(number) == text


@given(st.floats(1e-6, 1e12), st.integers(2, 10))
def test_ticks_are_round_equally_far_apart_and_reach_all(high: float, about: int) -> None:
    found = ticks(high, about)
    step = found[1]

    assert found[0] == 0
    assert found[-1] >= high * (1 - 1e-9)
    assert len(found) <= about + 2
    assert f"{step:e}"[0] in "125"
    assert all(b - a == pytest.approx(step) for a, b in pairwise(found))


@given(st.integers(1, 10**11), st.integers(2, 12))
def test_moments_on_an_axis_are_round_and_within_the_run(span_ms: int, about: int) -> None:
    found = time_ticks(span_ms, about)

    assert found[0] == 0
    assert found[-1] <= span_ms
    assert len(found) <= about + 1


def test_steps_are_those_that_clocks_and_calendars_have() -> None:
    assert [round_step_ms(span, 10) for span in (95, 9_000, 50_000, 6 * 3_600_000, 30 * 86_400_000)] == [
        10,
        1_000,
        5_000,
        3_600_000,
        7 * 86_400_000,
    ]


def test_an_axis_of_durations_has_steps_that_clocks_have_and_reaches_all() -> None:
    """An axis of 64 minutes is divided into quarters of an hour, and not into thousands of seconds."""
    assert [duration(tick) for tick in duration_ticks(64 * 60_000)] == [
        "0 ms",
        "15 min",
        "30 min",
        "45 min",
        "1 h",
        "1 h 15 min",
    ]
    assert duration_ticks(0) == [0, 1]


def test_classes_of_durations_are_named_by_their_edges() -> None:
    assert (class_of(0), class_of(4), class_of(len(DURATION_EDGES_MS))) == ("under 1 ms", "10 ms to 20 ms", "28 d and more")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (999_400, "999 kB"),
        (999_500, "1 MB"),
        (1_250_000_000, "1.25 GB"),
        (1_234e12, "1,230 TB"),
    ],
)
def test_bytes_have_three_digits(number: float, text: str) -> None:
    assert size(number) == text
