"""The reader reads what the writer writes, even from a log that was cut off anywhere."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.files.log_writer import LogExistsError, LogWriter
from kcsim.zk.files.transaction_encoding import encode_entry, encode_record
from kcsim.zk.files.transaction_log import LogFile, TransactionLogTail, log_files
from kcsim.zk.files.transactions import CreateTxn, Transaction, decode_entry
from tests.examples import fewer
from tests.zk.files import encoding
from tests.zk.files.random_transactions import histories, transactions


def written(directory: Path, history: Sequence[Transaction], per_file: int = 1_000) -> Path:
    """Write a log with these transactions; return its version-2 directory."""
    with LogWriter(directory, per_file) as log:
        for transaction in history:
            log.write(transaction)
    return log.directory


def create(zxid: int) -> Transaction:
    return Transaction(Zxid(zxid), SessionId(1), zxid, 1_700_000_000_000, (CreateTxn(f"/{zxid}", b"x", False, zxid),))


@fewer(4)
@given(transactions())
def test_a_transaction_comes_back_as_it_was(transaction: Transaction) -> None:
    assert decode_entry(encode_entry(transaction)) == transaction


@fewer(4)
@given(transactions())
def test_its_bytes_are_those_that_the_format_s_description_asks_for(transaction: Transaction) -> None:
    """The reference is a second writer, which follows only the description; without the digest, which no reader needs."""
    assert encode_entry(transaction) == encoding.entry_of(transaction, digest=b"")


@fewer(4)
@given(histories(), st.integers(1, 5))
def test_a_history_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, history: list[Transaction], per_file: int
) -> None:
    directory = written(tmp_path_factory.mktemp("zk"), history, per_file)
    assert TransactionLogTail(directory).read_to() == history
    assert [path.name for path in log_files(directory)] == [f"log.{t.zxid:x}" for t in history[::per_file]]


def test_a_log_cut_at_any_byte_is_read_up_to_its_last_whole_record(tmp_path: Path) -> None:
    history = [create(1), create(2), create(3)]
    (path,) = log_files(written(tmp_path, history))
    whole = path.read_bytes()
    for cut in range(len(whole)):
        assert_read_up_to(cut, path, whole, history)


@fewer(4)
@given(histories(), st.data())
def test_so_is_any_log_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, history: list[Transaction], draw: st.DataObject
) -> None:
    (path,) = log_files(written(tmp_path_factory.mktemp("zk"), history))
    whole = path.read_bytes()
    assert_read_up_to(draw.draw(st.integers(0, len(whole))), path, whole, history)


def assert_read_up_to(cut: int, path: Path, whole: bytes, history: Sequence[Transaction]) -> None:
    path.write_bytes(whole[:cut])
    ends = [len(whole) - sum(len(encode_record(t)) for t in history[place:]) for place in range(len(history) + 1)]
    rest = whole[max((end for end in ends if end <= cut), default=0) : cut]
    with LogFile(path) as log:
        assert list(log.read()) == [t for t, end in zip(history, ends[1:], strict=True) if end <= cut]
        assert (log.torn_end is not None) == bool(rest.strip(b"\0"))  # zeros are preallocated space


def test_a_second_history_is_not_written_beside_the_first(tmp_path: Path) -> None:
    written(tmp_path, [create(1)])
    with pytest.raises(LogExistsError, match="has a transaction log already; name a directory without one"):
        LogWriter(tmp_path)


def test_what_was_not_written_leaves_no_file(tmp_path: Path) -> None:
    assert log_files(written(tmp_path, [])) == []
