"""The figures of a replay, and of what would have been different in a what-if."""

from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION


@dataclass(frozen=True, slots=True)
class PartitionTotals:
    """The figures of all partitions together.

    Attributes:
        partitions: how many there are.
        elections: how many elections found a leader; `unclean`: how many of them chose one from outside the ISR.
        unavailable: how many partitions had no live leader at some time; `unavailable_ms`: for how long, summed up. Both are
            those of the analyses `unavailability` and `availability`.
        under_min_isr: how many partitions had an ISR smaller than min.insync.replicas; `under_min_isr_ms`: for how long,
            summed up. Both are None where no min.insync.replicas was given.
    """

    partitions: int
    elections: int
    unclean: int
    unavailable: int
    unavailable_ms: int
    under_min_isr: int | None = None
    under_min_isr_ms: int | None = None


class PartitionChange(NamedTuple):
    """How long a partition was unavailable with nothing changed, and in the what-if."""

    run: str
    topic: str
    partition: int
    before_ms: int
    after_ms: int


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """A what-if beside a replay that derives what the controller does with nothing changed.

    The recorded history is not what a what-if is compared with: where deriving differs from the history, that would be taken
    for an effect of the change.

    Attributes:
        no_longer_unavailable: how many partitions were unavailable with nothing changed only.
        newly_unavailable: how many partitions were unavailable in the what-if only.
        most_changed: the partitions whose unavailable time changed most.
    """

    before: PartitionTotals
    after: PartitionTotals
    no_longer_unavailable: int = 0
    newly_unavailable: int = 0
    most_changed: tuple[PartitionChange, ...] = field(default=())


def counts(transitions: DataFrame) -> list[tuple[str, str, int]]:
    """Return (kind, trigger, how many transitions), sorted."""
    rows = transitions.groupBy("kind", "trigger").count().orderBy("kind", "trigger").collect()
    return [(row["kind"], row["trigger"], row["count"]) for row in rows]


def by_partition(history: HistoryTables, min_insync_replicas: int | None = None) -> DataFrame:
    """Return one row for each partition: its key, elections, unclean, unavailable_ms, under_min_isr_ms.

    The two times are null for a partition that never was unavailable or under min.insync.replicas.

    Args:
        min_insync_replicas: of every topic, whatever its settings are. None: under_min_isr_ms is null everywhere.
    """
    found_leader = (F.col("kind") == EventKind.LEADER_ELECTION) & F.col("leader").isNotNull()
    counted = history.all_transitions.groupBy(*PARTITION).agg(
        F.count_if(found_leader).alias("elections"), F.count_if(F.col("clean") == F.lit(False)).alias("unclean")
    )
    unavailable = history.unavailable.groupBy(*PARTITION).agg(F.sum("duration_ms").alias("unavailable_ms"))
    few = F.lit(False) if min_insync_replicas is None else F.size("isr") < min_insync_replicas
    under = history.state_intervals.where(few & (F.col("to_ms") > F.col("from_ms")))
    times = under.groupBy(*PARTITION).agg(F.sum(F.col("to_ms") - F.col("from_ms")).alias("under_min_isr_ms"))
    return counted.join(unavailable, list(PARTITION), "left").join(times, list(PARTITION), "left")


def totals_of(partitions: DataFrame, has_min_isr: bool) -> PartitionTotals:
    """Sum up a table that by_partition returned."""
    names = ("elections", "unclean", "unavailable_ms", "under_min_isr_ms")
    row = partitions.agg(
        F.count(F.lit(1)).alias("partitions"),
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names),
        F.count("unavailable_ms").alias("unavailable"),
        F.count("under_min_isr_ms").alias("under_min_isr"),
    ).collect()[0]
    return PartitionTotals(
        row["partitions"],
        row["elections"],
        row["unclean"],
        row["unavailable"],
        row["unavailable_ms"],
        row["under_min_isr"] if has_min_isr else None,
        row["under_min_isr_ms"] if has_min_isr else None,
    )


def compare(before: DataFrame, after: DataFrame, has_min_isr: bool, examples: int = 5) -> ReplayComparison:
    """Compare two tables of by_partition: with nothing changed, and of a what-if."""
    was = before.select(*PARTITION, F.col("unavailable_ms").alias("before"))
    both = after.select(*PARTITION, F.col("unavailable_ms").alias("after")).join(was, list(PARTITION), "full_outer").cache()
    try:
        better = F.col("before").isNotNull() & F.col("after").isNull()
        worse = F.col("before").isNull() & F.col("after").isNotNull()
        row = both.agg(F.count_if(better).alias("better"), F.count_if(worse).alias("worse")).collect()[0]
        filled = both.na.fill(0)
        changed_by = F.abs(F.col("before") - F.col("after"))
        most = filled.where(changed_by > 0).orderBy(changed_by.desc(), *PARTITION).limit(examples).collect()
    finally:
        both.unpersist()
    changes = tuple(PartitionChange(r["run"], r["topic"], r["partition"], r["before"], r["after"]) for r in most)
    return ReplayComparison(
        totals_of(before, has_min_isr), totals_of(after, has_min_isr), row["better"], row["worse"], changes
    )
