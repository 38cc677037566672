"""One file of a made-up history: written beside its name, and renamed when it is whole."""

import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from kcsim.scenarios.replay.tables.events_table import BATCH, events_arrow_schema

ROWS_PER_GROUP = 200_000


class FileWritten(NamedTuple):
    """How many rows of a kind are in a file, and how large that is in all."""

    file: str
    kind: str
    rows: int
    bytes: int


class HistoryFile:
    """Give it batches, then close it.

    A task that is tried again, or twice at once, writes the same bytes, and whichever is ready last has its file stay.
    """

    def __init__(self, folder: str, number: int) -> None:
        import pyarrow.parquet as pq

        self._name = f"part-{number:05}.parquet"
        self._path = Path(folder) / self._name
        self._beside = Path(folder) / f".{self._name}.{os.getpid()}"
        schema = events_arrow_schema()
        self._schema = schema.remove(schema.get_field_index(BATCH))  # which the name of the folder tells
        self._writer = pq.ParquetWriter(self._beside, self._schema, compression="zstd")
        self._kinds: Counter[str] = Counter()
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, batch: Any) -> None:
        """Args: batch: a record batch of the table of events."""
        import pyarrow.compute as pc

        for counted in pc.value_counts(batch.column("kind")).to_pylist():
            self._kinds[counted["values"]] += counted["counts"]
        self._waiting.append(batch.select(self._schema.names))
        self._rows += batch.num_rows
        if self._rows >= ROWS_PER_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema), row_group_size=self._rows)
            self._waiting, self._rows = [], 0

    def close(self) -> list[FileWritten]:
        """Complete it. Returns: what is in it, by kind."""
        self._write_group()
        self._writer.close()
        self._beside.rename(self._path)
        size = self._path.stat().st_size
        return [FileWritten(self._name, kind, rows, size) for kind, rows in sorted(self._kinds.items())]
