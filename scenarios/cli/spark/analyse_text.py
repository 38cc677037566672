"""Results of analyses as text: tables for people, JSON and CSV for programs."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcsim.scenarios.analysis.analyses.analysis import MS, Analysis, Field
from kcsim.scenarios.views.human import duration

ResultRow = Mapping[str, Any]
SAME_IN_ALL = ("batch", "run")
PLACES = 6


def table_lines(analysis: Analysis, rows: Sequence[ResultRow], with_details: bool = False) -> Iterator[str]:
    """Yield the lines of a table. If batch or run is the same in every row, a line above replaces its column.

    Times are in units that people use: `duration` instead of `duration_ms`. Args: with_details: print all columns.
    """
    same = [name for name in SAME_IN_ALL if len({row[name] for row in rows}) == 1]
    if same:
        yield ", ".join(f"{name} {rows[0][name]}" for name in same)
    left_out = [*same, *(() if with_details else analysis.details)]
    fields = [field for field in analysis.fields if field.name not in left_out]
    header = [field.name.removesuffix("_ms") if field.unit.endswith(MS) else field.name for field in fields]
    yield from aligned(header, [[_value(field, row[field.name]) for field in fields] for row in rows])


def _value(field: Field, value: object) -> object:
    if not isinstance(value, int | float):
        return value
    return Right(duration(value)) if field.unit.endswith(MS) else value


class Right(str):
    """A text that is aligned as numbers are."""

    __slots__ = ()


def aligned(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of aligned columns; numbers are right-aligned."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    is_number = [any(isinstance(c, int | float | Right) and not isinstance(c, bool) for c in column) for column in columns]
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, is_number, strict=True))
        yield "  ".join(padded).rstrip()


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.{PLACES}f}".rstrip("0").rstrip(".")
        case list():
            return ",".join(map(str, value))
        case _:
            return str(value)


def as_json(analysis: Analysis, rows: Sequence[ResultRow], has_more: bool) -> str:
    """Return the rows as JSON objects, and whether there are more rows."""
    return json.dumps({"analysis": analysis.name, "rows": rows, "more": has_more}, indent=2, ensure_ascii=False)


def as_csv(analysis: Analysis, rows: Sequence[ResultRow]) -> str:
    """Return the rows as CSV below a header line. Null is empty; the elements of a list are separated by spaces."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in analysis.fields]
    writer.writerow(names)
    for row in rows:
        writer.writerow([" ".join(map(str, row[n])) if isinstance(row[n], list) else row[n] for n in names])
    return text.getvalue().rstrip("\n")


def description(analysis: Analysis) -> Iterator[str]:
    """Yield what an analysis answers, what exactly it counts, and its columns."""
    yield f"{analysis.name}: {analysis.question}"
    yield ""
    yield from _wrapped(analysis.definition)
    yield ""
    rows = [(field.name, field.type, field.unit, field.meaning) for field in analysis.fields]
    yield from aligned(("column", "type", "unit", "meaning"), rows)


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(" ".join(text.split()), 100)
