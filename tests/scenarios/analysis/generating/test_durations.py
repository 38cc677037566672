"""Durations as long as the lifetime of a cluster."""

import pytest

from kcsim.scenarios.analysis.generating.durations import parse_long_duration


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("500ms", 500),
        ("20s", 20_000),
        ("10m", 600_000),
        ("12h", 43_200_000),
        ("30d", 2_592_000_000),
        ("1.5d", 129_600_000),
        ("2w", 1_209_600_000),
        ("0s", 0),
    ],
)
def test_every_unit_is_read(text: str, expected_ms: int) -> None:
    assert parse_long_duration(text) == expected_ms


@pytest.mark.parametrize("text", ["", "30", "d", "-3d", "3 d", "3y", "1e3d", "3D", "90000d", "0.5ms"])
def test_what_is_no_duration_is_refused_with_the_text_in_the_message(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}'"):
        parse_long_duration(text)
