"""What a campaign leaves: its tables on disk, and the sum that `kcsim explore` makes of the same seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kcsim.scenarios.exploring.campaign import Campaign
from kcsim.scenarios.replay.campaigns.trial import Trial, tried_of
from kcsim.scenarios.replay.campaigns.trials_table import (
    TRACE,
    coverage_of,
    events_of,
    outages_of,
    runs_of,
    trial_of,
    violations_of,
)
from kcsim.scenarios.replay.campaigns.vocabulary import TrialOutcome
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.replay.tables.events_table import RUN
from kcsim.scenarios.replay.tables.writing import ORDER_OF_EVENTS, write_table

RUNS, VIOLATIONS, OUTAGES, COVERAGE = "runs", "violations", "outages", "coverage"
ROWS_A_FILE = 1_000_000
RUNS_A_FILE = 50_000


def run_once(trials: DataFrame) -> DataFrame:
    """Run all of a campaign now, and keep what comes of it for whatever is made of it; `unpersist` what is returned.

    On disk, for the traces of a hundred thousand runs are more than memory has. What is lost with an executor is run again.
    """
    kept = trials.persist(StorageLevel.DISK_ONLY)
    kept.count()
    return kept


def write_campaign(trials: DataFrame, where: Path | str) -> None:
    """Write the tables of a campaign: runs, violations, outages, coverage, and the events that were kept.

    Args:
        trials: of run_once, for they are gone through once for every table.
        where: the folder of the dataset, as `being_written` yields it; nothing of it may be there.
    """
    dataset = Dataset(where)
    sizes = trials.agg(F.count("*").alias("runs"), F.sum(F.size(TRACE)).alias("events")).first()
    assert sizes is not None
    files = -(-sizes.runs // RUNS_A_FILE)
    for name, table, order in (
        (RUNS, runs_of(trials), ("seed",)),
        (VIOLATIONS, violations_of(trials), ("seed", "invariant", "known_fault")),
        (OUTAGES, outages_of(trials), ("view", RUN, "topic", "partition", "from_ms")),
        (COVERAGE, coverage_of(trials), ("kind", "name")),
    ):
        write_table(table.coalesce(files), dataset.table(name), (), order)
    if sizes.events:
        # A run is in one task as it is: what is put together here is whole histories, and nothing has to be moved.
        files = max(trials.sparkSession.sparkContext.defaultParallelism, -(-sizes.events // ROWS_A_FILE))
        write_table(events_of(trials.coalesce(files)), dataset.events(), (), ORDER_OF_EVENTS)


@dataclass(frozen=True)
class Summed:
    """The sum of a campaign. `lost`: the seeds of which nothing is known, in order; they are not in the sum."""

    campaign: Campaign
    lost: Sequence[Trial]


def sum_up(trials: DataFrame) -> Summed:
    """Sum the runs up in the order of their seeds. Without lost runs it has the digest that `kcsim explore` tells."""
    campaign, lost = Campaign(), list[Trial]()
    for row in trials.drop(TRACE).toLocalIterator(prefetchPartitions=True):
        trial = trial_of(row.asDict(recursive=True))
        if trial.outcome is TrialOutcome.LOST:
            lost.append(trial)
        else:
            campaign.add(tried_of(trial))
    return Summed(campaign, lost)
