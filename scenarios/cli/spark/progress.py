"""The progress of a command on stderr: a line after two seconds, and then every few seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_TO_FIRST_LINE = 2.0
SECONDS_BETWEEN_LINES = 10.0
Doing = Callable[[str], None]
"""Sets what is being done, for the lines that follow."""


@contextmanager
def progress(spark: "SparkSession", what: str) -> Iterator[Doing]:
    """Report what the running stages have read and written, for as long as the context lasts."""
    store = spark.sparkContext._jsc.sc().statusStore()
    with _reported(what, lambda: _line(store)) as doing:
        yield doing


@contextmanager
def progress_in_time(what: str) -> Iterator[Doing]:
    """Report for how long the command has run, for as long as the context lasts."""
    with _reported(what, lambda: "") as doing:
        yield doing


@contextmanager
def _reported(what: str, seen: Callable[[], str | None]) -> Iterator[Doing]:
    """Print lines of what is being done, what is seen of it, and for how long it has run; none where `seen` returns None."""
    is_over, doing, began = threading.Event(), [what], time.monotonic()

    def print_progress() -> None:
        seconds = SECONDS_TO_FIRST_LINE
        while not is_over.wait(seconds):
            seconds = SECONDS_BETWEEN_LINES
            if (line := seen()) is not None:
                parts = filter(None, (line, f"{time.monotonic() - began:.0f} s"))
                print(f"{doing[0]}: {', '.join(parts)}", file=sys.stderr, flush=True)

    def set_doing(name: str) -> None:
        doing[0] = f"{what}: {name}"

    reporter = threading.Thread(target=print_progress, name="progress", daemon=True)
    reporter.start()
    try:
        yield set_doing
    finally:
        is_over.set()
        reporter.join()


def _line(store: Any) -> str | None:
    """Return the sums over the running stages; None if none runs."""
    from kcsim.scenarios.analysis.tables.job_errors import SPARK_ERRORS

    try:
        found = store.activeStages()
        stages = [found.apply(place) for place in range(found.size())]
        rows = sum(stage.inputRecords() + stage.shuffleReadRecords() for stage in stages)
        done, of = sum(stage.numCompleteTasks() for stage in stages), sum(stage.numTasks() for stage in stages)
    except SPARK_ERRORS:  # the session ends
        return None
    if not stages:
        return None
    return f"{done} of {of} tasks" if not rows else f"{rows:,} rows read, {done} of {of} tasks"
