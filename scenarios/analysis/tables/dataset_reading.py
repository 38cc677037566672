"""Reading the events of a dataset: Spark reads the files itself, after a check of each file's footer.

A file that is broken or has other columns is a reject, and the others are read. A row without seq, time, node, kind or run,
of an unknown kind, or with a negative seq is a reject, too; and so are all rows of a run of a newer version. The statistics
in the files' footers show whether there can be such a run, so that a hundred million events need not be searched for one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, EventKind
from kcsim.scenarios.analysis.tables.batch_upgrade import is_older, upgrade_batches
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, events_schema, spark_schema
from kcsim.scenarios.analysis.tables.problems import Problem, of_version
from kcsim.scenarios.analysis.tables.rejects_table import TEXT_LENGTH, Reason, Reject, rejects_arrow_schema
from kcsim.scenarios.analysis.tables.trace_rows import problem_of_columns

REQUIRED = (RUN, "seq", "t_ms", "node", "kind")


class DatasetFiles(NamedTuple):
    """What the footers of a dataset's files show.

    Attributes:
        good: the readable files.
        older: those of them that are of an older version of the format.
        rejects: the other files.
        version: the newest version of the format.
    """

    good: list[Path]
    older: list[Path]
    rejects: list[Reject]
    version: int


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


def inspect_files(dataset: Dataset) -> DatasetFiles:
    """Read the footer of each file of events, where Parquet keeps the schema and the statistics."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    good, older, rejects, version = [], [], [], 0
    for path in sorted(dataset.events().glob("batch=*/*.parquet")):
        try:
            with pq.ParquetFile(path) as file:
                problem = _problem_of(file.schema_arrow)
                names = file.schema_arrow.names
                version = max(version, _newest_version(file.metadata))
        except (OSError, pa.ArrowException) as error:
            problem = Problem(Reason.UNREADABLE, (str(error).splitlines() or [""])[0].rstrip("."))
        if problem is None:
            good.append(path)
            older.extend([path] if is_older(names) else [])
        else:
            batch = path.parent.name.removeprefix("batch=")
            rejects.append(Reject(batch, None, str(path), None, problem.reason.value, problem.detail, None))
    return DatasetFiles(good, older, rejects, version)


def _problem_of(schema: Any) -> Problem | None:
    if RUN not in schema.names:
        return Problem(Reason.FOREIGN, f"no events of a dataset: there is no column {RUN}")
    return problem_of_columns(schema.remove(schema.get_field_index(RUN)))


def _newest_version(metadata: Any) -> int:
    """Return the largest schema_version in a file; without statistics, a version that is newer, so that rows are checked."""
    newest = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            column = row_group.column(place)
            if column.path_in_schema != "schema_version":
                continue
            statistics = column.statistics
            if statistics is not None and statistics.has_min_max:
                newest = max(newest, statistics.max)
            elif statistics is None or statistics.null_count != column.num_values:
                return EVENT_SCHEMA_VERSION + 1
    return newest


def _rows_of(spark: SparkSession, dataset: Dataset, files: DatasetFiles) -> DataFrame:
    """Return the rows of all readable files in the present version of the format."""
    current = [path for path in files.good if path not in set(files.older)]
    if not files.older:
        return _located(spark, dataset, current)
    older = _located(spark, dataset, files.older)
    upgraded = older.mapInArrow(upgrade_batches, older.schema)
    return upgraded.unionByName(_located(spark, dataset, current)) if current else upgraded


def _located(spark: SparkSession, dataset: Dataset, files: Sequence[Path]) -> DataFrame:
    """Return the rows, with the file and the line of each."""
    reader = spark.read.schema(events_schema()).option("basePath", str(dataset.events()))
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
