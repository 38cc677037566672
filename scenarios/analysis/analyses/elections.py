"""Leader elections: which, why, and what the unclean ones cost."""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.analysis import (
    COUNT,
    FLAG,
    IN_A_RUN,
    LONG,
    LONGS,
    MS,
    OF_A_PARTITION,
    ONE,
    TEXT,
    Analysis,
    Field,
)
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F, Window


def elections(history: HistoryTables) -> DataFrame:
    """Count elections by strategy, rule, trigger and outcome."""
    chosen = history.transitions.where(F.col("kind") == EventKind.LEADER_ELECTION)
    outcome = F.when(F.col("leader").isNull(), "nobody").when(~F.col("clean"), "unclean").otherwise("clean")
    one = F.struct("topic", "partition")
    return (
        chosen.withColumn("outcome", outcome)
        .groupBy("batch", "run", "strategy", "rule", "trigger", "outcome")
        .agg(
            F.count("*").alias("elections"),
            F.count_distinct(one).alias("partitions"),
            F.min("t_ms").alias("first_ms"),
            F.max("t_ms").alias("last_ms"),
        )
    )


ELECTIONS = Analysis(
    "elections",
    "How many leaders were elected, by which strategy and rule, for what reason, and how did it end?",
    "Elections that were written to ZooKeeper, and those that found no leader. A decision whose write was refused does not"
    " count. The first leader of a partition counts as elected, by no strategy. Missing values are null or Unknown.",
    (
        *IN_A_RUN,
        Field(
            "strategy", TEXT, ONE, "how a leader was looked for, Kafka's name; null for new partitions and if not recorded"
        ),
        Field("rule", TEXT, ONE, "what decided; null if not recorded"),
        Field("trigger", TEXT, ONE, "what the controller was about"),
        Field("outcome", TEXT, ONE, "clean; unclean: from outside the ISR; nobody: no leader could be elected"),
        Field("elections", LONG, COUNT, "how many"),
        Field("partitions", LONG, COUNT, "of how many partitions"),
        Field("first_ms", LONG, MS, "when the first was"),
        Field("last_ms", LONG, MS, "when the last was"),
    ),
    ("-elections",),
    elections,
)


def unclean_elections(history: HistoryTables) -> DataFrame:
    """Return each unclean election, with what is known of the records that it cost."""
    is_unclean = F.col("is_change") & (F.col("kind") == EventKind.LEADER_ELECTION) & ~F.col("clean")
    until = F.lead("seq").over(Window.partitionBy(*PARTITION).orderBy("t_ms", "seq"))
    unclean = history.state_intervals.where(is_unclean).withColumn("_until", until)
    of_topics = history.facts.where(F.col("topic").isNotNull())
    cut = of_topics.where(F.col("kind") == EventKind.RECORDS_TRUNCATED).select(
        *PARTITION, F.col("seq").alias("_cut"), "offset", "end_offset"
    )
    after = (F.col("_cut") > F.col("seq")) & (F.col("_until").isNull() | (F.col("_cut") < F.col("_until")))
    cuts = (
        unclean.join(cut, list(PARTITION))
        .where(after)
        .groupBy(*PARTITION, "seq")
        .agg((F.max("end_offset") - F.min("offset")).alias("_cut_off"), F.count("*").alias("truncations"))
    )
    ledgers = (
        of_topics.where(F.col("kind") == EventKind.LEDGER)
        .groupBy(*PARTITION)
        .agg(F.max_by("data", F.struct("t_ms", "seq")).alias("_ledger"))
    )
    joined = unclean.join(cuts, [*PARTITION, "seq"], "left").join(ledgers, list(PARTITION), "left")
    counted = F.col("_ledger").isNotNull()
    return joined.select(
        *PARTITION,
        *("t_ms", "seq", "leader", "leader_epoch", "leader_before", "isr_before", "trigger"),
        _or_none("_cut_off", counted).alias("records_cut_off"),
        _or_none("truncations", counted).alias("truncations"),
        F.get_json_object("_ledger", "$.lost").cast("long").alias("acknowledged_lost"),
        F.get_json_object("_ledger", "$.lost_everywhere").cast("long").alias("lost_everywhere"),
        counted.alias("records_counted"),
    )


def _or_none(count: str, counted: Column) -> Column:
    """Replace null by 0 where records were counted; null stays null (unknown) elsewhere."""
    return F.coalesce(count, F.when(counted, F.lit(0)))


UNCLEAN_ELECTIONS = Analysis(
    "unclean-elections",
    "Which elections were unclean, and what did they cost?",
    "An election is unclean if the leader comes from outside the ISR. Records cut off are those that followers removed from"
    " their logs after it and before the next unclean election of that partition: from the least offset to the greatest."
    " The number of acknowledged records lost comes from the count that a run with a workload makes at its end, for the"
    " whole partition. Where the history has no record counts, all that is null: unknown, which is not 0.",
    (
        *OF_A_PARTITION,
        Field("t_ms", LONG, MS, "when, since the run's beginning"),
        Field("seq", LONG, ONE, "the event that is the change of the state"),
        Field("leader", LONG, ONE, "the elected broker"),
        Field("leader_epoch", LONG, ONE, "its leader epoch"),
        Field("leader_before", LONG, ONE, "the previous leader; -1: none"),
        Field("isr_before", LONGS, ONE, "the ISR before: the replicas with all committed records"),
        Field("trigger", TEXT, ONE, "what the controller was about"),
        Field("records_cut_off", LONG, COUNT, "records that followers removed because of it; null: unknown"),
        Field("truncations", LONG, COUNT, "by how many truncations; null: unknown"),
        Field("acknowledged_lost", LONG, COUNT, "acknowledged records of this partition that its log lacks at the end"),
        Field("lost_everywhere", LONG, COUNT, "those of them that no replica has after it"),
        Field("records_counted", FLAG, ONE, "whether the run counted its records"),
    ),
    ("-acknowledged_lost", "-records_cut_off", "t_ms"),
    unclean_elections,
    details=("seq", "leader_epoch", "isr_before", "truncations", "lost_everywhere", "records_counted"),
)
