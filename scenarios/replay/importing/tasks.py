"""Which files go into one task of Spark's: one each while they are few, several small ones together when they are many.

A task costs a tenth of a second by itself; a compressed file cannot be divided, so no file is.
"""

from collections.abc import Sequence
from heapq import heapify, heapreplace
from pathlib import Path

from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
"""So that no core is idle for long when the others are not done yet."""


def tasks_of(spark: SparkSession, tasks: int | None) -> int:
    """How many tasks there may be, unless it was said."""
    return TASKS_PER_CORE * spark.sparkContext.defaultParallelism if tasks is None else tasks


def packed(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Divide files among up to so many tasks, none of which has much more to read than the others.

    Returns: for each task the places of its files, in order; no task is without any.
    """
    tasks: list[tuple[int, int, list[int]]] = [(0, number, []) for number in range(min(most, len(sizes)))]
    heapify(tasks)
    for place in sorted(range(len(sizes)), key=lambda place: (-sizes[place], place)):
        size, number, files = tasks[0]
        heapreplace(tasks, (size + 1 + sizes[place], number, [*files, place]))
    return [sorted(files) for _, _, files in sorted(tasks, key=lambda task: task[1])]


def size_of(path: str) -> int:
    """Bytes of a file; 0 if it cannot be told: whoever reads it will say why."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
