"""The figures of a replay, and of what would have been different in a what-if."""

from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN

KEY = (BATCH, RUN, "topic", "partition")


@dataclass(frozen=True, slots=True)
class PartitionTotals:
    """The figures of all partitions together.

    Attributes:
        partitions: how many there are.
        elections: how many elections found a leader; `unclean`: how many of them chose one from outside the ISR.
        offline: how many partitions were without a leader at some time; `offline_ms`: for how long, summed up.
        under_min_isr: how many partitions had a leader but an ISR smaller than min.insync.replicas; `under_min_isr_ms`: for
            how long, summed up. Both are None where no min.insync.replicas was given.
    """

    partitions: int
    elections: int
    unclean: int
    offline: int
    offline_ms: int
    under_min_isr: int | None = None
    under_min_isr_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """A history and what would have been.

    Attributes:
        no_longer_offline: how many partitions were offline in the history only.
        newly_offline: how many partitions were offline in the what-if only.
        examples: the partitions whose offline time changed most, one sentence for each.
    """

    before: PartitionTotals
    after: PartitionTotals
    no_longer_offline: int = 0
    newly_offline: int = 0
    examples: tuple[str, ...] = field(default=())


def counts(transitions: DataFrame) -> list[tuple[str, str, int]]:
    """Return (kind, trigger, how many transitions), sorted."""
    rows = transitions.groupBy("kind", "trigger").count().orderBy("kind", "trigger").collect()
    return [(row["kind"], row["trigger"], row["count"]) for row in rows]


def ends_of(events: DataFrame) -> DataFrame:
    """Return when each run ended: batch, run, ended_ms."""
    return events.groupBy(BATCH, RUN).agg(F.max("t_ms").alias("ended_ms"))


def by_partition(transitions: DataFrame, ends: DataFrame, min_insync_replicas: int | None = None) -> DataFrame:
    """Return one row for each partition: its key, elections, unclean, offline_ms, under_min_isr_ms.

    A partition goes offline when its state names no leader, or when its first election finds no leader. It stays offline
    until it has a leader, its state is deleted, or the run ends.
    """
    is_failed_election = (F.col("kind") == "LeaderElection") & F.col("leader").isNull()
    has_state = F.col("leader_epoch").isNotNull()
    is_election = (F.col("kind") == "LeaderElection") & F.col("leader").isNotNull()
    counted = transitions.groupBy(*KEY).agg(
        F.count_if(is_election).alias("elections"), F.count_if(F.col("clean") == F.lit(False)).alias("unclean")
    )
    # An election that finds no leader leaves the state unchanged.
    intervals = transitions.where(~(is_failed_election & has_state)).join(ends, [BATCH, RUN])
    until = F.coalesce(F.lead("t_ms").over(Window.partitionBy(*KEY).orderBy("n")), F.col("ended_ms"))
    is_offline = (F.col("leader") == -1) | is_failed_election
    few = F.lit(False) if min_insync_replicas is None else (F.size("isr") < min_insync_replicas) & (F.col("leader") >= 0)
    lasted = intervals.withColumn("lasted", F.greatest(until - F.col("t_ms"), F.lit(0)))
    times = lasted.groupBy(*KEY).agg(
        _sum_if(is_offline).alias("offline_ms"),
        F.max(F.when(is_offline, 1).otherwise(0)).alias("was_offline"),
        _sum_if(few).alias("under_min_isr_ms"),
        F.max(F.when(few, 1).otherwise(0)).alias("was_under_min_isr"),
    )
    return counted.join(times, list(KEY), "left").na.fill(0)


def _sum_if(condition: Column) -> Column:
    return F.sum(F.when(condition, F.col("lasted")).otherwise(0))


def totals_of(partitions: DataFrame, has_min_isr: bool) -> PartitionTotals:
    """Sum up a table that by_partition returned."""
    row = partitions.agg(
        F.count("*").alias("partitions"),
        *(
            F.coalesce(F.sum(name), F.lit(0)).alias(name)
            for name in ("elections", "unclean", "offline_ms", "under_min_isr_ms")
        ),
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("was_offline", "was_under_min_isr")),
    ).collect()[0]
    totals = PartitionTotals(row["partitions"], row["elections"], row["unclean"], row["was_offline"], row["offline_ms"])
    if not has_min_isr:
        return totals
    return PartitionTotals(
        totals.partitions,
        totals.elections,
        totals.unclean,
        totals.offline,
        totals.offline_ms,
        row["was_under_min_isr"],
        row["under_min_isr_ms"],
    )


def compare(before: DataFrame, after: DataFrame, has_min_isr: bool, examples: int = 5) -> ReplayComparison:
    """Compare two tables of by_partition: of what was and of what would have been."""
    was = before.select(*KEY, F.col("offline_ms").alias("was_ms"), F.col("was_offline").alias("was"))
    both = after.select(*KEY, "offline_ms", "was_offline").join(was, list(KEY), "full_outer").na.fill(0).cache()
    try:
        better, worse = (F.col("was") == 1) & (F.col("was_offline") == 0), (F.col("was") == 0) & (F.col("was_offline") == 1)
        row = both.agg(F.count_if(better).alias("better"), F.count_if(worse).alias("worse")).collect()[0]
        gained = F.abs(F.col("was_ms") - F.col("offline_ms"))
        most = both.where(gained > 0).orderBy(gained.desc(), *KEY).limit(examples).collect()
    finally:
        both.unpersist()
    lines = tuple(
        f"{r['topic']}-{r['partition']} of {r[RUN]}: offline {r['was_ms']} ms, then {r['offline_ms']} ms" for r in most
    )
    return ReplayComparison(
        totals_of(before, has_min_isr), totals_of(after, has_min_isr), row["better"], row["worse"], lines
    )
