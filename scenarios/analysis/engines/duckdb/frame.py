"""Tables that are not computed yet, as queries of DuckDB, with the methods of PySpark's DataFrame that the analyses call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import duckdb

from kcsim.scenarios.analysis.engines.duckdb.columns import SqlColumn, identifier, in_order, literal, named

NUMBERS = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE"))


class ResultRow(tuple[Any, ...]):
    """A row, as PySpark's: values by place, or by name."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Sequence[Any], names: tuple[str, ...]) -> Self:
        row = cls(values)
        row.names = names
        return row

    def asDict(self) -> dict[str, Any]:
        return dict(zip(self.names, self, strict=True))

    def __getattr__(self, name: str) -> Any:
        try:
            return self[self.names.index(name)]
        except ValueError:
            raise AttributeError(name) from None


class Queries:
    """A connection, and the names of the queries on it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._numbers = count(1)

    def next_name(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def table(self, name: str) -> "SqlFrame":
        """Return a table, or view, of the connection."""
        columns = tuple(row[0] for row in self.connection.execute(f"DESCRIBE {name}").fetchall())
        return SqlFrame(self, name, columns, ())


@dataclass(frozen=True, eq=False)
class _Query:
    """A query that others read from by its name."""

    name: str
    sql: str
    reads: tuple["_Query", ...]


class SqlFrame:
    """A table.

    Args:
        queries: where it is computed.
        source: what follows FROM in a query that reads from it.
        columns: their names, in order.
        reads: the queries that `source` names.
        alias: the name by which expressions call it in a join.
    """

    def __init__(
        self, queries: Queries, source: str, columns: Sequence[str], reads: tuple[_Query, ...], alias: str | None = None
    ) -> None:
        self.queries = queries
        self.columns = list(columns)
        self.source, self._reads, self._alias = source, reads, alias

    # --- as a query

    @property
    def sql(self) -> str:
        """The whole query. What several of its parts read from is in it once."""
        ordered: dict[_Query, None] = {}

        def add(query: _Query) -> None:
            if query not in ordered:
                for read in query.reads:
                    add(read)
                ordered[query] = None

        for read in self._reads:
            add(read)
        parts = ",\n".join(f"{query.name} AS ({query.sql})" for query in ordered)
        return (f"WITH {parts}\n" if parts else "") + f"SELECT {_listed(self.columns)} FROM {self.source}"

    def _query(self, selected: str, columns: Sequence[str], rest: str = "") -> "SqlFrame":
        query = _Query(self.queries.next_name("q"), f"SELECT {selected} FROM {self.source}{rest}", self._reads)
        return SqlFrame(self.queries, query.name, columns, (query,))

    def _same_columns(self, rest: str) -> "SqlFrame":
        return self._query(_listed(self.columns), self.columns, rest)

    # --- rows

    def where(self, condition: SqlColumn | str) -> "SqlFrame":
        """Return the rows that satisfy a condition; a text is SQL."""
        return self._same_columns(f" WHERE {condition if isinstance(condition, str) else condition.sql}")

    def distinct(self) -> "SqlFrame":
        return self._query(f"DISTINCT {_listed(self.columns)}", self.columns)

    def orderBy(self, *columns: SqlColumn | str) -> "SqlFrame":
        return self._same_columns(f" ORDER BY {in_order(columns)}")

    def limit(self, most: int) -> "SqlFrame":
        return self._same_columns(f" LIMIT {most}")

    def unionByName(self, other: "SqlFrame", allowMissingColumns: bool = False) -> "SqlFrame":
        columns = list(self.columns)
        if allowMissingColumns:
            columns += [name for name in other.columns if name not in columns]
        parts = (f"SELECT {_listed_or_null(columns, of.columns)} FROM {of.source}" for of in (self, other))
        query = _Query(self.queries.next_name("q"), " UNION ALL ".join(parts), self._reads + other._reads)
        return SqlFrame(self.queries, query.name, columns, (query,))

    # --- columns

    def select(self, *columns: SqlColumn | str) -> "SqlFrame":
        chosen = [part for column in columns for part in self._expanded(column)]
        return self._query(_selected(chosen), _names(chosen))

    def _expanded(self, column: SqlColumn | str) -> Iterator[SqlColumn]:
        if isinstance(column, str) and column.endswith("*"):
            of = column.removesuffix("*")
            names = self.columns if not of else [n.removeprefix(of) for n in self.columns if n.startswith(of)]
            yield from (named(of + name) for name in names)
        else:
            yield named(column)

    def withColumn(self, name: str, column: SqlColumn) -> "SqlFrame":
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, SqlColumn]) -> "SqlFrame":
        kept = [columns.get(name, named(name)).alias(name) for name in self.columns]
        added = [column.alias(name) for name, column in columns.items() if name not in self.columns]
        return self.select(*kept, *added)

    def withColumnRenamed(self, name: str, new: str) -> "SqlFrame":
        return self.withColumnsRenamed({name: new})

    def withColumnsRenamed(self, names: Mapping[str, str]) -> "SqlFrame":
        return self.select(*(named(name).alias(names.get(name, name)) for name in self.columns))

    def drop(self, *names: str) -> "SqlFrame":
        return self.select(*(name for name in self.columns if name not in names))

    @property
    def na(self) -> "_Nulls":
        return _Nulls(self)

    def types(self) -> dict[str, str]:
        """Return DuckDB's types of the columns."""
        return {row[0]: row[1] for row in self.queries.connection.execute(f"DESCRIBE {self.sql}").fetchall()}

    # --- groups and joins

    def groupBy(self, *keys: SqlColumn | str) -> "_Grouped":
        return _Grouped(self, [named(key) for key in keys])

    def agg(self, *columns: SqlColumn) -> "SqlFrame":
        return self.groupBy().agg(*columns)

    def alias(self, name: str) -> "SqlFrame":
        return SqlFrame(self.queries, f"{self.source} AS {identifier(name)}", self.columns, self._reads, name)

    def join(self, other: "SqlFrame", on: Sequence[Any], how: str = "inner") -> "SqlFrame":
        """Join by columns of the same names, or by conditions on two tables that have an alias."""
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN", "left_anti": "ANTI JOIN"}[how]
        if not isinstance(on[0], str):
            condition = " AND ".join(part.sql for part in on)
            source = f"{self.source} {kind} {other.source} ON {condition}"
            columns = [f"{of._alias}.{name}" for of in (self, other) for name in of.columns]
            return SqlFrame(self.queries, source, columns, self._reads + other._reads)
        names = [identifier(name) for name in on]
        kept = [f"l.{identifier(name)}" for name in self.columns if name not in on]
        added = [name for name in other.columns if name not in on] if how != "left_anti" else []
        selected = ", ".join([*names, *kept, *(f"r.{identifier(name)}" for name in added)])
        text = f"SELECT {selected} FROM {self.source} AS l {kind} {other.source} AS r USING ({', '.join(names)})"
        query = _Query(self.queries.next_name("q"), text, self._reads + other._reads)
        columns = [*on, *(name for name in self.columns if name not in on), *added]
        return SqlFrame(self.queries, query.name, columns, (query,))

    def transform(self, function: Callable[["SqlFrame"], "SqlFrame"]) -> "SqlFrame":
        return function(self)

    # --- results

    def collect(self) -> list[ResultRow]:
        names = tuple(self.columns)
        return [ResultRow.of(row, names) for row in self.queries.connection.execute(self.sql).fetchall()]

    def first(self) -> ResultRow | None:
        return next(iter(self.limit(1).collect()), None)

    def count(self) -> int:
        rows = self.queries.connection.execute(f"SELECT count(*) FROM ({self.sql})").fetchall()
        return int(rows[0][0])

    def isEmpty(self) -> bool:
        return self.first() is None


class _Grouped:
    def __init__(self, table: SqlFrame, keys: Sequence[SqlColumn]) -> None:
        self._table, self._keys = table, keys

    def agg(self, *columns: SqlColumn) -> SqlFrame:
        chosen = [*self._keys, *columns]
        keys = ", ".join(key.sql for key in self._keys)
        rest = f" GROUP BY {keys}" if keys else ""
        return self._table._query(_selected(chosen), _names(chosen), rest)

    def count(self) -> SqlFrame:
        return self.agg(SqlColumn("count(*)", "count"))


class _Nulls:
    def __init__(self, table: SqlFrame) -> None:
        self._table = table

    def fill(self, value: bool | int, columns: Sequence[str] | None = None) -> SqlFrame:
        """Replace null by a value in the columns of its type, or in those of them that are named."""
        fitting = {"BOOLEAN"} if isinstance(value, bool) else NUMBERS
        types = self._table.types()
        return self._table.withColumns(
            {
                name: SqlColumn(f"coalesce({identifier(name)}, CAST({literal(value).sql} AS {types[name]}))")
                for name in (self._table.columns if columns is None else columns)
                if types[name] in fitting
            }
        )


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))


def _listed_or_null(columns: Sequence[str], there: Sequence[str]) -> str:
    return ", ".join(identifier(name) if name in there else f"NULL AS {identifier(name)}" for name in columns)


def _names(columns: Sequence[SqlColumn]) -> list[str]:
    """Return the names of columns; an expression without a name gets that of its place."""
    return [column.name or f"column {place}" for place, column in enumerate(columns)]


def _selected(columns: Sequence[SqlColumn]) -> str:
    names = map(identifier, _names(columns))
    return ", ".join(f"{column.sql} AS {name}" for column, name in zip(columns, names, strict=True))
