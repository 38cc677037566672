"""The engine DuckDB: in this process, without a JVM."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import duckdb

from kcsim.scenarios.analysis.engines.duckdb import functions, reading
from kcsim.scenarios.analysis.engines.duckdb.columns import Windows, quoted
from kcsim.scenarios.analysis.engines.duckdb.frame import Queries, ResultRow, SqlFrame
from kcsim.scenarios.analysis.engines.engine import FoldBatches
from kcsim.scenarios.analysis.tables.event_tables import EventTables
from kcsim.scenarios.analysis.tables.location import Location, RemotePath, parquet_writer
from kcsim.scenarios.analysis.tables.memory_limit import memory_limit

T = TypeVar("T")

SHARE_OF_MEMORY = 0.5
"""How much of the memory DuckDB may use; with more to do it writes to a temporary folder."""


class DuckDbEngine:
    """See engine.Engine. Its tables are SqlFrame, its columns SqlColumn."""

    functions = functions
    window = Windows()

    def __init__(self, queries: Queries) -> None:
        self.queries = queries

    def read_events(self, paths: Sequence[Location]) -> EventTables:
        events, rejects = reading.read_events(self.queries, paths)
        return EventTables(events, rejects)  # type: ignore[arg-type]

    def read_table(self, folder: Location, schema: Any) -> Any:
        return reading.read_table(self.queries, folder, schema)

    def detached(self, table: Any, together: Sequence[str] = (), in_order: Sequence[str] = ()) -> Any:
        """See engine.Engine. DuckDB groups and sorts the rows again; no order of them would help it."""
        name = self.queries.next_name("t")
        self.queries.connection.execute(f"CREATE TEMP TABLE {name} AS {table.sql}")
        return self.queries.table(name)

    def small(self, table: Any) -> Any:
        """Return the table: DuckDB knows how large it is."""
        return table

    def fold_runs(self, rows: Any, fold: FoldBatches, schema: Any) -> Any:
        ordered = rows.orderBy("batch", "run", "seq")
        given = self.queries.connection.sql(ordered.sql).to_arrow_table().to_batches()
        return reading.stored(self.queries, fold(iter(given)), schema)

    def first_rows(self, table: Any, in_order: Callable[[Any], Any], most: int) -> tuple[list[ResultRow], int]:
        computed: SqlFrame = self.detached(table)
        return in_order(computed).limit(most).collect(), computed.count()

    def results(self, computations: Sequence[Callable[[], T]]) -> Iterator[T]:
        """See engine.Engine. One after the other: each uses all cores."""
        return (compute() for compute in computations)

    def write_counted(self, table: Any, folder: Location) -> int:
        folder.mkdir()
        if isinstance(folder, RemotePath):
            return self._write_remote(table, folder / "part-00000.parquet")
        file = quoted(str(folder / "part-00000.parquet"))
        query = f"COPY ({table.sql}) TO {file} (FORMAT parquet, COMPRESSION zstd)"
        return int(self.queries.connection.execute(query).fetchall()[0][0])

    def _write_remote(self, table: Any, file: RemotePath) -> int:
        reader = self.queries.connection.sql(table.sql).to_arrow_reader()
        rows = 0
        with parquet_writer(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += len(batch)
        return rows


@contextmanager
def duckdb_engine() -> Iterator[DuckDbEngine]:
    """Open an engine. What it computes is gone at the end."""
    with tempfile.TemporaryDirectory(prefix="kcsim-duckdb-") as folder:
        settings: dict[str, Any] = {
            "temp_directory": folder,
            "memory_limit": f"{int(memory_limit() * SHARE_OF_MEMORY) // 2**20}MiB",
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            yield DuckDbEngine(Queries(connection))
