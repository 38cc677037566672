"""The table of events: the columns of the event log, and two that say where an event belongs.

`batch` decides the folder of an event: the name of a campaign or a generated history, or the day (UTC) of an imported log.
`run` names one event log in the batch: within a batch and a run, `seq` identifies events and orders them. A history that was
generated or read in parts has gaps in its `seq`; only the order matters.
"""

from typing import TYPE_CHECKING, Any

from kcsim.eventlog.event_log import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BATCH = "batch"
RUN = "run"


def events_arrow_schema() -> Any:
    """Return the columns as a pyarrow.Schema: `batch`, `run`, and those of the event log."""
    import pyarrow as pa

    own = [pa.field(name, pa.string(), nullable=False) for name in (BATCH, RUN)]
    log = arrow_schema()
    return pa.schema([*own, *log], metadata=log.metadata)


def events_schema() -> "StructType":
    """Return the same columns for Spark."""
    return spark_schema(events_arrow_schema())


def spark_schema(arrow: Any) -> "StructType":
    """Convert a pyarrow.Schema to Spark's. Every column is nullable: Spark reads Parquet files so in any case."""
    from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

    types = {
        "int64": LongType(),
        "string": StringType(),
        "bool": BooleanType(),
        "list<item: int64>": ArrayType(LongType()),
        "list<item: string>": ArrayType(StringType()),
    }
    return StructType([StructField(field.name, types[str(field.type).replace("element", "item")]) for field in arrow])
