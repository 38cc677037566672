"""Running a campaign inside executors, each seed on its own: the result does not depend on the number of executors."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.campaigns.campaign_options import DEFAULT_LIMIT_SECONDS, Traces
from kcsim.scenarios.analysis.campaigns.trial import CampaignSubject, run_trial
from kcsim.scenarios.analysis.campaigns.trials_table import row_of, trials_arrow_schema, trials_schema
from kcsim.scenarios.explore.known_bugs import KnownBug

if TYPE_CHECKING:
    import pyarrow as pa

SEEDS_A_TASK = 16
"""Large enough that the cost of a task does not matter, small enough that all tasks end at about the same time."""
MOST_TASKS = 2_000


def explore(
    spark: SparkSession,
    subject: CampaignSubject,
    seeds: range,
    *,
    batch: str | None = None,
    bugs: Sequence[KnownBug] | None = None,
    traces: Traces = Traces.NONE,
    limit_seconds: float | None = DEFAULT_LIMIT_SECONDS,
    tasks: int | None = None,
) -> DataFrame:
    """Run every seed; the result has one row per seed (trials_table.py), in the order of the seeds.

    Nothing runs before rows are requested, and everything runs again whenever they are: `persist` the table if it is used
    twice.

    Args:
        subject: DrawnScenarios(profile) or WrittenScenario(…): what is run.
        batch: the name of the campaign; the subject's if not given.
        bugs: the known bugs to recognise, as classify_failures takes them.
        limit_seconds: the wall-clock limit of one run.
        tasks: into how many tasks the seeds are divided; only the duration depends on it.
    """
    if tasks is None:
        tasks = min(MOST_TASKS, max(spark.sparkContext.defaultParallelism, -(-len(seeds) // SEEDS_A_TASK)))
    name = batch or subject.name

    def run(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        schema = trials_arrow_schema()
        for seeds_batch in batches:
            for seed in seeds_batch.column(0).to_pylist():
                trial = run_trial(subject, seed, bugs, traces, limit_seconds)
                # One row per batch: a run with its trace is large, and the reader of one run need not wait for the others.
                yield pa.RecordBatch.from_pylist([row_of(trial, name)], schema=schema)

    return spark.range(seeds.start, seeds.stop, seeds.step, numPartitions=tasks).mapInArrow(run, trials_schema())
