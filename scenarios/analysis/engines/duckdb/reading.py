"""Reading events and other tables of datasets, and loose traces, into DuckDB.

What counts as an event, and what does not, is as in tables/reading.py, by the same code wherever Spark runs Python.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, EventKind
from kcsim.scenarios.analysis.engines.duckdb import functions as f
from kcsim.scenarios.analysis.engines.duckdb.columns import SqlColumn, identifier, quoted
from kcsim.scenarios.analysis.engines.duckdb.frame import Queries, SqlFrame
from kcsim.scenarios.analysis.tables.batch_upgrade import upgrade_batches
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.dataset_files import REQUIRED, inspect_files
from kcsim.scenarios.analysis.tables.delta_table import parquet_files
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, events_arrow_schema
from kcsim.scenarios.analysis.tables.location import Location, RemotePath, remote_table
from kcsim.scenarios.analysis.tables.portion import TracePortion
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.analysis.tables.trace_batches import events_batches, portions_of, rejects_batches
from kcsim.scenarios.analysis.tables.trace_files import Trace, find, refuse_shared_batches, splits_of


def read_events(queries: Queries, paths: Sequence[Location]) -> tuple[SqlFrame, SqlFrame]:
    """Return the tables of events and of rejects. Of a reject only batch and run are kept. Raises: as tables/reading.py."""
    datasets, traces = find(paths)
    refuse_shared_batches(datasets, traces)
    parts = [_read_dataset(queries, dataset) for dataset in datasets]
    if traces:
        parts.append(_read_traces(queries, traces))
    (events, rejects), *others = parts
    for more_events, more_rejects in others:
        events, rejects = events.unionByName(more_events), rejects.unionByName(more_rejects)
    return events, rejects


def read_table(queries: Queries, folder: Location, schema: Any) -> SqlFrame:
    """Return a table of a dataset. `schema`: its pyarrow.Schema, with `batch`."""
    return _read_files(queries, parquet_files(folder), schema)


def stored(queries: Queries, batches: Iterable[Any], schema: Any) -> SqlFrame:
    """Return record batches, read once, as a table of DuckDB. `schema`: their pyarrow.Schema."""
    import pyarrow as pa

    name = queries.next_name("t")
    queries.connection.register("given", pa.RecordBatchReader.from_batches(schema, batches))
    try:
        queries.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given")
    finally:
        queries.connection.unregister("given")
    return queries.table(name)


def _read_files(queries: Queries, files: Sequence[Location], schema: Any) -> SqlFrame:
    """Return the rows of Parquet files. Columns that the files lack are null."""
    none = stored(queries, [], schema)
    if not files:
        return none
    local = [file for file in files if isinstance(file, Path)]
    remote = [file for file in files if isinstance(file, RemotePath)]
    parts = [none.source]
    if local:
        listed = ", ".join(quoted(str(file)) for file in local)
        hive = f"hive_partitioning = true, hive_types = {{{BATCH}: VARCHAR}}"
        parts.append(f"read_parquet([{listed}], {hive}, union_by_name = true)")
    if remote:
        parts.append(queries.next_name("d"))
        queries.connection.register(parts[-1], remote_table(remote, schema, BATCH))
    both = " UNION ALL BY NAME ".join(f"FROM {part}" for part in parts)
    name = queries.next_name("v")
    columns = ", ".join(map(identifier, schema.names))
    queries.connection.execute(f"CREATE TEMP VIEW {name} AS SELECT {columns} FROM ({both})")
    return queries.table(name)


def _read_dataset(queries: Queries, dataset: Dataset) -> tuple[SqlFrame, SqlFrame]:
    files, schema = inspect_files(dataset), events_arrow_schema()
    current = [file for file in files.good if file not in set(files.older)]
    rows = _read_files(queries, current, schema)
    if files.older:
        older = queries.connection.sql(_read_files(queries, files.older, schema).sql).to_arrow_table()
        rows = rows.unionByName(stored(queries, upgrade_batches(older.to_batches()), older.schema))
    is_event = f.coalesce(_is_event(), f.lit(False))
    events, rejects = rows.where(is_event), rows.where(~is_event)
    if files.version > EVENT_SCHEMA_VERSION:
        newer = rows.where(f.col("schema_version") > EVENT_SCHEMA_VERSION).select(BATCH, RUN).distinct()
        events, rejects = (part.join(newer, [BATCH, RUN], "left_anti") for part in (events, rejects))
        rejects = rejects.select(BATCH, RUN).unionByName(rows.join(newer, [BATCH, RUN]).select(BATCH, RUN))
    unread = _rejected(queries, list(rejects_batches(TracePortion(None, files.rejects))))
    return events, rejects.select(BATCH, RUN).unionByName(unread)


def _is_event() -> SqlColumn:
    condition = (f.col("seq") >= 0) & f.col("kind").isin(*map(str, EventKind))
    for name in REQUIRED:
        condition = condition & f.col(name).isNotNull()
    return condition


def _read_traces(queries: Queries, traces: Sequence[Trace]) -> tuple[SqlFrame, SqlFrame]:
    rejects: list[Any] = []

    def batches() -> Iterator[Any]:
        for split in (split for trace in traces for split in splits_of(trace)):
            for portion in portions_of(split):
                rejects.extend(rejects_batches(portion))
                yield from events_batches(split, portion)

    events = stored(queries, batches(), events_arrow_schema())
    return events, _rejected(queries, rejects)


def _rejected(queries: Queries, batches: Iterable[Any]) -> SqlFrame:
    return stored(queries, batches, rejects_arrow_schema()).select(BATCH, RUN)
