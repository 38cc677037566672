"""Replays the files of a laid-out dataset (laid_out.py) on Spark: a file a task, which reads it and writes what comes of it.

Nothing is shuffled, and no row of a partition passes through the JVM.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

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

Batches = Iterator[Any]
"""Record batches."""


def replayed_files(spark: SparkSession, files: Sequence[Path | str], what_if: WhatIf | None = None) -> DataFrame:
    """Transitions and mismatches as one table, as `replayed` gives them."""
    listed, timelines, fold = _listed(spark, files), _timelines(spark, files), fold_for(what_if)

    def work(tasks: Batches) -> Batches:
        paths = (path for path, _ in _tasks(tasks))
        return batches_of(fold_of_many(rows_of_files(paths, of_partitions=True), timelines.value, fold))

    return listed.mapInArrow(work, spark_schema(replayed_arrow_schema()))


def replay_files_to(
    spark: SparkSession, files: Sequence[Path | str], to: Path | str, what_if: WhatIf | None = None
) -> Replayed:
    """Write the tables `transitions`, and `mismatches` if there are any, into the folder `to`, which all workers see."""
    listed, timelines, fold, where = (
        _listed(spark, files),
        _timelines(spark, files),
        fold_for(what_if),
        str(Path(to).resolve()),
    )

    def work(tasks: Batches) -> Batches:
        import pyarrow as pa

        for path, number in _tasks(tasks):
            done = replay_file(path, number, where, timelines.value, fold)
            yield pa.RecordBatch.from_pydict({"done": [msgspec.json.encode(done).decode()]})

    parts = listed.mapInArrow(work, "done string").collect()
    written = Dataset(to)
    for table in (written.transitions(), written.mismatches()):
        remove_unfinished(table.glob(f"{BATCH}=*"))
    return summed([msgspec.json.decode(part.done, type=Replayed) for part in parts])


def _listed(spark: SparkSession, files: Sequence[Path | str]) -> DataFrame:
    """One task for each file."""
    listed = [(str(file), number) for number, file in enumerate(files)]
    return spark.createDataFrame(listed, "file string, number int").repartitionByRange(len(listed), "number")


def _tasks(batches: Batches) -> Iterator[tuple[str, int]]:
    for batch in batches:
        yield from zip(batch.column("file").to_pylist(), batch.column("number").to_pylist(), strict=True)


def _timelines(spark: SparkSession, files: Sequence[Path | str]) -> Broadcast[dict[Run, Timeline]]:
    """Of all runs; made here, of what all tasks have found."""

    def work(tasks: Batches) -> Batches:
        return facts_batches(rows_of_files((path for path, _ in _tasks(tasks)), of_partitions=False))

    found = _listed(spark, files).mapInArrow(work, spark_schema(facts_arrow_schema())).toArrow()
    return spark.sparkContext.broadcast(timelines_of(facts_in(found.to_batches())))
