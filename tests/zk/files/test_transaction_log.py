"""A log is read as far as it is intact, and followed from file to file as it grows."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.files.transaction_log import BadLogError, LogFile, TransactionLogTail, log_files
from kcsim.zk.files.transactions import CreateTxn, Transaction
from tests.zk.files.encoding import FILE_HEADER, record, record_of_entry, write_log


def transaction(zxid: int, data: bytes = b"x") -> Transaction:
    return Transaction(Zxid(zxid), SessionId(1), 1, 1_700_000_000_000, (CreateTxn(f"/{zxid}", data, False, 1),))


def read(path: Path) -> tuple[list[Transaction], str | None]:
    with LogFile(path) as log:
        return list(log.read()), log.torn_end


ONE_TO_FIVE = [transaction(zxid) for zxid in range(1, 6)]

# --- one file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", [0, 5, 64, 5_000_000])
def test_a_whole_log_is_read_to_its_padding(tmp_path: Path, padding: int) -> None:
    assert read(write_log(tmp_path, ONE_TO_FIVE, padding)) == (ONE_TO_FIVE, None)


@pytest.mark.parametrize("sizes", [[1, 8_000, 8_200, 40], [70_000, 1, 3_000_000, 1], [8_192] * 20, [0] * 3_000])
def test_records_of_any_length_are_read_whole(tmp_path: Path, sizes: list[int]) -> None:
    """The records are shorter and longer than one read from the file."""
    written = [transaction(zxid, b"d" * size) for zxid, size in enumerate(sizes, start=1)]
    assert read(write_log(tmp_path, written)) == (written, None)


@given(cut=st.integers(1, 400), padding=st.sampled_from([0, 3, 500]))
def test_what_comes_before_a_torn_end_counts(tmp_path_factory: pytest.TempPathFactory, cut: int, padding: int) -> None:
    """A crash may cut the log anywhere; the space that the server had preallocated may be there or not."""
    records = [record(t) for t in ONE_TO_FIVE]
    whole = b"".join(records)
    kept = whole[:-cut] if cut < len(whole) else b""
    path = tmp_path_factory.mktemp("log") / "log.1"
    path.write_bytes(FILE_HEADER + kept + bytes(padding))
    expected = next(n for n in range(5, -1, -1) if len(b"".join(records[:n])) <= len(kept))
    assert read(path)[0] == ONE_TO_FIVE[:expected]


@given(st.data())
def test_a_changed_byte_ends_the_log_before_its_record(
    tmp_path_factory: pytest.TempPathFactory, draw: st.DataObject
) -> None:
    records = [bytearray(record(t)) for t in ONE_TO_FIVE]
    which = draw.draw(st.integers(0, 4))
    where = draw.draw(st.integers(0, len(records[which]) - 1))
    records[which][where] ^= draw.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("log") / "log.1"
    path.write_bytes(FILE_HEADER + b"".join(records) + bytes(100))
    found, torn_end = read(path)
    assert found == ONE_TO_FIVE[:which]
    assert torn_end is not None


def test_a_torn_end_is_reported_with_its_place(tmp_path: Path) -> None:
    path = write_log(tmp_path, ONE_TO_FIVE, padding=0)
    path.write_bytes(path.read_bytes()[:-1])
    offset = len(FILE_HEADER) + 4 * len(record(ONE_TO_FIVE[0]))
    assert read(path)[1] == f"{path}, offset {offset}: record cut short"


@pytest.mark.parametrize("content", [b"", bytes(16), bytes(4096), FILE_HEADER, FILE_HEADER + bytes(64)])
def test_a_log_just_made_has_nothing_in_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.1").write_bytes(content)
    assert read(tmp_path / "log.1") == ([], None)


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_bytes(b"ZKSN" + FILE_HEADER[4:])
    with pytest.raises(BadLogError, match=r"log\.1, offset 0: no transaction log of version 2, it begins 5a4b534e00000002"):
        read(tmp_path / "log.1")


@pytest.mark.parametrize("entry", [b"tiny", bytes(28) + b"\0\0\0\1" + b"\0\0\0\x7f" + b"no such path"])
def test_an_intact_record_that_is_no_transaction_is_refused(tmp_path: Path, entry: bytes) -> None:
    """Its checksum is valid, so it is not a torn end: the log is wrong in another way, and must not be used."""
    (tmp_path / "log.1").write_bytes(FILE_HEADER + record_of_entry(entry))
    with pytest.raises(BadLogError, match="offset 16"):
        read(tmp_path / "log.1")


def test_reading_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    with LogFile(write_log(tmp_path, ONE_TO_FIVE)) as log:
        assert next(log.read()) == ONE_TO_FIVE[0]
        assert list(log.read()) == ONE_TO_FIVE[1:]


# --- a log that grows --------------------------------------------------------------------------------------------------


def test_a_tail_reads_up_to_its_bound_and_no_further(tmp_path: Path) -> None:
    """Transactions after the bound may still be undone by the ensemble."""
    write_log(tmp_path, ONE_TO_FIVE)
    tail = TransactionLogTail(tmp_path)
    assert tail.read_to(Zxid(3)) == ONE_TO_FIVE[:3]
    assert tail.read_to(Zxid(3)) == []
    assert tail.read_to(Zxid(5)) == ONE_TO_FIVE[3:]


@pytest.mark.parametrize("flushed", range(1, 100, 7))
def test_a_record_half_written_is_read_when_it_is_whole(tmp_path: Path, flushed: int) -> None:
    path = tmp_path / "log.1"
    first, second = record(ONE_TO_FIVE[0]), record(ONE_TO_FIVE[1])
    path.write_bytes(FILE_HEADER + first + second[:flushed] + bytes(200))
    tail = TransactionLogTail(tmp_path)
    assert tail.read_to(Zxid(2)) == ONE_TO_FIVE[:1]
    assert not tail.has_reached(Zxid(2))
    path.write_bytes(FILE_HEADER + first + second + bytes(200))
    assert tail.read_to(Zxid(2)) == ONE_TO_FIVE[1:2]
    assert tail.has_reached(Zxid(2))


def test_a_tail_may_begin_before_there_is_a_directory(tmp_path: Path) -> None:
    tail = TransactionLogTail(tmp_path / "version-2")
    assert tail.read_to(Zxid(1)) == []
    (tmp_path / "version-2").mkdir()
    write_log(tmp_path / "version-2", ONE_TO_FIVE)
    assert tail.read_to(Zxid(1)) == ONE_TO_FIVE[:1]


def test_a_tail_goes_on_in_the_next_file(tmp_path: Path) -> None:
    tail = TransactionLogTail(tmp_path)
    for begin, end in pairwise([0, 2, 3, 5]):
        write_log(tmp_path, ONE_TO_FIVE[begin:end])
        assert tail.read_to(Zxid(end)) == ONE_TO_FIVE[begin:end]


def test_a_torn_end_does_not_hide_the_next_file(tmp_path: Path) -> None:
    """This happens after a crash: the restarted server begins a new file."""
    path = write_log(tmp_path, ONE_TO_FIVE[:2], padding=0)
    path.write_bytes(path.read_bytes() + record(ONE_TO_FIVE[2])[:20] + bytes(100))
    write_log(tmp_path, ONE_TO_FIVE[2:])
    assert TransactionLogTail(tmp_path).read_to() == ONE_TO_FIVE


def test_a_bound_within_a_file_is_not_the_end_of_it(tmp_path: Path) -> None:
    """An epoch's first zxid (…0) is no transaction: the tail stops before the next one, and loses nothing."""
    first, second = [transaction(1), transaction(2 << 32 | 1)], [transaction(2 << 32 | 2)]
    write_log(tmp_path, first)
    write_log(tmp_path, second)
    tail = TransactionLogTail(tmp_path)
    assert tail.read_to(Zxid(2 << 32)) == first[:1]
    assert tail.has_reached(Zxid(2 << 32))
    assert tail.read_to() == [first[1], *second]


def test_files_are_ordered_by_number_not_by_name(tmp_path: Path) -> None:
    for zxid in (0x9, 0x10, 0xA):
        write_log(tmp_path, [transaction(zxid)])
    (tmp_path / "log.9.tmp").touch()
    (tmp_path / "snapshot.0").touch()
    assert [path.name for path in log_files(tmp_path)] == ["log.9", "log.a", "log.10"]


@pytest.mark.parametrize("after", range(6))
def test_a_tail_can_begin_anywhere(tmp_path: Path, after: int) -> None:
    write_log(tmp_path, ONE_TO_FIVE[:2])
    write_log(tmp_path, ONE_TO_FIVE[2:])
    assert TransactionLogTail(tmp_path, Zxid(after)).read_to() == ONE_TO_FIVE[after:]


def test_a_closed_tail_opens_its_file_again(tmp_path: Path) -> None:
    write_log(tmp_path, ONE_TO_FIVE)
    tail = TransactionLogTail(tmp_path)
    tail.read_to(Zxid(2))
    tail.close()
    assert tail.read_to() == ONE_TO_FIVE[2:]
    tail.close()
