"""The times from a fault until the affected partitions have a leader again, and a full ISR again."""

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.analysis import COUNT, IN_A_RUN, LONG, LONGS, MS, ONE, REAL, TEXT, Analysis, Field
from kcsim.scenarios.analysis.analyses.controllers import EXPIRED
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.intervals import overlapping
from kcsim.scenarios.analysis.analyses.state_intervals import PARTITION
from kcsim.scenarios.analysis.analyses.unavailability import A_PARTITION, A_TIME
from kcsim.scenarios.analysis.engines.frames import DataFrame, F

ACTION_KINDS = (EventKind.FAULT, EventKind.ADMIN_ACT)
A_FAULT = """\
A fault is what took brokers away: the fault or admin act that the loss of a broker follows from by its causes, else, where
the history records none (production histories), the loss itself; brokers that were lost by the same fault count together.
A broker is lost with each event after which it is not live any more, even if it was live for less than a millisecond.
The fault took the partitions that have a window without a live leader, as in the analysis unavailability, which began while
one of these brokers was away and whose lost leader is that broker; the time to a leader is that until the last of these
windows is over. It put out of sync the replicas on these brokers that were out of sync while their broker was away; the time
to a full ISR is that until the last of them is back, or no longer counts. A replica is out of sync while it is assigned, not
being added, and not in the ISR."""


def _losses(history: HistoryTables) -> DataFrame:
    """Return each loss of a broker, its time, and the fault that it follows from."""
    keys = ("batch", "run")
    lost = history.absences.where(F.col("seq").isNotNull())
    on_the_way = (EventKind.SESSION_CLOSED, EventKind.PROCESS_STATE, EventKind.BROKER_START_FAILED)
    events = history.facts.where(F.col("kind").isin(*ACTION_KINDS, *on_the_way))
    action = F.when(F.col("kind").isin(*ACTION_KINDS), F.struct("seq", "t_ms", F.coalesce("fault", "op").alias("name")))
    hop = events.select(
        *keys, F.col("seq").alias("cause"), action.alias("action"), F.col("cause").alias("next"), "kind", "error"
    )
    first = lost.join(history.small(hop), [*keys, "cause"], "left").withColumnsRenamed(
        {"action": "action_1", "kind": "kind_1", "error": "error_1"}
    )
    second = hop.select(*keys, F.col("cause").alias("next"), F.col("action").alias("action_2"), F.col("next").alias("last"))
    # The longest way: the broker's process has stopped, as it failed to start, as it had been started, as somebody asked.
    third = hop.select(*keys, F.col("cause").alias("last"), F.col("action").alias("action_3"))
    joined = first.join(history.small(second), [*keys, "next"], "left").join(history.small(third), [*keys, "last"], "left")
    root = F.coalesce("action_1", "action_2", "action_3")
    by_session = F.when(F.col("error_1") == EXPIRED, "session expired").otherwise("session closed")
    own = F.when(F.col("kind_1") == EventKind.SESSION_CLOSED, by_session).otherwise("unknown")
    placed = (
        joined
        if history.scope.since_ms is None
        else joined.where(F.coalesce(root["t_ms"], "from_ms") >= history.scope.since_ms)
    )
    if history.scope.until_ms is not None:
        placed = placed.where(F.coalesce(root["t_ms"], "from_ms") < history.scope.until_ms)
    return placed.select(
        *keys,
        "broker",
        F.col("from_ms").alias("down_ms"),
        F.when(F.col("open"), F.col("to_ms") + 1).otherwise(F.col("to_ms")).alias("up_ms"),
        F.coalesce(root["name"], own).alias("fault"),
        F.coalesce(root["t_ms"], F.col("from_ms")).alias("fault_ms"),
        F.coalesce(root["seq"], F.col("seq")).alias("fault_seq"),
    )


OF_A_FAULT = ("batch", "run", "fault_seq")


def recoveries(history: HistoryTables) -> DataFrame:
    """Return each fault, the partitions and replicas that it affected, and how long their recovery took."""
    losses = history.small(history.shared(_losses))
    faults = losses.groupBy(*OF_A_FAULT, "fault", "fault_ms").agg(F.array_sort(F.collect_set("broker")).alias("brokers"))
    of_broker = ["batch", "run", "broker"]
    took = (
        history.unavailable.select(*PARTITION, *("from_ms", "to_ms", "open", "broker"))
        .transform(lambda windows: overlapping(windows, losses, of_broker))
        .where(F.col("from_ms") >= F.col("down_ms"))
        .groupBy(*OF_A_FAULT)
        .agg(
            F.count_distinct("topic", "partition").alias("partitions_taken"),
            F.sum(F.col("open").cast("long")).alias("still_without_leader"),
            F.max("to_ms").alias("_led_ms"),
        )
    )
    put_out = (
        history.out_of_sync.select(*PARTITION, *("from_ms", "to_ms", "open", "broker"))
        .transform(lambda intervals: overlapping(intervals, losses, of_broker))
        .groupBy(*OF_A_FAULT)
        .agg(
            F.count_distinct("topic", "partition", "broker").alias("replicas_out_of_sync"),
            # A fault can take a broker away twice, both times while the same replica is out of sync.
            F.count_distinct(F.when(F.col("open"), F.col("topic")), "partition", "broker").alias("still_out_of_sync"),
            F.max("to_ms").alias("_full_ms"),
        )
    )
    joined = faults.join(took, list(OF_A_FAULT), "left").join(put_out, list(OF_A_FAULT), "left")
    counts = ["partitions_taken", "still_without_leader", "replicas_out_of_sync", "still_out_of_sync"]
    filled = joined.na.fill(0, counts)
    led = F.when(
        (F.col("partitions_taken") > 0) & (F.col("still_without_leader") == 0), F.col("_led_ms") - F.col("fault_ms")
    )
    full = F.when(
        (F.col("replicas_out_of_sync") > 0) & (F.col("still_out_of_sync") == 0), F.col("_full_ms") - F.col("fault_ms")
    )
    return filled.withColumn("to_leader_ms", led).withColumn("to_full_isr_ms", full)


RECOVERIES = Analysis(
    "recoveries",
    "What did each fault take, and how long until it had recovered?",
    f"{A_FAULT} {A_PARTITION} {A_TIME}",
    (
        *IN_A_RUN,
        Field("fault_seq", LONG, ONE, "the event that is the fault"),
        Field("fault_ms", LONG, MS, "when it was, since the run's beginning"),
        Field("fault", TEXT, ONE, "kill, pause, stop, …; session expired or closed; unknown"),
        Field("brokers", LONGS, ONE, "the brokers that it took away"),
        Field("partitions_taken", LONG, COUNT, "partitions that were without a live leader by it"),
        Field("still_without_leader", LONG, COUNT, "those of them that have had no live leader since"),
        Field(
            "to_leader_ms", LONG, MS, "from the fault until these windows were over; null if there is none, or one is open"
        ),
        Field("replicas_out_of_sync", LONG, COUNT, "replicas that were out of sync while their broker was away"),
        Field("still_out_of_sync", LONG, COUNT, "those of them that have not been back since"),
        Field("to_full_isr_ms", LONG, MS, "from the fault until all were back; null if none were out, or not all came back"),
    ),
    ("-to_leader_ms", "fault_ms"),
    lambda history: history.shared(recoveries),
    details=("fault_seq", "still_out_of_sync"),
)

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def recovery_times(history: HistoryTables) -> DataFrame:
    """Return the distribution of the times to recovery, by kind of fault."""
    by_fault = history.shared(recoveries)
    times = ("to_leader", "to_full_isr")
    quantiles = [F.percentile(f"{time}_ms", q).alias(f"{time}_{name}_ms") for time in times for name, q in QUANTILES.items()]
    return by_fault.groupBy("batch", "run", "fault").agg(
        F.count("*").alias("faults"),
        F.sum(F.col("partitions_taken").cast("long")).alias("partitions_taken"),
        F.count("to_leader_ms").alias("led_again"),
        F.sum((F.col("still_without_leader") > 0).cast("long")).alias("never_led_again"),
        F.count("to_full_isr_ms").alias("in_sync_again"),
        F.sum((F.col("still_out_of_sync") > 0).cast("long")).alias("never_in_sync_again"),
        *quantiles,
        *(F.max(f"{time}_ms").alias(f"{time}_max_ms") for time in times),
    )


def _quantile_fields(time: str, of: str) -> tuple[Field, ...]:
    inner = (Field(f"{time}_{name}_ms", REAL, MS, f"{of}, {name}: interpolated between neighbours") for name in QUANTILES)
    return (*inner, Field(f"{time}_max_ms", LONG, MS, f"{of}, the longest"))


RECOVERY_TIMES = Analysis(
    "recovery-times",
    "How long does recovery take, by kind of fault?",
    A_FAULT
    + " The distribution is over faults that have recovered; those that never did within the run are counted beside.",
    (
        *IN_A_RUN,
        Field("fault", TEXT, ONE, "kill, pause, stop, …; session expired or closed; unknown"),
        Field("faults", LONG, COUNT, "how many"),
        Field("partitions_taken", LONG, COUNT, "partitions that were without a live leader by them"),
        Field("led_again", LONG, COUNT, "faults after which all the partitions taken were led again"),
        Field("never_led_again", LONG, COUNT, "faults after which one was without a leader at the end"),
        *_quantile_fields("to_leader", "time to a leader"),
        Field("in_sync_again", LONG, COUNT, "faults after which all replicas were in sync again"),
        Field("never_in_sync_again", LONG, COUNT, "faults after which one was out of sync at the end"),
        *_quantile_fields("to_full_isr", "time to a full ISR"),
    ),
    ("-faults",),
    recovery_times,
    details=(
        "partitions_taken",
        "led_again",
        "to_leader_p90_ms",
        "in_sync_again",
        "never_in_sync_again",
        "to_full_isr_p90_ms",
        "to_full_isr_p99_ms",
    ),
)
