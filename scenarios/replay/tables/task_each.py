"""A task of Spark's for each of some things: files, groups of files, portions of a history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


def task_each(spark: SparkSession, things: Sequence[T], work: Callable[[int, T], Iterable[Any]], schema: Any) -> DataFrame:
    """What `work` makes of each thing and its place, from 0: record batches of `schema`. In the order of the things."""

    def tasks(places: Iterable[Any]) -> Iterator[Any]:
        for batch in places:
            for place in batch.column("id").to_pylist():
                yield from work(place, things[place])

    return spark.range(0, len(things), 1, len(things)).mapInArrow(tasks, schema)
