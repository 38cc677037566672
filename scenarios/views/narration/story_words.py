"""Times, durations and lists in the words of a run's story."""

from collections.abc import Sequence

NAMED_AT_MOST = 3
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def at(t_ms: int, before: str = "") -> str:
    """Return a time of the run, after the word before it: 0.11 s; of runs longer than an hour, 26 h 03 min 12 s."""
    if t_ms < HOUR_MS:
        return f"{before}{t_ms / 1000:.2f} s"
    minutes, seconds = divmod(t_ms // 1000, 60)
    return f"{before}{minutes // 60} h {minutes % 60:02} min {seconds:02} s"


def duration(length_ms: int) -> str:
    """Return a duration: 98 ms, 2.1 s, 3 min 12 s, 2 h 05 min."""
    if length_ms < 1000:
        return f"{length_ms} ms"
    if length_ms < MINUTE_MS:
        return f"{length_ms / 1000:.1f} s"
    if length_ms < HOUR_MS:
        return f"{length_ms // MINUTE_MS} min {length_ms % MINUTE_MS // 1000} s"
    return f"{length_ms // HOUR_MS} h {length_ms % HOUR_MS // MINUTE_MS:02} min"


def for_time(from_ms: int, until_ms: int | None) -> str:
    """Return " for 2.1 s", or nothing for an interval that did not end."""
    return "" if until_ms is None else f" for {duration(until_ms - from_ms)}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 partition, 2 partitions."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def was(count: int) -> str:
    """Return the verb that agrees with a number: 1 was, 2 were."""
    return "was" if count == 1 else "were"


def listed(names: Sequence[str], at_most: int = NAMED_AT_MOST, noun: str = "") -> str:
    """Return names as a list in a sentence: a, b and c. Too many are counted, if there is a noun for them, or cut short."""
    if len(names) > at_most:
        return plural(len(names), noun) if noun else f"{', '.join(names[:at_most])} and {len(names) - at_most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def sentence(text: str) -> str:
    """Return the text as a sentence: with a full stop, and a capital unless it begins with a name such as broker-2."""
    first = text.split(" ", 1)[0]
    return f"{text[0].upper() + text[1:] if first.isalpha() else text}."
