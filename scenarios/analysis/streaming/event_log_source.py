"""A streaming source for event logs that grow: Spark's own file source reads files only when they are whole.

The offset is a place in each file. Spark writes it to the checkpoint before it reads, so that what is read again after a
stop is exactly what was read before. When nothing has been written for the allowed lateness, one offset follows that brings
no lines: it has the fold wait for nothing any more.
"""

import time
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk, chunks_of, packed
from kcsim.scenarios.analysis.streaming.growing_files import Place, Places, further, splits
from kcsim.scenarios.analysis.tables.trace_files import Split

SOURCE = "kcsim-event-log"
CHUNK_SCHEMA = "slot long, chunk binary"
UNLIMITED = 2**62


class EventLogSource(DataSource):
    """The source. Its options: path (a file or a folder), batch, slots, lateness_ms, max_bytes, split_bytes."""

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def schema(self) -> str:
        return CHUNK_SCHEMA

    def streamReader(self, schema: Any) -> "EventLogReader":
        return EventLogReader(self.options)


class _Lines(InputPartition):
    """A part of a file; None: no lines, but the sign to wait for nothing."""

    def __init__(self, split: Split | None) -> None:
        super().__init__(split)
        self.split = split


class EventLogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the files.

    Offsets: {"places": growing_files.Places, "flushes": how many there were, "waiting": whether lines have come since}.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._path = Path(options["path"])
        self._batch = options["batch"]
        self._slots = int(options["slots"])
        self._max_bytes = int(options["max_bytes"])
        self._split_bytes = int(options["split_bytes"])
        self._quiet_seconds = int(options["lateness_ms"]) / 1_000
        self._grew_at = time.monotonic()
        self._target: Places | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._max_bytes)

    def initialOffset(self) -> dict[str, Any]:
        return {"places": {}, "flushes": 0, "waiting": False}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = further(self._path, {}, UNLIMITED)
        self._quiet_seconds = 0.0

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        most = UNLIMITED if isinstance(limit, ReadAllAvailable) else self._max_bytes
        places = further(self._path, start["places"], most)
        if self._target is not None:
            target = self._target
            places = {path: _up_to(place, target[path]["end"]) for path, place in places.items() if path in target}
        if places != start["places"]:
            self._grew_at = time.monotonic()
            return {"places": places, "flushes": start["flushes"], "waiting": True}
        if start["waiting"] and time.monotonic() - self._grew_at >= self._quiet_seconds:
            return {"places": places, "flushes": start["flushes"] + 1, "waiting": False}
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        found = [_Lines(split) for split in splits(start["places"], end["places"], self._batch, self._split_bytes)]
        return found + [_Lines(None)] * (end["flushes"] > start["flushes"])

    def read(self, partition: InputPartition) -> Iterator[Any]:
        import pyarrow as pa

        assert isinstance(partition, _Lines)
        chunks = [EventChunk(flush=True)] * self._slots if partition.split is None else _chunks(partition.split, self._slots)
        slots = pa.array(range(len(chunks)), pa.int64())
        yield pa.RecordBatch.from_arrays([slots, pa.array(map(packed, chunks), pa.binary())], names=["slot", "chunk"])


def _up_to(place: Place, end: int) -> Place:
    return Place(run=place["run"], end=min(place["end"], end), first=place["first"])


def _chunks(split: Split, slots: int) -> list[EventChunk]:
    """Read a part of a file, and divide its events among the slots."""
    from kcsim.scenarios.analysis.gc_pause import gc_paused
    from kcsim.scenarios.analysis.tables.trace_lines import read_events_of

    events, rejects = [], []
    with gc_paused():
        for read in read_events_of(split):
            events.extend(read.events)
            rejects.extend(read.rejects)
        return chunks_of(split.trace.batch, split.trace.run, events, rejects, slots)
