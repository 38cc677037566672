"""Reading the events of a dataset: Spark reads the files itself, after a check of each file's footer.

A file that is broken or has other columns is a reject, and the others are read. A row without seq, time, node, kind or run,
of an unknown kind, or with a negative seq is a reject, too; and so are all rows of a run of a newer version. The statistics
in the files' footers show whether there can be such a run, so that a hundred million events need not be searched for one.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, EventKind
from kcsim.scenarios.analysis.tables.batch_upgrade import upgrade_batches
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.dataset_files import REQUIRED, DatasetFiles, inspect_files
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, events_schema, spark_schema
from kcsim.scenarios.analysis.tables.hadoop import hadoop_name
from kcsim.scenarios.analysis.tables.location import Location
from kcsim.scenarios.analysis.tables.problems import of_version
from kcsim.scenarios.analysis.tables.rejects_table import TEXT_LENGTH, Reason, rejects_arrow_schema


def read_dataset(spark: SparkSession, dataset: Dataset) -> tuple[DataFrame, DataFrame]:
    """Return the tables of events and of rejects. Rows keep the order of the files: nothing is shuffled."""
    files = inspect_files(dataset)
    rejects = spark.createDataFrame([tuple(row) for row in files.rejects], spark_schema(rejects_arrow_schema()))
    if not files.good:
        return spark.createDataFrame([], events_schema()), rejects
    rows = _rows_of(spark, dataset, files)
    is_event = _has_required() & (f.col("seq") >= 0) & f.col("kind").isin(*map(str, EventKind))
    events = rows.where(is_event)
    wrong = _rejects(rows.where(~f.coalesce(is_event, f.lit(False))), _reason(), _detail())
    if files.version > EVENT_SCHEMA_VERSION:
        newer_runs = _newer_runs(rows)
        events = events.join(newer_runs, [BATCH, RUN], "left_anti")
        of_newer = rows.join(newer_runs, [BATCH, RUN], "left_semi")
        wrong = wrong.join(newer_runs, [BATCH, RUN], "left_anti").select(*wrong.columns)
        problem = of_version(files.version)
        assert problem is not None
        wrong = wrong.unionByName(_rejects(of_newer, f.lit(problem.reason.value), f.lit(problem.detail)))
    return events.select(*events_schema().names), rejects.unionByName(wrong)


def _rows_of(spark: SparkSession, dataset: Dataset, files: DatasetFiles) -> DataFrame:
    """Return the rows of all readable files in the present version of the format."""
    current = [path for path in files.good if path not in set(files.older)]
    if not files.older:
        return _located(spark, dataset, current)
    older = _located(spark, dataset, files.older)
    upgraded = older.mapInArrow(upgrade_batches, older.schema)
    return upgraded.unionByName(_located(spark, dataset, current)) if current else upgraded


def _located(spark: SparkSession, dataset: Dataset, files: Sequence[Location]) -> DataFrame:
    """Return the rows, with the file and the line of each."""
    reader = spark.read.schema(events_schema()).option("basePath", hadoop_name(spark, dataset.events()))
    path = f.regexp_replace(f.col("_metadata.file_path"), "^file:/+", "/")
    row = f.col("_metadata.row_index") + 1
    return reader.parquet(*map(str, files)).select("*", path.alias("file"), row.alias("line"))


def _has_required() -> Column:
    condition = f.lit(True)
    for name in REQUIRED:
        condition = condition & f.col(name).isNotNull()
    return condition


def _newer_runs(rows: DataFrame) -> DataFrame:
    newer = rows.where(f.col("schema_version") > EVENT_SCHEMA_VERSION)
    return f.broadcast(newer.select(BATCH, RUN).distinct())


def _reason() -> Column:
    is_missing = f.when(~_has_required(), Reason.MISSING_COLUMN.value)
    return is_missing.when(f.col("seq") < 0, Reason.OUT_OF_RANGE.value).otherwise(Reason.UNKNOWN_KIND.value)


def _detail() -> Column:
    missing = f.array_compact(f.array(*(f.when(f.col(name).isNull(), f.lit(name)) for name in REQUIRED)))
    is_missing = f.when(~_has_required(), f.concat(f.lit("null in "), f.array_join(missing, ", ")))
    negative = f.concat(f.lit("seq "), f.col("seq"), f.lit(": a place in the log counts from 0"))
    return is_missing.when(f.col("seq") < 0, negative).otherwise(f.concat(f.lit("unknown kind "), f.col("kind")))


def _rejects(rows: DataFrame, reason: Column, detail: Column) -> DataFrame:
    """Return rows of events as rejects."""
    return rows.select(
        BATCH,
        RUN,
        "file",
        "line",
        reason.alias("reason"),
        detail.alias("detail"),
        f.substring(f.to_json(f.struct(*events_schema().names)), 1, TEXT_LENGTH).alias("text"),
    )
