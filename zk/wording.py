"""How many things are named in one sentence of the event log."""

from collections.abc import Collection
from itertools import islice

NAMED_AT_MOST = 5


def named(items: Collection[object], at_most: int = NAMED_AT_MOST) -> str:
    """The first few of many: orders-0, orders-1 and 98 more. Empty for none."""
    first = ", ".join(map(str, islice(items, at_most)))
    more = len(items) - at_most
    return f"{first} and {more} more" if more > 0 else first
