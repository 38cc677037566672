"""Tables of plain text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table. A cell that consists of digits is a number, and is right-aligned."""
    cells = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for row in chain([list(header)], cells):
        padded = (c.rjust(width) if c.isdigit() else c.ljust(width) for c, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
