"""Events and rejects as rows of their tables."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec import structs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kcsim.scenarios.replay.tables.events_table import BATCH, RUN, events_arrow_schema, events_schema
from kcsim.scenarios.replay.tables.rejects_table import Reject, rejects_arrow_schema
from kcsim.zk.events import Event

ROWS = 8_192
"""Events of a batch."""
UNTOLD = frozenset(
    {
        "count",
        "brokers",
        "end_offset",
        "writer",
        "sequence",
        "group",
        "member",
        "generation",
        "partitions",
        "event",
        "fault",
        "target",
        "outcome",
        "seed",
    }
)
"""Columns that no file of a real cluster tells anything for. On their way through Spark events are without them."""


def events_batches(batch: str, run: str, events: Iterable[Event]) -> Iterator[Any]:
    """Events of one run as pyarrow.RecordBatches of the columns of told_schema."""
    rest = iter(events)
    while portion := list(islice(rest, ROWS)):
        yield _events_batch(batch, run, portion)


def told_schema() -> Any:
    """The columns of those batches as a pyarrow.Schema: those of the table of events, less those that are never told."""
    import pyarrow as pa

    return pa.schema([field for field in events_arrow_schema() if field.name not in UNTOLD])


def told_spark_schema() -> StructType:
    """The same for Spark."""
    return StructType([field for field in events_schema() if field.name not in UNTOLD])


def told_columns(events: DataFrame) -> DataFrame:
    """Events without the columns that are never told."""
    return events.select(*told_schema().names)


def all_columns(told: DataFrame) -> DataFrame:
    """The table of events: columns that are not there are null."""
    has = set(told.columns)
    return told.select(
        *(F.col(f.name) if f.name in has else F.lit(None).cast(f.dataType).alias(f.name) for f in events_schema())
    )


def rejects_batch(rejects: Iterable[Reject]) -> Any:
    """Rejects as a pyarrow.RecordBatch."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([reject._asdict() for reject in rejects], schema=rejects_arrow_schema())


def frame_of(spark: SparkSession, batches: Sequence[Any], schema: Any) -> DataFrame:
    """A DataFrame of what is in the driver: pyarrow.RecordBatches of this pyarrow.Schema."""
    import pyarrow as pa

    return spark.createDataFrame(pa.Table.from_batches(batches, schema))


def _events_batch(batch: str, run: str, events: Sequence[Event]) -> Any:
    import pyarrow as pa

    count = len(events)
    arrays = [pa.repeat(pa.scalar(text, pa.string()), count) for text in (batch, run)]
    schema = _schema()
    types = dict(zip(schema.names, schema.types, strict=True))
    columns = zip(*map(structs.astuple, events), strict=True)
    for name, column in zip(Event.__struct_fields__, columns, strict=True):
        is_empty = column.count(None) == count
        if name in UNTOLD:
            assert is_empty, f"{name} is told by an import, and would be lost"
        elif is_empty:
            arrays.append(pa.nulls(count, types[name]))
        else:
            # An enumeration's members take pyarrow many times as long as plain text.
            arrays.append(pa.array([*map(str.__str__, column)] if name == "kind" else column, types[name]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@lru_cache(1)
def _schema() -> Any:
    schema = told_schema()
    assert schema.names == [BATCH, RUN, *(name for name in Event.__struct_fields__ if name not in UNTOLD)]
    return schema
