"""The results of a campaign: its tables on disk, and the summary that `kcsim explore` makes of the same seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.scenarios.analysis.campaigns.campaign_options import TrialOutcome
from kcsim.scenarios.analysis.campaigns.trial import Trial
from kcsim.scenarios.analysis.campaigns.trials_table import (
    TRACE,
    coverage_of,
    events_of,
    outages_of,
    runs_of,
    trial_of,
    violations_of,
)
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import RUN
from kcsim.scenarios.analysis.tables.location import Location
from kcsim.scenarios.analysis.tables.writing import ORDER_OF_EVENTS, write_table
from kcsim.scenarios.explore.campaign import Campaign

RUNS, VIOLATIONS, OUTAGES, COVERAGE = "runs", "violations", "outages", "coverage"
ROWS_A_FILE = 1_000_000
RUNS_A_FILE = 50_000


def run_once(trials: DataFrame) -> DataFrame:
    """Run all of a campaign now, and keep the result for several uses; `unpersist` the returned table afterwards.

    The result is kept on disk, because the traces of a hundred thousand runs do not fit in memory. Rows that are lost with
    an executor are computed again.
    """
    kept = trials.persist(StorageLevel.DISK_ONLY)
    kept.count()
    return kept


def write_campaign(trials: DataFrame, where: Location | str) -> None:
    """Write the tables of a campaign: runs, violations, outages, coverage, and the events that were kept.

    Args:
        trials: a table that run_once returned, because it is read once for every table that is written.
        where: the folder of the dataset, as `being_written` yields it; it must not hold any of the tables yet.
    """
    dataset = Dataset(where)
    sizes = trials.agg(F.count("*").alias("runs"), F.sum(F.size(TRACE)).alias("events")).first()
    assert sizes is not None
    files = -(-sizes.runs // RUNS_A_FILE)
    for name, table, order in (
        (RUNS, runs_of(trials), ("seed",)),
        (VIOLATIONS, violations_of(trials), ("seed", "invariant", "known_bug")),
        (OUTAGES, outages_of(trials), ("view", RUN, "topic", "partition", "from_ms")),
        (COVERAGE, coverage_of(trials), ("kind", "name")),
    ):
        write_table(table.coalesce(files), dataset.table(name), (), order)
    if sizes.events:
        # Each run already lies in one task: coalesce joins whole runs, and nothing has to be shuffled.
        files = max(trials.sparkSession.sparkContext.defaultParallelism, -(-sizes.events // ROWS_A_FILE))
        write_table(events_of(trials.coalesce(files)), dataset.events(), (), ORDER_OF_EVENTS)


@dataclass(frozen=True)
class CampaignSummary:
    """The summary of a campaign. `lost`: the seeds of which nothing is known, in order; they are not in the summary."""

    campaign: Campaign
    lost: Sequence[Trial]


def sum_up(trials: DataFrame) -> CampaignSummary:
    """Sum the runs up in the order of their seeds. Without lost runs the digest equals that of `kcsim explore`."""
    campaign, lost = Campaign(), list[Trial]()
    for row in trials.drop(TRACE).toLocalIterator(prefetchPartitions=True):
        trial = trial_of(row.asDict(recursive=True))
        if trial.outcome is TrialOutcome.LOST:
            lost.append(trial)
        else:
            campaign.add(trial)
    return CampaignSummary(campaign, lost)
