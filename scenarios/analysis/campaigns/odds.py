"""The odds of unwanted outcomes, from the runs of a campaign, and the confidence of these odds.

They are odds over everything that the seeds draw. For a profile that is everything: the cluster, its settings, the actions
and their times. For a written scenario it is what its file leaves open: how long each request to ZooKeeper takes, and so
which broker wins a race; replicas that Kafka places; what lossy and slow links do; random parts of ids and of the age of
segments. The actions in the file, and their times, are the same in every run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.eventlog.outage_view import OutageView
from kcsim.scenarios.analysis.campaigns.campaign_options import TrialOutcome
from kcsim.scenarios.analysis.campaigns.intervals import DEFAULT_CONFIDENCE, Estimate, Share, mean, quantile, share

QUANTILES = (0.5, 0.9, 0.99)
DEFAULT_FOR_MS = 1_000
DEFAULT_WORST = 5


@dataclass(frozen=True)
class OddsQuery:
    """The question that odds answer.

    Attributes:
        for_ms: a run counts as unavailable if some partition was not served for longer than this.
        view: whose view decides that a partition was not served.
        confidence: of the intervals, 0 to 1.
        worst: how many of the worst runs are listed.
    """

    for_ms: int = DEFAULT_FOR_MS
    view: OutageView = OutageView.CLIENTS
    confidence: float = DEFAULT_CONFIDENCE
    worst: int = DEFAULT_WORST


@dataclass(frozen=True)
class WorstRun:
    """One of the runs with the longest outages, or with the most lost records."""

    seed: int
    run: str
    longest_ms: int
    unavailable_ms: int
    records_lost: int


@dataclass(frozen=True)
class Odds:
    """The result.

    Attributes:
        query: the question that these odds answer.
        runs: how many runs anything is known of.
        unknown: how many seeds lost their runs; these count nowhere.
        unknown_seeds: at most ten of these seeds.
        unavailable: runs in which some partition was not served for longer than asked.for_ms.
        data_loss: of the runs in which records were acknowledged, those that lost acknowledged ones.
        violated: runs with a failure that is no known bug.
        unavailable_ms: the mean over all runs of the time in which at least one partition was not served.
        quantiles: (q, the q-quantile of the same time).
        worst_unavailable, worst_losses: the worst first; runs whose figure is 0 are left out.
    """

    query: OddsQuery
    runs: int
    unknown: int
    unknown_seeds: Sequence[int]
    unavailable: Share
    data_loss: Share
    violated: Share
    unavailable_ms: Estimate
    quantiles: Sequence[tuple[float, Estimate]]
    worst_unavailable: Sequence[WorstRun]
    worst_losses: Sequence[WorstRun]


UNKNOWN_NAMED = 10


def odds(runs: DataFrame, query: OddsQuery | None = None) -> Odds:
    """Estimate the odds from a table of runs (trials_table.runs_of); the numbers do not depend on the order of its rows."""
    query = query or OddsQuery()
    longest, total = f"{query.view}_longest_ms", f"{query.view}_unavailable_ms"
    known = runs.where(F.col("outcome") != TrialOutcome.LOST.value)
    lost = runs.where(F.col("outcome") == TrialOutcome.LOST.value).select("seed").orderBy("seed")
    unknown_seeds = [row.seed for row in lost.limit(UNKNOWN_NAMED).collect()]
    counts = runs.agg(
        F.count_if(F.col("outcome") == TrialOutcome.LOST.value).alias("unknown"),
        F.count_if(F.col("outcome") != TrialOutcome.LOST.value).alias("runs"),
        F.count_if(F.col(longest) > query.for_ms).alias("unavailable"),
        F.count_if(F.col("records_acknowledged") > 0).alias("wrote"),
        F.count_if(F.col("records_lost") > 0).alias("lossy"),
        F.count_if(F.col("violations") > 0).alias("violated"),
    ).first()
    assert counts is not None
    times = sorted(row[0] for row in known.select(total).collect())
    return Odds(
        query=query,
        runs=counts.runs,
        unknown=counts.unknown,
        unknown_seeds=unknown_seeds,
        unavailable=share(counts.unavailable, counts.runs, query.confidence),
        data_loss=share(counts.lossy, counts.wrote, query.confidence),
        violated=share(counts.violated, counts.runs, query.confidence),
        unavailable_ms=mean(times, query.confidence),
        quantiles=tuple((q, quantile(times, q, query.confidence)) for q in QUANTILES),
        worst_unavailable=_worst(known, [longest, total], query),
        worst_losses=_worst(known, ["records_lost", "records_lost_everywhere"], query),
    )


def _worst(runs: DataFrame, by: Sequence[str], query: OddsQuery) -> tuple[WorstRun, ...]:
    rows = runs.where(F.col(by[0]) > 0).orderBy(*(F.desc(name) for name in by), "seed").limit(query.worst)
    longest, total = f"{query.view}_longest_ms", f"{query.view}_unavailable_ms"
    columns = ("seed", "run", longest, total, "records_lost")
    return tuple(WorstRun(*row) for row in rows.select(*columns).collect())
