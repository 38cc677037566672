"""Imports Kafka's own log files into a table of events, on Spark: one task per cluster.

A task reads the logs of its cluster as one process does (brokers/apache_kafka/log_import/kafka_logs_import.py), with the
same result, event by event. The logs of one cluster are not divided among tasks: for 300 MB of them the whole import
took 214 s of processor time like this, and 243 s with all files read at the same time. A task's memory grows with the
history of its cluster, not with its files.

All executors must see the files under the same path.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from kcsim.brokers.apache_kafka.log_import.entries import HistoryEntry
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import events_of
from kcsim.brokers.apache_kafka.log_import.log_files import LogFilesError
from kcsim.brokers.apache_kafka.log_import.zone import ToUtc, zone_named, zone_shown
from kcsim.scenarios.analysis.importing.event_rows import (
    all_columns,
    events_batches,
    frame_of,
    import_spark_schema,
    rejects_batch,
)
from kcsim.scenarios.analysis.importing.imported import ImportedTables
from kcsim.scenarios.analysis.importing.kafka_logs.cluster_logs import ClusterLogs, LogsSummary, UnreadPart, read_cluster
from kcsim.scenarios.analysis.tables.rejects_table import Reject, rejects_arrow_schema
from kcsim.scenarios.analysis.tables.task_each import task_per_item

SUMMARY, HISTORY, UNREAD = "summary", "history", "unread"
"""The kinds of portions into which what a task has read is divided."""
IN_A_PORTION = 5_000


def import_kafka_logs(
    spark: SparkSession, clusters: Sequence[ClusterLogs], zone: str | None = None, batch: str | None = None
) -> ImportedTables[LogsSummary]:
    """Read the log files of clusters, each as a run of its own.

    Args:
        clusters: clusters with different names.
        zone: the time zone of the files' times, as --zone names it; else the zone that each cluster's files show, or UTC.
        batch: the batch of all runs; if not given, each run's batch is the day (UTC) on which it begins.

    Raises: LogFilesError when a file cannot be read, or a cluster's files hold no history; BadZoneError.
    """
    if zone is not None:
        zone_named(zone)
    schema = frame_of(spark, [], _portions_schema()).schema
    portions = task_per_item(spark, clusters, _read, schema).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        runs = [_dated(read, zone, batch) for read in _summaries(portions)]
    except BaseException:
        portions.unpersist()
        raise
    by_run = {read.run: read for read in runs}
    events = portions.where(F.col("kind") == HISTORY).mapInArrow(
        _events_with(by_run, {cluster.run: cluster.where for cluster in clusters}), import_spark_schema()
    )
    of_rejects = frame_of(spark, [], rejects_arrow_schema()).schema
    rejects = portions.where(F.col("kind") == UNREAD).mapInArrow(_rejects_with(by_run), of_rejects)
    return ImportedTables(all_columns(events), rejects, runs, (portions,))


# --- what a task reads -----------------------------------------------------------------------------------------------------


def _portions_schema() -> Any:
    import pyarrow as pa

    return pa.schema([("run", pa.string()), ("kind", pa.string()), ("content", pa.binary())])


def _read(_: int, cluster: ClusterLogs) -> Iterator[Any]:
    """Yield a cluster's portions: its summary, or why there is none; its history, in order; what could not be read."""
    try:
        read = read_cluster(cluster)
    except LogFilesError as error:
        yield _portion(cluster.run, SUMMARY, str(error))
        return
    yield _portion(cluster.run, SUMMARY, read.summary)
    for kind, whole in ((HISTORY, read.entries), (UNREAD, read.unread)):
        rest = iter(whole)
        while some := list(islice(rest, IN_A_PORTION)):
            yield _portion(cluster.run, kind, some)


def _portion(run: str, kind: str, content: object) -> Any:
    import pyarrow as pa

    row = {"run": run, "kind": kind, "content": pickle.dumps(content, pickle.HIGHEST_PROTOCOL)}
    return pa.RecordBatch.from_pylist([row], _portions_schema())


def _contents(batches: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield run and content of each portion, one at a time: they may be large."""
    for batch in batches:
        for run, content in zip(batch.column("run"), batch.column("content"), strict=True):
            yield run.as_py(), pickle.loads(content.as_py())


def _summaries(portions: DataFrame) -> list[LogsSummary]:
    """Return the summary of each run, sorted by name. Raises: LogFilesError."""
    runs: list[LogsSummary] = []
    for row in portions.where(F.col("kind") == SUMMARY).orderBy("run").select("content").collect():
        read: LogsSummary | str = pickle.loads(row.content)
        if isinstance(read, str):
            raise LogFilesError(read)
        runs.append(read)
    return runs


def _dated(read: LogsSummary, zone: str | None, batch: str | None) -> LogsSummary:
    """Return the summary with the zone in which the run's times are, and the batch: the day on which the run begins."""
    shown, remark = zone_shown(read.zones)
    remarks = read.remarks if zone is not None or remark is None else [remark, *read.remarks]
    zone = shown if zone is None else zone
    first_ms = zone_named(zone)(read.first_ms)
    batch = batch or datetime.fromtimestamp(first_ms / 1000, UTC).date().isoformat()
    return replace(read, remarks=remarks, zone=zone, batch=batch)


# --- events and rejects ----------------------------------------------------------------------------------------------------


def _events_with(runs: Mapping[str, LogsSummary], where: Mapping[str, str]) -> Any:
    """Return the function that writes histories as events. A task has all portions of a run, in their order."""

    def convert(batches: Iterable[Any]) -> Iterator[Any]:
        for run, portions in groupby(_contents(batches), key=itemgetter(0)):
            entries: list[HistoryEntry] = [entry for _, portion in portions for entry in portion]
            to_utc: ToUtc = zone_named(runs[run].zone)
            yield from events_batches(runs[run].batch, run, events_of(entries, to_utc, where[run]))

    return convert


def _rejects_with(runs: Mapping[str, LogsSummary]) -> Any:
    """Return the function that makes rejects of what could not be read."""

    def convert(batches: Iterable[Any]) -> Iterator[Any]:
        for run, portion in _contents(batches):
            unread: list[UnreadPart] = portion
            yield rejects_batch(Reject(runs[run].batch, run, *part) for part in unread)

    return convert
