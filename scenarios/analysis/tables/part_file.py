"""One file of a table, written by the task that made its rows: no row passes through the JVM."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from kcsim.scenarios.analysis.tables.events_table import BATCH
from kcsim.scenarios.analysis.tables.location import Location, is_in_object_store, location, parquet_writer

ROWS_PER_GROUP = 200_000


class PartWritten(NamedTuple):
    """A complete file: its name, and its size on disk."""

    file: str
    bytes: int


class PartFile:
    """A file that takes batches until it is closed. It is written under a temporary name, and renamed when it is complete.

    In an object store it has its name from the beginning: it exists only when it is complete.

    A task that is retried, or runs twice at once, writes the same bytes; the file that is completed last stays.
    """

    def __init__(self, folder: Location | str, number: int, schema: Any) -> None:
        """Args:
        folder: `TABLE/batch=NAME`; created if it does not exist.
        number: the number of the file in its folder.
        schema: the table's pyarrow.Schema.
        """
        self._name = f"part-{number:05}.parquet"
        self._path = location(folder) / self._name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        is_whole_or_absent = is_in_object_store(self._path)
        self._beside = self._path if is_whole_or_absent else self._path.with_name(f".{self._name}.{os.getpid()}")
        self._schema = schema.remove(schema.get_field_index(BATCH))  # the name of the folder contains the batch
        self._writer = parquet_writer(self._beside, self._schema)
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, batch: Any) -> None:
        """Write a record batch of the table."""
        self._waiting.append(batch.select(self._schema.names))
        self._rows += batch.num_rows
        if self._rows >= ROWS_PER_GROUP:
            self.end_group()

    def end_group(self) -> None:
        """End the row group; further rows begin a new one."""
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema), row_group_size=self._rows)
            self._waiting, self._rows = [], 0

    def close(self) -> PartWritten:
        """Complete the file."""
        self.end_group()
        self._writer.close()
        if self._beside != self._path:
            self._beside.rename(self._path)  # type: ignore[arg-type]  # both are of one kind
        return PartWritten(self._name, self._path.stat().st_size)


def remove_unfinished(folders: Iterable[Location]) -> None:
    """Remove temporary files of tasks that were ended. Call it when all files are complete."""
    for folder in folders:
        for left in folder.glob(".part-*.parquet.*"):
            left.unlink(missing_ok=True)
