"""Reading events from loose traces and datasets, many at once. What is no event becomes a reject, with the reason.

Spark itself reads a dataset: its files are laid out already, and stay so (dataset_reading.py). A trace, JSONL or Parquet, is
read in Python (trace_lines.py, trace_rows.py) with the decoder that the rest of the project uses, so that the same records
count as events everywhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.tables.dataset_reading import read_dataset
from kcsim.scenarios.analysis.tables.delta_table import is_delta, parquet_files
from kcsim.scenarios.analysis.tables.event_tables import EventTables
from kcsim.scenarios.analysis.tables.events_table import events_schema, spark_schema
from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
from kcsim.scenarios.analysis.tables.location import Location, RemotePath, location
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.analysis.tables.task_each import task_per_item
from kcsim.scenarios.analysis.tables.trace_batches import events_batches, portions_of, rejects_batches
from kcsim.scenarios.analysis.tables.trace_files import (
    SPLIT_BYTES,
    Split,
    Trace,
    find,
    group_splits,
    refuse_shared_batches,
    splits_of,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

TASKS_PER_CORE = 3
TASK_BYTES = 2**20
"""Less than this is not worth a task of its own."""


def read_events(
    spark: SparkSession, paths: Iterable[Location | str] | Location | str, batch: str | None = None
) -> EventTables:
    """Read events.

    Args:
        paths: datasets (folders with a table of events); traces (.parquet; any other file is JSONL, compressed if it ends in
            .gz or .zst); folders with traces; shell patterns. On a cluster every machine sees
            them under these names; URLs are those of location.py.
        batch: of the loose traces; if None, the day (UTC) of a trace's last modification.

    Returns:
        Rows in no certain order, except for a single dataset, which is read in the order of its files. Each of the two
        tables is read separately: a caller that uses both reads everything twice.

    Raises: NoTraceError for a path where nothing is; SameBatchError; OSError.
    """
    datasets, traces = find([paths] if isinstance(paths, (Path, RemotePath, str)) else paths, batch)
    refuse_shared_batches(datasets, traces)
    parts = [read_dataset(spark, dataset) for dataset in datasets]
    if traces:
        parts.append(read_traces(spark, traces))
    return EventTables(*(reduce(DataFrame.unionByName, tables) for tables in zip(*parts, strict=True)))


def read_traces(spark: SparkSession, traces: Sequence[Trace]) -> EventTables:
    """Read loose traces: one task per trace, several tasks for a large one, one task for several small ones."""
    splits = [split for trace in traces for split in splits_of(trace)]
    total = sum(trace.size for trace in traces)
    target = min(SPLIT_BYTES, max(TASK_BYTES, total // (TASKS_PER_CORE * spark.sparkContext.defaultParallelism)))
    groups = group_splits(splits, target)

    def events(_: int, group: Sequence[Split]) -> "Iterator[pa.RecordBatch]":
        return (batch for split in group for portion in portions_of(split) for batch in events_batches(split, portion))

    def rejects(_: int, group: Sequence[Split]) -> "Iterator[pa.RecordBatch]":
        return (batch for split in group for portion in portions_of(split) for batch in rejects_batches(portion))

    return EventTables(
        task_per_item(spark, groups, events, events_schema()),
        task_per_item(spark, groups, rejects, spark_schema(rejects_arrow_schema())),
    )


def read_table(spark: SparkSession, path: Location | str, schema: Any) -> DataFrame:
    """Read a table of a dataset (transitions, rejects, …).

    Args:
        path: its folder; of a Delta table also the name of a version.
        schema: its pyarrow.Schema, with `batch`.
    """
    columns = spark_schema(schema)
    if is_delta(location(path)):
        return _read_version(spark, location(path), columns)
    return spark.read.schema(columns).parquet(hadoop_name(spark, location(path))).select(*columns.names)


def _read_version(spark: SparkSession, table: Location, columns: "StructType") -> DataFrame:
    """Return the rows of the files of a Delta table. Those of one folder are read together: it is named in their batch."""
    folders: dict[Location, list[str]] = {}
    for file in parquet_files(table):
        folders.setdefault(file.parent.parent, []).append(hadoop_name(spark, file))
    parts = [spark.read.schema(columns).option("basePath", str(folder)).parquet(*files) for folder, files in folders.items()]
    return reduce(DataFrame.unionByName, parts, spark.createDataFrame([], columns)).select(*columns.names)
