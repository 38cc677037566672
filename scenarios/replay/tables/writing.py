"""Writes a table to disk, laid out by the key of a partition's history."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from kcsim.scenarios.replay.tables.dataset import refuse_existing
from kcsim.scenarios.replay.tables.events_table import BATCH, RUN

HISTORY = (RUN, "topic", "partition")
"""Whose history it is, within a batch: all of it is in one file."""
ORDER_OF_EVENTS = (*HISTORY, "t_ms", "seq")
"""How the files of events are sorted; null, which is first, is what concerns the whole cluster."""


def write_events(events: DataFrame, path: Path | str, partitions: int | None = None) -> None:
    """Write a table of events to the folder `path`. Args and errors as of write_table."""
    write_table(events, path, HISTORY, ORDER_OF_EVENTS, partitions)


def write_table(
    rows: DataFrame,
    path: Path | str,
    key: Sequence[str] = HISTORY,
    order: Sequence[str] = ORDER_OF_EVENTS,
    partitions: int | None = None,
) -> None:
    """Write rows that have a column `batch` to the folder `path`: a folder for each batch, each key in one file, sorted.

    Args:
        key: the columns beside `batch` whose rows belong in one file; none if they are together already, one file being
            made of one partition of the data, so that nothing is shuffled.
        order: the columns beside `batch` that a file is sorted by.
        partitions: how many tasks, and so files of a batch, at most; Spark chooses if it is not given
            (spark.sql.shuffle.partitions, fewer for what is small).

    Raises: PathExistsError before any work; whatever Spark raises for a job that fails (see job_errors.py), which leaves
        a half-written folder unless it is within `being_written`.
    """
    where = Path(path)
    if not where.name.endswith(".partial"):
        refuse_existing(where)
    if key:
        columns = [BATCH, *key]
        rows = rows.repartition(*columns) if partitions is None else rows.repartition(partitions, *columns)
    # Sorted even where it should be already: the writer needs `batch` sorted, and would sort by it alone if it had to.
    # "append", as the folder of `being_written` is there already.
    rows = rows.sortWithinPartitions(BATCH, *order)
    rows.write.mode("append").option("compression", "zstd").partitionBy(BATCH).parquet(str(where))
