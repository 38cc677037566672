"""Imports ZooKeeper's data directories into a table of events, on Spark: one task per log file, then one per share of paths.

There are three steps:
1. Every file is decoded into operations, which are kept until the import ends.
2. The driver imports the operations of the cluster as a whole, because the import of all other paths depends on them.
3. Each key's operations are brought together, in order, and imported.

All executors must see the files under the same path. The result equals, event by event, that of one process for the same
directory (zk/capture/zookeeper_import.py), except for `seq`, which has gaps. Where the logs have holes, and a write's znode
was therefore never seen to be created, both leave that write out.

Left out: the undoing of transactions that only a dead leader of an ensemble had logged (see EnsembleLogTail).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from kcsim.scenarios.analysis.importing.event_rows import all_columns, events_batches, frame_of, import_schema, rejects_batch
from kcsim.scenarios.analysis.importing.imported import ImportedTables
from kcsim.scenarios.analysis.importing.tasks import packed, size_of, tasks_of
from kcsim.scenarios.analysis.importing.zookeeper.cluster_import import (
    ClusterDataDirectories,
    PreparedRun,
    RunSummary,
    beginning,
    events_of_keys,
    run_of,
)
from kcsim.scenarios.analysis.importing.zookeeper.import_context import ImportContext
from kcsim.scenarios.analysis.importing.zookeeper.log_file import operations_of_file
from kcsim.scenarios.analysis.importing.zookeeper.operation import (
    OF_THE_CLUSTER,
    Operation,
    operations_arrow_schema,
    operations_batch,
)
from kcsim.scenarios.analysis.tables.location import location
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.analysis.tables.task_each import task_per_item
from kcsim.vocabulary import Zxid
from kcsim.zk.files.past_tree import PastTree
from kcsim.znodes import paths

MOST_OPERATIONS = 8_192
MOST_BYTES = 16 * 2**20
"""The approximate size of a batch of operations. A topic's znode may have a megabyte."""
A_TOPIC = rf"^{paths.BROKER_TOPICS}/[^/]+$"


class LogToRead(NamedTuple):
    """The log file that one task of the first step reads, and the range of its transactions."""

    run: str
    path: str
    after: int
    to: int


def import_zookeeper(
    spark: SparkSession,
    clusters: Sequence[ClusterDataDirectories],
    chroot: str = "",
    batch: str | None = None,
    tasks: int | None = None,
) -> ImportedTables[RunSummary]:
    """Read the logs of clusters, each as a run of its own.

    Args:
        clusters: clusters with different names.
        chroot: the path of Kafka's znodes; empty for the root.
        batch: the batch of all runs; if not given, each run's batch is the day (UTC) on which it begins.
        tasks: among how many tasks the files, and then the paths, are divided, at most; if not given, files are divided
            among a few for each core, and paths as Spark divides what it shuffles.

    Raises: BadLogError for a file that is no log, or that has an unreadable record; DataDirectoryError when the tree at the
        beginning cannot be known, there is nothing to import, or the newest logs are missing; OSError.
    """
    trees = {cluster.run: beginning(cluster) for cluster in clusters}
    operations = _decoded(spark, clusters, trees, chroot, tasks_of(spark, tasks)).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        looked_at = _looked_at(operations)
        runs = [run_of(cluster, trees[cluster.run], looked_at[cluster.run], chroot, batch) for cluster in clusters]
        rejects = rejects_batch(reject for run in runs for reject in run.rejects)
        return ImportedTables(
            events=all_columns(_events(operations, runs, tasks)),
            rejects=frame_of(spark, [rejects], rejects_arrow_schema()),
            runs=[run.read for run in runs],
            kept=(operations,),
        )
    except BaseException:
        operations.unpersist()
        raise


# --- first step: files to operations ---------------------------------------------------------------------------------------


def _decoded(
    spark: SparkSession, clusters: Sequence[ClusterDataDirectories], trees: Mapping[str, PastTree], chroot: str, most: int
) -> DataFrame:
    logs = [
        LogToRead(cluster.run, str(path), trees[cluster.run].zxid, cluster.to)
        for cluster in clusters
        for directory in cluster.directories
        for path in directory.logs
    ]

    tasks = [[logs[place] for place in places] for places in packed([size_of(log.path) for log in logs], most)]

    def read(_: int, given: Sequence[LogToRead]) -> Iterator[Any]:
        for log in given:
            found = operations_of_file(log.run, cast(Path, location(log.path)), chroot, Zxid(log.after), Zxid(log.to))
            yield from map(operations_batch, _portions(found))

    schema = frame_of(spark, [], operations_arrow_schema()).schema
    return task_per_item(spark, tasks, read, schema)


def _portions(operations: Iterable[Operation]) -> Iterator[list[Operation]]:
    portion: list[Operation] = []
    size = 0
    for operation in operations:
        portion.append(operation)
        size += len(operation.data or b"")
        if len(portion) >= MOST_OPERATIONS or size >= MOST_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _looked_at(operations: DataFrame) -> dict[str, list[Operation]]:
    """Return for each run the surveys of its files, and the operations that the driver processes."""
    is_of_cluster = F.col("key") == OF_THE_CLUSTER
    is_wanted = is_of_cluster | F.col("is_ephemeral") | F.col("path").rlike(A_TOPIC)
    columns = [F.when(is_of_cluster, F.col("data")).alias("data") if name == "data" else name for name in Operation._fields]
    found: dict[str, list[Operation]] = {}
    for operation in _operations(operations.filter(is_wanted).select(*columns).toArrow().to_batches()):
        found.setdefault(operation.run, []).append(operation)
    return found


def _operations(batches: Iterable[Any]) -> Iterator[Operation]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in Operation._fields]
        yield from map(Operation._make, zip(*columns, strict=True))


# --- third step: operations to events --------------------------------------------------------------------------------------


def _events(operations: DataFrame, runs: Sequence[PreparedRun], tasks: int | None) -> DataFrame:
    """Return the clusters' own events, and those of all other keys."""
    spark = operations.sparkSession
    own = [portion for run in runs for portion in events_batches(run.read.batch, run.read.run, run.events)]
    whole = frame_of(spark, own, import_schema())
    rest = operations.filter(F.col("key") != OF_THE_CLUSTER)
    if more := [operation for run in runs for operation in run.more]:
        rest = rest.unionByName(frame_of(spark, [operations_batch(more)], operations_arrow_schema()))
    rest = rest.repartition("run", "key") if tasks is None else rest.repartition(tasks, "run", "key")
    ordered = rest.sortWithinPartitions("run", "key", "zxid", "place")
    return whole.unionByName(ordered.mapInArrow(_events_with({run.read.run: run.context for run in runs}), whole.schema))


def _events_with(contexts: Mapping[str, ImportContext]) -> Any:
    """Return the function that imports the operations of whole keys, in order."""

    def convert(batches: Iterable[Any]) -> Iterator[Any]:
        for context, of_run in groupby(events_of_keys(_operations(batches), contexts), key=itemgetter(0)):
            yield from events_batches(context.batch, context.run, (event for _, event in of_run))

    return convert
