"""Imports Kafka's own log files into a table of events, on Spark: one task per file, then one per share of the partitions.

There are four steps:
1. Every file is read, and its messages are kept until the import ends.
2. The evidence of partitions is gathered, share by share. Most messages are repetitions, of which only the first counts.
3. One task per cluster assembles the history, because that takes all the evidence. Its memory grows with the history of the
   cluster, not with its files.
4. One task per cluster writes the history as events.

All executors must see the files under the same path. The result equals, event by event, that of one process for the same
files (brokers/apache_kafka/log_import/kafka_logs_import.py).
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from kcsim.brokers.apache_kafka.log_import.entries import ControllerRoleChange, HistoryEntry
from kcsim.brokers.apache_kafka.log_import.kafka_logs_import import events_of, surveyed
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
from kcsim.scenarios.analysis.importing.kafka_logs.gathering import (
    ClusterGatherer,
    ClusterLogs,
    EvidenceShare,
    LogsSummary,
    ShareGatherer,
)
from kcsim.scenarios.analysis.importing.kafka_logs.log_file import (
    BROKEN,
    OF_THE_CLUSTER,
    SHARES,
    THE_FILE,
    LogFileSurvey,
    broken_of,
    messages_of,
    portions,
    read_log_file,
    survey_of,
)
from kcsim.scenarios.analysis.importing.tasks import packed, size_of, tasks_of
from kcsim.scenarios.analysis.tables.location import location
from kcsim.scenarios.analysis.tables.rejects_table import Reject, rejects_arrow_schema
from kcsim.scenarios.analysis.tables.task_each import task_per_item

HISTORY = -4
"""The share of a history's entries, in their order."""
SUMMARY = -5
"""The share of the summary of a whole history."""
ENTRIES = 5_000
"""The number of entries in a portion."""
NO_RECORD, DAMAGED = "no record", "damaged gzip"


class PortionRow(NamedTuple):
    """A portion of a run's data between two steps. `file` is its number among the files of the cluster, `path` its name."""

    run: str
    share: int
    file: int
    path: str
    number: int
    content: bytes


def import_kafka_logs(
    spark: SparkSession,
    clusters: Sequence[ClusterLogs],
    zone: str | None = None,
    batch: str | None = None,
    tasks: int | None = None,
) -> ImportedTables[LogsSummary]:
    """Read the log files of clusters, each as a run of its own.

    Args:
        clusters: clusters with different names.
        zone: the time zone of the files' times, as --zone names it; else the zone that each cluster's files show, or UTC.
        batch: the batch of all runs; if not given, each run's batch is the day (UTC) on which it begins.
        tasks: among how many tasks the files and the partitions are divided, at most; if not given, a few for each core.

    Raises: LogFilesError when a file cannot be read, or a cluster's files hold no history; BadZoneError.
    """
    if zone is not None:
        zone_named(zone)
    tasks = tasks_of(spark, tasks)
    messages = _messages(spark, clusters, tasks).persist(StorageLevel.MEMORY_AND_DISK)
    histories = _histories(_gathered(messages, clusters, tasks), clusters).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        runs = [_dated(read, zone, batch) for read in _summaries(histories)]
    except BaseException:
        messages.unpersist()
        histories.unpersist()
        raise
    by_run = {read.run: read for read in runs}
    events = histories.filter(F.col("share") == HISTORY).mapInArrow(
        _events_with(by_run, {cluster.run: cluster.where for cluster in clusters}), import_spark_schema()
    )
    wrong = messages.filter(F.col("share").isin(BROKEN, THE_FILE))
    schema = frame_of(spark, [], rejects_arrow_schema()).schema
    rejects = wrong.mapInArrow(_rejects_with(by_run), schema)
    return ImportedTables(all_columns(events), rejects, runs, (messages, histories))


# --- rows ------------------------------------------------------------------------------------------------------------------


def _rows_schema() -> Any:
    import pyarrow as pa

    types = {"run": pa.string(), "path": pa.string(), "content": pa.binary()}
    return pa.schema([(name, types.get(name, pa.int64())) for name in PortionRow._fields])


def _batch(rows: Sequence[PortionRow]) -> Any:
    import pyarrow as pa

    schema = _rows_schema()
    arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows(batches: Iterable[Any]) -> Iterator[PortionRow]:
    for batch in batches:
        columns = (batch.column(name) for name in PortionRow._fields)
        for values in zip(*columns, strict=True):  # one at a time: a portion may be large
            yield PortionRow(*(value.as_py() for value in values))


# --- first step: files -----------------------------------------------------------------------------------------------------


def _messages(spark: SparkSession, clusters: Sequence[ClusterLogs], most: int) -> DataFrame:
    files = [(cluster.run, number, str(path)) for cluster in clusters for number, path in enumerate(cluster.files)]
    tasks = [[files[place] for place in places] for places in packed([size_of(path) for _, _, path in files], most)]

    def read(_: int, given: Sequence[tuple[str, int, str]]) -> Iterator[Any]:
        for run, number, path in given:
            for portion in read_log_file(cast(Path, location(path))):
                yield _batch([PortionRow(run, portion.share, number, path, portion.number, portion.content)])

    return task_per_item(spark, tasks, read, frame_of(spark, [], _rows_schema()).schema)


# --- second step: shares of partitions -------------------------------------------------------------------------------------


def _gathered(messages: DataFrame, clusters: Sequence[ClusterLogs], most: int) -> DataFrame:
    """Return the complete shares, and all portions that are in no share."""

    def gather(batches: Iterable[Any]) -> Iterator[Any]:
        for (run, share), rows in groupby(_rows(batches), key=lambda row: (row.run, row.share)):
            gatherer = ShareGatherer()
            for row in rows:
                gatherer.take(row.path, messages_of(row.content))
            yield _batch([PortionRow(run, share, 0, "", 0, gatherer.share().packed())])

    tasks = min(SHARES * len(clusters), most)
    shared = messages.filter(F.col("share") >= 0).repartition(tasks, "run", "share")
    ordered = shared.sortWithinPartitions("run", "share", "file", "number")
    rest = messages.filter(F.col("share").isin(OF_THE_CLUSTER, THE_FILE))
    return ordered.mapInArrow(gather, messages.schema).unionByName(rest)


# --- third step: histories -------------------------------------------------------------------------------------------------


def _histories(gathered: DataFrame, clusters: Sequence[ClusterLogs]) -> DataFrame:

    def put_together(batches: Iterable[Any]) -> Iterator[Any]:
        for run, rows in groupby(_rows(batches), key=attrgetter("run")):
            yield from map(_batch, _history(run, rows))

    ordered = gathered.repartition(len(clusters), "run").sortWithinPartitions("run", "share", "file", "number")
    return ordered.mapInArrow(put_together, gathered.schema)


def _history(run: str, rows: Iterable[PortionRow]) -> Iterator[list[PortionRow]]:
    gatherer = ClusterGatherer()
    surveys: list[LogFileSurvey] = []
    for (share, _, path), of_file in groupby(rows, key=lambda row: (row.share, row.file, row.path)):
        contents = [row.content for row in of_file]
        if share == THE_FILE:
            surveys += map(survey_of, contents)
            gatherer.take_survey(surveys[-1])
        elif share == OF_THE_CLUSTER:
            gatherer.take_messages(path, [message for content in contents for message in messages_of(content)])
        else:
            gatherer.take_share(EvidenceShare.unpacked(contents[0]))
    failed = next((survey.failure for survey in surveys if survey.failure is not None), None)
    try:
        if failed is not None:
            raise LogFilesError(failed)
        seen = surveyed([Path(survey.path) for survey in surveys], gatherer.gathered, gatherer.tally, gatherer.remarks)
    except LogFilesError as error:
        yield [PortionRow(run, SUMMARY, 0, "", 0, pickle.dumps(str(error)))]
        return
    entries = seen.history.entries
    elected = [one for one in entries if isinstance(one, ControllerRoleChange) and one.controller is not None]
    read = LogsSummary(
        run=run,
        tally=seen.statistics,
        zones=seen.zones,
        not_shown=seen.not_shown,
        remarks=list(seen.remarks),
        elected=elected,
        first_ms=entries[0].t_ms,
        last_ms=entries[-1].t_ms,
        size=sum(survey.size for survey in surveys),
        files=len(surveys),
    )
    yield [PortionRow(run, SUMMARY, 0, "", 0, pickle.dumps(read))]
    for number, portion in enumerate(portions(entries, ENTRIES)):
        yield [PortionRow(run, HISTORY, 0, "", number, pickle.dumps(portion, pickle.HIGHEST_PROTOCOL))]


def _summaries(histories: DataFrame) -> list[LogsSummary]:
    """Return the summary of each run, sorted by name. Raises: LogFilesError."""
    found = histories.filter(F.col("share") == SUMMARY).orderBy("run").select("content").collect()
    runs: list[LogsSummary] = []
    for row in found:
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


# --- fourth step: events and rejects ---------------------------------------------------------------------------------------


def _events_with(runs: Mapping[str, LogsSummary], where: Mapping[str, str]) -> Any:
    """Return the function that writes histories as events."""

    def convert(batches: Iterable[Any]) -> Iterator[Any]:
        for run, rows in groupby(_rows(batches), key=attrgetter("run")):
            entries: list[HistoryEntry] = [entry for row in rows for entry in pickle.loads(row.content)]
            to_utc: ToUtc = zone_named(runs[run].zone)
            yield from events_batches(runs[run].batch, run, events_of(entries, to_utc, where[run]))

    return convert


def _rejects_with(runs: Mapping[str, LogsSummary]) -> Any:
    """Return the function that makes rejects of broken lines and damaged files."""

    def convert(batches: Iterable[Any]) -> Iterator[Any]:
        for row in _rows(batches):
            batch, file = runs[row.run].batch, row.path
            if row.share == BROKEN:
                yield rejects_batch(
                    Reject(
                        batch,
                        row.run,
                        file,
                        one.line,
                        NO_RECORD,
                        f"{one.lines} line{'s' * (one.lines > 1)}: {one.reason}",
                        one.text,
                    )
                    for one in broken_of(row.content)
                )
            else:
                yield rejects_batch(
                    Reject(batch, row.run, file, None, DAMAGED, what, None) for what in survey_of(row.content).remarks
                )

    return convert
