"""The fold of a slot as a stateful processor of Spark's transformWithState: its state is the state of a key.

Rows go in and out as bytes. Spark converts values of Python one by one, and there would be hundreds of thousands of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from kcsim.scenarios.analysis.folding.arrow_rows import record_batch
from kcsim.scenarios.analysis.folding.mismatch import mismatches_arrow_schema
from kcsim.scenarios.analysis.folding.transition import transitions_arrow_schema
from kcsim.scenarios.analysis.streaming.event_chunk import unpacked
from kcsim.scenarios.analysis.streaming.slot_fold import SlotFold
from kcsim.scenarios.analysis.tables.rejects_table import Reject, rejects_arrow_schema

RESULT_SCHEMA = "name string, slot long, rows binary"
"""Rows of one table, as an Arrow stream."""
TRANSITIONS, MISMATCHES, REJECTS = "transitions", "mismatches", "rejects"


class SlotProcessor(StatefulProcessor):
    """Folds the chunks of each slot."""

    def __init__(self, slot_of_key: dict[int, int], lateness_ms: int) -> None:
        self._slot_of_key = slot_of_key
        self._lateness_ms = lateness_ms

    def init(self, handle: Any) -> None:
        self._values = _MapStateStore(handle.getMapState("values", "name string", "value binary"))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas as pd

        slot = self._slot_of_key[int(key[0])]
        chunks = [unpacked(bytes(chunk)) for frame in rows for chunk in frame["chunk"]]
        result = SlotFold(slot, self._lateness_ms, self._values).take(chunks)
        tables: list[tuple[str, Sequence[Any], Any]] = [
            (TRANSITIONS, result.transitions, transitions_arrow_schema()),
            (MISMATCHES, result.mismatches, mismatches_arrow_schema()),
            (REJECTS, result.rejects, rejects_arrow_schema()),
        ]
        found = [(name, slot, _stream(_table(rows, schema))) for name, rows, schema in tables if rows]
        yield pd.DataFrame(found, columns=["name", "slot", "rows"])

    def close(self) -> None:
        """Do nothing: the state is Spark's."""


class _MapStateStore:
    """A StateStore (partition_states.py) in a MapState."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str) -> bytes | None:
        found = self._state.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, value: bytes) -> None:
        self._state.updateValue((name,), (value,))


def _table(rows: Sequence[Any], schema: Any) -> Any:
    import pyarrow as pa

    if isinstance(rows[0], Reject):
        return pa.RecordBatch.from_pylist([row._asdict() for row in rows], schema=schema)
    assert isinstance(rows[0], msgspec.Struct)
    return record_batch(rows, schema)


def _stream(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())
