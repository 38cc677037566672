"""One table in four forms: the event log's own type, pyarrow's schema, JSONL, and Spark's types are equivalent."""

import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType

from kcsim.eventlog.event_log import arrow_schema, open_trace_writer
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventKind
from kcsim.scenarios.analysis.folding.transition import Transition, transitions_arrow_schema
from kcsim.scenarios.analysis.tables.events_table import BATCH, RUN, events_arrow_schema, events_schema, spark_schema
from kcsim.scenarios.analysis.tables.reading import read_events
from kcsim.scenarios.analysis.tables.rejects_table import Reject, rejects_arrow_schema

SPARK_TYPES = {
    int: LongType(),
    str: StringType(),
    EventKind: StringType(),
    bool: BooleanType(),
    Sequence[int]: ArrayType(LongType()),
    Sequence[str]: ArrayType(StringType()),
}


def required(of: Any) -> Any:
    """Return int for int | None, and any other type unchanged."""
    return next(t for t in typing.get_args(of) if t is not types.NoneType) if isinstance(of, types.UnionType) else of


def full_event() -> Event:
    """Return an event that has every column, each with another value."""
    values: dict[str, Any] = {}
    for place, field in enumerate(msgspec.structs.fields(Event)):
        examples = {int: place, str: f"text {place}", EventKind: EventKind.FAULT, bool: True}
        examples |= {Sequence[int]: [place, -1], Sequence[str]: [f"orders-{place}"]}
        values[field.name] = examples[required(field.type)]
    return Event(**values | {"schema_version": EVENT_SCHEMA_VERSION})


def test_the_columns_are_batch_and_run_and_those_of_an_event_with_their_types() -> None:
    fields = [(field.name, SPARK_TYPES[required(field.type)]) for field in msgspec.structs.fields(Event)]
    own = [(BATCH, StringType()), (RUN, StringType())]
    assert [(field.name, field.dataType) for field in events_schema()] == own + fields


def test_pyarrow_and_spark_have_the_same_types() -> None:
    """Both directions are tested:

    Spark's schema converted to pyarrow is ours, and without batch and run it is that of a trace.
    """
    spark_s = to_arrow_schema(events_schema(), timezone="UTC")
    ours = events_arrow_schema()
    assert [(f.name, str(f.type).replace("element", "item")) for f in spark_s] == [
        (f.name, str(f.type).replace("element", "item")) for f in ours
    ]
    assert events_arrow_schema().remove(0).remove(0).equals(arrow_schema())


def test_the_tables_of_transitions_and_rejects_have_the_columns_of_their_rows() -> None:
    assert spark_schema(transitions_arrow_schema()).names == list(Transition.__struct_fields__)
    assert spark_schema(rejects_arrow_schema()).names == list(Reject._fields)


@pytest.mark.slow
def test_an_event_with_every_column_comes_through_both_formats_and_spark_unchanged(
    spark: SparkSession, tmp_path: Path
) -> None:
    event = full_event()
    for name in ("one.jsonl", "two.parquet"):
        writer = open_trace_writer(tmp_path / name)
        writer.write(event)
        writer.close()
    read = read_events(spark, tmp_path, "b")
    rows = [row.asDict() for row in read.events.orderBy(RUN).collect()]
    columns = {**msgspec.structs.asdict(event), "kind": "Fault"}
    assert rows == [{"batch": "b", "run": run, **columns} for run in ("one", "two")]
    assert msgspec.convert({name: rows[0][name] for name in Event.__struct_fields__}, Event) == event
    assert pa.Table.from_pylist(rows, schema=events_arrow_schema()).num_rows == 2
