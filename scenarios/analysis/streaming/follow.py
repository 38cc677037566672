"""The streaming query that follows event logs: from the files to the tables of a dataset.

files ─▶ chunks per slot ─▶ fold of each slot (transformWithState) ─▶ tables
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from kcsim.scenarios.analysis.streaming.event_log_source import SOURCE, EventLogSource
from kcsim.scenarios.analysis.streaming.slot_processor import RESULT_SCHEMA, SlotProcessor
from kcsim.scenarios.analysis.streaming.table_files import rows_of, write_micro_batch
from kcsim.scenarios.analysis.tables.dataset import Dataset

STATE_IN_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Each micro-batch uploads what it changed, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""Settings that transformWithState needs. They are those of the session when a query starts."""
CHECKPOINT = "checkpoint"
KEYS_TRIED = 1_000


@dataclass(frozen=True)
class FollowSettings:
    """What is followed, and how. It stays the same for all of a checkpoint's life.

    Attributes:
        path: an event log, or a folder of event logs; each is a run.
        batch: of these runs, in all tables.
        slots: into how many parts the partitions are divided; as many are folded at a time.
        lateness_ms: how long the run's time may go on, and how long nothing may come, while an event is missing.
        max_bytes: how much a micro-batch reads at most.
    """

    path: Path
    batch: str
    slots: int
    lateness_ms: int = 10_000
    max_bytes: int = 32 * 2**20


def follow(
    spark: SparkSession,
    settings: FollowSettings,
    out: Path,
    *,
    until_end: bool = False,
    interval_ms: int = 1_000,
    done: Callable[[int], None] = lambda number: None,
) -> StreamingQuery:
    """Start the query; where it was stopped, if it was.

    Args:
        out: the dataset; the checkpoint is in it, too.
        until_end: end the query when all that is there has been read; otherwise it goes on until it is stopped.
        interval_ms: the least time from one micro-batch to the next.
        done: called with the number of each micro-batch when its tables are written.
    """
    dataset = Dataset(out)
    for name, value in STATE_IN_ROCKSDB.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(settings.slots))
    spark.dataSource.register(EventLogSource)

    def write(rows: DataFrame, number: int) -> None:
        found = defaultdict(list)
        for row in sorted(rows.toArrow().to_pylist(), key=lambda row: row["slot"]):
            found[row["name"]].extend(rows_of(row["rows"]))
        for name, batches in sorted(found.items()):
            write_micro_batch(dataset.table(name), number, batches)
        done(number)

    writer = folded(spark, settings).writeStream.foreachBatch(write).option("checkpointLocation", str(out / CHECKPOINT))
    trigger: dict[str, Any] = {"availableNow": True} if until_end else {"processingTime": f"{interval_ms} milliseconds"}
    return writer.trigger(**trigger).start()


def folded(spark: SparkSession, settings: FollowSettings) -> DataFrame:
    """Return the streaming table of what the fold returns: slot_processor.RESULT_SCHEMA."""
    options = {
        "path": str(settings.path.absolute()),
        "batch": settings.batch,
        "slots": str(settings.slots),
        "lateness_ms": str(settings.lateness_ms),
        "max_bytes": str(settings.max_bytes),
        "split_bytes": str(max(2**18, settings.max_bytes // (2 * settings.slots))),
    }
    chunks = spark.readStream.format(SOURCE).options(**options).load()
    keys = keys_of_slots(spark, settings.slots)
    key = F.element_at(F.array(*(F.lit(key).cast("long") for key in keys)), (F.col("slot") + 1).cast("int")).alias("key")
    processor = SlotProcessor({key: slot for slot, key in enumerate(keys)}, settings.lateness_ms)
    return chunks.select(key, "chunk").groupBy("key").transformWithStateInPandas(processor, RESULT_SCHEMA, "append", "None")


def keys_of_slots(spark: SparkSession, slots: int) -> list[int]:
    """Return a key for each slot, such that Spark's hash puts each into another partition, where it is folded by itself."""
    places = spark.range(KEYS_TRIED * slots).select("id", F.expr(f"pmod(hash(id), {slots})").alias("place"))
    first = {row["place"]: row["key"] for row in places.groupBy("place").agg(F.min("id").alias("key")).collect()}
    return [first[place] for place in range(slots)]
