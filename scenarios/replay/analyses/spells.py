"""The spells of partitions: how long each partition was as it was. Most analyses are made on this one table.

A partition is there from its first row in the table of transitions (its first state, or the first, fruitless try to elect a
leader for it) to the deletion of its state; while the deletion of its topic is asked for, it does not count.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kcsim.scenarios.replay.analyses.facts import topic_settings
from kcsim.scenarios.replay.analyses.intervals import islands, of_last
from kcsim.scenarios.replay.analyses.scope import Scope
from kcsim.zk.events import EventKind

PARTITION = ("batch", "run", "topic", "partition")
NOBODY = -1
_OF_STATE = ("kind", "trigger", "strategy", "rule", "clean", "leader", "leader_epoch", "isr", "replicas", "adding")


def within(transitions: DataFrame, scope: Scope) -> DataFrame:
    """The transitions of the topics and the time that are looked at."""
    chosen = of_topics(transitions, scope)
    if scope.since_ms is not None:
        chosen = chosen.where(F.col("t_ms") >= scope.since_ms)
    if scope.until_ms is not None:
        chosen = chosen.where(F.col("t_ms") < scope.until_ms)
    return chosen


def of_topics(rows: DataFrame, scope: Scope) -> DataFrame:
    """The rows of the topics that are looked at."""
    return rows.where(F.col("topic").isin(*scope.topics)) if scope.topics else rows


def spells(transitions: DataFrame, of_cluster: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Every spell of every partition, from one change of its state, or of a setting that it is judged by, to the next.

    Args:
        of_cluster: facts(), for the settings of topics.
        ends: runs().

    Returns: batch, run, topic, partition; seq and t_ms of what began it; from_ms and to_ms, cut off at the edges of the
        scope; open (still so at the end); is_change (a change of the state began it); kind, trigger, strategy, rule, clean
        of that change, else of the one before; leader (-1: nobody), leader_epoch, isr, replicas, adding; wanted (the
        replicas before any being added: those that should be in sync); min_isr; leader_before and isr_before (null at the
        partition's beginning); leader_after and isr_after (null at its end).
    """
    chosen = of_topics(transitions, scope)
    moments = _states(chosen).unionByName(_settings(chosen, of_topics(topic_settings(of_cluster), scope)))
    in_order = Window.partitionBy(*PARTITION).orderBy("t_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    last = F.last("state", ignorenulls=True)
    told = moments.select(
        *PARTITION,
        *("seq", "t_ms"),
        F.col("state").isNotNull().alias("is_change"),
        last.over(so_far).alias("now"),
        last.over(before).alias("before"),
        F.coalesce(F.last("deleting", ignorenulls=True).over(so_far), F.lit(False)).alias("deleting"),
        F.last("min_isr", ignorenulls=True).over(so_far).alias("min_isr"),
        F.lead("t_ms").over(in_order).alias("next_ms"),
    ).withColumn("after", F.lead(F.when(~F.col("now.gone") & ~F.col("deleting"), F.col("now"))).over(in_order))
    return _cut(told.where("now IS NOT NULL AND NOT now.gone AND NOT deleting"), ends, scope)


def _states(transitions: DataFrame) -> DataFrame:
    """The transitions that left a state behind. An election without a winner does so only where there was none."""
    fruitless = (F.col("kind") == EventKind.LEADER_ELECTION) & F.col("leader").isNull() & (F.col("n") > 0)
    fields = [
        F.coalesce("leader", F.lit(NOBODY)).cast("long").alias(name) if name == "leader" else F.col(name)
        for name in _OF_STATE
    ]
    gone = (F.col("kind") == EventKind.ZNODE_DELETED).alias("gone")
    return transitions.where(~fruitless).select(
        *PARTITION,
        *("seq", "t_ms"),
        F.struct(*fields, gone).alias("state"),
        F.lit(None).cast("boolean").alias("deleting"),
        F.lit(None).cast("int").alias("min_isr"),
    )


def _settings(transitions: DataFrame, settings: DataFrame) -> DataFrame:
    """What is told of topics, for each of their partitions."""
    partitions = transitions.where("n = 0").select(*PARTITION)
    state = _states(transitions.limit(0)).schema["state"].dataType
    return partitions.join(F.broadcast(settings), ["batch", "run", "topic"]).select(
        *PARTITION, "seq", "t_ms", F.lit(None).cast(state).alias("state"), "deleting", "min_isr"
    )


def _cut(told: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Cut spells off at the edges of the scope, name their columns."""
    next_ms: Column = F.col("next_ms")
    is_open = next_ms.isNull()
    if scope.until_ms is not None:
        is_open = is_open | (next_ms >= scope.until_ms)
    to_ms = F.when(is_open, F.col("end_ms")).otherwise(next_ms)
    named = told.join(F.broadcast(ends), ["batch", "run"]).select(
        *PARTITION,
        *("seq", "t_ms"),
        F.greatest("t_ms", "start_ms").alias("from_ms") if scope.since_ms is not None else F.col("t_ms").alias("from_ms"),
        to_ms.alias("to_ms"),
        is_open.alias("open"),
        "is_change",
        *(F.col(f"now.{name}").alias(name) for name in _OF_STATE),
        F.size(origin_replicas("now.")).alias("wanted"),
        F.coalesce(F.nullif("min_isr", F.lit(0)), F.lit(scope.min_insync_replicas)).cast("long").alias("min_isr"),
        F.when(~F.col("before.gone"), F.col("before.leader")).alias("leader_before"),
        F.when(~F.col("before.gone"), F.col("before.isr")).alias("isr_before"),
        F.col("after.leader").alias("leader_after"),
        F.col("after.isr").alias("isr_after"),
    )
    if scope.since_ms is not None:
        named = named.where((F.col("to_ms") > scope.since_ms) | (F.col("t_ms") >= scope.since_ms))
    return named if scope.until_ms is None else named.where(F.col("t_ms") < scope.until_ms)


def origin_replicas(prefix: str = "") -> Column:
    """The replicas that should be in sync: those before any being added, which seldom happens."""
    replicas, adding = F.col(f"{prefix}replicas"), F.col(f"{prefix}adding")
    return F.when(F.coalesce(F.size(adding) > 0, F.lit(False)), F.array_except(replicas, adding)).otherwise(replicas)


def out_of_sync(of_partitions: DataFrame) -> DataFrame:
    """When each replica was out of the ISR: for every partition and broker, from leaving it (or never having been in it).

    A replica that is being added is not out of sync; one that is no longer assigned neither.

    Args:
        of_partitions: spells().

    Returns: batch, run, topic, partition, broker, from_ms, to_ms, duration_ms, open, returned (whether it ended by its being
        in sync again, not by the end of the partition or of its place in it).
    """
    missing = F.array_except(origin_replicas(), F.col("isr"))
    pieces = of_partitions.where(F.size(missing) > 0).select(
        *PARTITION, "from_ms", "to_ms", "open", "isr_after", F.explode(missing).alias("broker")
    )
    back = F.coalesce(F.array_contains("isr_after", F.col("broker")), F.lit(False)) & ~F.col("open")
    return islands(pieces.withColumn("returned", back), (*PARTITION, "broker"), {"returned": of_last("returned")})
