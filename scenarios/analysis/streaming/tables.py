"""The tables that following event logs writes, and the conversion of their rows."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from kcsim.eventlog.arrow_types import arrow_fields
from kcsim.scenarios.analysis.folding.arrow_rows import record_batch
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.streaming.running_analyses import UnavailabilityRow
from kcsim.scenarios.analysis.tables.rejects_table import rejects_arrow_schema

TABLES = {
    "transitions": transitions_arrow_schema(),
    "mismatches": mismatches_arrow_schema(),
    "rejects": rejects_arrow_schema(),
    "unavailability": pa.schema(arrow_fields(UnavailabilityRow)),
}
"""Name of a table in the dataset -> its columns as a pyarrow.Schema."""


def arrow_batch(rows: Sequence[Any], schema: Any) -> Any:
    """Return rows of a table, at least one, as a record batch."""
    if isinstance(rows[0], msgspec.Struct):
        return record_batch(rows, schema)
    return pa.RecordBatch.from_pylist([row._asdict() for row in rows], schema=schema)


def arrow_stream(batch: Any) -> bytes:
    """Return a record batch as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def batches_of_stream(stream: bytes) -> list[Any]:
    """Return the record batches of an Arrow stream."""
    with pa.ipc.open_stream(stream) as reader:
        return list(reader)
