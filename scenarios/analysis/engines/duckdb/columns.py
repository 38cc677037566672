"""Columns as SQL expressions of DuckDB, with the methods of PySpark's Column that the analyses call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcsim.scenarios.analysis.engines.duckdb.types import type_of

WHOLE_NUMBER = r"\s*[+-]?[0-9]+\s*"


@dataclass(frozen=True, eq=False)
class SqlColumn:
    """An expression.

    Attributes:
        sql: its text.
        name: the name of the column that is selected with it.
        is_wide: whether it is a whole number of more than 64 bits, which Spark has as a decimal.
    """

    sql: str
    name: str = ""
    is_wide: bool = False

    def alias(self, name: str) -> "SqlColumn":
        return replace(self, name=name)

    def cast(self, spark_type: str) -> "SqlColumn":
        wanted = type_of(spark_type)
        # A wide number is rounded to a double twice, except by way of its digits.
        text = f"CAST({self.sql} AS VARCHAR)" if self.is_wide and wanted == "DOUBLE" else self.sql
        return SqlColumn(f"CAST({text} AS {wanted})", self.name, wanted == "HUGEINT")

    def try_cast(self, spark_type: str) -> "SqlColumn":
        """Return the whole number that a text is, or null. DuckDB alone would round the text of a fraction."""
        wanted, text = type_of(spark_type), f"CAST({self.sql} AS VARCHAR)"
        is_whole = f"regexp_full_match({text}, {quoted(WHOLE_NUMBER)})"
        return SqlColumn(f"CASE WHEN {is_whole} THEN TRY_CAST(trim({text}) AS {wanted}) END", self.name)

    def isNull(self) -> "SqlColumn":
        return SqlColumn(f"({self.sql} IS NULL)")

    def isNotNull(self) -> "SqlColumn":
        return SqlColumn(f"({self.sql} IS NOT NULL)")

    def isin(self, *values: Any) -> "SqlColumn":
        return SqlColumn(f"({self.sql} IN ({', '.join(literal(value).sql for value in values)}))")

    def startswith(self, prefix: str) -> "SqlColumn":
        return SqlColumn(f"starts_with({self.sql}, {quoted(prefix)})")

    def rlike(self, pattern: str) -> "SqlColumn":
        return SqlColumn(f"regexp_matches({self.sql}, {quoted(pattern)})")

    def eqNullSafe(self, other: Any) -> "SqlColumn":
        return self._with("IS NOT DISTINCT FROM", other)

    def asc_nulls_first(self) -> "SqlColumn":
        return SqlColumn(f"{self.sql} ASC NULLS FIRST")

    def desc_nulls_first(self) -> "SqlColumn":
        return SqlColumn(f"{self.sql} DESC NULLS FIRST")

    def __getitem__(self, field: str) -> "SqlColumn":
        return SqlColumn(f"struct_extract({self.sql}, {quoted(field)})", field)

    def __add__(self, other: Any) -> "SqlColumn":
        return self._with("+", other)

    def __sub__(self, other: Any) -> "SqlColumn":
        return self._with("-", other)

    def __rsub__(self, other: Any) -> "SqlColumn":
        return literal(other)._with("-", self)

    def __mul__(self, other: Any) -> "SqlColumn":
        return self._with("*", other)

    def __truediv__(self, other: Any) -> "SqlColumn":
        return self._with("/", other)

    def __mod__(self, other: Any) -> "SqlColumn":
        return self._with("%", other)

    def __neg__(self) -> "SqlColumn":
        return SqlColumn(f"(-{self.sql})", is_wide=self.is_wide)

    def __invert__(self) -> "SqlColumn":
        return SqlColumn(f"(NOT {self.sql})")

    def __and__(self, other: Any) -> "SqlColumn":
        return self._with("AND", other)

    def __or__(self, other: Any) -> "SqlColumn":
        return self._with("OR", other)

    def __eq__(self, other: object) -> "SqlColumn":  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> "SqlColumn":  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: Any) -> "SqlColumn":
        return self._with("<", other)

    def __le__(self, other: Any) -> "SqlColumn":
        return self._with("<=", other)

    def __gt__(self, other: Any) -> "SqlColumn":
        return self._with(">", other)

    def __ge__(self, other: Any) -> "SqlColumn":
        return self._with(">=", other)

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value; write & for and, | for or, ~ for not")

    def _with(self, operator: str, other: Any) -> "SqlColumn":
        right = literal(other)
        return SqlColumn(f"({self.sql} {operator} {right.sql})", is_wide=self.is_wide or right.is_wide)


@dataclass(frozen=True, eq=False)
class Case(SqlColumn):
    """A choice: `when` adds a branch, `otherwise` ends it."""

    branches: str = ""

    def when(self, condition: SqlColumn, value: Any) -> "Case":
        branches = f"{self.branches} WHEN {condition.sql} THEN {literal(value).sql}"
        return Case(f"CASE{branches} END", branches=branches)

    def otherwise(self, value: Any) -> SqlColumn:
        return SqlColumn(f"CASE{self.branches} ELSE {literal(value).sql} END")


@dataclass(frozen=True, eq=False)
class Call(SqlColumn):
    """A function of several rows, of a group or, by `over`, of a window.

    Attributes:
        call: the text of the call.
        result: makes the whole expression of the call.
    """

    call: str = ""
    result: Callable[[str], str] = str

    def over(self, window: "WindowSpec") -> SqlColumn:
        return SqlColumn(self.result(f"{self.call} OVER ({window.sql})"), is_wide=self.is_wide)


def call(text: str, result: Callable[[str], str] = str, is_wide: bool = False) -> Call:
    """Return a function of several rows."""
    return Call(result(text), is_wide=is_wide, call=text, result=result)


def named(column: SqlColumn | str) -> SqlColumn:
    """Return a column that is given by its name, as `column` or `struct.field`; a column is returned as it is."""
    if isinstance(column, SqlColumn):
        return column
    *_, last = parts = column.split(".")
    return SqlColumn(".".join(map(identifier, parts)), last)


def literal(value: Any) -> SqlColumn:
    """Return a constant; a column is returned as it is."""
    match value:
        case SqlColumn():
            return value
        case None:
            return SqlColumn("NULL")
        case bool():
            return SqlColumn("TRUE" if value else "FALSE")
        case int():
            return SqlColumn(f"({value})" if value < 0 else str(value))
        case float():
            return SqlColumn(f"CAST({value!r} AS DOUBLE)")
        case str():
            return SqlColumn(quoted(value))
    raise TypeError(f"{value!r} is no constant")


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def in_order(columns: Sequence[SqlColumn | str]) -> str:
    """Return what follows ORDER BY. Where no order of nulls is given they come first, as in Spark."""
    return ", ".join(_ordered(named(column).sql) for column in columns)


def _ordered(sql: str) -> str:
    return sql if sql.endswith((" NULLS FIRST", " NULLS LAST")) else f"{sql} ASC NULLS FIRST"


@dataclass(frozen=True)
class WindowSpec:
    """A window of rows. Each method returns it with one more part."""

    partition: str = ""
    order: str = ""
    frame: str = ""

    @property
    def sql(self) -> str:
        return " ".join(part for part in (self.partition, self.order, self.frame) if part)

    def partitionBy(self, *columns: SqlColumn | str) -> "WindowSpec":
        return replace(self, partition=f"PARTITION BY {', '.join(named(column).sql for column in columns)}")

    def orderBy(self, *columns: SqlColumn | str) -> "WindowSpec":
        return replace(self, order=f"ORDER BY {in_order(columns)}")

    def rowsBetween(self, start: int, end: int) -> "WindowSpec":
        return replace(self, frame=f"ROWS BETWEEN {_edge(start)} AND {_edge(end)}")

    def rangeBetween(self, start: int, end: int) -> "WindowSpec":
        return replace(self, frame=f"RANGE BETWEEN {_edge(start)} AND {_edge(end)}")


@dataclass(frozen=True)
class Windows(WindowSpec):
    """Where the description of a window begins, as pyspark.sql.Window."""

    unboundedPreceding: int = -(2**63)
    unboundedFollowing: int = 2**63 - 1


def _edge(place: int) -> str:
    match place:
        case Windows.unboundedPreceding:
            return "UNBOUNDED PRECEDING"
        case Windows.unboundedFollowing:
            return "UNBOUNDED FOLLOWING"
        case 0:
            return "CURRENT ROW"
    return f"{-place} PRECEDING" if place < 0 else f"{place} FOLLOWING"
