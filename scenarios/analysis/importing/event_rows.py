"""Events and rejects as rows of their tables."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec import structs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kcsim.eventlog.events import Event
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, events_arrow_schema, events_schema
from kcsim.scenarios.analysis.tables.rejects_table import Reject, rejects_arrow_schema

ROWS = 8_192
"""The number of events in a batch."""
NEVER_IMPORTED = frozenset(
    {
        "count",
        "brokers",
        "live_broker_count",
        "started",
        "stopped",
        "bounced",
        "new_topics",
        "deleted_topics",
        "previous_isr",
        "live_replicas",
        "strategy",
        "unclean_leader_election_enable",
        "deleted",
        "end_offset",
        "writer",
        "sequence",
        "group",
        "member",
        "generation",
        "partitions",
        "errors",
        "refused_partitions",
        "event",
        "fault",
        "target",
        "breakpoint",
        "breakpoint_path",
        "sources",
        "targets",
        "both_ways",
        "outcome",
        "reason",
        "seed",
        "zookeeper",
        "broker_software",
    }
)
"""Columns that no import ever sets. Events pass through Spark without these columns."""


def events_batches(batch: str, run: str, events: Iterable[Event]) -> Iterator[Any]:
    """Yield events of one run as pyarrow.RecordBatches with the columns of import_schema."""
    rest = iter(events)
    while portion := list(islice(rest, ROWS)):
        yield _events_batch(batch, run, portion)


def import_schema() -> Any:
    """Return a pyarrow.Schema of the columns of the table of events without NEVER_IMPORTED."""
    import pyarrow as pa

    return pa.schema([field for field in events_arrow_schema() if field.name not in NEVER_IMPORTED])


def import_spark_schema() -> StructType:
    """Return the same schema for Spark."""
    return StructType([field for field in events_schema() if field.name not in NEVER_IMPORTED])


def import_columns(events: DataFrame) -> DataFrame:
    """Return events without the columns that no import ever sets."""
    return events.select(*import_schema().names)


def all_columns(imported: DataFrame) -> DataFrame:
    """Return the table of events: missing columns are null."""
    has = set(imported.columns)
    return imported.select(
        *(F.col(f.name) if f.name in has else F.lit(None).cast(f.dataType).alias(f.name) for f in events_schema())
    )


def rejects_batch(rejects: Iterable[Reject]) -> Any:
    """Return rejects as a pyarrow.RecordBatch."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([reject._asdict() for reject in rejects], schema=rejects_arrow_schema())


def frame_of(spark: SparkSession, batches: Sequence[Any], schema: Any) -> DataFrame:
    """Return a DataFrame of data in the driver: pyarrow.RecordBatches of this pyarrow.Schema."""
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
        if name in NEVER_IMPORTED:
            assert is_empty, f"{name} is set by an import, and would be lost"
        elif is_empty:
            arrays.append(pa.nulls(count, types[name]))
        else:
            # pyarrow converts members of an enumeration many times more slowly than plain strings.
            arrays.append(pa.array([*map(str.__str__, column)] if name == "kind" else column, types[name]))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@lru_cache(1)
def _schema() -> Any:
    schema = import_schema()
    assert schema.names == [BATCH, RUN, *(name for name in Event.__struct_fields__ if name not in NEVER_IMPORTED)]
    return schema
