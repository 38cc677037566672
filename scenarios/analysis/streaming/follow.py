"""The streaming query that follows event logs: from the files to the tables of a dataset.

files ─▶ chunks per slot ─▶ fold of each slot (transformWithState) ─▶ tables
"""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from kcsim.scenarios.analysis.streaming.event_log_source import SOURCE, EventLogSource
from kcsim.scenarios.analysis.streaming.followed import Followed, FollowSettings, MicroBatch
from kcsim.scenarios.analysis.streaming.run_status import unpacked_statuses
from kcsim.scenarios.analysis.streaming.slot_processor import RESULT_SCHEMA, RUNNING, SlotProcessor
from kcsim.scenarios.analysis.streaming.tables import batches_of_stream

OF_QUERIES = {
    # What transformWithState needs.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # Each micro-batch uploads what it changed, not the whole state.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A micro-batch is a few rows for Spark: to compile code for them costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of a session in which a query starts."""
KEYS_TRIED = 1_000


def follow(
    spark: SparkSession,
    followed: Followed,
    *,
    until_end: bool = False,
    interval_ms: int = 1_000,
    done: Callable[[MicroBatch], None] = lambda micro_batch: None,
) -> StreamingQuery:
    """Start the query; where it was stopped, if it was.

    Args:
        until_end: end the query when all that is there has been read; otherwise it goes on until it is stopped.
        interval_ms: the least time from one micro-batch to the next.
        done: called with each micro-batch when its tables are written.
    """
    for name, value in OF_QUERIES.items():
        spark.conf.set(name, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(followed.settings.slots))
    spark.dataSource.register(EventLogSource)

    def write(rows: DataFrame, number: int) -> None:
        micro_batch = MicroBatch(number, {}, [])
        for row in sorted(rows.toArrow().to_pylist(), key=lambda row: row["slot"]):
            if row["name"] == RUNNING:
                micro_batch.statuses.extend(unpacked_statuses(row["rows"]))
            else:
                micro_batch.rows.setdefault(row["name"], []).extend(batches_of_stream(row["rows"]))
        followed.write(micro_batch)
        done(micro_batch)

    rows = folded(spark, followed.settings)
    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(followed.checkpoint))
    trigger: dict[str, Any] = {"availableNow": True} if until_end else {"processingTime": f"{interval_ms} milliseconds"}
    return writer.trigger(**trigger).start()


def folded(spark: SparkSession, settings: FollowSettings) -> DataFrame:
    """Return the streaming table of what the fold returns: slot_processor.RESULT_SCHEMA."""
    options = {
        "path": settings.path,
        "batch": settings.batch,
        "slots": str(settings.slots),
        "lateness_ms": str(settings.lateness_ms),
        "max_bytes": str(settings.max_bytes),
        "part_bytes": str(max(2**18, settings.max_bytes // (2 * settings.slots))),
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
