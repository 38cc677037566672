"""Ingesting traces into a dataset: read, separated from rejects, laid out by partition, and counted."""

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.kept_tables import keep_tables_of_events
from kcsim.scenarios.analysis.tables.dataset import Dataset, being_written, refuse_existing
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN
from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
from kcsim.scenarios.analysis.tables.location import Location, location
from kcsim.scenarios.analysis.tables.reading import read_events, read_table
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.analysis.tables.writing import write_events, write_table


class IngestCounts(NamedTuple):
    """The counts of an ingest.

    Attributes:
        events, runs: how many of each are in the dataset.
        rejects: how many there are for each reason, most first.
    """

    events: int
    runs: int
    rejects: dict[str, int]


class NothingReadError(Exception):
    """The input has no event; no dataset was written. The message counts the rejects by reason."""


def ingest(
    spark: SparkSession, paths: Iterable[Location | str], to: Location | str, batch: str | None = None
) -> IngestCounts:
    """Write events and rejects to a new dataset; whole, or not at all.

    Args: as of read_events; `to` must not exist.

    Raises: PathExistsError before any work; what read_events raises; NothingReadError; what Spark raises for a failed job.
    """
    refuse_existing(location(to))
    read = read_events(spark, paths, batch)
    with being_written(to) as folder:
        dataset = Dataset(folder)
        write_table(read.rejects, dataset.rejects(), (), ("file", "line"))
        rejects = _counted_rejects(spark, dataset)
        write_events(read.events, dataset.events())
        written = spark.read.parquet(hadoop_name(spark, dataset.events())) if dataset.batches() else None
        events = 0 if written is None else written.count()
        if written is None or events == 0:
            reasons = ", ".join(f"{count} {reason}" for reason, count in rejects.items())
            raise NothingReadError(f"there is no event in what was read: {reasons or 'it is empty'}")
        keep_tables_of_events(spark, dataset, events)
        return IngestCounts(events, written.select(BATCH, RUN).distinct().count(), rejects)


def _counted_rejects(spark: SparkSession, dataset: Dataset) -> dict[str, int]:
    if not dataset.batches("rejects"):
        return {}
    rejects = read_table(spark, dataset.rejects(), rejects_arrow_schema())
    counted = rejects.groupBy("reason").count().collect()
    return {row["reason"]: row["count"] for row in sorted(counted, key=lambda row: (-row["count"], row["reason"]))}
