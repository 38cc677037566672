"""Random transactions of any kind that a log may hold, for Hypothesis."""

from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.transactions import (
    CheckVersionTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetAclTxn,
    SetDataTxn,
    Transaction,
    Txn,
    UnknownTxn,
)

INT = st.integers(-(2**31), 2**31 - 2)
LONG = st.integers(-(2**63), 2**63 - 1)
PATH = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12).map(lambda name: f"/{name}")
DATA = st.none() | st.binary(max_size=200)
VERSION = INT.map(ZkVersion)

PLAIN_CREATE = st.builds(CreateTxn, PATH, DATA, st.booleans(), INT)
CONTAINER = st.builds(CreateTxn, PATH, DATA, st.just(False), INT, is_container=st.just(True))
TTL = st.builds(CreateTxn, PATH, DATA, st.just(False), INT, ttl_ms=LONG)
WRITE: st.SearchStrategy[Txn] = st.one_of(
    PLAIN_CREATE,
    CONTAINER,
    TTL,
    st.builds(DeleteTxn, PATH),
    st.builds(SetDataTxn, PATH, DATA, VERSION),
    st.builds(SetAclTxn, PATH, INT),
    st.builds(CheckVersionTxn, PATH, VERSION),
)
ERROR: st.SearchStrategy[Txn] = st.builds(ErrorTxn, INT)
ALONE: st.SearchStrategy[Txn] = st.one_of(
    WRITE,
    ERROR,
    st.builds(CreateSessionTxn, INT),
    st.builds(CloseSessionTxn, st.none() | st.lists(PATH, max_size=4).map(tuple)),
    st.builds(UnknownTxn, st.integers(100, 120), st.binary(max_size=30)),
)
# A refused multi contains only errors.
SEVERAL = st.one_of(st.lists(WRITE, max_size=5), st.lists(ERROR, min_size=1, max_size=5)).map(tuple)


@st.composite
def transactions(draw: st.DrawFn, zxid: int = 1) -> Transaction:
    """Draw a transaction with this zxid."""
    is_multi = draw(st.booleans())
    ops = draw(SEVERAL) if is_multi else (draw(ALONE),)
    return Transaction(Zxid(zxid), SessionId(draw(LONG)), draw(INT), draw(LONG), ops, is_multi)


@st.composite
def histories(draw: st.DrawFn, longest: int = 12) -> list[Transaction]:
    """Draw transactions in the order of a log."""
    first = draw(st.integers(1, 2**40))
    return [draw(transactions(first + place)) for place in range(draw(st.integers(1, longest)))]
