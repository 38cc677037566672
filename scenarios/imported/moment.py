"""A moment in a ZooKeeper's history, as a person names it: a transaction, or a time."""

import re
from datetime import UTC, datetime

from kcsim.zk.vocabulary import Zxid

ZXID = re.compile(r"0x[0-9a-f]{1,16}", re.IGNORECASE)
WHAT_IT_MAY_BE = "a zxid (0x1a) or a time (2024-05-01T12:30:00Z; without a zone it is UTC)"


class BadMomentError(ValueError):
    """Neither. Says what it may be."""

    def __init__(self, text: str, wanted: str = WHAT_IT_MAY_BE) -> None:
        super().__init__(f"{text!r} is not {wanted}")


def parse_zxid(text: str) -> Zxid:
    """Read 0x1a. Raises: BadMomentError."""
    if not ZXID.fullmatch(text):
        raise BadMomentError(text, "a zxid: as 0x1a")
    return Zxid(int(text, 16))


def parse_time(text: str) -> int:
    """Read a time of ISO 8601, as ms since 1970. Raises: BadMomentError."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadMomentError(text, "a time: as 2024-05-01T12:30:00Z; without a zone it is UTC") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def time_text(time_ms: int) -> str:
    """As parse_time reads it: 2024-05-01T12:30:00.123Z."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
