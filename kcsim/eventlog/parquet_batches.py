"""Rows of a Parquet file that somebody else may have made: a small file can unpack to more than the memory holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MOST_GROUP_BYTES = 1 << 30
"""Unpacked bytes of a row group. One that is written here has 50,000 rows, of a few hundred bytes each."""
MOST_BATCH_BYTES = 256 << 20
"""Bytes of the texts of a batch of rows. A text that is repeated is in the file once."""


class OversizedFileError(Exception):
    """A file unpacks to more than it may; the message names the row group."""


def open_parquet(source: Path | str | pa.NativeFile) -> pq.ParquetFile:
    """Open a file whose texts are read as dictionaries, each text once. Raises: OSError, pa.ArrowException."""
    with pq.ParquetFile(source) as file:
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    return pq.ParquetFile(source, read_dictionary=texts)


def batches_of(file: pq.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file opened by open_parquet, in batches; those of the row groups before a damaged one come first.

    Args:
        rows: the most of one batch.

    Raises: OversizedFileError, pa.ArrowException.
    """
    for group in range(file.num_row_groups):
        unpacked = file.metadata.row_group(group).total_byte_size
        if unpacked > MOST_GROUP_BYTES:
            raise OversizedFileError(f"row group {group} unpacks to {unpacked >> 20} MB, more than {MOST_GROUP_BYTES >> 20}")
        for batch in file.iter_batches(rows, row_groups=[group]):
            if sum(map(_text_bytes, batch.columns)) > MOST_BATCH_BYTES:
                many = f"{len(batch)} of its rows have more than {MOST_BATCH_BYTES >> 20} MB of text"
                raise OversizedFileError(f"row group {group} is too large: {many}")
            yield pa.RecordBatch.from_arrays([*map(_plain, batch.columns)], batch.schema.names)


def _text_bytes(column: Any) -> int:
    if not pa.types.is_dictionary(column.type):
        return 0
    lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
    return pc.sum(lengths).as_py() or 0


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
