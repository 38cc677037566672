"""Imports ZooKeeper's data directories into a table of events, on Spark: one task per cluster.

A task reads the logs of its cluster twice, as one process does (zk/capture/zookeeper_import.py), with the same result, event
by event: once for the owners of the sessions and for what the driver reports, once for the events. The logs of one cluster
are not divided among tasks: for 100 MB of them (455,000 transactions) the whole import took 122 s of processor time like
this, and 136 s with the files read at the same time and the events made path by path, which needs four times the code. A
task's memory grows with the tree of its cluster, not with its logs.

All executors must see the files under the same path.
"""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.importing.event_rows import (
    all_columns,
    events_batches,
    frame_of,
    import_spark_schema,
    rejects_batch,
)
from kcsim.scenarios.analysis.importing.imported import ImportedTables
from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import (
    ClusterDataDirectories,
    RunSummary,
    ScannedCluster,
    events_of,
    scanned,
)
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.analysis.tables.task_each import task_per_item
from kcsim.zk.files.data_directory import DataDirectoryError
from kcsim.zk.files.transaction_log import BadLogError


def import_zookeeper(
    spark: SparkSession, clusters: Sequence[ClusterDataDirectories], chroot: str = "", batch: str | None = None
) -> ImportedTables[RunSummary]:
    """Read the logs of clusters, each as a run of its own.

    Args:
        clusters: clusters with different names.
        chroot: the path of Kafka's znodes; empty for the root.
        batch: the batch of all runs; if not given, each run's batch is the day (UTC) on which it begins.

    Raises: BadLogError for a file that is no log, or that has an unreadable record; DataDirectoryError when the tree at the
        beginning cannot be known, there is nothing to import, or the newest logs are missing; OSError.
    """
    read = _scanned(spark, clusters, chroot, batch)

    def events(_: int, found: ScannedCluster) -> Iterator[Any]:
        return events_batches(found.summary.batch, found.summary.run, events_of(found, chroot))

    rejects = rejects_batch(reject for found in read for reject in found.rejects)
    return ImportedTables(
        events=all_columns(task_per_item(spark, read, events, import_spark_schema())),
        rejects=frame_of(spark, [rejects], rejects_arrow_schema()),
        runs=[found.summary for found in read],
        kept=(),
    )


def _scanned(
    spark: SparkSession, clusters: Sequence[ClusterDataDirectories], chroot: str, batch: str | None
) -> list[ScannedCluster]:
    """Read the logs of all clusters once. Raises: what reading the first of them that cannot be read has raised."""

    def scan(_: int, cluster: ClusterDataDirectories) -> Iterator[Any]:
        try:
            content: ScannedCluster | Exception = scanned(cluster, chroot, batch)
        except (BadLogError, DataDirectoryError, OSError) as error:
            content = error
        yield _row(pickle.dumps(content, pickle.HIGHEST_PROTOCOL))

    found: list[ScannedCluster] = []
    schema = frame_of(spark, [], _row(b"").schema).schema
    for row in task_per_item(spark, clusters, scan, schema).collect():
        content: ScannedCluster | Exception = pickle.loads(row.content)
        if isinstance(content, Exception):
            raise content
        found.append(content)
    return found


def _row(content: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], ["content"])
