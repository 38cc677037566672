"""The progress of a Spark job on stderr: a line every few seconds."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(spark: "SparkSession", what: str) -> Iterator[None]:
    """Report how many tasks of the active stages are done, for as long as the context lasts."""
    tracker, is_over = spark.sparkContext.statusTracker(), threading.Event()

    def print_progress() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LINES):
            stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
            if stages:
                done, of = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
                print(f"{what}: {done} of {of} tasks", file=sys.stderr, flush=True)

    reporter = threading.Thread(target=print_progress, name="progress", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        is_over.set()
        reporter.join()
