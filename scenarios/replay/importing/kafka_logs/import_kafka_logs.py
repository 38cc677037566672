"""Kafka's own log files to a table of events, on Spark: a task for each file, then one for each share of the partitions.

Four steps. Every file is read, and what its lines say is kept for the while. The evidence of partitions is brought together,
share by share: of what is said again and again, which is most, the first counts. Then one task for each cluster puts the
history together, which has to see all of it: what it holds grows with the history of that cluster, not with its files. Last,
it is told as events, by one task for each cluster too.

The files have to be seen by every executor under the same path. What one process makes of the same files
(scenarios/imported/kafka_logs/kafka_logs_import.py) comes out, event by event.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from kcsim.scenarios.imported.kafka_logs.entries import ControllerChange, Entry
from kcsim.scenarios.imported.kafka_logs.kafka_logs_import import events_of, surveyed
from kcsim.scenarios.imported.kafka_logs.log_files import LogFilesError
from kcsim.scenarios.imported.kafka_logs.zone import ToUtc, zone_named, zone_shown
from kcsim.scenarios.replay.importing.event_rows import (
    all_columns,
    events_batches,
    frame_of,
    rejects_batch,
    told_spark_schema,
)
from kcsim.scenarios.replay.importing.imported import Imported
from kcsim.scenarios.replay.importing.kafka_logs.gathering import Cluster, ClusterGatherer, LogsRead, Share, ShareGatherer
from kcsim.scenarios.replay.importing.kafka_logs.log_file import (
    BROKEN,
    OF_THE_CLUSTER,
    SHARES,
    THE_FILE,
    Broken,
    FileSurvey,
    broken_of,
    messages_of,
    portions,
    read_log_file,
    survey_of,
)
from kcsim.scenarios.replay.importing.tasks import packed, size_of, tasks_of
from kcsim.scenarios.replay.tables.rejects_table import Reject, rejects_arrow_schema
from kcsim.scenarios.replay.tables.task_each import task_each

HISTORY = -4
"""The share of entries of a history, in its order."""
SUMMARY = -5
"""The share of what is known of a whole history."""
ENTRIES = 5_000
"""Of a portion."""
NO_RECORD, DAMAGED = "no record", "damaged gzip"


class Row(NamedTuple):
    """A portion of a run's, on its way. `file` is its number among those of the cluster."""

    run: str
    share: int
    file: int
    number: int
    content: bytes


def import_kafka_logs(
    spark: SparkSession,
    clusters: Sequence[Cluster],
    zone: str | None = None,
    batch: str | None = None,
    tasks: int | None = None,
) -> Imported[LogsRead]:
    """Read the log files of clusters, each as a run of its own.

    Args:
        clusters: with different names.
        zone: of the files' times, as --zone names it; else as each cluster's files give it away, and UTC if none does.
        batch: what all of it is filed under; else each run under the day (UTC) on which it begins.
        tasks: among how many the files and the partitions are divided, at most; a few for each core if not given.

    Raises: LogFilesError when a file cannot be read, or a cluster's hold nothing of history; BadZoneError.
    """
    if zone is not None:
        zone_named(zone)
    tasks = tasks_of(spark, tasks)
    said = _said(spark, clusters, tasks).persist(StorageLevel.MEMORY_AND_DISK)
    histories = _histories(_gathered(said, clusters, tasks), clusters).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        runs = _summaries(histories)
        for read in runs:
            _date(read, zone, batch)
    except BaseException:
        said.unpersist()
        histories.unpersist()
        raise
    by_run = {read.run: read for read in runs}
    told = histories.filter(F.col("share") == HISTORY).mapInArrow(
        _events_with(by_run, {cluster.run: cluster.where for cluster in clusters}), told_spark_schema()
    )
    wrong = said.filter(F.col("share").isin(BROKEN, THE_FILE))
    schema = frame_of(spark, [], rejects_arrow_schema()).schema
    rejects = wrong.mapInArrow(_rejects_with(by_run, {cluster.run: cluster.files for cluster in clusters}), schema)
    return Imported(all_columns(told), rejects, runs, (said, histories))


# --- rows ------------------------------------------------------------------------------------------------------------------


def _rows_schema() -> Any:
    import pyarrow as pa

    types = {"run": pa.string(), "content": pa.binary()}
    return pa.schema([(name, types.get(name, pa.int64())) for name in Row._fields])


def _batch(rows: Sequence[Row]) -> Any:
    import pyarrow as pa

    schema = _rows_schema()
    arrays = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows(batches: Iterable[Any]) -> Iterator[Row]:
    for batch in batches:
        columns = (batch.column(name) for name in Row._fields)
        for values in zip(*columns, strict=True):  # one at a time: a portion may be large
            yield Row(*(value.as_py() for value in values))


# --- first step: files -----------------------------------------------------------------------------------------------------


def _said(spark: SparkSession, clusters: Sequence[Cluster], most: int) -> DataFrame:
    files = [(cluster.run, number, str(path)) for cluster in clusters for number, path in enumerate(cluster.files)]
    tasks = packed([size_of(path) for _, _, path in files], most)

    def read(_: int, places: Sequence[int]) -> Iterator[Any]:
        for run, number, path in (files[place] for place in places):
            for portion in read_log_file(Path(path)):
                yield _batch([Row(run, portion.share, number, portion.number, portion.content)])

    return task_each(spark, tasks, read, frame_of(spark, [], _rows_schema()).schema)


# --- second step: shares of partitions -------------------------------------------------------------------------------------


def _gathered(said: DataFrame, clusters: Sequence[Cluster], most: int) -> DataFrame:
    """The shares, each complete, and all that is in none."""
    files = {cluster.run: cluster.files for cluster in clusters}

    def gather(batches: Iterable[Any]) -> Iterator[Any]:
        for (run, share), rows in groupby(_rows(batches), key=lambda row: (row.run, row.share)):
            gatherer = ShareGatherer()
            for row in rows:
                gatherer.take(str(files[run][row.file]), messages_of(row.content))
            yield _batch([Row(run, share, 0, 0, gatherer.share().packed())])

    tasks = min(SHARES * len(clusters), most)
    shared = said.filter(F.col("share") >= 0).repartition(tasks, "run", "share")
    ordered = shared.sortWithinPartitions("run", "share", "file", "number")
    rest = said.filter(F.col("share").isin(OF_THE_CLUSTER, THE_FILE))
    return ordered.mapInArrow(gather, said.schema).unionByName(rest)


# --- third step: histories -------------------------------------------------------------------------------------------------


def _histories(gathered: DataFrame, clusters: Sequence[Cluster]) -> DataFrame:
    files = {cluster.run: cluster.files for cluster in clusters}

    def put_together(batches: Iterable[Any]) -> Iterator[Any]:
        for run, rows in groupby(_rows(batches), key=attrgetter("run")):
            yield from map(_batch, _history(run, files[run], rows))

    ordered = gathered.repartition(len(clusters), "run").sortWithinPartitions("run", "share", "file", "number")
    return ordered.mapInArrow(put_together, gathered.schema)


def _history(run: str, files: Sequence[Path], rows: Iterable[Row]) -> Iterator[list[Row]]:
    gatherer = ClusterGatherer()
    surveys: list[FileSurvey] = []
    for (share, file), of_file in groupby(rows, key=lambda row: (row.share, row.file)):
        contents = [row.content for row in of_file]
        if share == THE_FILE:
            surveys += map(survey_of, contents)
            gatherer.take_survey(surveys[-1])
        elif share == OF_THE_CLUSTER:
            gatherer.take_messages(str(files[file]), [said for content in contents for said in messages_of(content)])
        else:
            gatherer.take_share(Share.unpacked(contents[0]))
    failed = next((survey.failure for survey in surveys if survey.failure is not None), None)
    try:
        if failed is not None:
            raise LogFilesError(failed)
        seen = surveyed(files, gatherer.gathered, gatherer.tally, gatherer.remarks)
    except LogFilesError as error:
        yield [Row(run, SUMMARY, 0, 0, pickle.dumps(str(error)))]
        return
    entries = seen.history.entries
    elected = [one for one in entries if isinstance(one, ControllerChange) and one.controller is not None]
    read = LogsRead(
        run=run,
        tally=seen.tally,
        zones=seen.zones,
        not_shown=seen.not_shown,
        remarks=list(seen.remarks),
        elected=elected,
        first_ms=entries[0].t_ms,
        last_ms=entries[-1].t_ms,
        size=sum(survey.size for survey in surveys),
        files=len(files),
    )
    yield [Row(run, SUMMARY, 0, 0, pickle.dumps(read))]
    for number, portion in enumerate(portions(entries, ENTRIES)):
        yield [Row(run, HISTORY, 0, number, pickle.dumps(portion, pickle.HIGHEST_PROTOCOL))]


def _summaries(histories: DataFrame) -> list[LogsRead]:
    """What is known of each run, by their names. Raises: LogFilesError."""
    found = histories.filter(F.col("share") == SUMMARY).orderBy("run").select("content").collect()
    runs: list[LogsRead] = []
    for row in found:
        read: LogsRead | str = pickle.loads(row.content)
        if isinstance(read, str):
            raise LogFilesError(read)
        runs.append(read)
    return runs


def _date(read: LogsRead, zone: str | None, batch: str | None) -> None:
    """Settle in which zone a run's times are, and so on which day it begins."""
    shown, remark = zone_shown(read.zones)
    read.zone = shown if zone is None else zone
    if zone is None and remark is not None:
        read.remarks.insert(0, remark)
    first_ms = zone_named(read.zone)(read.first_ms)
    read.batch = batch or datetime.fromtimestamp(first_ms / 1000, UTC).date().isoformat()


# --- fourth step: events, and what is none ---------------------------------------------------------------------------------


def _events_with(runs: Mapping[str, LogsRead], where: Mapping[str, str]) -> Any:
    """What tells histories as events."""

    def tell(batches: Iterable[Any]) -> Iterator[Any]:
        for run, rows in groupby(_rows(batches), key=attrgetter("run")):
            entries: list[Entry] = [entry for row in rows for entry in pickle.loads(row.content)]
            to_utc: ToUtc = zone_named(runs[run].zone)
            yield from events_batches(runs[run].batch, run, events_of(entries, to_utc, where[run]))

    return tell


def _rejects_with(runs: Mapping[str, LogsRead], files: Mapping[str, Sequence[Path]]) -> Any:
    """What makes rejects of broken lines and damaged files."""

    def tell(batches: Iterable[Any]) -> Iterator[Any]:
        for row in _rows(batches):
            batch, file = runs[row.run].batch, str(files[row.run][row.file])
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

    return tell


def _why(broken: Broken) -> str:
    return f"{broken.lines} line{'s' * (broken.lines > 1)}: {broken.reason}"
