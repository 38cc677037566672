"""The distribution of leaders and replicas over the brokers, over time."""

from kcsim.scenarios.analysis.analyses.analysis import COUNT, IN_A_RUN, LONG, MS, ONE, REAL, SHARE, Analysis, Field, share
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.analyses.intervals import in_buckets, steps
from kcsim.scenarios.analysis.analyses.state_intervals import NO_BROKER
from kcsim.scenarios.analysis.engines.frames import Column, DataFrame, F

OF_A_BROKER = ("batch", "run", "broker")


def broker_load(history: HistoryTables) -> DataFrame:
    """Return each broker's leaders and replicas in each bucket of time; without the brokers that have neither in it."""
    intervals = history.assignments.select("batch", "run", "from_ms", "to_ms", "leader", "replicas")
    is_led = F.col("leader") != NO_BROKER
    leads = F.when(
        is_led, F.array(F.struct(F.col("leader").alias("broker"), F.lit(1).alias("leaders"), F.lit(0).alias("replicas")))
    )
    hosts = F.transform(
        "replicas", lambda b: F.struct(b.alias("broker"), F.lit(0).alias("leaders"), F.lit(1).alias("replicas"))
    )
    roles = F.explode(F.concat(F.coalesce(leads, F.filter(hosts, lambda _: F.lit(False))), hosts))
    pieces = intervals.select("batch", "run", "from_ms", "to_ms", roles.alias("r")).select(
        "batch", "run", "from_ms", "to_ms", "r.broker", "r.leaders", "r.replicas"
    )
    measures = ("leaders", "replicas")
    stretches = steps(pieces, OF_A_BROKER, measures, history.ends, history.small)
    return in_buckets(stretches, OF_A_BROKER, measures, history.scope.bucket_ms)


def mean(integral: str) -> Column:
    return share(F.col(integral), F.col("covered_ms"))


def with_means(history: HistoryTables) -> DataFrame:
    """Return broker_load() with the means over the bucket."""
    return history.shared(broker_load).withColumn("leaders", mean("leaders_ms")).withColumn("replicas", mean("replicas_ms"))


BROKER_LOAD = Analysis(
    "broker-load",
    "How many partitions did each broker lead and host, over time?",
    "A broker leads what the state names it as the leader of, live or not, and hosts what it is assigned, replicas being"
    " added or removed included. A mean is weighed by time, over the part of the bucket since the broker"
    " first led or hosted one.",
    (
        *IN_A_RUN,
        Field("bucket_ms", LONG, MS, "when the bucket begins, since the run's beginning; its width is --bucket"),
        Field("broker", LONG, ONE, "the broker"),
        Field("covered_ms", LONG, MS, "how much of the bucket the figures are of"),
        Field("leaders", REAL, COUNT, "partitions led, mean over time"),
        Field("least_leaders", LONG, COUNT, "the least of them at once"),
        Field("most_leaders", LONG, COUNT, "the most of them at once"),
        Field("leaders_ms", LONG, "partitions × ms", "their exact integral over time"),
        Field("replicas", REAL, COUNT, "replicas hosted, mean over time"),
        Field("least_replicas", LONG, COUNT, "the least of them at once"),
        Field("most_replicas", LONG, COUNT, "the most of them at once"),
        Field("replicas_ms", LONG, "replicas × ms", "their exact integral over time"),
    ),
    ("bucket_ms", "broker"),
    with_means,
    details=("covered_ms", "leaders_ms", "replicas_ms"),
)


def skew(history: HistoryTables) -> DataFrame:
    """Return how unevenly leaders and replicas are distributed, in each bucket of time."""
    load = history.shared(broker_load)
    known = history.brokers.groupBy("batch", "run").agg(F.count("*").alias("brokers"))
    figures = [
        column
        for what in ("leaders", "replicas")
        for column in (
            F.sum(f"{what}_ms").alias(f"_{what}"),
            F.max(f"{what}_ms").alias(f"_most_{what}"),
            F.sum(_square(f"{what}_ms")).alias(f"_squares_{what}"),
        )
    ]
    of_buckets = load.groupBy("batch", "run", "bucket_ms").agg(*figures).join(history.small(known), ["batch", "run"])
    spread = of_buckets.select(
        *("batch", "run", "bucket_ms", "brokers"),
        *(column for what in ("leaders", "replicas") for column in _spread(what)),
    )
    return spread.join(_preferred(history), ["batch", "run", "bucket_ms"], "left")


def _square(column: str) -> Column:
    """Return the exact square, so that a sum of squares does not depend on its order."""
    number = F.col(column).cast("decimal(18,0)")
    return number * number


def _spread(what: str) -> tuple[Column, Column]:
    """Return maximum / mean and standard deviation / mean over all brokers; brokers that have none count as 0."""
    n, total, most, squares = (F.col(name) for name in ("brokers", f"_{what}", f"_most_{what}", f"_squares_{what}"))
    exact = total.cast("decimal(19,0)")
    variance = (n.cast("decimal(10,0)") * squares - exact * exact).cast("double")  # exact until here: the sums are large
    return (
        share(n * most, total).alias(f"{what}_max_to_mean"),
        F.when(total > 0, F.sqrt(variance) / total.cast("double")).alias(f"{what}_cv"),
    )


def _preferred(history: HistoryTables) -> DataFrame:
    """Return for each bucket the share of the partitions' time in which the first replica was the leader."""
    known = F.size("replicas") > 0
    pieces = history.assignments.where(known).select(
        *("batch", "run", "from_ms", "to_ms"),
        (F.col("leader") == F.try_element_at("replicas", F.lit(1))).cast("long").alias("preferred"),
        F.lit(1).alias("partitions"),
    )
    measures = ("preferred", "partitions")
    stretches = steps(pieces, ("batch", "run"), measures, history.ends, history.small)
    bucketed = in_buckets(stretches, ("batch", "run"), measures, history.scope.bucket_ms)
    wanted = share(F.col("preferred_ms"), F.col("partitions_ms"))
    return bucketed.select("batch", "run", "bucket_ms", wanted.alias("preferred_share"))


SKEW = Analysis(
    "skew",
    "How unevenly were leaders and replicas spread over the brokers, over time?",
    "Of each broker the integral over the bucket counts (see broker-load), of all brokers that were registered or assigned a"
    " replica at some time in the run: those that have nothing count as 0. The coefficient of variation is the standard"
    " deviation (of all of them, not of a sample) by the mean.",
    (
        *IN_A_RUN,
        Field("bucket_ms", LONG, MS, "when the bucket begins, since the run's beginning; its width is --bucket"),
        Field("brokers", LONG, COUNT, "how many brokers there are"),
        Field("leaders_max_to_mean", REAL, ONE, "the broker with the most leaders against the mean; 1 is even"),
        Field("leaders_cv", REAL, ONE, "coefficient of variation of leaders; 0 is even"),
        Field("replicas_max_to_mean", REAL, ONE, "the same of replicas"),
        Field("replicas_cv", REAL, ONE, "the same of replicas"),
        Field("preferred_share", REAL, SHARE, "of the time of all partitions, that in which the first replica led"),
    ),
    ("bucket_ms",),
    skew,
)
