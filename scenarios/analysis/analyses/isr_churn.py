"""Replicas that leave ISRs and come back: which, when, and how often."""

from kcsim.scenarios.analysis.analyses.analysis import (
    COUNT,
    FLAG,
    IN_A_RUN,
    LONG,
    MS,
    OF_A_PARTITION,
    ONE,
    REAL,
    Analysis,
    Field,
)
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.scope import FLAPPING_IN_AN_HOUR, HOUR_MS
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from kcsim.scenarios.analysis.analyses.unavailability import A_PARTITION, A_TIME
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window
from kcsim.scenarios.analysis.folding.trigger import Trigger

MOVES = """\
Two states of a partition that follow on each other are compared: who is in the one ISR and not in the other has left or has
joined. The first state of a partition is no change, and neither are its states while the deletion of its topic is requested.
A change made by the leader is a matter of keeping up, one made by the controller of being alive."""


def isr_moves(history: HistoryTables) -> DataFrame:
    """Return each broker's leaving or joining of an ISR: partition, t_ms, broker, left (else it joined), by_leader."""
    left, joined = _left_and_joined()
    moves = F.concat(
        F.transform(left, lambda b: F.struct(b.alias("broker"), F.lit(True).alias("left"))),
        F.transform(joined, lambda b: F.struct(b.alias("broker"), F.lit(False).alias("left"))),
    )
    changed = history.state_intervals.where(_is_isr_change())
    exploded = changed.select(*PARTITION, "t_ms", _is_by_leader().alias("by_leader"), F.explode(moves).alias("m"))
    return exploded.select(*PARTITION, "t_ms", "m.broker", "m.left", "by_leader")


def _is_isr_change() -> Column:
    """Return whether a state interval begins with another ISR than the one before had."""
    return F.col("is_change") & F.col("isr_before").isNotNull() & (F.col("isr") != F.col("isr_before"))


def _left_and_joined() -> tuple[Column, Column]:
    """Return the brokers that left the ISR where a state interval begins, and those that joined it."""
    return F.array_except("isr_before", "isr"), F.array_except("isr", "isr_before")


def _is_by_leader() -> Column:
    return F.col("trigger") == Trigger.LEADER


def isr_churn(history: HistoryTables) -> DataFrame:
    """Count shrinks and expansions by broker, over time."""
    width = history.scope.bucket_ms
    moves = history.shared(isr_moves).withColumn("bucket_ms", F.col("t_ms") - F.col("t_ms") % width)
    left, by_leader = F.col("left").cast("long"), F.col("by_leader").cast("long")
    figures = ("left_isr", "left_by_leader", "joined_isr")
    of_partitions = moves.groupBy(*PARTITION, "bucket_ms", "broker").agg(
        F.sum(left).alias("left_isr"), F.sum(left * by_leader).alias("left_by_leader"), F.sum(1 - left).alias("joined_isr")
    )
    return of_partitions.groupBy("batch", "run", "bucket_ms", "broker").agg(
        *(F.sum(name).alias(name) for name in figures), F.count("*").alias("partitions")
    )


ISR_CHURN = Analysis(
    "isr-churn",
    "Which brokers left and joined how many ISRs, hour by hour?",
    MOVES,
    (
        *IN_A_RUN,
        Field("bucket_ms", LONG, MS, "when the bucket begins, since the run's beginning; its width is --bucket"),
        Field("broker", LONG, ONE, "the replica's broker"),
        Field("left_isr", LONG, COUNT, "how many times it left an ISR"),
        Field("left_by_leader", LONG, COUNT, "those of them in which the leader took it out: it did not keep up"),
        Field("joined_isr", LONG, COUNT, "how many times it joined one"),
        Field("partitions", LONG, COUNT, "of how many partitions"),
    ),
    ("bucket_ms", "-left_isr"),
    isr_churn,
)


def isr_churn_partitions(history: HistoryTables) -> DataFrame:
    """Count shrinks and expansions by partition."""
    shrinks, expands = (_is_isr_change() & (F.size(moved) > 0) for moved in _left_and_joined())
    under = F.when(F.col("in_sync") < F.col("wanted"), F.col("to_ms") - F.col("from_ms")).otherwise(0)
    counted = history.state_intervals.groupBy(*PARTITION).agg(
        _times(shrinks).alias("shrinks"),
        _times(shrinks & _is_by_leader()).alias("shrinks_by_leader"),
        _times(expands).alias("expansions"),
        F.sum(under).alias("under_replicated_ms"),
        F.min("in_sync").cast("long").alias("least_in_sync"),
    )
    return counted.where("shrinks > 0 OR expansions > 0")


def _times(condition: Column) -> Column:
    return F.count(F.when(condition, F.lit(1)))


ISR_CHURN_PARTITIONS = Analysis(
    "isr-churn-partitions",
    "Whose ISR changed how often?",
    MOVES
    + " A change that takes one out and lets another in is a shrink and an expansion. Partitions whose ISR never changed"
    " are not listed. Under-replicated: the ISR is smaller than the assignment less the replicas being added.",
    (
        *OF_A_PARTITION,
        Field("shrinks", LONG, COUNT, "changes in which a replica left"),
        Field("shrinks_by_leader", LONG, COUNT, "those of them that the leader made"),
        Field("expansions", LONG, COUNT, "changes in which a replica joined"),
        Field("under_replicated_ms", LONG, MS, "how long it was under-replicated"),
        Field("least_in_sync", LONG, COUNT, "how few members the ISR had"),
    ),
    ("-shrinks", "-under_replicated_ms"),
    isr_churn_partitions,
)


def flapping_replicas(history: HistoryTables) -> DataFrame:
    """Return how often each replica was out of its ISR, and whether it flaps."""
    one = Window.partitionBy(*PARTITION, "broker")
    lately = one.orderBy("t_ms").rangeBetween(-(HOUR_MS - 1), 0)
    leaves = history.shared(isr_moves).where(F.col("left")).withColumn("_lately", F.count("*").over(lately))
    often = leaves.groupBy(*PARTITION, "broker").agg(
        F.max("_lately").alias("most_in_an_hour"), F.count("*").alias("left_isr")
    )
    out = history.out_of_sync.groupBy(*PARTITION, "broker").agg(
        F.sum("duration_ms").alias("out_ms"),
        F.sum(F.col("returned").cast("long")).alias("returned"),
        F.max("duration_ms").alias("longest_ms"),
        F.percentile("duration_ms", 0.5).alias("median_ms"),
        F.bool_or("open").alias("open"),
    )
    joined = often.join(out, [*PARTITION, "broker"], "left")
    filled = joined.na.fill(0, ["out_ms", "returned"]).na.fill(False, ["open"])
    return filled.withColumn("flapping", F.col("most_in_an_hour") >= history.scope.flapping_in_an_hour)


FLAPPING_REPLICAS = Analysis(
    "flapping-replicas",
    "Which replicas keep leaving their ISR and coming back?",
    MOVES
    + f" A replica flaps if it left often enough within some hour: {FLAPPING_IN_AN_HOUR} times or more, unless the scope of"
    " the analysis says another number (from the first to the last of them it is less than 3,600,000 ms). It is out of sync"
    " while it is assigned, not being added, and not in the ISR, whether it left it or was never there. Replicas that never"
    f" left are not listed. {A_PARTITION} {A_TIME}",
    (
        *OF_A_PARTITION,
        Field("broker", LONG, ONE, "the replica's broker"),
        Field("left_isr", LONG, COUNT, "how many times it left the ISR"),
        Field(
            "returned",
            LONG,
            COUNT,
            "how many times out of sync ended with it in the ISR; being moved away and later back is no return",
        ),
        Field("most_in_an_hour", LONG, COUNT, "how many times it left within one hour, at most"),
        Field("flapping", FLAG, ONE, "whether that is often enough to be flapping"),
        Field("out_ms", LONG, MS, "how long it was out of sync"),
        Field("median_ms", REAL, MS, "the median of these times; null if it only left by being unassigned"),
        Field("longest_ms", LONG, MS, "the longest of them; null if there is none"),
        Field("open", FLAG, ONE, "whether it was out of sync at the end"),
    ),
    ("-most_in_an_hour", "-left_isr", "-out_ms"),
    flapping_replicas,
    details=("returned", "median_ms", "open"),
)
