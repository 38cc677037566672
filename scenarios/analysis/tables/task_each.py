"""Running one Spark task per item: per file, group of files, or portion of a history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


def task_per_item(
    spark: SparkSession, things: Sequence[T], work: Callable[[int, T], Iterable[Any]], schema: Any
) -> DataFrame:
    """Return what `work` makes of each item and its place, from 0: record batches of `schema`, in the order of the items."""

    def tasks(places: Iterable[Any]) -> Iterator[Any]:
        for batch in places:
            for place in batch.column("id").to_pylist():
                yield from work(place, things[place])

    return spark.range(0, len(things), 1, len(things)).mapInArrow(tasks, schema)
