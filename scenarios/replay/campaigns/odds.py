"""The odds of what should not happen, from the runs of a campaign, and how far they can be trusted.

They are odds over whatever the seeds draw. Of a profile that is everything: the cluster, its settings, what is done to it
and when. Of a scenario that somebody has written it is what its file leaves open: how long each request to ZooKeeper takes,
and so who wins a race; replicas that Kafka places; what lossy and slow links do; random parts of ids and of the age of
segments. What the file says happens, and when, is the same in every run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.scenarios.replay.campaigns.intervals import DEFAULT_CONFIDENCE, Estimate, Share, mean, quantile, share
from kcsim.scenarios.replay.campaigns.vocabulary import TrialOutcome, View

QUANTILES = (0.5, 0.9, 0.99)
DEFAULT_FOR_MS = 1_000
DEFAULT_WORST = 5


@dataclass(frozen=True)
class OddsOf:
    """What is asked.

    Attributes:
        for_ms: a run counts as unavailable when nobody served some partition for longer than this.
        view: who says that nobody served it.
        worst: so many of the worst runs are named.
    """

    for_ms: int = DEFAULT_FOR_MS
    view: View = View.CLIENTS
    confidence: float = DEFAULT_CONFIDENCE
    worst: int = DEFAULT_WORST


@dataclass(frozen=True)
class WorstRun:
    """One of the runs with the longest outages, or that have lost the most."""

    seed: int
    run: str
    longest_ms: int
    unavailable_ms: int
    records_lost: int


@dataclass(frozen=True)
class Odds:
    """What came of it.

    Attributes:
        asked: what these are the odds of.
        runs: of which anything is known.
        unknown: seeds whose runs were lost, which count nowhere; at most ten of them are named.
        unavailable: runs in which nobody served some partition for longer than asked.
        data_loss: of the runs in which records were acknowledged, those that lost acknowledged ones.
        violated: runs with something wrong that is no known fault.
        unavailable_ms: the mean over all runs of how long nobody served at least one partition.
        quantiles: (q, the same time's q-quantile).
        worst_unavailable, worst_losses: the worst first; only what is not 0.
    """

    asked: OddsOf
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


def odds(runs: DataFrame, asked: OddsOf | None = None) -> Odds:
    """Estimate them from a table of runs (trials_table.runs_of); the numbers do not depend on the order of its rows."""
    asked = asked or OddsOf()
    longest, total = f"{asked.view}_longest_ms", f"{asked.view}_unavailable_ms"
    known = runs.where(F.col("outcome") != TrialOutcome.LOST.value)
    lost = runs.where(F.col("outcome") == TrialOutcome.LOST.value).select("seed").orderBy("seed")
    unknown_seeds = [row.seed for row in lost.limit(UNKNOWN_NAMED).collect()]
    counts = runs.agg(
        F.count_if(F.col("outcome") == TrialOutcome.LOST.value).alias("unknown"),
        F.count_if(F.col("outcome") != TrialOutcome.LOST.value).alias("runs"),
        F.count_if(F.col(longest) > asked.for_ms).alias("unavailable"),
        F.count_if(F.col("records_acknowledged") > 0).alias("wrote"),
        F.count_if(F.col("records_lost") > 0).alias("lossy"),
        F.count_if(F.col("violations") > 0).alias("violated"),
    ).first()
    assert counts is not None
    times = sorted(row[0] for row in known.select(total).collect())
    return Odds(
        asked=asked,
        runs=counts.runs,
        unknown=counts.unknown,
        unknown_seeds=unknown_seeds,
        unavailable=share(counts.unavailable, counts.runs, asked.confidence),
        data_loss=share(counts.lossy, counts.wrote, asked.confidence),
        violated=share(counts.violated, counts.runs, asked.confidence),
        unavailable_ms=mean(times, asked.confidence),
        quantiles=tuple((q, quantile(times, q, asked.confidence)) for q in QUANTILES),
        worst_unavailable=_worst(known, [longest, total], asked),
        worst_losses=_worst(known, ["records_lost", "records_lost_everywhere"], asked),
    )


def _worst(runs: DataFrame, by: Sequence[str], asked: OddsOf) -> tuple[WorstRun, ...]:
    rows = runs.where(F.col(by[0]) > 0).orderBy(*(F.desc(name) for name in by), "seed").limit(asked.worst)
    longest, total = f"{asked.view}_longest_ms", f"{asked.view}_unavailable_ms"
    columns = ("seed", "run", longest, total, "records_lost")
    return tuple(WorstRun(*row) for row in rows.select(*columns).collect())
