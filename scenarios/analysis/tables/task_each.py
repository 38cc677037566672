"""Running one Spark task per item: per file, group of files, or portion of a history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pickle import dumps, loads
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")


def task_per_item(
    spark: SparkSession, things: Sequence[T], work: Callable[[int, T], Iterable[Any]], schema: Any
) -> DataFrame:
    """Return what `work` makes of each item and its place, from 0: record batches of `schema`, in the order of the items.

    Each task is sent its own item, not all of them.
    """

    def tasks(items: Iterable[Any]) -> Iterator[Any]:
        for batch in items:
            for place, item in zip(batch.column("place").to_pylist(), batch.column("item").to_pylist(), strict=True):
                yield from work(place, loads(item))

    items = [(place, bytearray(dumps(thing))) for place, thing in enumerate(things)]
    if not items:
        return spark.createDataFrame([], schema)
    rows = spark.sparkContext.parallelize(items, len(items))
    return spark.createDataFrame(rows, "place long, item binary", verifySchema=False).mapInArrow(tasks, schema)
