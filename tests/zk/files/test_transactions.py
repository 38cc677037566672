"""Entries of the log are read as they were written, and no bytes crash the reader."""

from contextlib import suppress
from dataclasses import replace
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    MalformedEntryError,
    SetAclTxn,
    SetDataTxn,
    Transaction,
    UnknownTxn,
    decode_entry,
)
from tests.examples import fewer
from tests.zk.files.encoding import DIGEST, entry_of

ints = st.integers(-(2**31), 2**31 - 1)
longs = st.integers(-(2**63), 2**63 - 1)
paths = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map(lambda text: "/" + text)
data = st.none() | st.binary(max_size=200)
versions = st.integers(0, 2**31 - 2).map(ZkVersion)
writes = st.one_of(
    st.builds(CreateTxn, paths, data, st.booleans(), ints),
    st.builds(CreateTxn, paths, data, st.just(False), ints, is_container=st.just(True)),
    st.builds(CreateTxn, paths, data, st.just(False), ints, ttl_ms=longs),
    st.builds(DeleteTxn, paths),
    st.builds(SetDataTxn, paths, data, versions),
    st.builds(SetAclTxn, paths, ints),
    st.builds(CheckVersionTxn, paths, versions),
)
errors = st.builds(ErrorTxn, ints)
singles = writes | errors | st.builds(CreateSessionTxn, ints) | st.builds(CloseSessionTxn, st.lists(paths).map(tuple))
headers = {"zxid": longs.map(Zxid), "session_id": longs.map(SessionId), "cxid": ints, "time_ms": longs}
transactions = st.one_of(
    st.builds(Transaction, **headers, ops=singles.map(lambda op: (op,))),
    st.builds(Transaction, **headers, ops=st.lists(writes, max_size=4).map(tuple), is_multi=st.just(True)),
    st.builds(Transaction, **headers, ops=st.lists(errors, max_size=4).map(tuple), is_multi=st.just(True)),
)

PLAIN = Transaction(Zxid(7), SessionId(0x1000_0000_0001), 3, 1_700_000_000_000, (DeleteTxn("/a"),))


@fewer(2)
@given(transactions, st.sampled_from([DIGEST, b""]))
def test_every_transaction_is_read_as_it_was_written(transaction: Transaction, digest: bytes) -> None:
    """This holds with the digest that 3.6 and newer append, and without."""
    assert decode_entry(entry_of(transaction, digest)) == transaction


@fewer(2)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading(entry: bytes) -> None:
    with suppress(MalformedEntryError):
        decode_entry(entry)


@fewer(2)
@given(transactions, st.data())
def test_an_entry_with_a_changed_byte_is_read_or_refused(transaction: Transaction, draw: st.DataObject) -> None:
    entry = bytearray(entry_of(transaction))
    entry[draw.draw(st.integers(0, len(entry) - 1))] ^= draw.draw(st.integers(1, 255))
    with suppress(MalformedEntryError):
        decode_entry(bytes(entry))


@pytest.mark.parametrize(("type_", "expected"), [(15, CreateTxn("/a", b"x", True, 9)), (1, CreateTxn("/a", b"x", True, 9))])
def test_create_and_create2_are_the_same_to_the_tree(type_: int, expected: CreateTxn) -> None:
    entry = bytearray(entry_of(replace(PLAIN, ops=(expected,))))
    entry[28:32] = pack(">i", type_)
    assert decode_entry(bytes(entry)).ops == (expected,)


@pytest.mark.parametrize("digest", [DIGEST, b""])
def test_a_close_that_does_not_list_what_it_deleted_says_so(digest: bytes) -> None:
    """ZooKeeper 3.5, or 3.6 and newer with closeSessionTxn off: the digest must not be read as paths."""
    closing = replace(PLAIN, ops=(CloseSessionTxn(None),))
    assert decode_entry(entry_of(closing, digest)) == closing


def test_a_close_that_deleted_nothing_is_not_one_that_lacks_the_list() -> None:
    closing = replace(PLAIN, ops=(CloseSessionTxn(()),))
    assert decode_entry(entry_of(closing)) == closing


def test_a_type_of_the_future_keeps_its_bytes() -> None:
    assert decode_entry(entry_of(replace(PLAIN, ops=(UnknownTxn(99, b"what"),)), b"")).ops == (UnknownTxn(99, b"what"),)


def test_an_entry_cut_short_names_its_first_bytes() -> None:
    with pytest.raises(MalformedEntryError, match="entry begins 0000100000000001"):
        decode_entry(entry_of(PLAIN)[:35])


def test_a_refused_multi_has_no_operation_that_was_carried_out() -> None:
    """The file has the operations before the failed one as requested (observed with 3.9.5)."""
    written = replace(PLAIN, ops=(DeleteTxn("/a"), ErrorTxn(-110), ErrorTxn(-2)), is_multi=True)
    read = decode_entry(entry_of(written))
    assert read.ops == (ErrorTxn(0), ErrorTxn(-110), ErrorTxn(-2))
    assert read.is_refused


def test_what_has_no_error_in_it_was_not_refused() -> None:
    assert not replace(PLAIN, ops=(), is_multi=True).is_refused
    assert not PLAIN.is_refused
