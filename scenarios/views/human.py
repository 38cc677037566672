"""Figures in readable form: durations, counts, shares; and axes whose ticks are round."""

import math
from collections.abc import Sequence
from itertools import pairwise

SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000
_UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))
_STEPS_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(seconds * SECOND_MS for seconds in (1, 2, 5, 10, 15, 30)),
    *(minutes * MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR_MS for hours in (1, 2, 3, 6, 12)),
    *(days * DAY_MS for days in (1, 2, 7, 14, 28, 56, 91, 182, 364, 728)),
)
DURATION_EDGES_MS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(1_000, 2_000, 5_000, 10_000, 20_000, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 20 * MINUTE_MS),
    *(HOUR_MS, 2 * HOUR_MS, 5 * HOUR_MS, 12 * HOUR_MS, DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 28 * DAY_MS),
)
"""The edges between classes of durations, in a distribution from milliseconds to weeks."""
FIRST_DECIMALS = 2
MOST_DECIMALS = 7


def duration(ms: float) -> str:
    """Return a duration as text, with three digits or two units: 350 ms, 1.25 s, 3 min 20 s, 2 h 30 min, 4 d 6 h."""
    if ms < SECOND_MS:
        return f"{ms:.3g} ms"
    if ms < MINUTE_MS:
        seconds = f"{ms / SECOND_MS:.3g}"
        return f"{seconds} s" if float(seconds) < MINUTE_MS / SECOND_MS else "1 min"
    for (unit_ms, unit), (smaller_ms, smaller) in pairwise(_UNITS):
        if ms >= unit_ms:
            rest = round(ms / smaller_ms)
            whole, part = divmod(rest, unit_ms // smaller_ms)
            return f"{whole:,} {unit}" + (f" {part} {smaller}" if part else "")
    raise AssertionError(ms)


def count(number: float) -> str:
    """Return a number as text: 1,234,567; 12.3; 0.0042."""
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 100 else f"{number:.3g}"


def size(number: float) -> str:
    """Return a number of bytes as text, with three digits: 350 B, 1.25 MB, 12 GB, 3.4 TB. A kB has 1,000 bytes."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor * 0.9995:
            return f"{float(f'{number / factor:.3g}'):,g} {unit}"
    return f"{number:.3g} B"


def percent(share: float) -> str:
    """Return a share as text: 99.9873 %. Close to 100 % it has enough decimals for two digits of what is missing."""
    missing = 1 - share
    if missing <= 0:
        return "100 %"
    decimals = min(MOST_DECIMALS, max(FIRST_DECIMALS, math.ceil(-math.log10(missing)))) if missing < 1 else FIRST_DECIMALS
    text = f"{math.floor(share * 10 ** (decimals + 2)) / 10**decimals:.{decimals}f}"  # rounded down: 100 % is all of it
    return f"{text.rstrip('0').rstrip('.')} %"


def ticks(high: float, about: int = 5) -> list[float]:
    """Return about `about` round, equidistant numbers from 0 to at least `high`."""
    if high <= 0:
        return [0.0, 1.0]
    raw = high / about
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= raw * (1 - 1e-9))
    return [round(step * n, 12) for n in range(math.ceil(high / step - 1e-9) + 1)]


def round_step_ms(span_ms: float, about: int) -> int:
    """Return the shortest round duration of which at most `about` fit into a span."""
    enough = (step for step in _STEPS_MS if span_ms / step <= about)
    return next(enough, _STEPS_MS[-1])


def duration_ticks(high: float, about: int = 5) -> list[float]:
    """Return ticks of milliseconds, as `ticks` does, but round in units of time."""
    step = round_step_ms(max(1, high), about)
    return [float(step * n) for n in range(math.ceil(high / step) + 1)] if high > 0 else [0.0, 1.0]


def time_ticks(span_ms: int, about: int = 6) -> list[int]:
    """Return round times from 0 to at most `span_ms`."""
    step = round_step_ms(span_ms, about)
    return list(range(0, span_ms + 1, step))


def class_of(edge: int, edges: Sequence[int] = DURATION_EDGES_MS) -> str:
    """Return the name of a class of durations; `edge` is the number of edges at or below its durations."""
    if edge == 0:
        return f"under {duration(edges[0])}"
    if edge >= len(edges):
        return f"{duration(edges[-1])} and more"
    return f"{duration(edges[edge - 1])} to {duration(edges[edge])}"
