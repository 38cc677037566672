"""Writing imported tables to a dataset, laid out by partition: a write of a znode lies with the partition that it concerns.

An event log names the partition of such writes only by the path; its columns `topic` and `partition` are those of decisions.
"""

from collections import Counter
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.importing.event_rows import all_columns, import_columns
from kcsim.scenarios.analysis.importing.imported import ImportedTables
from kcsim.scenarios.analysis.kept_tables import keep_tables_of_events
from kcsim.scenarios.analysis.tables.dataset import Dataset, being_written
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN
from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
from kcsim.scenarios.analysis.tables.location import Location
from kcsim.scenarios.analysis.tables.writing import write_table
from kcsim.znodes import paths

OF_A_PARTITION = rf"^{paths.BROKER_TOPICS}/([^/]+)/partitions/([0-9]+)(/state)?$"


def write_imported(
    spark: SparkSession, imported: ImportedTables[Any], to: Location | str
) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """Write a dataset, whole or not at all, and release the sources of the tables.

    Returns: for each run the number of events of each kind, and the number of rejects for each reason.

    Raises: PathExistsError; what Spark raises for a job that fails.
    """
    try:
        with being_written(to) as folder:
            dataset = Dataset(folder)
            together = import_columns(imported.events).repartition(BATCH, RUN, *_whose())
            write_table(all_columns(together), dataset.events(), key=())
            write_table(imported.rejects, dataset.rejects(), key=(), order=(RUN, "file", "line"))
            kinds = _kinds(spark, dataset)
            keep_tables_of_events(spark, dataset, sum(counted.total() for counted in kinds.values()))
            return kinds, _reasons(spark, dataset)
    finally:
        imported.release()


def _whose() -> tuple[Column, Column]:
    """Return the topic and the partition that an event concerns, from its path if its columns are null."""
    path = F.col("path")
    topic = F.coalesce(F.col("topic"), F.regexp_extract(path, OF_A_PARTITION, 1))
    partition = F.coalesce(F.col("partition").cast("string"), F.regexp_extract(path, OF_A_PARTITION, 2))
    return topic, partition


def _kinds(spark: SparkSession, dataset: Dataset) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in spark.read.parquet(hadoop_name(spark, dataset.events())).groupBy(RUN, "kind").count().collect():
        found.setdefault(row[RUN], Counter())[row["kind"]] = row["count"]
    return found


def _reasons(spark: SparkSession, dataset: Dataset) -> Counter[str]:
    if not dataset.batches("rejects"):
        return Counter()
    counted = spark.read.parquet(hadoop_name(spark, dataset.rejects())).groupBy("reason").count().collect()
    return Counter({row["reason"]: row["count"] for row in counted})
