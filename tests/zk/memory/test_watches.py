"""Watches at the server, fired by changes, and those that a client remembers.

The rows are those of docs/kafka/zookeeper_semantics.md.
"""

import pytest

from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.errors import BadArgumentsError, ConnectionLossError, NoNodeError
from kcsim.zk.memory.tree import ChangeKind, ZnodeChange
from kcsim.zk.memory.watches import ClientWatches, ConnectionId, ServerWatches, ServerWatchTable
from kcsim.zk.operations import (
    ChildrenRead,
    DataRead,
    Exists,
    GetChildren,
    GetData,
    NodeFound,
    ReplyOrError,
    Request,
    Stat,
    WatchEvent,
    WatchKind,
)

A, B = ConnectionId(1), ConnectionId(2)
DATA, CHILD = ServerWatchTable.DATA, ServerWatchTable.CHILD
NO_OWNER = SessionId(0)
STAT = Stat(Zxid(1), Zxid(1), 0, 0, ZkVersion(0), 0, 0, NO_OWNER, 0, 0, Zxid(1))
CREATED, CHANGED, DELETED = ChangeKind.CREATED, ChangeKind.CHANGED, ChangeKind.DELETED


def change(kind: ChangeKind, path: str, zxid: int = 5) -> ZnodeChange:
    return ZnodeChange(kind, path, None, ZkVersion(0), NO_OWNER, Zxid(zxid), NO_OWNER)


def fired(watches: ServerWatches, *changes: ZnodeChange) -> list[tuple[ConnectionId, str, str]]:
    return [(connection, event.kind.name, event.path) for connection, event in watches.fire(changes)]


@pytest.mark.parametrize(
    ("kind", "event"), [(CREATED, "NODE_CREATED"), (CHANGED, "NODE_DATA_CHANGED"), (DELETED, "NODE_DELETED")]
)
def test_a_data_watch_fires_once(kind: ChangeKind, event: str) -> None:
    """Row 5."""
    watches = ServerWatches()
    watches.arm(DATA, "/a", A)
    assert fired(watches, change(kind, "/a"), change(kind, "/a")) == [(A, event, "/a")]


def test_an_event_carries_the_zxid_of_its_transaction() -> None:
    watches = ServerWatches()
    watches.arm(DATA, "/a", A)
    assert list(watches.fire([change(CHANGED, "/a", 9)])) == [(A, WatchEvent(WatchKind.NODE_DATA_CHANGED, "/a", Zxid(9)))]


def test_a_child_watch_fires_on_children_coming_and_going_but_not_on_their_data() -> None:
    """Row 5."""
    watches = ServerWatches()
    for kind, expected in ((CHANGED, []), (CREATED, [(A, "NODE_CHILDREN_CHANGED", "/a")]), (CHANGED, [])):
        watches.arm(CHILD, "/a", A)
        assert fired(watches, change(kind, "/a/b")) == expected
    assert fired(watches, change(DELETED, "/a/b")) == [(A, "NODE_CHILDREN_CHANGED", "/a")]


def test_the_root_s_children_are_watched_at_the_root() -> None:
    watches = ServerWatches()
    watches.arm(CHILD, "/", A)
    assert fired(watches, change(CREATED, "/a")) == [(A, "NODE_CHILDREN_CHANGED", "/")]


def test_a_deletion_is_reported_once_to_a_watcher_of_data_and_children() -> None:
    """Observed: the child watch is used up, too. The watchers of its parent are notified afterwards."""
    watches = ServerWatches()
    watches.arm(CHILD, "/", A)
    watches.arm(CHILD, "/a", A)
    watches.arm(DATA, "/a", A)
    watches.arm(CHILD, "/a", B)
    assert fired(watches, change(DELETED, "/a")) == [
        (A, "NODE_DELETED", "/a"),
        (B, "NODE_DELETED", "/a"),
        (A, "NODE_CHILDREN_CHANGED", "/"),
    ]
    assert len(watches) == 0


def test_the_same_watch_set_twice_fires_once() -> None:
    watches = ServerWatches()
    watches.arm(DATA, "/a", A)
    watches.arm(DATA, "/a", A)
    assert fired(watches, change(CHANGED, "/a")) == [(A, "NODE_DATA_CHANGED", "/a")]


def test_events_of_one_transaction_come_in_the_order_of_its_operations() -> None:
    """Observed: the single event of the parent follows its first child's."""
    watches = ServerWatches()
    watches.arm(CHILD, "/w", A)
    for path in ("/w/b", "/w/a"):
        watches.arm(DATA, path, A)
    assert fired(watches, change(CREATED, "/w/b"), change(CREATED, "/w/a")) == [
        (A, "NODE_CREATED", "/w/b"),
        (A, "NODE_CHILDREN_CHANGED", "/w"),
        (A, "NODE_CREATED", "/w/a"),
    ]


def test_a_lost_connection_takes_its_watches_along_and_leaves_others_theirs() -> None:
    watches = ServerWatches()
    for connection in (A, B):
        watches.arm(DATA, "/a", connection)
    watches.arm(CHILD, "/a", A)
    watches.forget(A)
    assert fired(watches, change(CHANGED, "/a")) == [(B, "NODE_DATA_CHANGED", "/a")]
    assert len(watches) == 0


# --- the client's memory -----------------------------------------------------------------------------------------------

DATA_READ = DataRead("/a", b"", STAT, Zxid(1))
FOUND = NodeFound("/a", STAT, Zxid(1))
CHILDREN = ChildrenRead("/a", (), STAT, Zxid(1))


@pytest.mark.parametrize(
    ("request_", "reply", "tables"),
    [
        (GetData("/a", True), DATA_READ, ("/a", None, None)),
        (GetData("/a", False), DATA_READ, (None, None, None)),
        (GetData("/a", True), NoNodeError("/a"), (None, None, None)),
        (Exists("/a", True), FOUND, ("/a", None, None)),
        (Exists("/a", True), NoNodeError("/a"), (None, "/a", None)),
        (Exists("/a", True), BadArgumentsError("/a"), (None, None, None)),
        (Exists("/a", True), ConnectionLossError("/a"), (None, None, None)),
        (GetChildren("/a", True), CHILDREN, (None, None, "/a")),
        (GetChildren("/a", True), NoNodeError("/a"), (None, None, None)),
    ],
)
def test_what_arms_which_watch(request_: Request, reply: ReplyOrError, tables: tuple[str | None, ...]) -> None:
    """Row 5."""
    watches = ClientWatches()
    watches.note(request_, reply)
    assert tuple(next(iter(t), None) for t in (watches.data, watches.exist, watches.child)) == tables


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (WatchKind.NODE_CREATED, (0, 0, 1)),
        (WatchKind.NODE_DATA_CHANGED, (0, 0, 1)),
        (WatchKind.NODE_CHILDREN_CHANGED, (1, 1, 0)),
        (WatchKind.NODE_DELETED, (0, 0, 0)),
    ],
)
def test_what_an_event_uses_up(kind: WatchKind, left: tuple[int, int, int]) -> None:
    watches = ClientWatches()
    for request, reply in (
        (GetData("/a", True), DATA_READ),
        (Exists("/a", True), NoNodeError("/a")),
        (GetChildren("/a", True), CHILDREN),
    ):
        watches.note(request, reply)
    assert watches.take(WatchEvent(kind, "/a", Zxid(1)))
    assert (len(watches.data), len(watches.exist), len(watches.child)) == left


def test_an_event_that_nobody_asked_for_is_none() -> None:
    assert not ClientWatches().take(WatchEvent(WatchKind.NODE_DELETED, "/a", Zxid(1)))
