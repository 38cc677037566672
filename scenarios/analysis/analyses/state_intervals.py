"""The state intervals of partitions: how long each state of a partition lasted. Most analyses are computed from this table.

A partition exists from its first row in the table of transitions (its first state, or the first failed attempt to elect a
leader for it) to the deletion of its state. While the deletion of its topic is requested, the partition does not count.
"""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.intervals import islands, of_last
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window

PARTITION = ("batch", "run", "topic", "partition")
NO_BROKER = -1
_OF_STATE = ("kind", "trigger", "strategy", "rule", "clean", "leader", "leader_epoch", "isr", "replicas", "adding")


def within(transitions: DataFrame, scope: Scope) -> DataFrame:
    """Return the transitions of the topics and the time in the scope."""
    chosen = of_topics(transitions, scope)
    if scope.since_ms is not None:
        chosen = chosen.where(F.col("t_ms") >= scope.since_ms)
    if scope.until_ms is not None:
        chosen = chosen.where(F.col("t_ms") < scope.until_ms)
    return chosen


def of_topics(rows: DataFrame, scope: Scope) -> DataFrame:
    """Return the rows of the topics in the scope."""
    return rows.where(F.col("topic").isin(*scope.topics)) if scope.topics else rows


def state_intervals(transitions: DataFrame, settings: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Return every state interval of every partition.

    A state interval lasts from one change of the partition's state, or of a setting that the partition is judged by, to the
    next.

    Args:
        settings: facts.topic_settings().
        ends: runs().

    Returns: batch, run, topic, partition; seq and t_ms of the event that began the interval; from_ms and to_ms, cut off at
        the edges of the scope; open (still so at the end); is_change (a change of the state began it); kind, trigger,
        strategy, rule, clean of that change, else of the change before; leader (-1: none), leader_epoch, isr, replicas,
        adding; wanted (the number of replicas without those being added: those that should be in sync); min_isr;
        leader_before and isr_before (null at the partition's beginning); leader_after and isr_after (null at its end).
    """
    chosen = of_topics(transitions, scope)
    moments = _states(chosen).unionByName(_settings(chosen, of_topics(settings, scope)), allowMissingColumns=True)
    in_order = Window.partitionBy(*PARTITION).orderBy("t_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    last = F.last("state", ignorenulls=True)
    states = moments.select(
        *PARTITION,
        *("seq", "t_ms"),
        F.col("state").isNotNull().alias("is_change"),
        last.over(so_far).alias("now"),
        last.over(before).alias("before"),
        F.coalesce(F.last("deleting", ignorenulls=True).over(so_far), F.lit(False)).alias("deleting"),
        F.last("min_isr", ignorenulls=True).over(so_far).alias("min_isr"),
        F.lead("t_ms").over(in_order).alias("next_ms"),
    ).withColumn("after", F.lead(F.when(~F.col("now.gone") & ~F.col("deleting"), F.col("now"))).over(in_order))
    return _cut(states.where("now IS NOT NULL AND NOT now.gone AND NOT deleting"), ends, scope)


def _states(transitions: DataFrame) -> DataFrame:
    """Return the transitions that left a state. An election that finds no leader does so only as the first transition."""
    fruitless = (F.col("kind") == EventKind.LEADER_ELECTION) & F.col("leader").isNull() & (F.col("n") > 0)
    fields = [
        F.coalesce("leader", F.lit(NO_BROKER)).cast("long").alias(name) if name == "leader" else F.col(name)
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
    """Return the changes of topics' settings, for each of the topics' partitions: rows without a state."""
    partitions = transitions.where("n = 0").select(*PARTITION)
    return partitions.join(settings, ["batch", "run", "topic"]).select(*PARTITION, "seq", "t_ms", "deleting", "min_isr")


def _cut(states: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Cut state intervals off at the edges of the scope, and name their columns."""
    next_ms: Column = F.col("next_ms")
    is_open = next_ms.isNull()
    if scope.until_ms is not None:
        is_open = is_open | (next_ms >= scope.until_ms)
    to_ms = F.when(is_open, F.col("end_ms")).otherwise(next_ms)
    named = states.join(ends, ["batch", "run"]).select(
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
    """Return the replicas that should be in sync: those that are not being added. Replicas are seldom being added."""
    replicas, adding = F.col(f"{prefix}replicas"), F.col(f"{prefix}adding")
    return F.when(F.coalesce(F.size(adding) > 0, F.lit(False)), F.array_except(replicas, adding)).otherwise(replicas)


def assignments(of_partitions: DataFrame) -> DataFrame:
    """Return the intervals in which each partition's leader and replicas were constant, however often its ISR changed.

    There are far fewer of them than state intervals.

    Args:
        of_partitions: state_intervals().

    Returns: batch, run, topic, partition, leader, replicas, from_ms, to_ms, duration_ms, open, leader_before, leader_after
        (as in state_intervals, of the first and of the last state).
    """
    before = Window.partitionBy(*PARTITION).orderBy("from_ms")
    same = [F.lag("to_ms").over(before) == F.col("from_ms")] + [
        F.lag(name).over(before).eqNullSafe(F.col(name)) for name in ("leader", "replicas")
    ]
    begins = (~F.coalesce(same[0] & same[1] & same[2], F.lit(False))).cast("int")
    # The state intervals of a partition do not overlap: what is alike and touches follows on each other.
    numbered = (
        of_partitions.where("from_ms < to_ms")
        .select(*PARTITION, "leader", "replicas", "from_ms", "to_ms", "open", "leader_before", "leader_after")
        .withColumn("_begins", begins)
        .withColumn("_number", F.sum("_begins").over(before.rowsBetween(Window.unboundedPreceding, 0)))
    )
    joined = numbered.groupBy(*PARTITION, "_number").agg(
        F.min_by("leader", "from_ms").alias("leader"),
        F.min_by("replicas", "from_ms").alias("replicas"),
        F.min("from_ms").alias("from_ms"),
        F.max("to_ms").alias("to_ms"),
        F.bool_or("open").alias("open"),
        F.min_by("leader_before", "from_ms").alias("leader_before"),
        F.max_by("leader_after", "from_ms").alias("leader_after"),
    )
    return joined.withColumn("duration_ms", F.col("to_ms") - F.col("from_ms")).drop("_number")


def out_of_sync(of_partitions: DataFrame) -> DataFrame:
    """Return when each replica was out of the ISR: for every partition and broker, from leaving it or from the beginning.

    A replica that is being added, or is no longer assigned, is not out of sync.

    Args:
        of_partitions: state_intervals().

    Returns: batch, run, topic, partition, broker, from_ms, to_ms, duration_ms, open, returned (whether the interval ended
        because the replica was in sync again, not because the partition or the assignment of the replica ended).
    """
    missing = F.array_except(origin_replicas(), F.col("isr"))
    pieces = of_partitions.where(F.size(missing) > 0).select(
        *PARTITION, "from_ms", "to_ms", "open", "isr_after", F.explode(missing).alias("broker")
    )
    back = F.coalesce(F.array_contains("isr_after", F.col("broker")), F.lit(False)) & ~F.col("open")
    return islands(pieces.withColumn("returned", back), (*PARTITION, "broker"), {"returned": of_last("returned")})
