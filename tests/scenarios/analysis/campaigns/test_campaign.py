"""Whole runs inside executors: their results equal those of one process, and no failing run ends the other runs."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from kcsim.eventlog.outage_view import OutageView
from kcsim.scenarios.analysis.campaigns.campaign_options import Traces
from kcsim.scenarios.analysis.campaigns.exploring import explore
from kcsim.scenarios.analysis.campaigns.gathering import sum_up, write_campaign
from kcsim.scenarios.analysis.campaigns.odds import OddsQuery, odds
from kcsim.scenarios.analysis.campaigns.trial import CampaignScenario, DrawnScenarios, run_trial
from kcsim.scenarios.analysis.campaigns.trials_table import events_of, row_of, runs_of, trial_of, trials_schema
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import events_schema
from kcsim.scenarios.explore.campaign import Campaign
from kcsim.scenarios.explore.trial import run_seed
from tests.scenarios.analysis.campaigns.conftest import SEEDS


@pytest.fixture(scope="module")
def alone(drawn: DrawnScenarios) -> Campaign:
    """Return the result of `kcsim explore` for the same seeds."""
    campaign = Campaign()
    for seed in SEEDS:
        campaign.add(run_seed(drawn.profile, seed))
    return campaign


@pytest.mark.slow
def test_a_campaign_is_what_one_process_makes_of_it(trials: DataFrame, alone: Campaign) -> None:
    """Scenarios, traces and verdicts are equal: the digest covers all of them."""
    summed = sum_up(trials)

    assert summed.campaign.digest == alone.digest
    assert summed.campaign.coverage == alone.coverage
    assert (summed.campaign.seeds, summed.campaign.events) == (alone.seeds, alone.events)
    assert not summed.lost


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [1, 8])
def test_however_it_is_divided(spark: SparkSession, drawn: DrawnScenarios, alone: Campaign, tasks: int) -> None:
    """The campaign of the other tests has three tasks."""
    assert sum_up(explore(spark, drawn, SEEDS, tasks=tasks)).campaign.digest == alone.digest


@pytest.mark.slow
def test_the_events_of_a_campaign_are_those_of_its_runs(trials: DataFrame, drawn: DrawnScenarios) -> None:
    events = events_of(trials)
    run = run_trial(drawn, 9, traces=Traces.ALL)
    assert run.trace is not None

    assert events.schema.fieldNames() == events_schema().fieldNames()
    rows = (
        events.where("run = 'explore-small-9'").orderBy("seq").select("seq", "t_ms", "kind", "node", "path", "isr").collect()
    )
    assert [tuple(row) for row in rows] == [
        (event.seq, event.t_ms, event.kind.value, event.node, event.path, event.isr and list(event.isr))
        for event in run.trace
    ]


@pytest.mark.slow
def test_what_is_written_are_tables_that_the_other_parts_read(trials: DataFrame, tmp_path: Path) -> None:
    """A run is in one file, so that no reader has to put it together again; and such a file is a trace, too."""
    dataset = Dataset(tmp_path / "campaign")
    write_campaign(trials, dataset.path)
    spark = trials.sparkSession

    assert dataset.batches() == ["explore-small"]
    assert spark.read.parquet(str(dataset.table("runs"))).count() == len(SEEDS)
    assert spark.read.parquet(str(dataset.table("outages"))).where("until_ms <= from_ms").count() == 0
    coverage = {(row.kind, row.name): (row.runs, row.first_seed) for row in _table(spark, dataset, "coverage").collect()}
    assert coverage["event", "RunStarted"] == (len(SEEDS), SEEDS.start)
    files = dataset.files()
    runs = spark.read.parquet(*map(str, files)).selectExpr("run", "input_file_name() AS file").distinct().collect()
    assert len(runs) == len(SEEDS)


def _table(spark: SparkSession, dataset: Dataset, name: str) -> DataFrame:
    return spark.read.parquet(str(dataset.table(name)))


def test_a_row_is_the_trial_without_its_trace(drawn: DrawnScenarios) -> None:
    trial = run_trial(drawn, 9)

    assert trial_of(row_of(trial, "a campaign")) == trial
    assert list(row_of(trial, "a campaign")) == trials_schema().fieldNames()


@pytest.mark.slow
def test_seeds_that_hang_or_fail_are_rows_and_the_others_go_on(spark: SparkSession, drawn: DrawnScenarios) -> None:
    @dataclass(frozen=True)
    class Troubled:
        inner: DrawnScenarios
        name: str = "troubled"

        def scenario(self, seed: int) -> CampaignScenario:
            if seed == 9:
                raise ZeroDivisionError("made up")
            while seed == 10:
                time.sleep(1)
            return self.inner.scenario(seed)

    trials = explore(spark, Troubled(drawn), range(8, 12), limit_seconds=10, tasks=1)
    summed = sum_up(trials)

    assert [(trial.seed, trial.error) for trial in summed.lost] == [
        (9, "ZeroDivisionError: made up"),
        (10, "TooLongError: it was not done within 10 s by the wall clock"),
    ]
    assert (summed.campaign.runs, summed.campaign.seeds) == (2, (8, 11))


# --- odds ------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_odds_are_the_shares_of_the_runs(trials: DataFrame, drawn: DrawnScenarios) -> None:
    runs = [run_trial(drawn, seed) for seed in SEEDS]
    found = odds(runs_of(trials), OddsQuery(for_ms=500, worst=2))
    longest = sorted(runs, key=lambda run: -run.clients.longest_ms)

    assert found.runs == len(SEEDS)
    assert (found.unavailable.hits, found.unavailable.of) == (sum(r.clients.longest_ms > 500 for r in runs), len(SEEDS))
    assert found.data_loss.hits == sum(run.records.lost > 0 for run in runs) > 0
    assert found.data_loss.of == sum(run.records.acknowledged > 0 for run in runs) < len(SEEDS)
    assert found.unavailable_ms.value == pytest.approx(sum(run.clients.ms for run in runs) / len(SEEDS))
    assert [(run.seed, run.longest_ms) for run in found.worst_unavailable] == [
        (run.seed, run.clients.longest_ms) for run in longest[:2]
    ]


@pytest.mark.slow
def test_runs_of_which_nothing_is_known_count_nowhere(spark: SparkSession) -> None:
    rows = [
        (seed, f"run-{seed}", outcome, 0, 0, 0, 0, 2_000 if seed == 1 else 0, 2_000 if seed == 1 else 0, 10, 0, 0)
        for seed, outcome in enumerate(["held", "violated", "lost", "lost", "held"])
    ]
    columns = "seed long, run string, outcome string, violations int, partitions int"
    for view in OutageView:
        columns += f", {view}_longest_ms long, {view}_unavailable_ms long"
    columns += ", records_acknowledged long, records_lost long, records_lost_everywhere long"

    found = odds(spark.createDataFrame(rows, columns), OddsQuery(view=OutageView.ZOOKEEPER))

    assert (found.runs, found.unknown, found.unknown_seeds) == (3, 2, [2, 3])
    assert (found.unavailable.hits, found.unavailable.of) == (1, 3)
    assert [run.run for run in found.worst_unavailable] == ["run-1"]
    assert found.data_loss.share == 0
