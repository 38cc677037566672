"""The tables that a streaming query writes: Parquet files of a dataset, each of a few micro-batches.

Rows are added to the latest file until it has enough of them; then a file begins, named after its first micro-batch. A file
is put in place whole, and replaced whole. It says how many rows are of which micro-batch: one that Spark repeats after a
stop, with the same events and the same state, replaces what it wrote before. So each row is there once.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kcsim.scenarios.analysis.tables.events_table import BATCH

PARTIAL = ".partial"
ENOUGH_ROWS = 10_000
"""A file with so many rows is left as it is."""
_ROWS_KEY = b"kcsim.rows_of_micro_batches"


def write_micro_batch(folder: Path, number: int, rows: Iterable[Any]) -> int:
    """Write the rows of a table that one micro-batch adds.

    Args:
        folder: of the table.
        number: of the micro-batch.
        rows: record batches with a column `batch`.

    Returns: how many rows there are.
    """
    table = pa.Table.from_batches(list(rows))
    for batch in pc.unique(table.column(BATCH)).to_pylist():
        of_batch = table.filter(pc.equal(table.column(BATCH), batch)).drop_columns([BATCH])
        of_folder = folder / f"{BATCH}={quote(batch, safe='')}"
        of_folder.mkdir(parents=True, exist_ok=True)
        _add(of_folder, number, of_batch)
    return int(table.num_rows)


def _add(folder: Path, number: int, rows: Any) -> None:
    """Add the rows of a micro-batch (a pyarrow.Table), in place of those that it has added before."""
    path = max(folder.glob("part-*.parquet"), default=None)
    counts, kept = _before(path, number) if path is not None else ({}, None)
    if path is None or kept is None or kept.num_rows >= ENOUGH_ROWS:
        path, counts, kept = folder / f"part-{number:08d}.parquet", {}, rows.slice(0, 0)
    counts[number] = rows.num_rows
    table = pa.concat_tables([kept, rows]).replace_schema_metadata({_ROWS_KEY: json.dumps(list(counts.items()))})
    partial = path.with_suffix(PARTIAL)
    with partial.open("wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())  # a power cut must not leave an empty file in the place of one with rows
    os.replace(partial, path)


def _before(path: Path, number: int) -> tuple[dict[int, int], Any]:
    """Return the rows of a file that are of micro-batches before this one, and how many there are of each."""
    table = pq.read_table(path, partitioning=None)
    counts = {at: count for at, count in json.loads(table.schema.metadata[_ROWS_KEY]) if at < number}
    return counts, table.slice(0, sum(counts.values()))
