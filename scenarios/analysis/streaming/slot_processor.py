"""The fold of a slot as a stateful processor of Spark's transformWithState: its state is the state of a key.

Rows go in and out as bytes. Spark converts values of Python one by one, and there would be hundreds of thousands of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.streaming.event_chunk import unpacked
from kcsim.scenarios.analysis.streaming.run_status import packed_statuses
from kcsim.scenarios.analysis.streaming.slot_fold import SlotFold
from kcsim.scenarios.analysis.streaming.tables import TABLES, arrow_batch, arrow_stream

RESULT_SCHEMA = "name string, slot long, rows binary"
"""Rows of the table `name` as an Arrow stream; or, with the name RUNNING, the status of runs (run_status.py)."""
RUNNING = "running"


class SlotProcessor(StatefulProcessor):
    """Folds the chunks of each slot. Args: slot_of_key: the slot of each of Spark's keys."""

    def __init__(self, slot_of_key: Mapping[int, int], lateness_ms: int) -> None:
        self._slot_of_key = slot_of_key
        self._lateness_ms = lateness_ms

    def init(self, handle: Any) -> None:
        self._values = _MapStateStore(handle.getMapState("values", "name string", "value binary"))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas as pd

        with gc_paused():
            found = self._rows(self._slot_of_key[int(key[0])], rows)
        yield pd.DataFrame(found, columns=["name", "slot", "rows"])

    def _rows(self, slot: int, rows: Iterator[Any]) -> list[tuple[str, int, bytes]]:
        chunks = [unpacked(bytes(chunk)) for frame in rows for chunk in frame["chunk"]]
        result = SlotFold(slot, self._lateness_ms, self._values).take(chunks)
        found = [(RUNNING, slot, packed_statuses(result.running))]
        for name, schema in TABLES.items():
            if of_table := getattr(result, name):
                found.append((name, slot, arrow_stream(arrow_batch(of_table, schema))))
        return found

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
