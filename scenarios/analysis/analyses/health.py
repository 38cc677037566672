"""How many partitions were without a leader, under-replicated or under min.insync.replicas, over time."""

from kcsim.scenarios.analysis.analyses.analysis import COUNT, IN_A_RUN, LONG, MS, REAL, Analysis, Field, share
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.intervals import in_buckets, steps
from kcsim.scenarios.analysis.engines.frames import DataFrame, F

MEASURES = ("partitions", "offline", "under_replicated", "under_min_isr")
DEFINITION = """\
Offline: without a live leader, as in the analysis unavailability. Under-replicated: the ISR is smaller than the assignment
less the replicas being added, as Kafka's leaders judge it; counted with and without a leader. Under min ISR: the ISR is
smaller than min.insync.replicas. All are step functions of time, and the integrals exact."""
_MEANING = {
    "partitions": "partitions that were there",
    "offline": "partitions without a live leader",
    "under_replicated": "partitions that were under-replicated",
    "under_min_isr": "partitions under min.insync.replicas",
}


def health_steps(history: HistoryTables) -> DataFrame:
    """Return the counts as the intervals of time in which none of them changed."""
    in_sync = F.col("in_sync")
    states = history.state_intervals.select(
        *("batch", "run", "from_ms", "to_ms"),
        F.lit(1).cast("long").alias("partitions"),
        F.lit(0).cast("long").alias("offline"),
        (in_sync < F.col("wanted")).cast("long").alias("under_replicated"),
        (in_sync < F.col("min_isr")).cast("long").alias("under_min_isr"),
    )
    windows = history.unavailable.select(
        *("batch", "run", "from_ms", "to_ms"),
        *(F.lit(int(name == "offline")).cast("long").alias(name) for name in MEASURES),
    )
    return steps(states.unionByName(windows), ("batch", "run"), MEASURES, history.ends, history.small)


HEALTH_STEPS = Analysis(
    "health-steps",
    "How many partitions were offline or under-replicated, at every moment?",
    DEFINITION,
    (
        *IN_A_RUN,
        Field("from_ms", LONG, MS, "when these figures began to hold, since the run's beginning"),
        Field("to_ms", LONG, MS, "when one of them changed; the end, of the last"),
        *(Field(name, LONG, COUNT, _MEANING[name]) for name in MEASURES),
    ),
    ("batch", "run", "from_ms"),
    lambda history: history.shared(health_steps),
)


def health(history: HistoryTables) -> DataFrame:
    """Return the counts in buckets of time."""
    bucketed = in_buckets(history.shared(health_steps), ("batch", "run"), MEASURES, history.scope.bucket_ms)
    means = {name: share(F.col(f"{name}_ms"), F.col("covered_ms")) for name in MEASURES}
    return bucketed.withColumns(means)


HEALTH = Analysis(
    "health",
    "How many partitions were offline or under-replicated, hour by hour?",
    DEFINITION + " A mean is weighed by time, over the part of the bucket since there has been a partition.",
    (
        *IN_A_RUN,
        Field("bucket_ms", LONG, MS, "when the bucket begins, since the run's beginning; its width is --bucket"),
        Field("covered_ms", LONG, MS, "how much of the bucket the figures are of"),
        Field("partitions", REAL, COUNT, f"{_MEANING['partitions']}, mean over time"),
        *(
            field
            for name in MEASURES[1:]
            for field in (
                Field(name, REAL, COUNT, f"{_MEANING[name]}, mean over time"),
                Field(f"least_{name}", LONG, COUNT, "the least of them at once"),
                Field(f"most_{name}", LONG, COUNT, "the most of them at once"),
                Field(f"{name}_ms", LONG, "partitions × ms", "their exact integral over time"),
            )
        ),
    ),
    ("bucket_ms",),
    health,
    details=(
        "covered_ms",
        "least_offline",
        "offline_ms",
        "least_under_replicated",
        "under_replicated_ms",
        "least_under_min_isr",
        "under_min_isr_ms",
    ),
)
