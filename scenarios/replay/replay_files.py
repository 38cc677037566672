"""Replays the files of a laid-out dataset (laid_out.py) on Spark: a file a task, which reads it and writes what comes of it.

Nothing is shuffled, and no row of a partition passes through the JVM.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.replay.collector import collector_at_rest
from kcsim.scenarios.replay.folding.arrow_rows import (
    batches_of,
    facts_arrow_schema,
    facts_batches,
    facts_in,
    replayed_arrow_schema,
)
from kcsim.scenarios.replay.folding.folding_runs import fold_of_many
from kcsim.scenarios.replay.folding.folds import fold_for
from kcsim.scenarios.replay.folding.timeline import Run, Timeline
from kcsim.scenarios.replay.folding.timeline_builder import timelines_of
from kcsim.scenarios.replay.folding.what_if import WhatIf
from kcsim.scenarios.replay.laid_out import Replayed, replay_file, rows_of_files, summed
from kcsim.scenarios.replay.tables.dataset import Dataset
from kcsim.scenarios.replay.tables.events_table import BATCH, spark_schema
from kcsim.scenarios.replay.tables.part_file import remove_unfinished
from kcsim.scenarios.replay.tables.task_each import task_each

Batches = Iterator[Any]
"""Record batches."""
ONE_VALUE = "value binary"


def replayed_files(spark: SparkSession, files: Sequence[Path | str], what_if: WhatIf | None = None) -> DataFrame:
    """Transitions and mismatches as one table, as `replayed` gives them."""
    timelines, fold = _timelines(spark, files), fold_for(what_if)

    def work(_: int, file: str) -> Batches:
        return batches_of(fold_of_many(rows_of_files([file], of_partitions=True), timelines.value, fold))

    return task_each(spark, _paths(files), work, spark_schema(replayed_arrow_schema()))


def replay_files_to(
    spark: SparkSession, files: Sequence[Path | str], to: Path | str, what_if: WhatIf | None = None
) -> Replayed:
    """Write the tables `transitions`, and `mismatches` if there are any, into the folder `to`, which all workers see."""
    timelines, fold, where = _timelines(spark, files), fold_for(what_if), str(Path(to).resolve())

    def work(number: int, file: str) -> Batches:
        with collector_at_rest():  # the timelines come out of their pickle faster, too
            done = replay_file(file, number, where, timelines.value, fold)
        yield _one_value(msgspec.json.encode(done))

    parts = task_each(spark, _paths(files), work, ONE_VALUE).collect()
    written = Dataset(to)
    for table in (written.transitions(), written.mismatches()):
        remove_unfinished(table.glob(f"{BATCH}=*"))
    return summed([msgspec.json.decode(part.value, type=Replayed) for part in parts])


def _timelines(spark: SparkSession, files: Sequence[Path | str]) -> Broadcast[dict[Run, Timeline]]:
    """Of all runs; made here, of what all tasks have found. They hand it over as Arrow writes it, a value for the JVM."""
    import pyarrow as pa

    def work(_: int, file: str) -> Batches:
        written = pa.BufferOutputStream()
        with collector_at_rest(), pa.ipc.new_stream(written, facts_arrow_schema()) as stream:
            for batch in facts_batches(rows_of_files([file], of_partitions=False)):
                stream.write_batch(batch)
        yield _one_value(written.getvalue().to_pybytes())

    told = [part.value for part in task_each(spark, _paths(files), work, ONE_VALUE).collect()]
    batches = (batch for value in told for batch in pa.ipc.open_stream(value))
    with collector_at_rest():
        return spark.sparkContext.broadcast(timelines_of(facts_in(batches)))


def _paths(files: Sequence[Path | str]) -> list[str]:
    """As all workers see them."""
    return [str(Path(file).resolve()) for file in files]


def _one_value(value: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([value], pa.binary())], names=["value"])
