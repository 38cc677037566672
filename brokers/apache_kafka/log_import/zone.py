"""The time zone of a log, whose times are written without one: as --zone names it, or as the log itself shows it.

Brokers also print a few times as ms since 1970; their difference from the line's own time is the zone's offset, to the
quarter of an hour. In the hour that clocks repeat when summer time ends, times are taken as those of its first run.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kcsim.brokers.apache_kafka.log_import.evidence import TimedMessage
from kcsim.brokers.apache_kafka.log_lines.messages import ClockRead

ToUtc = Callable[[int], int]
"""Converts a file's own ms, read as if its zone were UTC, to ms since 1970."""

OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
QUARTER_MS = 15 * 60_000
WANTED = "+HH:MM, UTC, or an area and city as in Europe/Paris"


class BadZoneError(ValueError):
    """The text is not a zone. The message says which forms are valid."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no time zone: {WANTED}")


@lru_cache(100_000)
def _minute_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


def local_ms(text: str) -> int:
    """Read 2021-05-04 10:15:32,101 as if it were UTC. Raises: ValueError for a day or time that does not exist."""
    seconds = int(text[17:19])
    if seconds > 59:
        raise ValueError(f"{text!r} is no time")
    return _minute_ms(text[:16]) + seconds * 1000 + int(text[20:])


def zone_named(text: str) -> ToUtc:
    """Read a zone. Raises: BadZoneError."""
    if text.upper() in ("UTC", "Z"):
        return lambda ms: ms
    if (found := OFFSET.fullmatch(text)) is not None and int(found[3]) < 60 and int(found[2]) < 24:
        minutes = int(found[2]) * 60 + int(found[3])
        ahead_ms = (minutes if found[1] == "+" else -minutes) * 60_000
        return lambda ms: ms - ahead_ms
    try:
        zone = ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadZoneError(text) from None

    def to_utc(ms: int) -> int:
        whole, rest = divmod(ms, 1000)
        local = datetime.fromtimestamp(whole, UTC).replace(tzinfo=zone)
        return round(local.timestamp()) * 1000 + rest

    return to_utc


def zones_shown(clocks: Iterable[TimedMessage]) -> dict[str, set[str]]:
    """Return the UTC offsets that the files show, in the form that --zone takes, with the files of each."""
    found: dict[str, set[str]] = {}
    for at in clocks:
        if isinstance(at.message, ClockRead):
            ahead_ms = round((at.t_ms - at.message.utc_ms) / QUARTER_MS) * QUARTER_MS
            found.setdefault(_offset_text(ahead_ms), set()).add(at.place.file)
    return found


def zone_shown(zones: Mapping[str, Collection[str]]) -> tuple[str, str | None]:
    """Return the zone that the files show; UTC with an explanation if they show none or several."""
    if len(zones) > 1:
        offsets = "; ".join(f"{offset} in {', '.join(sorted(files))}" for offset, files in sorted(zones.items()))
        return "UTC", f"the files' clocks are in different zones ({offsets}); taken for UTC: name one with --zone"
    if not zones:
        return "UTC", "no line shows the zone of these times; taken for UTC: name another with --zone"
    return next(iter(zones)), None


def _offset_text(ahead_ms: int) -> str:
    minutes = abs(ahead_ms) // 60_000
    return f"{'-' if ahead_ms < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
