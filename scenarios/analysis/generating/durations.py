"""Durations of hours, days and weeks, in which the history of a cluster is measured."""

import re

from pydantic_core import PydanticCustomError

from kcsim.scenarios.language.value_types import MS_PER_UNIT, parse_duration

MS_PER_LONG_UNIT = {"h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
DAY_MS = MS_PER_LONG_UNIT["d"]
LONGEST_DAYS = 36_500


def parse_long_duration(text: str) -> int:
    """Return milliseconds of 12h, 30d, 1.5d or 2w, or of a scenario file's units: 500ms, 2s, 1m. Raises: ValueError."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([hdw])", text)
    if match is None:
        return _of_scenario_files(text)
    number, unit = match.groups()
    duration_ms = round(float(number) * MS_PER_LONG_UNIT[unit])
    if duration_ms > LONGEST_DAYS * DAY_MS:
        raise ValueError(f"{text!r} is longer than a century")
    return duration_ms


def _of_scenario_files(text: str) -> int:
    if re.fullmatch(rf"[0-9]+(\.[0-9]+)?({'|'.join(MS_PER_UNIT)})", text):
        try:
            return parse_duration(text)
        except PydanticCustomError as error:
            raise ValueError(error.message()) from None
    raise ValueError(f"{text!r} is no duration; write one as 500ms, 30s, 10m, 12h, 30d or 2w")
