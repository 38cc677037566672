"""Replaying partitioned files (partitioned_files.py) on Spark: one task per file reads the file and writes its result.

Partitions do not depend on each other: any process that has the timelines can replay a file alone. Nothing is shuffled, and
no row of a partition passes through the JVM.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import DataFrame, SparkSession

from kcsim.scenarios.analysis.folding.arrow_rows import (
    ROWS_PER_BATCH,
    batches_of,
    facts_arrow_schema,
    record_batch,
    replayed_arrow_schema,
)
from kcsim.scenarios.analysis.folding.folding_runs import FoldPartition, fold_of_many
from kcsim.scenarios.analysis.folding.folds import fold_for
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.timeline import Run, Timeline
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.folding.what_if import WhatIf
from kcsim.scenarios.analysis.folding.what_if_replay import PASSED_OVER
from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.partitioned_files import fact_batches, rows_of_files
from kcsim.scenarios.analysis.replay import BroadcastTimelines, broadcast_timelines
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.events_table import BATCH, spark_schema
from kcsim.scenarios.analysis.tables.location import Location, location
from kcsim.scenarios.analysis.tables.part_file import PartFile, remove_unfinished
from kcsim.scenarios.analysis.tables.task_each import task_per_item

Batches = Iterator[Any]
"""Record batches."""


class ReplayCounts(NamedTuple):
    """The counts of a replay.

    Attributes:
        runs: the runs with any transition: (batch, run), sorted.
        partitions: how many partitions have any transition.
        transitions: (kind, trigger, how many), sorted.
        mismatches: how many times the history differs from the controller's decisions.
        passed_over: in a what-if, how many facts of the history were skipped because they no longer apply.
    """

    runs: list[Run]
    partitions: int
    transitions: list[tuple[str, str, int]]
    mismatches: int
    passed_over: int


def sum_counts(parts: Sequence[ReplayCounts]) -> ReplayCounts:
    """Return the counts of several files together."""
    counts: Counter[tuple[str, str]] = Counter()
    for kind, trigger, count in (row for part in parts for row in part.transitions):
        counts[kind, trigger] += count
    return ReplayCounts(
        sorted({run for part in parts for run in part.runs}),
        sum(part.partitions for part in parts),
        [(kind, trigger, count) for (kind, trigger), count in sorted(counts.items())],
        sum(part.mismatches for part in parts),
        sum(part.passed_over for part in parts),
    )


def replayed_files(spark: SparkSession, files: Sequence[Location | str], what_if: WhatIf | None = None) -> DataFrame:
    """Return transitions and mismatches as one table, in the form that replay.replayed returns."""
    timelines, fold = _timelines(spark, files), fold_for(what_if)

    def work(_: int, file: str) -> Batches:
        with gc_paused():
            yield from batches_of(fold_of_many(rows_of_files([file], of_partitions=True), timelines, fold))

    return task_per_item(spark, _paths(files), work, spark_schema(replayed_arrow_schema()))


def replay_files_to(
    spark: SparkSession, files: Sequence[Location | str], to: Dataset, what_if: WhatIf | None = None
) -> ReplayCounts:
    """Write the tables `transitions`, and `mismatches` if there are any, of a dataset that all workers see."""
    import pyarrow as pa

    timelines, fold, written = _timelines(spark, files), fold_for(what_if), to.resolved()

    def work(number: int, file: str) -> Batches:
        with gc_paused():  # this also makes unpickling the timelines faster
            done = replay_file(file, number, written, timelines, fold)
        yield pa.RecordBatch.from_pydict({"counts": [msgspec.json.encode(done)]})

    parts = task_per_item(spark, _paths(files), work, "counts binary").collect()
    for table in (written.transitions(), written.mismatches()):
        remove_unfinished(table.glob(f"{BATCH}=*"))
    return sum_counts([msgspec.json.decode(part.counts, type=ReplayCounts) for part in parts])


def _timelines(spark: SparkSession, files: Sequence[Location | str]) -> BroadcastTimelines:
    def work(_: int, file: str) -> Batches:
        return fact_batches([file], of_partitions=False)

    return broadcast_timelines(task_per_item(spark, _paths(files), work, spark_schema(facts_arrow_schema())))


def _paths(files: Sequence[Location | str]) -> list[str]:
    """Return the paths as all workers see them."""
    return [str(location(file).resolve()) for file in files]


# --- in the executors ------------------------------------------------------------------------------------------------------


def replay_file(
    file: Location | str, number: int, to: Dataset, timelines: Mapping[Run, Timeline], fold: FoldPartition
) -> ReplayCounts:
    """Replay a file into files of the dataset `to`: one of transitions, and one of mismatches if there are any.

    Args:
        number: the number of the files that are written.
        timelines: the timelines of all runs that the file has events of.
    """
    batch = location(file).parent.name
    transitions = _Part(to.transitions() / batch, number, transitions_arrow_schema(), ("kind", "trigger"))
    mismatches: _Part | None = None
    runs: set[Run] = set()
    partitions: set[tuple[str, str, str, int]] = set()
    with gc_paused():
        for rows, differing in fold_of_many(rows_of_files([file], of_partitions=True), timelines, fold):
            if rows:
                first = rows[0]
                runs.add((first.batch, first.run))
                partitions.add((first.batch, first.run, first.topic, first.partition))
            transitions.extend(rows)
            if differing:
                mismatches = mismatches or _Part(to.mismatches() / batch, number, mismatches_arrow_schema(), ("what",))
                mismatches.extend(differing)
    differences = mismatches.close() if mismatches is not None else Counter[tuple[str, ...]]()
    passed_over = differences.pop((PASSED_OVER,), 0)
    counted = [(kind, trigger, count) for (kind, trigger), count in sorted(transitions.close().items())]
    return ReplayCounts(sorted(runs), len(partitions), counted, differences.total(), passed_over)


class _Part:
    """A file that takes rows, and counts them by the values of some of their columns."""

    def __init__(self, folder: Location, number: int, schema: Any, counted_by: tuple[str, ...]) -> None:
        self._file = PartFile(folder, number, schema)
        self._schema = schema
        self._counted_by = list(counted_by)
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._waiting: list[msgspec.Struct] = []

    def extend(self, rows: Sequence[msgspec.Struct]) -> None:
        self._waiting.extend(rows)
        if len(self._waiting) >= ROWS_PER_BATCH:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        batch = record_batch(self._waiting, self._schema)
        self._waiting = []
        self._file.write(batch)
        counted = pa.Table.from_batches([batch]).group_by(self._counted_by).aggregate([([], "count_all")])
        for row in counted.select([*self._counted_by, "count_all"]).to_pylist():
            *value, count = row.values()
            self._counts[tuple(value)] += count

    def close(self) -> Counter[tuple[str, ...]]:
        """Complete the file. Returns: how many rows there are, by the values of the counted columns."""
        if self._waiting:
            self._write()
        self._file.close()
        return self._counts
