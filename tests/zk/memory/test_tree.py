"""The znode tree: each field of a stat, each refusal and its precedence, as ZooKeeper 3.9.5 shows them on the wire.

The rows are those of docs/kafka/zookeeper_semantics.md.
"""

import pytest

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.errors import (
    BadArgumentsError,
    BadVersionError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistencyError,
    ZooKeeperError,
)
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange, ZnodeTree
from kcsim.zk.operations import (
    Check,
    Checked,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    Exists,
    GetChildren,
    GetData,
    MultiDone,
    MultiRead,
    NodeFound,
    SetData,
    Stat,
    WriteOp,
)

SESSION = SessionId(0x77)


class Tree:
    """A tree whose zxid and time (100 ms per transaction) advance by themselves."""

    def __init__(self) -> None:
        self.tree = ZnodeTree()
        self.zxid = Zxid(0)
        self.changes: tuple[ZnodeChange, ...] = ()

    def do(self, op: Create | Delete | SetData) -> object:
        self.zxid = Zxid(self.zxid + 1)
        reply, changes = self.tree.write(op, self.zxid, 100 * self.zxid, SESSION)
        self.changes = tuple(changes)
        return reply

    def multi(self, *ops: WriteOp) -> MultiDone:
        self.zxid = Zxid(self.zxid + 1)
        done, changes = self.tree.write_all(ops, self.zxid, 100 * self.zxid, SESSION)
        self.changes = tuple(changes)
        return done

    def stat(self, path: str) -> Stat:
        found = self.tree.exists(Exists(path), self.zxid)
        assert isinstance(found, NodeFound), found
        return found.stat


@pytest.fixture
def tree() -> Tree:
    return Tree()


# --- ZooKeeper's own znodes --------------------------------------------------------------------------------------------


def test_the_root_starts_with_one_child_that_nobody_created(tree: Tree) -> None:
    assert tree.tree.get_children(GetChildren("/"), Zxid(0)).children == ("zookeeper",)  # type: ignore[union-attr]
    stat = tree.stat("/")
    assert (stat.cversion, stat.num_children, stat.czxid) == (-1, 1, 0)


def test_zookeeper_s_own_znodes_are_there(tree: Tree) -> None:
    assert tree.stat("/zookeeper").cversion == -2
    assert tree.stat("/zookeeper/config").aversion == -1
    assert tree.stat("/zookeeper/quota").num_children == 0


# --- create ------------------------------------------------------------------------------------------------------------


def test_a_new_znode_has_version_0_and_the_zxid_of_its_create(tree: Tree) -> None:
    """Rows 1 and 2."""
    created = tree.do(Create("/a", b"12345"))
    expected = Stat(Zxid(1), Zxid(1), 100, 100, ZkVersion(0), 0, 0, SessionId(0), 5, 0, Zxid(1))
    assert created == Created("/a", expected, Zxid(1))


def test_null_data_is_not_empty_data(tree: Tree) -> None:
    tree.do(Create("/null", None))
    tree.do(Create("/empty", b""))
    reads = [tree.tree.get_data(GetData(path), tree.zxid) for path in ("/null", "/empty")]
    assert [(r.data, r.stat.data_length) for r in reads if isinstance(r, DataRead)] == [(None, 0), (b"", 0)]


def test_an_ephemeral_names_its_session(tree: Tree) -> None:
    tree.do(Create("/e", b"", ephemeral=True))
    assert tree.stat("/e").ephemeral_owner == SESSION


def test_a_child_counts_at_its_parent_and_nowhere_else_in_it(tree: Tree) -> None:
    tree.do(Create("/a"))
    before = tree.stat("/a")
    tree.do(Create("/a/b"))
    assert tree.stat("/a") == before._replace(cversion=1, num_children=1, pzxid=Zxid(2))


@pytest.mark.parametrize(
    ("op", "refusal"),
    [
        (Create("/none/x"), NoNodeError),
        (Create("/a"), NodeExistsError),
        (Create("/"), NodeExistsError),
        (Create("/e/x"), NoChildrenForEphemeralsError),
        (Create("/e/x", sequential=True), NoChildrenForEphemeralsError),
        (Create("/zookeeper/config/x"), NoAuthError),
        (Create("/zookeeper"), NodeExistsError),
    ],
)
def test_a_create_is_refused(tree: Tree, op: Create, refusal: type[ZooKeeperError]) -> None:
    """Row 3."""
    tree.do(Create("/a"))
    tree.do(Create("/e", ephemeral=True))
    assert tree.do(op) == refusal(op.path)
    assert tree.changes == ()


# --- sequential --------------------------------------------------------------------------------------------------------


def test_the_counter_has_ten_digits_and_survives_deletions(tree: Tree) -> None:
    """Row 4."""
    tree.do(Create("/a"))
    names = [tree.do(Create("/a/n-", sequential=True)).path for _ in range(3)]  # type: ignore[attr-defined]
    tree.do(Delete(names[2]))
    names.append(tree.do(Create("/a/n-", sequential=True)).path)  # type: ignore[attr-defined]
    assert names == ["/a/n-0000000000", "/a/n-0000000001", "/a/n-0000000002", "/a/n-0000000003"]


def test_the_counter_counts_plain_children_and_not_refused_ones(tree: Tree) -> None:
    tree.do(Create("/a"))
    tree.do(Create("/a/plain"))
    tree.do(Create("/a/plain"))
    tree.multi(Create("/a/x"), Create("/a/y"), Check("/a", ZkVersion(9)))
    assert tree.do(Create("/a/", sequential=True)).path == "/a/0000000001"  # type: ignore[attr-defined]


def test_cversion_counts_creations_and_deletions(tree: Tree) -> None:
    tree.do(Create("/a"))
    for name in "xyz":
        tree.do(Create(f"/a/{name}"))
    tree.do(Delete("/a/x"))
    assert (tree.stat("/a").cversion, tree.stat("/a").num_children, tree.stat("/a").pzxid) == (4, 2, 5)


# --- paths -------------------------------------------------------------------------------------------------------------

ILLEGAL = [
    "/p/",
    "/.",
    "/p/..",
    "//",
    "/x\x01",
    "/x\x1f",
    "/x\x7f",
    "/x\x9f",
    "/x\ue000",
    "/x\uf8ff",
    "/x\ufff0",
    "/x\U0001f600",
]
LEGAL = ["/...", "/..a", "/a b", "/é", "/x\xa0", "/x~", "/x\uf900", "/x\uffef", "/zookeeper/mine"]


@pytest.mark.parametrize("path", ILLEGAL)
def test_an_illegal_path_cannot_be_created_nor_written_and_is_absent_to_readers(tree: Tree, path: str) -> None:
    tree.do(Create("/p"))
    assert tree.do(Create(path)) == BadArgumentsError(path)
    assert tree.do(SetData(path, b"")) == BadArgumentsError(path)
    assert tree.multi(Check(path, ZkVersion(0))).error == BadArgumentsError(path)
    assert tree.do(Delete(path)) == NoNodeError(path)
    assert tree.tree.get_data(GetData(path), tree.zxid) == NoNodeError(path)
    assert tree.tree.exists(Exists(path), tree.zxid) == NoNodeError(path)


@pytest.mark.parametrize("path", LEGAL)
def test_a_strange_but_legal_path_can_be_created(tree: Tree, path: str) -> None:
    assert isinstance(tree.do(Create(path)), Created)


@pytest.mark.parametrize("path", ["p", "", "/p\0"])
def test_no_path_at_all_is_a_bad_argument_to_every_write(tree: Tree, path: str) -> None:
    for op in (Create(path), Create(path, sequential=True), Delete(path), SetData(path, b"")):
        assert tree.do(op) == BadArgumentsError(path)


def test_a_missing_parent_is_found_out_before_an_illegal_name(tree: Tree) -> None:
    assert tree.do(Create("/none//x")) == NoNodeError("/none//x")


def test_the_counter_makes_a_name_legal_that_would_not_be(tree: Tree) -> None:
    assert tree.do(Create("/.", sequential=True)).path == "/.0000000000"  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"])
def test_what_zookeeper_needs_cannot_be_deleted(tree: Tree, path: str) -> None:
    assert tree.do(Delete(path)) == BadArgumentsError(path)


# --- setData, delete ---------------------------------------------------------------------------------------------------


def test_setting_data_raises_the_version_by_one_and_keeps_the_creation(tree: Tree) -> None:
    """Row 2."""
    tree.do(Create("/a", b"1"))
    before = tree.stat("/a")
    reply = tree.do(SetData("/a", b"22", ZkVersion(0)))
    after = before._replace(version=ZkVersion(1), mzxid=Zxid(2), mtime_ms=200, data_length=2)
    assert reply == DataSet("/a", after, Zxid(2))


def test_any_version_matches_minus_one(tree: Tree) -> None:
    tree.do(Create("/a"))
    assert isinstance(tree.do(SetData("/a", b"x", ZkVersion(-1))), DataSet)
    assert tree.do(Delete("/a", ZkVersion(-1))) == Deleted("/a", Zxid(3))


@pytest.mark.parametrize(
    ("op", "refusal"),
    [
        (SetData("/a", b"", ZkVersion(1)), BadVersionError),
        (SetData("/a", b"", ZkVersion(-2)), BadVersionError),
        (SetData("/none", b""), NoNodeError),
        (SetData("/zookeeper/config", b"", ZkVersion(9)), NoAuthError),
        (Delete("/a", ZkVersion(1)), BadVersionError),  # the version is checked before the children
        (Delete("/a"), NotEmptyError),
        (Delete("/none", ZkVersion(1)), NoNodeError),
    ],
)
def test_a_write_is_refused_and_changes_nothing(tree: Tree, op: SetData | Delete, refusal: type[ZooKeeperError]) -> None:
    tree.do(Create("/a"))
    tree.do(Create("/a/b"))
    before = tree.stat("/a")
    assert tree.do(op) == refusal(op.path)
    assert tree.stat("/a") == before


# --- multi -------------------------------------------------------------------------------------------------------------


def test_the_operations_of_a_multi_see_each_other_and_share_one_zxid(tree: Tree) -> None:
    """Row 1; observed: plain creates inside a multi answer without a stat."""
    done = tree.multi(
        Create("/m", b"1"),
        SetData("/m", b"22", ZkVersion(0)),
        Check("/m", ZkVersion(1)),
        Create("/m/k"),
        Delete("/m/k"),
        Create("/m/q", sequential=True),
    )
    at_set = Stat(Zxid(1), Zxid(1), 100, 100, ZkVersion(1), 0, 0, SessionId(0), 2, 0, Zxid(1))
    assert done.error is None
    assert done.results == (
        Created("/m", None, Zxid(1)),
        DataSet("/m", at_set, Zxid(1)),
        Checked("/m", Zxid(1)),
        Created("/m/k", None, Zxid(1)),
        Deleted("/m/k", Zxid(1)),
        Created("/m/q0000000001", None, Zxid(1)),
    )
    assert tree.stat("/m").cversion == 3


def test_a_check_does_not_use_the_version_up(tree: Tree) -> None:
    tree.do(Create("/a"))
    assert tree.multi(Check("/a", ZkVersion(0)), SetData("/a", b"", ZkVersion(0))).error is None


def test_a_refused_multi_says_of_each_operation_how_far_it_came(tree: Tree) -> None:
    """Row 7."""
    tree.do(Create("/a"))
    done = tree.multi(Create("/b"), Check("/a", ZkVersion(7)), Delete("/a"), Delete("/none"))
    assert done.error == BadVersionError("/a")
    assert done.results == (
        RolledBackError("/b"),
        BadVersionError("/a"),
        RuntimeInconsistencyError("/a"),
        RuntimeInconsistencyError("/none"),
    )


def test_a_refused_multi_leaves_no_trace(tree: Tree) -> None:
    tree.do(Create("/a", b"1"))
    tree.do(Create("/a/b", b"2", ephemeral=True))
    before = [tree.tree.get_data(GetData(path), Zxid(0)) for path in ("/", "/a", "/a/b")]
    done = tree.multi(
        SetData("/a", b"x"),
        SetData("/a", None),
        Create("/a/c"),
        Create("/a/n-", sequential=True),
        Delete("/a/b"),
        Create("/a/b"),
        Delete("/a/c"),
        Delete("/"),
    )
    assert done.error == BadArgumentsError("/")
    assert tree.changes == ()
    assert [tree.tree.get_data(GetData(path), Zxid(0)) for path in ("/", "/a", "/a/b")] == before
    assert len(tree.tree) == 6


def test_an_empty_multi_succeeds(tree: Tree) -> None:
    assert tree.multi() == MultiDone((), None, Zxid(1))


# --- multi-read --------------------------------------------------------------------------------------------------------


def test_each_read_of_a_multi_read_succeeds_or_fails_by_itself(tree: Tree) -> None:
    tree.do(Create("/a", b"1"))
    tree.do(Create("/a/y"))
    tree.do(Create("/a/x"))
    done = tree.tree.multi_read(MultiRead((GetData("/a"), GetData("/none"), GetChildren("/a"))), tree.zxid)
    data, missing, children = done.results
    assert isinstance(data, DataRead)
    assert missing == NoNodeError("/none")
    assert (children.children, children.stat) == (("x", "y"), None)  # type: ignore[union-attr]
    assert done.zxid == 3


# --- changes -----------------------------------------------------------------------------------------------------------


def test_a_transaction_reports_what_it_changed_in_order(tree: Tree) -> None:
    tree.multi(Create("/e", b"1", ephemeral=True), SetData("/e", b"2"), Delete("/e"))
    created = ZnodeChange(ChangeKind.CREATED, "/e", b"1", ZkVersion(0), SESSION, Zxid(1), SESSION, parent_cversion=1)
    later = created._replace(version=ZkVersion(1), parent_cversion=0)
    assert tree.changes == (
        created,
        later._replace(kind=ChangeKind.CHANGED, data=b"2"),
        later._replace(kind=ChangeKind.DELETED, data=None),
    )


def test_an_error_carries_the_path_as_it_was_asked_for_without_the_counter(tree: Tree) -> None:
    tree.do(Create("/e", ephemeral=True))
    assert tree.do(Create("/e/n-", sequential=True)) == NoChildrenForEphemeralsError("/e/n-")
