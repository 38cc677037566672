"""The table of events: the columns of the event log, and two that say where an event belongs.

`batch` is what the files are laid out by: the name of a campaign or a generated history, or the day (UTC) that an imported
log is of. `run` names one event log in it: within a batch and a run, `seq` tells events apart and puts them in order. A
history that was made or read in parts has gaps in its `seq`; its order is what counts.
"""

from typing import Any

from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from kcsim.scenarios.history import arrow_schema

BATCH = "batch"
RUN = "run"

_TYPES: dict[str, DataType] = {
    "int64": LongType(),
    "string": StringType(),
    "bool": BooleanType(),
    "list<item: int64>": ArrayType(LongType()),
    "list<item: string>": ArrayType(StringType()),
}


def events_arrow_schema() -> Any:
    """The columns as a pyarrow.Schema: `batch`, `run`, and those of the event log."""
    import pyarrow as pa

    own = [pa.field(name, pa.string(), nullable=False) for name in (BATCH, RUN)]
    log = arrow_schema()
    return pa.schema([*own, *log], metadata=log.metadata)


def events_schema() -> StructType:
    """The same for Spark."""
    return spark_schema(events_arrow_schema())


def spark_schema(arrow: Any) -> StructType:
    """A pyarrow.Schema of ours as Spark has it; any column may be null here, for so Parquet files are read anyway."""
    return StructType([StructField(field.name, _TYPES[str(field.type).replace("element", "item")]) for field in arrow])
