"""Runs a campaign inside executors, each seed on its own: how many there are of them cannot be seen in what comes of it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.exploring.known_faults import KnownFault
from kcsim.scenarios.replay.campaigns.trial import Subject, try_out
from kcsim.scenarios.replay.campaigns.trials_table import row_of, trials_arrow_schema, trials_schema
from kcsim.scenarios.replay.campaigns.vocabulary import DEFAULT_LIMIT_SECONDS, Traces

if TYPE_CHECKING:
    import pyarrow as pa

SEEDS_A_TASK = 16
"""Enough not to count what a task costs, few enough for all to end at about the same time."""
MOST_TASKS = 2_000


def explore(
    spark: SparkSession,
    subject: Subject,
    seeds: range,
    *,
    batch: str | None = None,
    faults: Sequence[KnownFault] | None = None,
    traces: Traces = Traces.NONE,
    limit_seconds: float | None = DEFAULT_LIMIT_SECONDS,
    tasks: int | None = None,
) -> DataFrame:
    """Run every seed; one row each (trials_table.py), in the order of the seeds.

    Nothing is run before rows are asked for, and all is run again whenever they are: `persist` it where they are used twice.

    Args:
        subject: Drawn(profile) or Written(…): what is run.
        batch: the name of the campaign; the subject's if not given.
        faults: as for sort_out.
        limit_seconds: by the wall clock, of one run.
        tasks: into how many the seeds are divided; nothing but the time it takes depends on it.
    """
    if tasks is None:
        tasks = min(MOST_TASKS, max(spark.sparkContext.defaultParallelism, -(-len(seeds) // SEEDS_A_TASK)))
    name = batch or subject.name

    def run(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        schema = trials_arrow_schema()
        for asked in batches:
            for seed in asked.column(0).to_pylist():
                trial = try_out(subject, seed, faults, traces, limit_seconds)
                # One at a time: a run with its trace is large, and whoever waits for it need not wait for the others.
                yield pa.RecordBatch.from_pylist([row_of(trial, name)], schema=schema)

    return spark.range(seeds.start, seeds.stop, seeds.step, numPartitions=tasks).mapInArrow(run, trials_schema())
