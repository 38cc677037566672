"""A streaming source for event logs that grow, in files or in a topic of Kafka.

Spark's own source for files reads them only when they are whole; why not its source for Kafka, kafka_topic.py says.

The offset is a place in each file or partition. Spark writes it to the checkpoint before it reads, so that what is read
again after a stop is exactly what was read before. When nothing has been written for the allowed lateness, one offset
follows that brings no lines: it has the fold wait for nothing any more.
"""

import time
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from kcsim.scenarios.analysis.gc_pause import gc_paused
from kcsim.scenarios.analysis.streaming.event_chunk import EventChunk, packed
from kcsim.scenarios.analysis.streaming.followed_log import FollowedLog, LogPart, LogPlaces
from kcsim.scenarios.analysis.streaming.growing_files import GrowingFiles
from kcsim.scenarios.analysis.streaming.kafka_topic import SCHEME, topic_named

SOURCE = "kcsim-event-log"
CHUNK_SCHEMA = "slot long, chunk binary"
UNLIMITED = 2**62


class EventLogSource(DataSource):
    """The source. Its options: path (a file, a folder or a topic), batch, slots, lateness_ms, max_bytes, part_bytes."""

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def schema(self) -> str:
        return CHUNK_SCHEMA

    def streamReader(self, schema: Any) -> "EventLogReader":
        return EventLogReader(self.options)


def log_at(path: str) -> FollowedLog:
    """Return the log that a path or the URL of a topic names. Raises: InvalidTopicUrlError."""
    return topic_named(path) if path.startswith(SCHEME) else GrowingFiles(Path(path))


class _Lines(InputPartition):
    """A part of the log; None: no lines, but the sign to wait for nothing."""

    def __init__(self, part: LogPart | None) -> None:
        super().__init__(part)
        self.part = part


class EventLogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the log.

    Offsets: {"places": followed_log.LogPlaces, "flushes": how many there were, "waiting": whether lines have come since}.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._log = log_at(options["path"])
        self._batch = options["batch"]
        self._slots = int(options["slots"])
        self._max_bytes = int(options["max_bytes"])
        self._part_bytes = int(options["part_bytes"])
        self._quiet_seconds = int(options["lateness_ms"]) / 1_000
        self._grew_at = time.monotonic()
        self._target: LogPlaces | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._max_bytes)

    def initialOffset(self) -> dict[str, Any]:
        return {"places": self._log.beginning(), "flushes": 0, "waiting": False}

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._log.further(self._log.beginning(), UNLIMITED)
        self._quiet_seconds = 0.0

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        most = UNLIMITED if isinstance(limit, ReadAllAvailable) else self._max_bytes
        places = self._log.further(start["places"], most)
        if self._target is not None:
            places = self._log.limited(places, self._target)
        if places != start["places"]:
            self._grew_at = time.monotonic()
            return {"places": places, "flushes": start["flushes"], "waiting": True}
        if start["waiting"] and time.monotonic() - self._grew_at >= self._quiet_seconds:
            return {"places": places, "flushes": start["flushes"] + 1, "waiting": False}
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        found = self._log.parts(start["places"], end["places"], self._batch, self._part_bytes)
        return [_Lines(part) for part in found] + [_Lines(None)] * (end["flushes"] > start["flushes"])

    def read(self, partition: InputPartition) -> Iterator[Any]:
        import pyarrow as pa

        assert isinstance(partition, _Lines)
        with gc_paused():
            chunks = self._packed_chunks(partition.part)
        slots = pa.array(range(len(chunks)), pa.int64())
        yield pa.RecordBatch.from_arrays([slots, pa.array(chunks, pa.binary())], names=["slot", "chunk"])

    def _packed_chunks(self, part: LogPart | None) -> list[bytes]:
        chunks = [EventChunk(flush=True)] * self._slots if part is None else part.chunks(self._slots)
        return [packed(chunk) for chunk in chunks]
