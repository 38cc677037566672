"""The state intervals of partitions: how long each state of a partition lasted. Most analyses are computed from this table.

A partition exists from its first state, or the first failed attempt to elect a leader for it, to the deletion of its state,
or, if it never had one, of its topic. While the deletion of its topic is requested, the partition does not count.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from kcsim.eventlog.arrow_types import arrow_fields
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.intervals import joined_neighbours
from kcsim.scenarios.analysis.analyses.scope import Scope
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window

PARTITION = ("batch", "run", "topic", "partition")
NO_BROKER = -1
_OF_STATE = ("kind", "trigger", "strategy", "rule", "clean", "leader", "leader_epoch", "isr", "replicas", "adding")


class StateInterval(msgspec.Struct, frozen=True):
    """One row of the table of state intervals that a dataset keeps. See state_intervals() for what the columns mean.

    Attributes:
        next_ms: when the next state interval of the partition begins, or the partition ends; null: neither is recorded.
        min_isr: min.insync.replicas of its topic; null: not set.
    """

    batch: str
    run: str
    topic: str
    partition: int
    seq: int
    t_ms: int
    next_ms: int | None
    is_change: bool
    kind: str
    trigger: str
    strategy: str | None
    rule: str | None
    clean: bool | None
    leader: int
    leader_epoch: int | None
    isr: Sequence[int]
    replicas: Sequence[int]
    adding: Sequence[int]
    min_isr: int | None
    leader_before: int | None
    isr_before: Sequence[int] | None
    leader_after: int | None
    isr_after: Sequence[int] | None


def state_intervals_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema, in the order of StateInterval."""
    import pyarrow as pa

    return pa.schema(arrow_fields(StateInterval))


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


def whole_state_intervals(transitions: DataFrame, settings: DataFrame) -> DataFrame:
    """Return every state interval of every partition, not yet cut off at the edges of a scope.

    A state interval lasts from one change of the partition's state, or of a setting that the partition is judged by, to the
    next.

    Args:
        settings: facts.topic_settings().

    Returns: the columns of StateInterval, which the table `state_intervals` of a dataset has.
    """
    moments = _states(transitions).unionByName(_settings(transitions, settings), allowMissingColumns=True)
    in_order = Window.partitionBy(*PARTITION).orderBy("t_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, 0)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    last = F.last("state", ignorenulls=True)
    is_topic_gone = F.coalesce("topic_gone", F.when(F.col("state").isNotNull(), F.lit(False)))
    states = moments.select(
        *PARTITION,
        *("seq", "t_ms"),
        F.col("state").isNotNull().alias("is_change"),
        F.coalesce(F.last(is_topic_gone, ignorenulls=True).over(so_far), F.lit(False)).alias("topic_gone"),
        last.over(so_far).alias("now"),
        last.over(before).alias("before"),
        F.coalesce(F.last("deleting", ignorenulls=True).over(so_far), F.lit(False)).alias("deleting"),
        F.last("min_isr", ignorenulls=True).over(so_far).alias("min_isr"),
        F.lead("t_ms").over(in_order).alias("next_ms"),
    ).withColumn("after", F.lead(F.when(~F.col("now.gone") & ~F.col("deleting"), F.col("now"))).over(in_order))
    is_there = F.col("now").isNotNull() & ~F.col("now.gone") & ~F.col("deleting")
    return states.where(is_there & ~(F.col("now.is_awaited") & F.col("topic_gone"))).select(
        *PARTITION,
        *("seq", "t_ms", "next_ms", "is_change"),
        *(F.col(f"now.{name}").alias(name) for name in _OF_STATE),
        F.nullif("min_isr", F.lit(0)).cast("long").alias("min_isr"),
        F.when(~F.col("before.gone"), F.col("before.leader")).alias("leader_before"),
        F.when(~F.col("before.gone"), F.col("before.isr")).alias("isr_before"),
        F.col("after.leader").alias("leader_after"),
        F.col("after.isr").alias("isr_after"),
    )


def _states(transitions: DataFrame) -> DataFrame:
    """Return the transitions that left a state. An election that finds no leader does so only if there was no state."""
    has_state = F.col("leader_epoch").isNotNull()
    is_vain = (F.col("kind") == EventKind.LEADER_ELECTION) & F.col("leader").isNull()
    fruitless = is_vain & has_state & (F.col("n") > 0)
    is_awaited = (is_vain | (F.col("kind") == EventKind.PARTITION_REASSIGNMENT)) & ~has_state
    fields = [
        F.coalesce("leader", F.lit(NO_BROKER)).cast("long").alias(name) if name == "leader" else F.col(name)
        for name in _OF_STATE
    ]
    gone = (F.col("kind") == EventKind.ZNODE_DELETED).alias("gone")
    return transitions.where(~fruitless).select(
        *PARTITION,
        *("seq", "t_ms"),
        F.struct(*fields, gone, is_awaited.alias("is_awaited")).alias("state"),
        F.lit(None).cast("boolean").alias("deleting"),
        F.lit(None).cast("int").alias("min_isr"),
        F.lit(None).cast("boolean").alias("topic_gone"),
    )


def _settings(transitions: DataFrame, settings: DataFrame) -> DataFrame:
    """Return the changes of topics' settings, for each of the topics' partitions: rows without a state."""
    partitions = transitions.where("n = 0").select(*PARTITION)
    joined = partitions.join(settings, ["batch", "run", "topic"])
    return joined.select(*PARTITION, "seq", "t_ms", "deleting", "min_isr", F.col("gone").alias("topic_gone"))


def state_intervals(whole: DataFrame, ends: DataFrame, scope: Scope) -> DataFrame:
    """Return the state intervals of partitions within a scope.

    Args:
        whole: whole_state_intervals(), of the topics in the scope.
        ends: facts.runs().

    Returns: batch, run, topic, partition; seq and t_ms of the event that began the interval; from_ms and to_ms, cut off at
        the edges of the scope; open (still so at the end); is_change (a change of the state began it); kind, trigger,
        strategy, rule, clean of that change, else of the change before; leader (-1: none), leader_epoch, isr, replicas,
        adding; wanted (the number of replicas without those being added: those that should be in sync); in_sync (how many
        members the ISR has: one that was written by hand can name a broker twice); min_isr; leader_before and isr_before
        (null at the partition's beginning); leader_after and isr_after (null at its end).
    """
    next_ms: Column = F.col("next_ms")
    is_open = next_ms.isNull()
    if scope.until_ms is not None:
        is_open = is_open | (next_ms >= scope.until_ms)
    to_ms = F.when(is_open, F.col("end_ms")).otherwise(next_ms)
    cut = whole.join(ends, ["batch", "run"]).select(
        *PARTITION,
        *("seq", "t_ms"),
        F.greatest("t_ms", "start_ms").alias("from_ms") if scope.since_ms is not None else F.col("t_ms").alias("from_ms"),
        to_ms.alias("to_ms"),
        is_open.alias("open"),
        "is_change",
        *_OF_STATE,
        F.size(origin_replicas()).alias("wanted"),
        F.size(F.array_distinct("isr")).alias("in_sync"),
        F.coalesce("min_isr", F.lit(scope.min_insync_replicas).cast("long")).alias("min_isr"),
        *("leader_before", "isr_before", "leader_after", "isr_after"),
    )
    if scope.since_ms is not None:
        cut = cut.where((F.col("to_ms") > scope.since_ms) | (F.col("t_ms") >= scope.since_ms))
    return cut if scope.until_ms is None else cut.where(F.col("t_ms") < scope.until_ms)


def origin_replicas() -> Column:
    """Return the replicas that should be in sync: those that are not being added. Replicas are seldom being added."""
    replicas, adding = F.col("replicas"), F.col("adding")
    return F.when(F.coalesce(F.size(adding) > 0, F.lit(False)), F.array_except(replicas, adding)).otherwise(replicas)


def assignments(of_partitions: DataFrame) -> DataFrame:
    """Return the intervals in which each partition's leader and replicas were constant, however often its ISR changed.

    There are far fewer of them than state intervals.

    Args:
        of_partitions: state_intervals().

    Returns: batch, run, topic, partition, leader, replicas, from_ms, to_ms, duration_ms, open, leader_before, leader_after
        (as in state_intervals, of the first and of the last state).
    """
    pieces = of_partitions.select(
        *PARTITION, "leader", "replicas", "from_ms", "to_ms", "open", "leader_before", "leader_after"
    )
    joined = joined_neighbours(pieces, PARTITION, ("leader", "replicas"), of_last=("open", "leader_after"))
    return joined.withColumn("duration_ms", F.col("to_ms") - F.col("from_ms"))


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
    named = pieces.withColumn("returned", back).drop("isr_after")
    # The states of a partition do not overlap, and neither does what is made of them.
    joined = joined_neighbours(named, (*PARTITION, "broker"), of_last=("open", "returned"))
    return joined.where("from_ms < to_ms").withColumn("duration_ms", F.col("to_ms") - F.col("from_ms"))
