"""The replay on Spark against the same fold in one process, and how generating and replaying grow.

Both write the table of transitions. A test checks that the tables are equal; this benchmark only checks that they have
equally many rows of each kind. The start of Spark and its workers is timed separately. spark-replay=EVENTS is the size of
the largest history (10 million; the first is a tenth of it): 100 million take half an hour.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.generate import generate_dataset
from kcsim.scenarios.analysis.generating.portions import length_for
from kcsim.scenarios.analysis.generating.settings import Settings
from kcsim.scenarios.analysis.replay_files import ReplayCounts, replay_files_to
from kcsim.scenarios.analysis.tables.dataset import Dataset
from kcsim.scenarios.analysis.tables.spark_session import spark_session
from tests.bench.report import Measured, measure
from tests.bench.spark_work import print_work
from tests.scenarios.analysis.one_process import replay_to_in_one_process

LARGEST = 10_000_000
TIMES = 10
CORES = 2
SIZE = Settings(brokers=24, topics=200, partitions=5_000)
MB = 1_000_000


def main(size: str | None = None) -> None:
    """Print, for each size, events per second of each way and the growth; at the largest size also Spark's own metrics."""
    sessions: list[SparkSession] = []
    start = measure("start", 1, lambda: sessions.append(spark_session(f"local[{CORES}]")), rounds=1)
    [spark] = sessions
    warm = measure("workers", 1, lambda: _warm_up(spark), rounds=1)
    print(f"\nReplay on Spark, local[{CORES}]: it starts in {start.seconds:.1f} s, its workers in {warm.seconds:.1f} s")
    largest = int(size or LARGEST)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            before: tuple[int, float, float] | None = None
            for events in (largest // TIMES, largest):
                before = _measure(spark, events, Path(scratch) / str(events), before)
        print_work(spark)
    finally:
        spark.stop()


def _warm_up(spark: SparkSession) -> None:
    """Start the Spark workers and have them import the modules of the fold, as this process already has."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:

        yield from batches

    spark.range(CORES, numPartitions=CORES).mapInArrow(work, "id long").collect()


def _measure(
    spark: SparkSession, wanted: int, place: Path, before: tuple[int, float, float] | None
) -> tuple[int, float, float]:
    settings = replace(SIZE, length_ms=length_for(SIZE, wanted))
    made: list[Any] = []
    generated = measure("generate", 1, lambda: made.append(generate_dataset(spark, settings, place)), rounds=1)
    events = made[0].total
    files = Dataset(place).files()
    done: list[ReplayCounts] = []
    parallel, alone = place / "parallel", place / "alone"
    side_by_side = measure("Spark", events, lambda: done.append(replay_files_to(spark, files, Dataset(parallel))), rounds=1)
    by_itself = measure(
        "one process", events, lambda: done.append(replay_to_in_one_process(files, Dataset(alone))), rounds=1
    )
    assert done[0] == done[1], f"Spark made {done[0]}, one process {done[1]}"
    transitions = sum(count for *_, count in done[0].transitions)
    print(f"\n{events:,} events in {len(files)} files, {made[0].bytes / MB:,.0f} MB; {transitions:,} transitions")
    for measured in (Measured("generated, Spark", events, generated.seconds, generated.spread), by_itself, side_by_side):
        print(f"  {measured.name:<18} {measured.seconds:8.1f} s {measured.per_second:12,.0f} events/s")
    ratio = by_itself.seconds / side_by_side.seconds
    print(f"  Spark : one process {ratio:.2f}, {ratio / CORES:.2f} for each core")
    if before is not None:
        for name, now, then in (("generate", generated.seconds, before[1]), ("replay", side_by_side.seconds, before[2])):
            print(f"  {events / before[0]:.1f} times the events take {now / then:.1f} times as long to {name}")
    return events, generated.seconds, side_by_side.seconds
