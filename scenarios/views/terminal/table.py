"""Tables of plain text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

NUMBER = re.compile(r"[0-9]+|[0-9.,]+ [kMGT]?B")
"""A count, or bytes as `size` words them."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table. Numbers are right-aligned."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in chain([list(header)], cells):
        padded = (c.rjust(width) if NUMBER.fullmatch(c) else c.ljust(width) for c, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
