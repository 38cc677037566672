"""Parquet files that unpack to far more than they are."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcsim.eventlog import parquet_batches
from kcsim.eventlog.event_log import BadTraceError, ParquetTraceWriter, read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.parquet_batches import OversizedFileError, batches_of, open_parquet


def written(path: Path, text: str, rows: int) -> Path:
    """Write a file in which each row has the same text: the file has it once."""
    pq.write_table(pa.table({"text": [text] * rows, "number": list(range(rows))}), path)
    return path


def test_rows_are_what_was_written_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"text": ["a", None, "b", "a", "c"], "numbers": [[1], [], None, [2, 3], [4]]})
    pq.write_table(table, path, row_group_size=3)
    with open_parquet(path) as file:
        batches = list(batches_of(file, rows=2))
    assert [len(batch) for batch in batches] == [2, 1, 2]
    assert pa.Table.from_batches(batches).to_pylist() == table.to_pylist()


def test_a_text_that_a_small_file_repeats_very_often_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path / "bomb.parquet", "x" * 100_000, rows=20_000)
    assert path.stat().st_size < 300_000
    with (
        open_parquet(path) as file,
        pytest.raises(OversizedFileError, match="10000 of its rows have more than 256 MB"),
    ):
        list(batches_of(file, rows=10_000))


def test_a_row_group_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "large.parquet", "x" * 3_000_000, rows=1)
    monkeypatch.setattr(parquet_batches, "MOST_GROUP_BYTES", 1 << 20)
    with open_parquet(path) as file, pytest.raises(OversizedFileError, match=r"row group 0 unpacks to \d+ MB, more than 1"):
        list(batches_of(file, rows=10))


def test_a_trace_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.parquet"
    writer = ParquetTraceWriter(path)
    writer.write(Event(0, 0, "broker-1", EventKind.ELECTION_LOST, detail="x" * 3_000_000))
    writer.close()
    monkeypatch.setattr(parquet_batches, "MOST_BATCH_BYTES", 1 << 20)
    with pytest.raises(BadTraceError, match=r"trace\.parquet: row group 0 is too large: 1 of its rows have more than 1 MB"):
        list(read_trace(path))
