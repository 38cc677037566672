"""The availability of partitions: the windows without a live leader, those with too few replicas in sync, and the nines."""

from kcsim.scenarios.analysis.analyses.analysis import (
    A_WINDOW,
    COUNT,
    IN_A_RUN,
    LONG,
    MS,
    OF_A_PARTITION,
    ONE,
    REAL,
    SHARE,
    TEXT,
    Analysis,
    Field,
    per_scope,
    share,
)
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.intervals import islands, time_covered
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from kcsim.scenarios.analysis.engines.frames import DataFrame, F, engine_in_use

A_PARTITION = """\
A partition counts from its first state, or the first fruitless try to elect a leader for it, to the deletion of its state,
or, while it has none yet, of its topic; not while the deletion of its topic is asked for. Without a state, or with one that
cannot be read, it has no leader, and nobody is in sync."""
A_TIME = """\
What holds at a millisecond is what holds after all its events (ordered by seq): what begins and ends in the same millisecond
does not count. What still holds after the last event of the run is open."""
A_LIVE_LEADER = f"""\
A partition is unavailable while its state names no leader (-1), or one that is not live. A broker is live while it is
registered in /brokers/ids and its process runs, as far as the history records processes (--liveness registered: while it
is registered). {A_PARTITION} {A_TIME}"""


def unavailability(history: HistoryTables) -> DataFrame:
    """Return the windows without a live leader."""
    return history.unavailable


UNAVAILABILITY = Analysis(
    "unavailability",
    "When had which partition no live leader, and for how long?",
    A_LIVE_LEADER + " Times that follow on each other make one window, however often the state changed meanwhile.",
    (
        *OF_A_PARTITION,
        *A_WINDOW,
        Field("began_with", TEXT, ONE, "leader lost; or no leader: it had had none so far"),
        Field("broker", LONG, ONE, "the leader that was lost; null if there was none"),
        Field("leader_after", LONG, ONE, "the leader when it ends; null while it is open, and if the partition ended first"),
    ),
    ("-duration_ms",),
    unavailability,
    details=("to_ms",),
)


def under_min_isr(history: HistoryTables) -> DataFrame:
    """Return the windows in which the ISR was smaller than min.insync.replicas."""
    pieces = history.state_intervals.where(F.col("in_sync") < F.col("min_isr"))
    return islands(pieces, PARTITION, {"min_isr": F.max("min_isr"), "least_in_sync": F.min("in_sync").cast("long")})


UNDER_MIN_ISR = Analysis(
    "under-min-isr",
    "When did which partition refuse acks=all, for want of replicas in sync?",
    "The ISR, as the state znode has it, has fewer members than min.insync.replicas of the topic, as set at that time; of"
    " topics that do not set it, --min-insync-replicas. A broker that it names twice is one member. Partitions with and"
    f" without a leader count. {A_PARTITION} {A_TIME}",
    (
        *OF_A_PARTITION,
        *A_WINDOW,
        Field("min_isr", LONG, COUNT, "min.insync.replicas; the greatest, if it changed"),
        Field("least_in_sync", LONG, COUNT, "how few members the ISR had"),
    ),
    ("-duration_ms",),
    under_min_isr,
)


def availability(history: HistoryTables) -> DataFrame:
    """Return the availability of each partition, each topic and each run's cluster."""
    existing = history.state_intervals.groupBy(*PARTITION).agg(F.sum(F.col("to_ms") - F.col("from_ms")).alias("existing_ms"))
    windows = history.unavailable
    lost = windows.groupBy(*PARTITION).agg(
        F.sum("duration_ms").alias("unavailable_ms"),
        F.count("*").alias("windows"),
        F.sum(F.col("open").cast("long")).alias("open_windows"),
        F.max("duration_ms").alias("longest_ms"),
    )
    counts = ("existing_ms", "unavailable_ms", "windows", "open_windows")
    # Its sums read it three times.
    of_partitions = engine_in_use().detached(existing.join(lost, list(PARTITION), "left").na.fill(0))
    summed = per_scope(of_partitions, counts, ("longest_ms",))
    at_once = time_covered(windows, ("batch", "run")).unionByName(
        time_covered(windows, ("batch", "run", "topic")), allowMissingColumns=True
    )
    same = [F.col(f"s.{name}").eqNullSafe(F.col(f"o.{name}")) for name in ("batch", "run", "topic")]
    joined = summed.alias("s").join(at_once.alias("o"), [*same, F.col("s.scope") != "partition"], "left")
    figures = joined.select(
        "s.*",
        F.when(F.col("s.scope") == "partition", F.col("unavailable_ms"))
        .otherwise(F.coalesce("covered_ms", F.lit(0)))
        .alias("any_unavailable_ms"),
    )
    lost_share = share(F.col("unavailable_ms"), F.col("existing_ms"))
    return figures.withColumn("availability", 1 - lost_share).withColumn(
        "nines", F.when(lost_share > 0, F.round(-F.log10(lost_share), 4))
    )


AVAILABILITY = Analysis(
    "availability",
    "How available was each partition, each topic, and the whole?",
    A_LIVE_LEADER + " Availability is 1 - unavailable time / time that the partition was there; of a topic and of a cluster,"
    " the same of the sums over their partitions. Nines are -log10 of what is missing to 1: three nines are 99.9 %.",
    (
        Field("scope", TEXT, ONE, "partition, topic or cluster"),
        *IN_A_RUN,
        Field("topic", TEXT, ONE, "null for the cluster"),
        Field("partition", LONG, ONE, "null for a topic and for the cluster"),
        Field("partitions", LONG, COUNT, "how many partitions it is the sum of"),
        Field("existing_ms", LONG, MS, "how long they were there"),
        Field("unavailable_ms", LONG, MS, "how long they were unavailable"),
        Field("any_unavailable_ms", LONG, MS, "for how long at least one of them was"),
        Field("windows", LONG, COUNT, "how many windows without a live leader"),
        Field("open_windows", LONG, COUNT, "those that had not ended at the end"),
        Field("longest_ms", LONG, MS, "the longest window"),
        Field("availability", REAL, SHARE, "null if the time is 0"),
        Field("nines", REAL, ONE, "availability in nines, to 4 places; null if nothing is missing to 1"),
    ),
    ("scope", "availability", "-unavailable_ms"),
    availability,
    details=("partitions", "any_unavailable_ms", "open_windows", "nines"),
)
