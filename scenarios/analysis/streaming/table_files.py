"""The tables that a streaming query writes: Parquet files of a dataset, each of one micro-batch.

A file is named after its micro-batch and is put in place whole. A micro-batch that Spark repeats after a stop, with the same
events and the same state, writes the same files again: so each row is there once.
"""

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
        path = folder / f"{BATCH}={quote(batch, safe='')}" / f"part-{number:08d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(PARTIAL)
        pq.write_table(of_batch, partial, compression="zstd")
        os.replace(partial, path)
    return int(table.num_rows)
