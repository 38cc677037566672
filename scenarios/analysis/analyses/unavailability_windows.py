"""The windows in which a partition had no live leader."""

from collections.abc import Callable

from kcsim.scenarios.analysis.analyses.intervals import islands, of_first, of_last, overlapping
from kcsim.scenarios.analysis.analyses.state_intervals import NO_BROKER, PARTITION
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F

LEADER_LOST, NO_LEADER = "leader lost", "no leader"


def windows(intervals: DataFrame, absences: DataFrame, small: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Return when each partition was unavailable: its state named no leader, or one that was not live.

    Adjacent times make one window, however often the state changed meanwhile.

    Args:
        intervals: state_intervals.assignments().
        absences: facts.absences().
        small: marks the absences, which are few in each run, for a join with the intervals.

    Returns: batch, run, topic, partition, from_ms, to_ms, duration_ms, open, began_with ("leader lost": its leader was no
        longer live, or the controller removed it as the leader; "no leader": the partition never had one), broker (the
        leader that was lost), leader_after (the leader at the end of the window; null while it is open, and where the
        partition ended).
    """
    leaderless = intervals.where(F.col("leader") == NO_BROKER).select(
        *PARTITION,
        *("from_ms", "to_ms", "open"),
        F.nullif("leader_before", F.lit(NO_BROKER)).alias("broker"),
        F.nullif("leader_after", F.lit(NO_BROKER)).alias("leader_after"),
    )
    away = absences.select(
        *("batch", "run"),
        F.col("broker").alias("leader"),
        F.col("from_ms").alias("down_ms"),
        _beyond("to_ms", "open").alias("up_ms"),
        F.col("open").alias("is_down"),
    )
    led = intervals.where(F.col("leader") != NO_BROKER).select(
        *PARTITION, "from_ms", _beyond("to_ms", "open"), *("open", "leader", "leader_after")
    )
    is_open = F.col("open") & F.col("is_down")
    lost = overlapping(led, small(away), ["batch", "run", "leader"]).select(
        *PARTITION,
        F.greatest("from_ms", "down_ms").alias("from_ms"),
        (F.least("to_ms", "up_ms") - is_open.cast("long")).alias("to_ms"),
        is_open.alias("open"),
        F.col("leader").alias("broker"),
        F.when(F.col("up_ms") < F.col("to_ms"), F.col("leader"))
        .otherwise(F.nullif("leader_after", F.lit(NO_BROKER)))
        .alias("leader_after"),
    )
    carried = {"broker": of_first("broker"), "leader_after": of_last("leader_after")}
    began_with = F.when(F.col("broker").isNull(), NO_LEADER).otherwise(LEADER_LOST)
    found = islands(leaderless.unionByName(lost), PARTITION, carried)
    return found.withColumn("began_with", began_with).withColumn(
        "leader_after", F.when(~F.col("open"), F.col("leader_after"))
    )


def _beyond(to_ms: str, is_open: str) -> Column:
    """Return the end of an interval, so that one that is open also covers the end itself: what begins there meets it."""
    return (F.col(to_ms) + F.col(is_open).cast("long")).alias(to_ms)
