"""ZooKeeper's data directories to a table of events, on Spark: a task for each log file, then one for each share of paths.

Three steps. Every file is decoded into operations, which are kept for the while. Those of the cluster as a whole are told in
the driver, which is what all others look to. Then each key's operations are brought together, in order, and told.

The files have to be seen by every executor under the same path. What one process makes of the same directory
(scenarios/imported/zookeeper_import.py) comes out, event by event, but for `seq`, which has gaps; where the logs have holes,
so that a write's znode was never seen to be created, that write is left out by both.

Left out: the undoing of what a dead leader of an ensemble had logged and nobody else has (see EnsembleLogTail).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from kcsim.scenarios.replay.importing.event_rows import all_columns, events_batches, frame_of, rejects_batch, told_schema
from kcsim.scenarios.replay.importing.imported import Imported
from kcsim.scenarios.replay.importing.tasks import packed, size_of, tasks_of
from kcsim.scenarios.replay.importing.zookeeper.cluster_past import ClusterPast
from kcsim.scenarios.replay.importing.zookeeper.log_file import operations_of_file
from kcsim.scenarios.replay.importing.zookeeper.one_run import Cluster, RunInHand, RunRead, beginning, run_of, tell_keys
from kcsim.scenarios.replay.importing.zookeeper.operation import (
    OF_THE_CLUSTER,
    Operation,
    operations_arrow_schema,
    operations_batch,
)
from kcsim.scenarios.replay.tables.rejects_table import rejects_arrow_schema
from kcsim.scenarios.replay.tables.task_each import task_each
from kcsim.zk import paths
from kcsim.zk.files.past_tree import PastTree
from kcsim.zk.vocabulary import Zxid

MOST_OPERATIONS = 8_192
MOST_BYTES = 16 * 2**20
"""Of a batch of operations, about: a topic's znode may have a megabyte."""
A_TOPIC = rf"^{paths.BROKER_TOPICS}/[^/]+$"


class LogToRead(NamedTuple):
    """What the first step does with one file."""

    run: str
    path: str
    after: int
    to: int


def import_zookeeper(
    spark: SparkSession,
    clusters: Sequence[Cluster],
    chroot: str = "",
    batch: str | None = None,
    tasks: int | None = None,
) -> Imported[RunRead]:
    """Read the logs of clusters, each as a run of its own.

    Args:
        clusters: with different names.
        chroot: where Kafka's znodes are; empty for the root.
        batch: what all of it is filed under; else each run under the day (UTC) on which it begins.
        tasks: among how many the files, and then the paths, are divided, at most; if not given, a few for each core, and as
            Spark divides what it shuffles.

    Raises: BadLogError for a file that is no log, or has a record that nobody can read; DataDirectoryError when a
        beginning cannot be known, there is nothing to tell, or the newest logs are missing; OSError.
    """
    trees = {cluster.run: beginning(cluster) for cluster in clusters}
    operations = _decoded(spark, clusters, trees, chroot, tasks_of(spark, tasks)).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        looked_at = _looked_at(operations)
        runs = [run_of(cluster, trees[cluster.run], looked_at[cluster.run], chroot, batch) for cluster in clusters]
        rejects = rejects_batch(reject for run in runs for reject in run.rejects)
        return Imported(
            events=all_columns(_told(operations, runs, tasks)),
            rejects=frame_of(spark, [rejects], rejects_arrow_schema()),
            runs=[run.read for run in runs],
            kept=(operations,),
        )
    except BaseException:
        operations.unpersist()
        raise


# --- first step: files to operations ---------------------------------------------------------------------------------------


def _decoded(
    spark: SparkSession, clusters: Sequence[Cluster], trees: Mapping[str, PastTree], chroot: str, most: int
) -> DataFrame:
    logs = [
        LogToRead(cluster.run, str(path), trees[cluster.run].zxid, cluster.to)
        for cluster in clusters
        for directory in cluster.directories
        for path in directory.logs
    ]

    tasks = packed([size_of(log.path) for log in logs], most)

    def read(_: int, places: Sequence[int]) -> Iterator[Any]:
        for log in (logs[place] for place in places):
            found = operations_of_file(log.run, Path(log.path), chroot, Zxid(log.after), Zxid(log.to))
            yield from map(operations_batch, _portions(found))

    schema = frame_of(spark, [], operations_arrow_schema()).schema
    return task_each(spark, tasks, read, schema)


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
    """Of each run the surveys of its files, and the operations that are looked at in the driver."""
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


def _told(operations: DataFrame, runs: Sequence[RunInHand], tasks: int | None) -> DataFrame:
    """The clusters' own events, and those of all other keys."""
    spark = operations.sparkSession
    own = [portion for run in runs for portion in events_batches(run.read.batch, run.read.run, run.events)]
    whole = frame_of(spark, own, told_schema())
    rest = operations.filter(F.col("key") != OF_THE_CLUSTER)
    if more := [operation for run in runs for operation in run.more]:
        rest = rest.unionByName(frame_of(spark, [operations_batch(more)], operations_arrow_schema()))
    rest = rest.repartition("run", "key") if tasks is None else rest.repartition(tasks, "run", "key")
    ordered = rest.sortWithinPartitions("run", "key", "zxid", "place")
    return whole.unionByName(ordered.mapInArrow(_tell_with({run.read.run: run.past for run in runs}), whole.schema))


def _tell_with(pasts: Mapping[str, ClusterPast]) -> Any:
    """What tells the operations of whole keys, in order."""

    def tell(batches: Iterable[Any]) -> Iterator[Any]:
        for past, of_run in groupby(tell_keys(_operations(batches), pasts), key=itemgetter(0)):
            yield from events_batches(past.batch, past.run, (event for _, event in of_run))

    return tell
