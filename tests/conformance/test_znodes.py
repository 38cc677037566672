"""ZooKeeper's operations on znodes: versions, zxids, sequence numbers, transactions; both adapters must conform.

Source: ZooKeeper 3.9 Programmer's Guide; the rows are those of docs/kafka/zookeeper_semantics.md.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcsim.vocabulary import ZkVersion
from kcsim.zk.errors import (
    BadArgumentsError,
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistencyError,
    ZooKeeperError,
)
from kcsim.zk.operations import (
    Check,
    Checked,
    ChildrenRead,
    Create,
    Created,
    DataRead,
    DataSet,
    Delete,
    Deleted,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiDone,
    MultiRead,
    MultiReadDone,
    NodeFound,
    Request,
    SetData,
    Sync,
    Synced,
)
from tests.conformance.environment import Environment, Run

V0, V1, V2, V7 = ZkVersion(0), ZkVersion(1), ZkVersion(2), ZkVersion(7)

Requests = Callable[[Environment], Coroutine[Any, Any, Any]]


def asking(*requests: Request) -> Requests:
    """Return a main that opens a session, sends all these requests in one call, and returns the replies."""

    async def main(environment: Environment) -> Any:
        return await (await environment.open()).ask(*requests)

    return main


def test_every_write_has_a_new_and_higher_zxid(run: Run) -> None:
    """Row 1. An error takes one, too, which is why they need not be consecutive."""
    replies = run(asking(Create("/a"), SetData("/a", b"1"), Delete("/a"), Create("/a")))
    zxids = [reply.zxid for reply in replies]
    assert zxids == sorted(set(zxids))


def test_a_create_answers_with_the_stat_of_the_new_znode(run: Run) -> None:
    """Row 1: czxid, mzxid and pzxid are all the creating transaction's."""
    (created,) = run(asking(Create("/a", b"data")))
    stat = created.stat
    assert created == Created("/a", stat, stat.czxid)
    assert stat.czxid == stat.mzxid == stat.pzxid
    assert stat.ctime_ms == stat.mtime_ms
    assert stat[4:10] == (0, 0, 0, 0, 4, 0)


def test_a_refused_write_takes_a_zxid(run: Run) -> None:
    """The leader makes a transaction for the refusal; the next write's zxid shows the gap."""
    before, refused, after = run(asking(Create("/a"), Create("/a"), Create("/b")))
    assert refused == NodeExistsError("/a")
    assert after.zxid == before.zxid + 2


def test_the_data_version_counts_set_data_and_nothing_else(run: Run) -> None:
    """Row 2."""
    replies = run(asking(Create("/a"), SetData("/a", b"1"), Create("/a/child"), SetData("/a", b"1"), Exists("/a")))
    assert [replies[1].stat.version, replies[3].stat.version, replies[4].stat.version] == [1, 2, 2]


def test_set_data_moves_mzxid_and_keeps_czxid_and_pzxid(run: Run) -> None:
    created, changed = run(asking(Create("/a"), SetData("/a", b"1")))
    assert changed == DataSet("/a", changed.stat, changed.zxid)
    assert changed.stat.mzxid == changed.zxid
    assert (changed.stat.czxid, changed.stat.pzxid) == (created.zxid, created.zxid)


@pytest.mark.parametrize("write", [SetData("/a", b"x", V7), Delete("/a", V7)], ids=["set", "delete"])
def test_a_conditional_write_of_another_version_is_refused(run: Run, write: Request) -> None:
    """Row 2."""
    _, refused, data = run(asking(Create("/a", b"kept"), write, GetData("/a")))
    assert refused == BadVersionError("/a")
    assert (data.data, data.stat.version) == (b"kept", 0)


def test_a_conditional_write_of_the_right_version_succeeds(run: Run) -> None:
    """Row 2."""
    replies = run(asking(Create("/a"), SetData("/a", b"x", V0), Delete("/a", V1)))
    assert [type(reply) for reply in replies] == [Created, DataSet, Deleted]


def test_a_znode_with_children_is_not_deleted(run: Run) -> None:
    """Row 2."""
    replies = run(asking(Create("/a"), Create("/a/b"), Delete("/a"), Delete("/a/b"), Delete("/a")))
    assert replies[2] == NotEmptyError("/a")
    assert isinstance(replies[4], Deleted)


@pytest.mark.parametrize(
    "request_",
    [SetData("/a", b""), Delete("/a"), Exists("/a"), GetData("/a"), GetChildren("/a")],
    ids=lambda r: type(r).__name__,
)
def test_what_is_not_there_is_answered_with_no_node(run: Run, request_: Request) -> None:
    (reply,) = run(asking(request_))
    assert reply == NoNodeError("/a")


def test_a_create_without_a_parent_is_refused(run: Run) -> None:
    """Row 3. The error names the path that was to be created."""
    (reply,) = run(asking(Create("/a/b")))
    assert reply == NoNodeError("/a/b")


def test_a_znode_is_created_once(run: Run) -> None:
    """Row 3."""
    _, reply, data = run(asking(Create("/a", b"first"), Create("/a", b"second"), GetData("/a")))
    assert reply == NodeExistsError("/a")
    assert data.data == b"first"


def test_ephemerals_have_no_children(run: Run) -> None:
    """Row 3."""
    _, reply = run(asking(Create("/a", ephemeral=True), Create("/a/b")))
    assert reply == NoChildrenForEphemeralsError("/a/b")


@pytest.mark.parametrize("path", ["/.", "/..", "/a/", "/a/.", "/\u0001"])
def test_a_znode_of_an_illegal_name_is_not_created(run: Run, path: str) -> None:
    _, reply = run(asking(Create("/a"), Create(path)))
    assert reply == BadArgumentsError(path)


def test_a_missing_parent_is_noticed_before_an_illegal_name(run: Run) -> None:
    _, reply = run(asking(Create("/a"), Create("/a//b")))
    assert reply == NoNodeError("/a//b")


def test_an_ephemeral_names_its_session_and_a_persistent_znode_none(run: Run) -> None:
    async def main(environment: Environment) -> None:
        client = await environment.open()
        ephemeral, persistent = await client.ask(Create("/e", ephemeral=True), Create("/p"))
        assert isinstance(ephemeral, Created)
        assert isinstance(persistent, Created)
        assert ephemeral.stat is not None
        assert persistent.stat is not None
        assert ephemeral.stat.ephemeral_owner == client.session.session_id != 0
        assert persistent.stat.ephemeral_owner == 0

    run(main)


def test_a_sequence_number_has_ten_digits_and_never_goes_back(run: Run) -> None:
    """Row 4: the counter is the parent's."""
    replies = run(
        asking(
            Create("/q"),
            Create("/q/n_", sequential=True),
            Create("/q/n_", sequential=True),
            Delete("/q/n_0000000001"),
            Create("/q/other_", sequential=True, ephemeral=True),
        )
    )
    assert [replies[1].path, replies[2].path] == ["/q/n_0000000000", "/q/n_0000000001"]
    assert replies[4].path == "/q/other_0000000002"


def test_the_counter_counts_children_of_any_name(run: Run) -> None:
    """The counter is the number of children ever created, not of sequential ones."""
    replies = run(asking(Create("/q"), Create("/q/plain"), Create("/q/n_", sequential=True)))
    assert replies[2].path == "/q/n_0000000001"


def test_a_sequential_name_may_be_nothing_but_the_number(run: Run) -> None:
    replies = run(asking(Create("/q"), Create("/q/", sequential=True)))
    assert replies[1].path == "/q/0000000000"


def test_children_move_the_parent_s_cversion_and_pzxid(run: Run) -> None:
    replies = run(asking(Create("/a"), Create("/a/b"), Create("/a/c"), Delete("/a/b"), Exists("/a")))
    stat = replies[4].stat
    assert (stat.cversion, stat.num_children, stat.pzxid) == (3, 1, replies[3].zxid)
    assert (stat.version, stat.mzxid) == (0, replies[0].zxid)


def test_null_data_and_empty_data_differ(run: Run) -> None:
    """Kafka creates many znodes with null data, and reads null and empty differently."""
    replies = run(asking(Create("/null"), Create("/empty", b""), GetData("/null"), GetData("/empty")))
    assert (replies[2].data, replies[3].data) == (None, b"")
    assert (replies[2].stat.data_length, replies[3].stat.data_length) == (0, 0)


def test_data_can_be_set_to_null_again(run: Run) -> None:
    replies = run(asking(Create("/a", b"x"), SetData("/a", None), GetData("/a"), SetData("/a", b""), GetData("/a")))
    assert (replies[2].data, replies[4].data) == (None, b"")
    assert replies[4].stat.version == 2


def test_children_are_listed_by_name_with_the_parent_s_stat(run: Run) -> None:
    replies = run(asking(Create("/a"), Create("/a/c"), Create("/a/b"), GetChildren("/a"), Exists("/a")))
    assert replies[3] == ChildrenRead("/a", ("b", "c"), replies[4].stat, replies[2].zxid)


def test_names_may_be_in_any_script(run: Run) -> None:
    replies = run(asking(Create("/größe"), Create("/größe/数"), GetChildren("/größe")))
    assert replies[2].children == ("数",)


def test_a_read_carries_the_last_zxid_that_the_server_has_applied(run: Run) -> None:
    """The zxid may belong to any session's transaction, whatever was read."""
    created, written, found, synced = run(asking(Create("/a"), Create("/b"), Exists("/a"), Sync("/a")))
    assert found == NodeFound("/a", created.stat, written.zxid)
    assert synced == Synced("/a", written.zxid)


def test_a_pipelined_batch_is_answered_in_order(run: Run) -> None:
    """Row 9: each request sees the effects of those before it."""
    writes = [SetData("/a", str(n).encode(), ZkVersion(n)) for n in range(50)]
    replies = run(asking(Create("/a"), *writes, GetData("/a")))
    assert [reply.stat.version for reply in replies[1:-1]] == list(range(1, 51))
    assert replies[-1].data == b"49"


def test_nothing_asked_nothing_answered(run: Run) -> None:
    assert run(asking()) == []


# --- multi -------------------------------------------------------------------------------------------------------------


def test_a_multi_is_one_transaction(run: Run) -> None:
    """Rows 1 and 7: one zxid for all."""
    _, done, a, b = run(
        asking(
            Create("/a"),
            Multi((Check("/a", V0), SetData("/a", b"x", V0), Create("/b", b"y"), Create("/c"), Delete("/c"))),
            Exists("/a"),
            Exists("/b"),
        )
    )
    zxid = done.zxid
    assert done == MultiDone(
        (
            Checked("/a", zxid),
            DataSet("/a", a.stat, zxid),
            Created("/b", None, zxid),
            Created("/c", None, zxid),
            Deleted("/c", zxid),
        ),
        None,
        zxid,
    )
    assert (a.stat.mzxid, b.stat.czxid) == (zxid, zxid)


def test_a_refused_multi_changes_nothing_and_says_which_operation_it_was(run: Run) -> None:
    """Row 7: those before the failing one would have succeeded, those after it were not tried."""
    _, done, a, c = run(
        asking(
            Create("/a"),
            Multi((Create("/c"), SetData("/a", b"x"), Check("/a", V7), Delete("/a"), Create("/d"))),
            GetData("/a"),
            Exists("/c"),
        )
    )
    assert done == MultiDone(
        (
            RolledBackError("/c"),
            RolledBackError("/a"),
            BadVersionError("/a"),
            RuntimeInconsistencyError("/a"),
            RuntimeInconsistencyError("/d"),
        ),
        BadVersionError("/a"),
        done.zxid,
    )
    assert (a.data, a.stat.version, c) == (None, 0, NoNodeError("/c"))


def test_a_refused_multi_leaves_no_trace_in_the_parent(run: Run) -> None:
    """Not even the parent's counter changes."""
    replies = run(
        asking(
            Create("/q"),
            Multi((Create("/q/n_", sequential=True), Check("/q", V7))),
            Create("/q/n_", sequential=True),
            Exists("/q"),
        )
    )
    assert replies[2].path == "/q/n_0000000000"
    assert replies[3].stat.cversion == 1


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (Check("/none", V0), NoNodeError("/none")),
        (Create("/a"), NodeExistsError("/a")),
        (Create("/none/x"), NoNodeError("/none/x")),
        (Create("/e/x"), NoChildrenForEphemeralsError("/e/x")),
        (Delete("/a"), NotEmptyError("/a")),
        (Delete("/a/child", V1), BadVersionError("/a/child")),
        (SetData("/none", b""), NoNodeError("/none")),
        (SetData("/a", b"", V1), BadVersionError("/a")),
    ],
    ids=lambda value: repr(value) if isinstance(value, ZooKeeperError) else type(value).__name__,
)
def test_each_operation_of_a_multi_is_refused_as_it_would_be_alone(run: Run, op: Any, error: ZooKeeperError) -> None:
    replies = run(asking(Create("/a"), Create("/a/child"), Create("/e", ephemeral=True), Multi((op,))))
    assert replies[3] == MultiDone((error,), error, replies[3].zxid)


def test_operations_of_a_multi_see_those_before_them(run: Run) -> None:
    replies = run(
        asking(
            Multi(
                (
                    Create("/a"),
                    Create("/a/b"),
                    SetData("/a", b"1", V0),
                    SetData("/a", b"2", V1),
                    Check("/a", V2),
                    Delete("/a/b"),
                )
            ),
            GetData("/a"),
        )
    )
    assert replies[0].error is None
    assert (replies[1].data, replies[1].stat.version, replies[1].stat.num_children) == (b"2", 2, 0)


def test_sequential_and_ephemeral_znodes_can_be_made_in_a_multi(run: Run) -> None:
    async def main(environment: Environment) -> None:
        client = await environment.open()
        ops = Create("/q"), Create("/q/n_", sequential=True), Create("/q/n_", sequential=True, ephemeral=True)
        done = await client.get(Multi(ops), MultiDone)
        found = await client.get(Exists("/q/n_0000000001"), NodeFound)
        assert [r.path for r in done.results] == ["/q", "/q/n_0000000000", "/q/n_0000000001"]
        assert found.stat.ephemeral_owner == client.session.session_id

    run(main)


def test_an_empty_multi_succeeds(run: Run) -> None:
    (done,) = run(asking(Multi(())))
    assert done == MultiDone((), None, done.zxid)


# --- multi-read --------------------------------------------------------------------------------------------------------


def test_the_reads_of_a_multi_read_succeed_or_fail_each_by_itself(run: Run) -> None:
    replies = run(
        asking(
            Create("/a", b"x"),
            Create("/a/c"),
            Create("/a/b"),
            MultiRead((GetData("/a"), GetData("/none"), GetChildren("/a"), GetChildren("/none"), GetData("/a/b"))),
            Exists("/a"),
            Exists("/a/b"),
        )
    )
    zxid = replies[3].zxid
    assert replies[3] == MultiReadDone(
        (
            DataRead("/a", b"x", replies[4].stat, zxid),
            NoNodeError("/none"),
            ChildrenRead("/a", ("b", "c"), None, zxid),
            NoNodeError("/none"),
            DataRead("/a/b", None, replies[5].stat, zxid),
        ),
        zxid,
    )


def test_a_multi_read_sets_no_watches(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), MultiRead((GetData("/a", watch=True), GetChildren("/a", watch=True))))
        await client.ask(SetData("/a", b"1"), Create("/a/b"))
        return await client.heard()

    assert run(main) == []


def test_a_large_batch_comes_back_whole(run: Run) -> None:
    """The reply has about 150 KB: more than one segment, more than one read."""
    count, data = 500, b"x" * 200
    creates = Multi((Create("/p"), *(Create(f"/p/{n}", data) for n in range(count))))
    reads = MultiRead(tuple(GetData(f"/p/{n}") for n in range(count)))
    *_, done = run(asking(creates, reads))
    assert [(r.path, r.data) for r in done.results] == [(f"/p/{n}", data) for n in range(count)]
