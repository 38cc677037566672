"""The files that micro-batches add rows to: each row is there once, in few files, whatever is written again."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from kcsim.scenarios.analysis.streaming import table_files
from kcsim.scenarios.analysis.streaming.table_files import write_micro_batch


def rows_of(number: int, count: int) -> list[Any]:
    names = [f"{number}-{row}" for row in range(count)]
    return [pa.RecordBatch.from_pydict({"batch": ["live"] * count, "row": names})]


def written(folder: Path) -> list[str]:
    found: list[str] = ds.dataset(folder, partitioning="hive").to_table(columns=["row"]).column("row").to_pylist()
    return found


def test_many_micro_batches_are_in_few_files_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "ENOUGH_ROWS", 100)
    for number in range(200):
        write_micro_batch(tmp_path, number, rows_of(number, 7))
    assert len(list(tmp_path.rglob("*"))) == 1 + 14  # the folder, and files of 15 micro-batches
    assert written(tmp_path) == [f"{number}-{row}" for number in range(200) for row in range(7)]


@pytest.mark.parametrize("seed", range(20))
def test_micro_batches_that_are_written_again_add_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The latest one is written several times: at the beginning of a file, in its middle, and when it has filled it."""
    chosen, expected = random.Random(seed), list[str]()
    monkeypatch.setattr(table_files, "ENOUGH_ROWS", 50)
    for number in range(0, 90, 3):  # some micro-batches have no rows of a table
        count = chosen.choice((1, 10, 60))
        for _ in range(chosen.choice((1, 1, 3))):
            write_micro_batch(tmp_path, number, rows_of(number, count))
        expected += [f"{number}-{row}" for row in range(count)]
        assert written(tmp_path) == expected
