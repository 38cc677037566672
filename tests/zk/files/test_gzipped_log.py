"""A log that was compressed with gzip is read like the original."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.zk.files.transaction_log import BadLogError, LogFile
from kcsim.zk.files.transactions import Transaction
from tests.zk.files.encoding import FILE_HEADER, record
from tests.zk.files.test_transaction_log import ONE_TO_FIVE, read, transaction


def gzipped(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def log_of(history: list[Transaction], padding: int = 100) -> bytes:
    return FILE_HEADER + b"".join(map(record, history)) + bytes(padding)


@pytest.mark.parametrize("sizes", [[1] * 5, [8_000, 8_200, 40], [70_000, 1, 3_000_000, 1], [0] * 3_000])
def test_it_is_read_as_the_plain_one(tmp_path: Path, sizes: list[int]) -> None:
    history = [transaction(zxid, b"d" * size) for zxid, size in enumerate(sizes, start=1)]
    assert read(gzipped(tmp_path / "log.1.gz", log_of(history))) == (history, None)


def test_reading_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    with LogFile(gzipped(tmp_path / "log.1.gz", log_of(ONE_TO_FIVE))) as log:
        assert next(log.read()) == ONE_TO_FIVE[0]
        assert list(log.read()) == ONE_TO_FIVE[1:]


@given(st.data())
def test_of_one_cut_short_what_is_there_counts(tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject) -> None:
    path = gzipped(tmp_path_factory.mktemp("log") / "log.1.gz", log_of(ONE_TO_FIVE))
    whole = path.read_bytes()
    path.write_bytes(whole[: draw.draw(st.integers(20, len(whole) - 1))])
    found, torn_end = read(path)
    assert found == ONE_TO_FIVE[: len(found)]
    assert torn_end is not None


def test_a_record_within_it_may_be_torn_too(tmp_path: Path) -> None:
    found, torn_end = read(gzipped(tmp_path / "log.1.gz", log_of(ONE_TO_FIVE, padding=0)[:-3]))
    assert found == ONE_TO_FIVE[:4]
    assert torn_end is not None
    assert torn_end.endswith("record cut short")


@pytest.mark.parametrize(("content", "reason"), [(b"no gzip at all", "gzip: Not a gzipped file"), (b"", None)])
def test_what_is_no_gzip_is_refused(tmp_path: Path, content: bytes, reason: str | None) -> None:
    path = tmp_path / "log.1.gz"
    path.write_bytes(content)
    if reason is None:
        assert read(path) == ([], None)
        return
    with pytest.raises(BadLogError, match=reason):
        read(path)


def test_a_gzip_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadLogError, match="no transaction log of version 2"):
        read(gzipped(tmp_path / "log.1.gz", b"something else altogether"))
