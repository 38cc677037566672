"""Parses a point of a ZooKeeper's history as a user writes it: a zxid or a time."""

import re
from datetime import UTC, datetime

from kcsim.vocabulary import Zxid

ZXID = re.compile(r"0x[0-9a-f]{1,16}", re.IGNORECASE)
ACCEPTED_FORMATS = "a zxid (0x1a) or a time (2024-05-01T12:30:00Z; without a zone it is UTC)"


class BadZxidOrTimeError(ValueError):
    """The text is neither a zxid nor a time. The message names the accepted formats."""

    def __init__(self, text: str, wanted: str = ACCEPTED_FORMATS) -> None:
        super().__init__(f"{text!r} is not {wanted}")


def parse_zxid(text: str) -> Zxid:
    """Parse a zxid such as 0x1a. Raises: BadZxidOrTimeError."""
    if not ZXID.fullmatch(text):
        raise BadZxidOrTimeError(text, "a zxid: as 0x1a")
    return Zxid(int(text, 16))


def parse_time(text: str) -> int:
    """Parse a time in ISO 8601 and return it in ms since 1970. Raises: BadZxidOrTimeError."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadZxidOrTimeError(text, "a time: as 2024-05-01T12:30:00Z; without a zone it is UTC") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def time_text(time_ms: int) -> str:
    """Return a time (ms since 1970) in the format of parse_time: 2024-05-01T12:30:00.123Z."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
