"""Computes the analyses of a report, and takes from each what a page can hold."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kcsim.scenarios.analysis.analyses.analysis import Analysis
from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from kcsim.scenarios.analysis.engines.frames import DataFrame, F
from kcsim.scenarios.analysis.folding.trigger import Trigger
from kcsim.scenarios.analysis.report import contents
from kcsim.scenarios.analysis.report.contents import Contents, DurationDistribution, Focus, ReportTotals
from kcsim.scenarios.views.human import DURATION_EDGES_MS, round_step_ms

ROWS = 40
"""How many rows of each table the page has."""
MOST_TERMS = 400
SCOPES = ("cluster", "topic", "partition")
BUCKETS = 150
QUANTILES = (0.5, 0.9, 0.99)
OVER_TIME = ("health", "skew", "isr-churn", "controllers")
TABLES = (
    *("availability", "unavailability", "under-min-isr"),
    *("recovery-times", "recoveries"),
    *("elections", "unclean-elections"),
    *("isr-churn-partitions", "flapping-replicas"),
    "controllers",
    *("affected-topics", "affected-brokers", "affected-racks"),
    *("loss-of-broker", "loss-of-rack", "loss-of-brokers", "loss-of-racks"),
)
ReportProgress = Callable[[str], None]


def gather(
    history: HistoryTables,
    dataset: str,
    version: str,
    facts: Mapping[str, str],
    left_out: Sequence[str] = (),
    wanted: tuple[str | None, str | None] = (None, None),
    report_progress: ReportProgress = lambda _: None,
) -> Contents:
    """Compute all contents of a report.

    Args:
        history: its bucket_ms is not used: figures over time have buckets of a round duration that fits the run shown.
        dataset: the name of the dataset on the page.
        left_out: what could not be read, in sentences.
        wanted: batch and run to be shown over time; None: the worst.
        report_progress: called with the name of what is waited for.
    """
    parts: Mapping[str, Callable[[], Any]] = {
        "unavailability": lambda: _spread(history.unavailable.select((F.col("to_ms") - F.col("from_ms")).alias("ms"))),
        "the whole": lambda: _totals(history),
        "one run over time": lambda: _focus(history, wanted),
        "recovery": lambda: _spread(ANALYSES["recoveries"].table(history).select(F.col("to_leader_ms").alias("ms"))),
        "elections by trigger": lambda: _elections(history),
        "faults": lambda: _faults(history),
        **{f"table {name}": partial(_table, ANALYSES[name], history) for name in TABLES},
    }
    results = history.results(list(parts.values()))
    computed = []
    for name in parts:
        report_progress(name)
        computed.append(next(results))
    unavailability, totals, focus, recovery, elections, faults, *tables = computed
    return Contents(
        dataset,
        version,
        facts,
        totals,
        focus,
        unavailability,
        recovery,
        elections,
        faults,
        dict(zip(TABLES, tables, strict=True)),
        tuple(left_out),
    )


def _table(analysis: Analysis, history: HistoryTables) -> contents.Table:
    """Return the first rows of an analysis; of availability, which has several scopes, the first rows of each."""
    scopes: Sequence[str | None] = SCOPES if analysis.name == "availability" else (None,)
    total, rows = 0, []
    for scope in scopes:
        table = analysis.table(history)
        table = table if scope is None else table.where(F.col("scope") == scope)
        found, count = history.first_rows(table, analysis.in_order, ROWS // len(scopes))
        rows += found
        total += count
    columns = tuple(contents.Column(field.name, field.unit, field.meaning) for field in analysis.fields)
    first = tuple(tuple(row) for row in rows)
    return contents.Table(analysis.name, analysis.question, analysis.definition, columns, first, total)


# --- figures ---------------------------------------------------------------------------------------------------------------


def _spread(times: DataFrame) -> DurationDistribution:
    """Return the distribution of the times in the column `ms`, without those that are null."""
    known = times.where("ms IS NOT NULL")
    edges = F.array(*(F.lit(edge).cast("long") for edge in DURATION_EDGES_MS))
    place = F.size(F.filter(edges, lambda edge: edge <= F.col("ms")))
    found = {row[0]: row[1] for row in known.groupBy(place).count().collect()}
    classes = tuple(found.get(place, 0) for place in range(len(DURATION_EDGES_MS) + 1))
    if not found:
        return DurationDistribution(classes, {})
    shares = (*QUANTILES, 1.0)
    exact = known.agg(*(F.percentile("ms", share).alias(f"p{share}") for share in shares)).first()
    assert exact is not None
    return DurationDistribution(classes, dict(zip(shares, map(float, exact), strict=True)))


def _totals(history: HistoryTables) -> ReportTotals:
    availability = ANALYSES["availability"].table(history).where("scope = 'cluster'")
    of_runs = _one(
        availability.agg(
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("partitions", "existing_ms", "unavailable_ms")),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("windows", "open_windows")),
            F.coalesce(F.max("longest_ms"), F.lit(0)).alias("longest_ms"),
        )
    )
    elections = _one(
        ANALYSES["elections"]
        .table(history)
        .agg(
            F.coalesce(F.sum(F.when(F.col("outcome") != "nobody", F.col("elections"))), F.lit(0)).alias("elections"),
            F.coalesce(F.sum(F.when(F.col("outcome") == "unclean", F.col("elections"))), F.lit(0)).alias("unclean"),
            F.coalesce(F.sum(F.when(F.col("outcome") == "nobody", F.col("elections"))), F.lit(0)).alias("nobody"),
        )
    )
    terms = _one(ANALYSES["controllers"].table(history).agg(F.count("*").alias("controllers")))
    gaps = ANALYSES["controller-gaps"].table(history)
    longest_gap = _one(gaps.agg(F.coalesce(F.max("duration_ms"), F.lit(0)).alias("longest_gap_ms")))
    brokers = _one(
        history.brokers.agg(F.count("*").alias("brokers"), F.count_distinct("batch", "run", "rack").alias("racks"))
    )
    topics = _one(history.state_intervals.agg(F.count_distinct("batch", "run", "topic").alias("topics")))
    runs = _one(history.ends.agg(F.count("*").alias("runs"), F.count_distinct("batch").alias("batches")))
    sizes = {"events": history.events.count(), "transitions": history.all_transitions.count()}
    return ReportTotals(**runs, **sizes, **topics, **of_runs, **elections, **terms, **longest_gap, **brokers)


def _elections(history: HistoryTables) -> dict[str, tuple[int, int, int]]:
    counts = ANALYSES["elections"].table(history).groupBy("trigger", "outcome").agg(F.sum("elections").alias("elections"))
    found = {(row.trigger or Trigger.UNKNOWN.value, row.outcome): row.elections for row in counts.collect()}
    triggers = sorted({trigger for trigger, _ in found})
    clean, unclean, nobody = (
        {t: found.get((t, outcome), 0) for t in triggers} for outcome in ("clean", "unclean", "nobody")
    )
    return {trigger: (clean[trigger], unclean[trigger], nobody[trigger]) for trigger in triggers}


def _faults(history: HistoryTables) -> dict[str, tuple[int, int]]:
    sums = (F.sum(name).alias(name) for name in ("led_again", "never_led_again"))
    counts = ANALYSES["recovery-times"].table(history).groupBy("fault").agg(*sums).orderBy("fault")
    return {row.fault: (row.led_again, row.never_led_again) for row in counts.collect()}


def _one(table: DataFrame) -> dict[str, Any]:
    row = table.first()
    assert row is not None
    return row.asDict()


def _focus(history: HistoryTables, wanted: tuple[str | None, str | None]) -> Focus | None:
    """Return the run that is shown over time, and its figures; None if no run matches `wanted`."""
    batch, run = wanted
    rows = ANALYSES["availability"].table(history).where("scope = 'cluster'")
    rows = rows if batch is None else rows.where(F.col("batch") == batch)
    rows = rows if run is None else rows.where(F.col("run") == run)
    worst = rows.orderBy(F.desc("unavailable_ms"), "batch", "run").first()
    if worst is None:
        return None
    is_it = (F.col("batch") == worst.batch) & (F.col("run") == worst.run)
    (ends,) = history.ends.where(is_it).collect()
    bucket_ms = round_step_ms(max(1, ends.end_ms), BUCKETS)
    shown = history.of_run(worst.batch, worst.run, bucket_ms)
    over_time = {name: _in_order(ANALYSES[name], shown) for name in OVER_TIME}
    return Focus(worst.batch, worst.run, ends.end_ms, bucket_ms, over_time)


def _in_order(analysis: Analysis, history: HistoryTables) -> tuple[dict[str, Any], ...]:
    table = analysis.table(history)
    if analysis.name == "isr-churn":
        sums = (F.sum(name).alias(name) for name in ("left_isr", "left_by_leader", "joined_isr"))
        table = table.groupBy("bucket_ms").agg(*sums)
    rows = table.orderBy("from_ms" if analysis.name == "controllers" else "bucket_ms")
    return tuple(row.asDict() for row in rows.limit(MOST_TERMS).collect())
