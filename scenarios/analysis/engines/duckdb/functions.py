"""The functions of columns, as in pyspark.sql.functions: those that the analyses call, with Spark's results.

Where a function is given a text, this is the name of a column. The nulls are Spark's, too, and the order of a list is that
of the list it is made from.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

from kcsim.scenarios.analysis.engines.duckdb.columns import Call, Case, SqlColumn, call, identifier, literal, named, quoted
from kcsim.scenarios.analysis.engines.duckdb.types import json_structure

Given = SqlColumn | str


def col(name: str) -> SqlColumn:
    return named(name)


def lit(value: Any) -> SqlColumn:
    return literal(value)


def _function(name: str, *columns: Given) -> SqlColumn:
    return SqlColumn(f"{name}({', '.join(named(column).sql for column in columns)})")


# --- choices ---------------------------------------------------------------------------------------------------------------


def when(condition: SqlColumn, value: Any) -> Case:
    return Case("").when(condition, value)


def coalesce(*columns: Given) -> SqlColumn:
    return _function("coalesce", *columns)


def nullif(column: Given, other: Given) -> SqlColumn:
    return _function("nullif", column, other)


def greatest(*columns: Given) -> SqlColumn:
    return _function("greatest", *columns)


def least(*columns: Given) -> SqlColumn:
    return _function("least", *columns)


# --- numbers and texts -----------------------------------------------------------------------------------------------------


def floor(column: Given) -> SqlColumn:
    return _function("floor", column).cast("bigint")


def sqrt(column: Given) -> SqlColumn:
    return _function("sqrt", column)


def log10(column: Given) -> SqlColumn:
    return _function("log10", column)


def round(column: Given, places: int) -> SqlColumn:
    """Round the shortest decimal text of a double, halves away from zero, as Spark does."""
    exact = f"CAST(CAST({named(column).sql} AS VARCHAR) AS DECIMAL(38, 18))"
    return SqlColumn(f"CAST(CAST(round({exact}, {places}) AS VARCHAR) AS DOUBLE)")


def substring_index(column: Given, delimiter: str, count: int) -> SqlColumn:
    """Return what is before the first delimiter (count 1), or after the last one (-1)."""
    assert count in (1, -1)
    return SqlColumn(f"split_part({named(column).sql}, {quoted(delimiter)}, {count})")


def regexp_extract(column: Given, pattern: str, group: int) -> SqlColumn:
    return SqlColumn(f"regexp_extract({named(column).sql}, {quoted(pattern)}, {group})")


def get_json_object(column: Given, path: str) -> SqlColumn:
    """Return what is at a path, `$.name.name`; `$['name']` is for names with a dot. Null for what is no JSON."""
    text = named(column).sql
    place = path.replace("']['", '"."').replace("['", '."').replace("']", '"')
    return SqlColumn(f"CASE WHEN json_valid({text}) THEN json_extract_string({text}, {quoted(place)}) END")


def from_json(column: Given, schema: str) -> SqlColumn:
    """Return a struct of the fields that are in the text and of their types; null for what is no JSON."""
    text = named(column).sql
    return SqlColumn(f"CASE WHEN json_valid({text}) THEN json_transform({text}, {quoted(json_structure(schema))}) END")


# --- structs, lists and maps -----------------------------------------------------------------------------------------------


def struct(*columns: Given) -> SqlColumn:
    fields = map(named, columns)
    return SqlColumn(f"struct_pack({', '.join(f'{identifier(field.name)} := {field.sql}' for field in fields)})")


def array(*columns: Given) -> SqlColumn:
    return _function("list_value", *columns)


def size(column: Given) -> SqlColumn:
    return _function("len", column)


def concat(*columns: Given) -> SqlColumn:
    return SqlColumn(f"({' || '.join(named(column).sql for column in columns)})")


def sequence(start: Given, stop: Given, step: Given | None = None) -> SqlColumn:
    return _function("generate_series", start, stop, *(() if step is None else (step,)))


def explode(column: Given) -> SqlColumn:
    return _function("unnest", column)


def transform(column: Given, made: Callable[[SqlColumn], SqlColumn]) -> SqlColumn:
    return SqlColumn(f"list_transform({named(column).sql}, {_lambda(made)})")


def filter(column: Given, holds: Callable[[SqlColumn], SqlColumn]) -> SqlColumn:
    return SqlColumn(f"list_filter({named(column).sql}, {_lambda(holds)})")


def _lambda(function: Callable[[SqlColumn], SqlColumn]) -> str:
    """Return a function of elements. Its parameter keeps its name, with a mark by which it is no column's."""
    (parameter,) = signature(function).parameters
    element = identifier(f"each {parameter}")
    return f"lambda {element}: {function(SqlColumn(element)).sql}"


def array_contains(column: Given, value: SqlColumn) -> SqlColumn:
    return _function("list_contains", column, value)


def array_except(column: Given, other: Given) -> SqlColumn:
    return _of_other(column, other, "NOT ")


def array_intersect(column: Given, other: Given) -> SqlColumn:
    return _of_other(column, other, "")


def _of_other(column: Given, other: Given, negation: str) -> SqlColumn:
    """Return the different elements of a list that are (or are not) in the other list, in their order."""
    one, two = named(column).sql, named(other).sql
    chosen = f"{negation}list_contains({two}, x) AND list_position({one}, x) = place"
    return SqlColumn(f"CASE WHEN {two} IS NOT NULL THEN list_filter({one}, lambda x, place: {chosen}) END")


def array_distinct(column: Given) -> SqlColumn:
    one = named(column).sql
    return SqlColumn(f"list_filter({one}, lambda x, place: list_position({one}, x) = place)")


def array_compact(column: Given) -> SqlColumn:
    return SqlColumn(f"list_filter({named(column).sql}, lambda x: x IS NOT NULL)")


def array_sort(column: Given) -> SqlColumn:
    return _function("list_sort", column)


def try_element_at(column: Given, key: SqlColumn) -> SqlColumn:
    """Return the element of a list, counted from 1, or the value of a map; null if there is none."""
    return SqlColumn(f"{named(column).sql}[{key.sql}]")


def map_entries(column: Given) -> SqlColumn:
    return _function("map_entries", column)


def map_from_entries(column: Given) -> SqlColumn:
    return _function("map_from_entries", column)


# --- several rows ----------------------------------------------------------------------------------------------------------


def count(column: Given) -> Call:
    return call("count(*)" if isinstance(column, str) and column == "*" else f"count({named(column).sql})")


def count_distinct(*columns: Given) -> Call:
    """Count the different values; rows in which one of several columns is null do not count."""
    parts = [named(column).sql for column in columns]
    if len(parts) == 1:
        return call(f"count(DISTINCT {parts[0]})")
    are_there = " AND ".join(f"{part} IS NOT NULL" for part in parts)
    return call(f"count(DISTINCT CASE WHEN {are_there} THEN row({', '.join(parts)}) END)")


def sum(column: Given) -> Call:
    """Add up whole numbers."""
    wide = named(column).is_wide
    return call(f"sum({named(column).sql})", str if wide else _as_bigint, is_wide=wide)


def _as_bigint(text: str) -> str:
    return f"CAST({text} AS BIGINT)"


def min(column: Given) -> Call:
    return call(f"min({named(column).sql})")


def max(column: Given) -> Call:
    return call(f"max({named(column).sql})")


def bool_or(column: Given) -> Call:
    return call(f"bool_or({named(column).sql})")


def min_by(column: Given, order: Given) -> Call:
    """Return the value in the row that is least by an order. A struct to order by has no null field."""
    return call(f"arg_min_null({named(column).sql}, {named(order).sql})")


def max_by(column: Given, order: Given) -> Call:
    """Return the value in the row that is greatest by an order. A struct to order by has no null field."""
    return call(f"arg_max_null({named(column).sql}, {named(order).sql})")


def collect_list(column: Given) -> Call:
    one = named(column).sql
    return call(f"list({one}) FILTER ({one} IS NOT NULL)", lambda text: f"coalesce({text}, [])")


def collect_set(column: Given) -> Call:
    one = named(column).sql
    return call(f"list(DISTINCT {one}) FILTER ({one} IS NOT NULL)", lambda text: f"coalesce({text}, [])")


def percentile(column: Given, share: float) -> SqlColumn:
    """Interpolate between neighbours, rounded as Spark rounds."""
    one = named(column).sql
    ordered = f"list({one} ORDER BY {one}) FILTER ({one} IS NOT NULL)"
    place = f"((len({ordered}) - 1) * {literal(share).sql})"
    below, above = (f"CAST({ordered}[CAST({edge}({place}) AS BIGINT) + 1] AS DOUBLE)" for edge in ("floor", "ceil"))
    return SqlColumn(f"({below} + ({above} - {below}) * ({place} - floor({place})))")


def first(column: Given, ignorenulls: bool = False) -> Call:
    return _value("first_value", column, ignorenulls)


def last(column: Given, ignorenulls: bool = False) -> Call:
    return _value("last_value", column, ignorenulls)


def _value(name: str, column: Given, ignorenulls: bool) -> Call:
    return call(f"{name}({named(column).sql}{' IGNORE NULLS' if ignorenulls else ''})")


def lag(column: Given) -> Call:
    return call(f"lag({named(column).sql})")


def lead(column: Given) -> Call:
    return call(f"lead({named(column).sql})")


def row_number() -> Call:
    return call("row_number()")


def desc(column: Given) -> SqlColumn:
    return SqlColumn(f"{named(column).sql} DESC NULLS LAST")
