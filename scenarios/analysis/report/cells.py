"""The cells of a table: they show rounded figures, and carry exact ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kcsim.scenarios.analysis.report.contents import Column
from kcsim.scenarios.views.human import count, duration, percent

MS, SHARE = "ms", "0 to 1"
LONG_TEXT = 24
MOST_TEXT = 400
"""The greatest length of a cell's text. Longer text is cut, also when the table is copied."""
MOST_LISTED = 12


class TableCell(NamedTuple):
    """The text of a cell, the value that is copied if it is not the text, and the cell's class in report.css."""

    text: str
    exact: str | None = None
    style: str | None = None


def unit(column: Column) -> str:
    """Return the unit that the head of a column shows."""
    return {MS: "time", SHARE: "share"}.get(column.unit, column.unit)


def cell_of(column: Column, value: Any) -> TableCell:
    """Return the cell of a value."""
    if value is None:
        return TableCell("–", exact="")
    if isinstance(value, bool):
        return TableCell("yes" if value else "no", exact=str(value).lower())
    if isinstance(value, int | float):
        return TableCell(_number(column, value), exact=repr(value), style="n")
    shown = _listed(value) if isinstance(value, list | tuple) else str(value)
    kept = shown if len(shown) <= MOST_TEXT else shown[: MOST_TEXT - 1] + "…"
    return TableCell(kept, style="long" if len(kept) > LONG_TEXT else None)


def _listed(values: Sequence[Any]) -> str:
    more = f", … {len(values) - MOST_LISTED} more" if len(values) > MOST_LISTED else ""
    return "[" + ", ".join(map(str, values[:MOST_LISTED])) + more + "]"


def _number(column: Column, value: float) -> str:
    if column.unit == MS or column.unit.endswith("× ms"):
        return duration(value)
    if column.unit == SHARE:
        return percent(value)
    if column.name in NAMES:
        return str(value)
    return count(value)


NAMES = frozenset(
    {
        "partition",
        "broker",
        "leader",
        "leader_before",
        "leader_after",
        "controller_epoch",
        "leader_epoch",
        "seq",
        "fault_seq",
    }
)
"""Columns whose numbers are names: they have no thousands separators."""
