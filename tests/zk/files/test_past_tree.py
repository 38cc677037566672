"""The tree computed from the log equals the original tree, whichever snapshot the computation starts from."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.files.past_tree import PastChange, PastChangeKind, PastTree
from kcsim.zk.files.snapshot import StoredZnode
from kcsim.zk.files.transactions import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    SetDataTxn,
    Transaction,
    Txn,
)
from tests.zk.files.model_history import History, random_history, seen, stored

S1, S2 = SessionId(1), SessionId(2)
SEED = st.integers(0, 2**32)


def transaction(zxid: int, *ops: Txn, session: SessionId = S1) -> Transaction:
    return Transaction(Zxid(zxid), session, zxid, 1_000 + zxid, ops, len(ops) > 1)


def brought_forward(tree: PastTree, *transactions: Transaction) -> PastTree:
    for one in transactions:
        tree.apply(one)
    return tree


@given(SEED)
@settings(max_examples=30)
def test_it_is_the_model_s_after_every_transaction(seed: int) -> None:
    history = random_history(seed, 80)
    tree = PastTree.empty()
    for one in history.transactions:
        tree.apply(one)
        assert seen(tree) == history.trees[one.zxid]
        assert tree.sessions == history.sessions[one.zxid]


@given(SEED)
@settings(max_examples=60)
def test_a_fuzzy_snapshot_and_the_log_make_an_exact_tree(seed: int) -> None:
    """The server worked while the snapshot was taken: each znode is stored as of another zxid, later ones as of later."""
    history = random_history(seed, 80)
    rng = random.Random(seed)
    begun = rng.randrange(len(history.transactions))
    znodes, ended = fuzzy(history, begun, rng)
    tree = PastTree(znodes, history.transactions[begun].zxid)
    tree.sessions.update(history.sessions[tree.zxid])
    assert tree.newest_zxid <= ended
    for one in history.transactions[begun + 1 :]:
        tree.apply(one)
        if one.zxid >= ended:
            assert (seen(tree), tree.sessions) == (history.trees[one.zxid], history.sessions[one.zxid])


def fuzzy(history: History, begun: int, rng: random.Random) -> tuple[list[StoredZnode], Zxid]:
    """Return znodes path by path, each as of a zxid not before that of the previous one; and the last of these zxids."""
    now, znodes = begun, []
    for path in sorted({path for tree in history.trees.values() for path in tree}):
        now = rng.randint(now, min(now + 3, len(history.transactions) - 1))
        there = {znode.path: znode for znode in stored(history, history.transactions[now].zxid)}
        if path in there:
            znodes.append(there[path])
    return znodes, history.transactions[now].zxid


def test_a_transaction_reports_what_it_changed() -> None:
    tree = PastTree.empty()
    (created,) = tree.apply(transaction(1, CreateTxn("/a", b"1", True, 1)))
    (changed,) = tree.apply(transaction(2, SetDataTxn("/a", b"2", ZkVersion(1)), session=S2))
    (deleted,) = tree.apply(transaction(3, DeleteTxn("/a"), session=S2))
    assert created == PastChange(PastChangeKind.CREATED, "/a", None, b"1", ZkVersion(0), S1)
    assert changed == PastChange(PastChangeKind.CHANGED, "/a", b"1", b"2", ZkVersion(1), S1)
    assert deleted == PastChange(PastChangeKind.DELETED, "/a", b"2", None, ZkVersion(1), S1)


def test_within_one_transaction_a_later_write_counts() -> None:
    """A broker registers in this way: the znode is created, then its data is set, under one zxid."""
    tree = PastTree.empty()
    changes = tree.apply(transaction(1, CreateTxn("/a", None, True, 1), SetDataTxn("/a", b"x", ZkVersion(1))))
    assert [(c.kind.value, c.data) for c in changes] == [("create", None), ("set", b"x")]
    assert tree.znodes["/a"].data == b"x"


@pytest.mark.parametrize("deleted", [None, ("/mine",)])
def test_a_session_takes_its_ephemerals_along_whether_or_not_the_log_names_them(deleted: tuple[str, ...] | None) -> None:
    """Before 3.6 the log does not name them."""
    tree = brought_forward(
        PastTree.empty(),
        transaction(1, CreateSessionTxn(4000)),
        transaction(2, CreateTxn("/mine", b"", True, 1)),
        transaction(3, CreateTxn("/yours", b"", True, 2), session=S2),
        transaction(4, CreateTxn("/kept", b"", False, 3)),
        transaction(5, CloseSessionTxn(deleted)),
    )
    assert sorted(path for path in tree.znodes if not path.startswith("/zookeeper")) == ["/", "/kept", "/yours"]
    assert tree.sessions == {}


def test_a_refused_transaction_changes_nothing_but_the_last_zxid() -> None:
    tree = brought_forward(PastTree.empty(), transaction(7, ErrorTxn(0), ErrorTxn(-103)))
    assert (seen(tree), tree.zxid) == (seen(PastTree.empty()), 7)
