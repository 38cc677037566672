"""The division of files among Spark tasks: one file each while there are few, several small files together otherwise.

A task alone costs a tenth of a second. No file is divided, because a compressed file cannot be.
"""

from collections.abc import Sequence
from heapq import heapify, heapreplace

from pyspark.sql import SparkSession

from kcsim.scenarios.analysis.tables.location import location

TASKS_PER_CORE = 4
"""Several, so that no core is idle for long while others still work."""


def tasks_of(spark: SparkSession, tasks: int | None) -> int:
    """Return the given number of tasks, or the default if none is given."""
    return TASKS_PER_CORE * spark.sparkContext.defaultParallelism if tasks is None else tasks


def packed(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Divide files among at most `most` tasks, so that no task has much more to read than the others.

    Returns: for each task the places of its files, in order; every task has at least one.
    """
    tasks: list[tuple[int, int, list[int]]] = [(0, number, []) for number in range(min(most, len(sizes)))]
    heapify(tasks)
    for place in sorted(range(len(sizes)), key=lambda place: (-sizes[place], place)):
        size, number, files = tasks[0]
        heapreplace(tasks, (size + 1 + sizes[place], number, [*files, place]))
    return [sorted(files) for _, _, files in sorted(tasks, key=lambda task: task[1])]


def size_of(path: str) -> int:
    """Return the size of a file in bytes; 0 if it is unknown: the task that reads the file reports the error."""
    try:
        return location(path).stat().st_size
    except OSError:
        return 0
