"""One file of a table, made by the task that has made its rows: no row passes through the JVM."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kcsim.scenarios.replay.tables.events_table import BATCH

ROWS_PER_GROUP = 200_000


class PartWritten(NamedTuple):
    """A file that is whole: its name, and its size on disk."""

    file: str
    bytes: int


class PartFile:
    """Give it batches, then close it; it is written beside its name, and renamed when it is whole.

    A task that is tried again, or twice at once, writes the same bytes, and whichever is ready last has its file stay.
    """

    def __init__(self, folder: Path | str, number: int, schema: Any) -> None:
        """Args:
        folder: `TABLE/batch=NAME`; made if it is not there.
        number: the file's in its folder.
        schema: the table's, as a pyarrow.Schema.
        """
        import pyarrow.parquet as pq

        self._name = f"part-{number:05}.parquet"
        self._path = Path(folder) / self._name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._beside = self._path.with_name(f".{self._name}.{os.getpid()}")
        self._schema = schema.remove(schema.get_field_index(BATCH))  # which the name of the folder tells
        self._writer = pq.ParquetWriter(self._beside, self._schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, batch: Any) -> None:
        """Args: batch: a record batch of the table."""
        self._waiting.append(batch.select(self._schema.names))
        self._rows += batch.num_rows
        if self._rows >= ROWS_PER_GROUP:
            self.end_group()

    def end_group(self) -> None:
        """What comes next begins a new row group."""
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema), row_group_size=self._rows)
            self._waiting, self._rows = [], 0

    def close(self) -> PartWritten:
        """Complete it."""
        self.end_group()
        self._writer.close()
        self._beside.rename(self._path)
        return PartWritten(self._name, self._path.stat().st_size)


def remove_unfinished(folders: Iterable[Path]) -> None:
    """Remove what tasks that were ended left beside the files that others completed. To be called when all are whole."""
    for folder in folders:
        for left in folder.glob(".part-*.parquet.*"):
            left.unlink(missing_ok=True)
