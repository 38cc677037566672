"""Replaying partitioned files (partitioned_files.py) on Spark: one task per file reads the file and writes its result.

Nothing is shuffled, and no row of a partition passes through the JVM.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.folding.arrow_rows import (
    batches_of,
    facts_arrow_schema,
    facts_batches,
    facts_in,
    replayed_arrow_schema,
)
from kcsim.scenarios.analysis.folding.folding_runs import fold_of_many
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.timeline import Run, Timeline
from kcsim.scenarios.analysis.folding.timeline_builder import timelines_of
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.partitioned_files import ReplayCounts, replay_file, rows_of_files, sum_counts
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import BATCH, spark_schema
from kcsim.scenarios.analysis.tables.part_file import remove_unfinished
from kcsim.scenarios.analysis.tables.task_each import task_per_item

Batches = Iterator[Any]
"""Record batches."""
ONE_VALUE = "value binary"


def replayed_files(spark: SparkSession, files: Sequence[Path | str], what_if: WhatIf | None = None) -> DataFrame:
    """Return transitions and mismatches as one table, in the form that replay.replayed returns."""
    timelines, fold = _timelines(spark, files), fold_for(what_if)

    def work(_: int, file: str) -> Batches:
        return batches_of(fold_of_many(rows_of_files([file], of_partitions=True), timelines.value, fold))

    return task_per_item(spark, _paths(files), work, spark_schema(replayed_arrow_schema()))


def replay_files_to(
    spark: SparkSession, files: Sequence[Path | str], to: Path | str, what_if: WhatIf | None = None
) -> ReplayCounts:
    """Write the tables `transitions`, and `mismatches` if there are any, into the folder `to`, which all workers see."""
    timelines, fold, where = _timelines(spark, files), fold_for(what_if), str(Path(to).resolve())

    def work(number: int, file: str) -> Batches:
        with gc_paused():  # this also makes unpickling the timelines faster
            done = replay_file(file, number, where, timelines.value, fold)
        yield _one_value(msgspec.json.encode(done))

    parts = task_per_item(spark, _paths(files), work, ONE_VALUE).collect()
    written = Dataset(to)
    for table in (written.transitions(), written.mismatches()):
        remove_unfinished(table.glob(f"{BATCH}=*"))
    return sum_counts([msgspec.json.decode(part.value, type=ReplayCounts) for part in parts])


def _timelines(spark: SparkSession, files: Sequence[Path | str]) -> Broadcast[dict[Run, Timeline]]:
    """Broadcast the timelines of all runs. The driver makes them of the facts that the tasks found.

    Each task returns its facts as one Arrow stream, which is a single value for the JVM.
    """
    import pyarrow as pa

    def work(_: int, file: str) -> Batches:
        written = pa.BufferOutputStream()
        with gc_paused(), pa.ipc.new_stream(written, facts_arrow_schema()) as stream:
            for batch in facts_batches(rows_of_files([file], of_partitions=False)):
                stream.write_batch(batch)
        yield _one_value(written.getvalue().to_pybytes())

    values = [part.value for part in task_per_item(spark, _paths(files), work, ONE_VALUE).collect()]
    batches = (batch for value in values for batch in pa.ipc.open_stream(value))
    with gc_paused():
        return spark.sparkContext.broadcast(timelines_of(facts_in(batches)))


def _paths(files: Sequence[Path | str]) -> list[str]:
    """Return the paths as all workers see them."""
    return [str(Path(file).resolve()) for file in files]


def _one_value(value: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([value], pa.binary())], names=["value"])
