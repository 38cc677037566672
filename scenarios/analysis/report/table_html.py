"""A table of an analysis as HTML: it shows rounded figures, and copies exact ones."""

from collections.abc import Sequence
from typing import Any

from kcsim.scenarios.analysis.report.contents import Column, Table
from kcsim.scenarios.analysis.report.drawing import tag, text
from kcsim.scenarios.analysis.report.human import count, duration, percent

MS, SHARE = "ms", "0 to 1"
LONG_TEXT = 24
MOST_TEXT = 400
"""The greatest length of a cell's text. Longer text is cut, also when the table is copied."""
MOST_LISTED = 12


def table_html(table: Table, dataset: str) -> str:
    """Return the table in a collapsed element, with the meanings of its columns, and with the command for all its rows."""
    name = f"t-{table.name}"
    shown = f"{len(table.rows)} of {table.total:,} rows" if table.total > len(table.rows) else _rows(table.total)
    summary = tag("summary", f"{text(table.question)} {tag('span', text(f'— {shown}'), class_='soft')}")
    if not table.rows:
        return tag("details", summary + _definition(table) + tag("p", "There were none.", class_="nothing"))
    rest = ""
    if table.total > len(table.rows):
        command = tag("code", text(f"kcsim spark analyse {table.name} {dataset}"))
        rest = tag("p", f"These are the first {len(table.rows)} of {table.total:,}; all of them: {command}", class_="soft")
    heads = "".join(map(_head, table.columns))
    body = "".join(tag("tr", "".join(map(_cell, table.columns, row))) for row in table.rows)
    grid = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", body), id=name, data_name=table.name)
    tools = tag("div", tag("span", "", role="status", class_="soft"), class_="tools", data_table=name)
    scroll = tag("div", grid, class_="scroll", tabindex=0, role="region", aria_label=table.question)
    return tag("details", summary + _definition(table) + tools + scroll + rest + _meanings(table.columns))


def _rows(total: int) -> str:
    return "1 row" if total == 1 else f"{total:,} rows" if total else "none"


def _definition(table: Table) -> str:
    return tag("p", text(" ".join(table.definition.split())), class_="definition")


def _meanings(columns: Sequence[Column]) -> str:
    pairs = "".join(tag("dt", text(column.name)) + tag("dd", text(column.meaning)) for column in columns)
    return tag("details", tag("summary", "What the columns mean") + tag("dl", pairs, class_="meanings"))


def _head(column: Column) -> str:
    unit = {MS: "time", SHARE: "share"}.get(column.unit, column.unit)
    return tag(
        "th",
        text(column.name) + (tag("small", text(unit)) if unit else ""),
        scope="col",
        title=column.meaning,
        data_v=column.name,
    )


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return tag("td", "–", data_v="")
    if isinstance(value, bool):
        return tag("td", "yes" if value else "no", data_v=str(value).lower())
    if isinstance(value, int | float):
        return tag("td", text(_number(column, value)), class_="n", data_v=repr(value))
    shown = _listed(value) if isinstance(value, list | tuple) else str(value)
    kept = shown if len(shown) <= MOST_TEXT else shown[: MOST_TEXT - 1] + "…"
    return tag("td", text(kept), class_="long" if len(kept) > LONG_TEXT else None)


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
