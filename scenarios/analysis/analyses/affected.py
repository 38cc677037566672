"""The topics, brokers and racks that failures affected most."""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.analysis import COUNT, IN_A_RUN, LONG, MS, OF_A_TOPIC, ONE, TEXT, Analysis, Field
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.isr_churn import isr_moves
from kcsim.scenarios.analysis.analyses.unavailability import A_LIVE_LEADER
from kcsim.scenarios.analysis.engines.frames import DataFrame, F

OF_A_BROKER = ("batch", "run", "broker")


def affected_topics(history: HistoryTables) -> DataFrame:
    """Return how failures affected each topic. Topics that were not affected are listed with 0."""
    key = ["batch", "run", "topic"]
    length, in_sync = F.col("to_ms") - F.col("from_ms"), F.col("in_sync")
    totals = history.state_intervals.groupBy(*key).agg(
        F.count_distinct("partition").alias("partitions"),
        F.sum(F.when(in_sync < F.col("wanted"), length).otherwise(0)).alias("under_replicated_ms"),
        F.sum(F.when(in_sync < F.col("min_isr"), length).otherwise(0)).alias("under_min_isr_ms"),
    )
    windows = history.unavailable.groupBy(*key).agg(
        F.sum("duration_ms").alias("unavailable_ms"), F.count("*").alias("windows")
    )
    is_election = F.col("kind") == EventKind.LEADER_ELECTION
    elections = (
        history.transitions.where(is_election & F.col("leader").isNotNull())
        .groupBy(*key)
        .agg(F.count("*").alias("elections"), F.sum((~F.col("clean")).cast("long")).alias("unclean"))
    )
    shrinks = history.shared(isr_moves).where(F.col("left")).groupBy(*key).agg(F.count("*").alias("left_isr"))
    joined = totals.join(windows, key, "left").join(elections, key, "left").join(shrinks, key, "left")
    return joined.na.fill(0)


AFFECTED_TOPICS = Analysis(
    "affected-topics",
    "Which topics have suffered most?",
    A_LIVE_LEADER + " Times are sums over a topic's partitions; the first leaders of partitions count as elections.",
    (
        *OF_A_TOPIC,
        Field("partitions", LONG, COUNT, "how many it had in all"),
        Field("unavailable_ms", LONG, "partitions × ms", "without a live leader"),
        Field("windows", LONG, COUNT, "in how many windows"),
        Field("under_min_isr_ms", LONG, "partitions × ms", "under min.insync.replicas"),
        Field("under_replicated_ms", LONG, "partitions × ms", "under-replicated"),
        Field("elections", LONG, COUNT, "leaders elected"),
        Field("unclean", LONG, COUNT, "those of them elected from outside the ISR"),
        Field("left_isr", LONG, COUNT, "how many times a replica left an ISR"),
    ),
    ("-unavailable_ms", "-under_min_isr_ms", "-under_replicated_ms"),
    affected_topics,
    details=("elections",),
)


def affected_brokers(history: HistoryTables) -> DataFrame:
    """Return how long each broker was away, and what that caused."""
    key = list(OF_A_BROKER)
    lost = history.absences.where(F.col("seq").isNotNull())
    away = (
        lost.join(history.small(history.ends), ["batch", "run"])
        .where(
            (F.col("from_ms") <= F.col("end_ms"))
            & ((F.col("to_ms") > F.col("start_ms")) | (F.col("from_ms") >= F.col("start_ms")))
        )
        .groupBy(*key)
        .agg(
            F.count("*").alias("losses"),
            F.sum(F.col("to_ms") - F.greatest("from_ms", "start_ms")).alias("away_ms"),
            F.bool_or("open").alias("away_at_end"),
        )
    )
    windows = history.unavailable.groupBy(*key).agg(
        F.count("*").alias("partitions_lost"), F.sum("duration_ms").alias("unavailable_ms")
    )
    moves = history.shared(isr_moves).where(F.col("left")).groupBy(*key).agg(F.count("*").alias("left_isr"))
    out = history.out_of_sync.groupBy(*key).agg(F.sum("duration_ms").alias("out_of_sync_ms"))
    joined = (
        history.brokers.join(away, key, "left").join(windows, key, "left").join(moves, key, "left").join(out, key, "left")
    )
    return joined.na.fill(0).na.fill(False)


_CAUSED = (
    Field("losses", LONG, COUNT, "events after which it was not live any more, even if it was live for less than 1 ms"),
    Field("away_ms", LONG, MS, "how long it was away, since it was there first"),
    Field("partitions_lost", LONG, COUNT, "windows without a live leader in which it is the leader that was lost"),
    Field("unavailable_ms", LONG, "partitions × ms", "how long these were"),
    Field("left_isr", LONG, COUNT, "how many times a replica on it left an ISR"),
    Field("out_of_sync_ms", LONG, "replicas × ms", "how long replicas on it were out of sync"),
)
AFFECTED_BROKERS = Analysis(
    "affected-brokers",
    "Which brokers were away most, and what did that cost?",
    A_LIVE_LEADER + " A window counts for the leader that was lost. A replica is out of sync while it is assigned, not being"
    " added, and not in the ISR. Brokers that are only named as replicas, and never registered, are listed as well.",
    (
        *IN_A_RUN,
        Field("broker", LONG, ONE, "the broker"),
        Field("rack", TEXT, ONE, "the rack that it named last as it registered; null if it never did"),
        *_CAUSED,
        Field("away_at_end", "boolean", ONE, "whether it was away at the end"),
    ),
    ("-unavailable_ms", "-away_ms", "-out_of_sync_ms", "broker"),
    lambda history: history.shared(affected_brokers),
    details=("partitions_lost",),
)


def affected_racks(history: HistoryTables) -> DataFrame:
    """Return the figures of affected_brokers for racks: sums over their brokers."""
    sums = [F.sum(field.name).alias(field.name) for field in _CAUSED]
    return history.shared(affected_brokers).groupBy("batch", "run", "rack").agg(F.count("*").alias("brokers"), *sums)


AFFECTED_RACKS = Analysis(
    "affected-racks",
    "Which racks were away most, and what did that cost?",
    A_LIVE_LEADER + " Sums over the brokers of a rack, of affected-brokers; null is the rack of those that have none.",
    (
        *IN_A_RUN,
        Field("rack", TEXT, ONE, "the rack"),
        Field("brokers", LONG, COUNT, "how many brokers it has"),
        *_CAUSED,
    ),
    ("-unavailable_ms", "-away_ms", "-out_of_sync_ms", "rack"),
    affected_racks,
)
