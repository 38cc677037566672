"""How far a job of Spark's has come, told on stderr: a line now and then."""

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
    """Tell how many tasks of the stages at work are done, for as long as this lasts."""
    tracker, is_over = spark.sparkContext.statusTracker(), threading.Event()

    def tell() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LINES):
            stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
            if stages:
                done, of = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
                print(f"{what}: {done} of {of} tasks", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
