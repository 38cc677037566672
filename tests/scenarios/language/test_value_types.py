"""Durations and hints: the forms that a user may write, and the messages for mistyped ones."""

import pytest
from pydantic_core import PydanticCustomError

from kcsim.scenarios.language.value_types import parse_duration
from kcsim.text import did_you_mean


@pytest.mark.parametrize(
    ("text", "ms"), [("0ms", 0), ("500ms", 500), ("2s", 2_000), ("1.5s", 1_500), ("1m", 60_000), ("0.25m", 15_000)]
)
def test_a_duration_is_a_number_and_a_unit(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (500, "500 has no unit; write 500ms or 500s"),
        (1.5, "1.5 has no unit; write 1.5ms or 1.5s"),
        ("5 secs", "'5 secs' is no duration: unknown unit 'secs'; did you mean 5s?"),
        ("2min", "'2min' is no duration: unknown unit 'min'; did you mean 2m?"),
        ("3h", "'3h' is no duration: unknown unit 'h'; the longest unit is m, minutes"),
        ("4x", "'4x' is no duration: unknown unit 'x'; units are ms, s and m"),
        ("0.5ms", "'0.5ms' is no whole number of milliseconds"),
        ("soon", "'soon' is no duration; write one as 500ms, 2s, 1.5s or 1m"),
        ("-1s", "'-1s' is no duration; write one as 500ms, 2s, 1.5s or 1m"),
        ("1441m", "'1441m' is longer than a day"),
        (f"{10**400}s", f"'{10**400}s' is longer than a day"),
        (True, "True is no duration; write one as 500ms, 2s, 1.5s or 1m"),
        ([1], "[1] is no duration; write one as 500ms, 2s, 1.5s or 1m"),
    ],
)
def test_anything_else_is_refused_with_what_was_probably_meant(value: object, message: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        parse_duration(value)
    assert refused.value.message() == message


def test_a_hint_is_given_only_when_a_word_is_near() -> None:
    """A far-fetched hint is worse than none."""
    assert did_you_mean("brokr-1", ["broker-1", "controller"]) == "; did you mean broker-1?"
    assert did_you_mean("zebra", ["broker-1", "controller"]) == ""
