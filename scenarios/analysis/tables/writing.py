"""Writing a table to disk, laid out by the key of a partition's history."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.tables.dataset import refuse_existing
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN
from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
from kcsim.scenarios.analysis.tables.location import Location, location

HISTORY = (RUN, "topic", "partition")
"""The key of a history within a batch: all rows of one key are in one file."""
ORDER_OF_EVENTS = (*HISTORY, "t_ms", "seq")
"""The order of rows in files of events. Nulls come first: the events of the whole cluster."""


def write_events(events: DataFrame, path: Location | str, partitions: int | None = None) -> None:
    """Write a table of events to the folder `path`. Args and errors are those of write_table."""
    write_table(events, path, HISTORY, ORDER_OF_EVENTS, partitions)


def write_table(
    rows: DataFrame,
    path: Location | str,
    key: Sequence[str] = HISTORY,
    order: Sequence[str] = ORDER_OF_EVENTS,
    partitions: int | None = None,
) -> None:
    """Write rows that have a column `batch` to the folder `path`: a folder for each batch, each key in one file, sorted.

    Args:
        key: the columns besides `batch` whose rows belong in one file; none if they are together already: then one file is
            made of each partition of the data, and nothing is shuffled.
        order: the columns besides `batch` that a file is sorted by.
        partitions: the number of tasks, and so the greatest number of files per batch; if it is not given, Spark chooses
            (spark.sql.shuffle.partitions, fewer for a small table).

    Raises: PathExistsError before any work; any exception that Spark raises for a job that fails (see job_errors.py), which
        leaves a half-written folder unless it is within `being_written`.
    """
    where = location(path)
    if not where.name.endswith(".partial"):
        refuse_existing(where)
    if key:
        columns = [BATCH, *key]
        rows = rows.repartition(*columns) if partitions is None else rows.repartition(partitions, *columns)
    # Rows are sorted even where they should be already: the writer needs `batch` sorted, and would else sort by it alone.
    # The mode is "append", because the folder of `being_written` exists already.
    rows = rows.sortWithinPartitions(BATCH, *order)
    rows.write.mode("append").option("compression", "zstd").partitionBy(BATCH).parquet(hadoop_name(rows.sparkSession, where))


def write_counted(rows: DataFrame, path: Location | str) -> int:
    """Write rows of any table to the new folder `path`, and return how many there were. Nothing is read a second time."""
    counted, name = Observation(), hadoop_name(rows.sparkSession, location(path))
    rows.observe(counted, F.count(F.lit(1)).alias("rows")).write.parquet(name)
    return int(counted.get["rows"])
