"""The pure server: zxids, sessions and effects of their end, watches armed by reads, catching up after a reconnection.

The rows are those of docs/kafka/zookeeper_semantics.md.
"""

import pytest

from kcsim.vocabulary import ZkVersion, Zxid
from kcsim.zk.errors import BadArgumentsError, NodeExistsError, NoNodeError
from kcsim.zk.memory.server import EPOCH_MS, MemoryServer, ServerStep, SessionEnded, SessionGranted, SessionOpened
from kcsim.zk.memory.watches import ConnectionId
from kcsim.zk.operations import (
    Check,
    Create,
    Created,
    DataRead,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    MultiRead,
    NodeFound,
    Request,
    SetData,
    Sync,
    Synced,
    WatchKind,
)

C1, C2, C3 = ConnectionId(1), ConnectionId(2), ConnectionId(3)


@pytest.fixture
def server() -> MemoryServer:
    """Return a server with a session on C1, opened by zxid 1, and one on C2, by zxid 2."""
    server = MemoryServer(tick_time_ms=200)
    server.connect(C1, 1000, 0)
    server.connect(C2, 1000, 0)
    return server


def granted(step: ServerStep) -> SessionGranted:
    assert step.granted is not None
    return step.granted


def heard(step: ServerStep) -> list[tuple[ConnectionId, str, str, int]]:
    return [(connection, event.kind.name, event.path, event.zxid) for connection, event in step.notices]


# --- zxids -------------------------------------------------------------------------------------------------------------


def test_every_transaction_takes_a_zxid_and_no_read_does(server: MemoryServer) -> None:
    """Row 1; observed: a refused write takes one as well."""
    asked: list[Request] = [
        Create("/a"),
        Create("/a"),
        Exists("/a"),
        Sync(),
        Multi((Check("/a", ZkVersion(7)),)),
        MultiRead((GetData("/a"),)),
        SetData("/none", b""),
        Multi(()),
        GetChildren("/none"),
    ]
    assert [server.request(C1, request, 0).zxid for request in asked] == [3, 4, 4, 4, 5, 5, 6, 7, 7]


def test_sessions_begin_and_end_with_a_transaction(server: MemoryServer) -> None:
    opened = server.connect(C3, 1000, 0)
    assert opened.facts == [SessionOpened(granted(opened).session_id, 1000, Zxid(3))]
    assert server.close_session(C3, 0).zxid == 4
    assert server.request(C1, Exists("/"), 0).zxid == 4


def test_a_member_of_an_ensemble_counts_within_its_leader_s_epoch() -> None:
    server = MemoryServer(epoch=1)
    assert server.connect(C1, 1000, 0).zxid == (1 << 32) + 1
    server.begin_epoch(0, of_ensemble=True)
    assert server.request(C1, Exists("/none"), 0).zxid == 2 << 32
    assert server.request(C1, Create("/a"), 0).zxid == (2 << 32) + 1


def test_times_count_from_the_epoch_given() -> None:
    reply = None
    for epoch_ms in (EPOCH_MS, 5):
        server = MemoryServer(epoch_ms=epoch_ms)
        server.connect(C1, 1000, 0)
        reply = server.request(C1, Create("/a"), 70).reply
        assert isinstance(reply, Created)
        assert reply.stat is not None
        assert (reply.stat.ctime_ms, reply.stat.mtime_ms) == (epoch_ms + 70, epoch_ms + 70)


# --- sessions ----------------------------------------------------------------------------------------------------------


def test_closing_a_session_deletes_its_ephemerals_in_the_same_transaction(server: MemoryServer) -> None:
    """Row 8. Its own watches fire, too, and its connection is closed at the end."""
    server.request(C1, Create("/e", b"x", ephemeral=True), 0)
    for connection in (C1, C2):
        server.request(connection, GetData("/e", watch=True), 0)
    step = server.close_session(C1, 0)
    (ended,) = step.facts
    assert isinstance(ended, SessionEnded)
    assert (ended.is_expired, [change.path for change in ended.removed], ended.zxid) == (False, ["/e"], 4)
    assert heard(step) == [(C1, "NODE_DELETED", "/e", 4), (C2, "NODE_DELETED", "/e", 4)]
    assert step.hung_up == [C1]
    assert server.request(C2, Exists("/e"), 0).reply == NoNodeError("/e")


def test_silence_past_the_time_out_expires_a_session(server: MemoryServer) -> None:
    """Row 8: each ephemeral's deletion is an event of its own."""
    for path in ("/e1", "/e2"):
        server.request(C1, Create(path, ephemeral=True), 0)
        server.request(C2, Exists(path, watch=True), 0)
    server.ping(C2, 900)
    assert server.tick(1199).facts == []
    step = server.tick(1200)
    assert [fact.is_expired for fact in step.facts if isinstance(fact, SessionEnded)] == [True]
    assert sorted(heard(step)) == [(C2, "NODE_DELETED", "/e1", 5), (C2, "NODE_DELETED", "/e2", 5)]
    assert step.hung_up == [C1]


def test_any_message_keeps_a_session_alive(server: MemoryServer) -> None:
    server.request(C1, Exists("/"), 900)
    server.ping(C2, 900)
    assert server.tick(1900).facts == []
    assert server.next_deadline_ms() == 2000


def test_an_expired_session_s_connection_is_answered_by_hanging_up(server: MemoryServer) -> None:
    server.tick(5000)
    step = server.request(C1, Create("/a"), 5000)
    assert (step.reply, step.hung_up) == (None, [C1])
    assert server.request(C1, Exists("/a"), 5000).zxid == 4  # nothing was applied


def test_an_expired_session_cannot_be_taken_up(server: MemoryServer) -> None:
    session = granted(server.connect(C3, 1000, 0))
    server.tick(5000)
    step = server.connect(C3, 1000, 5000, session.session_id, session.password)
    assert (step.granted, step.hung_up) == (None, [C3])


def test_a_session_taken_up_elsewhere_hangs_up_its_former_connection(server: MemoryServer) -> None:
    """Observed: this happens even if the password was wrong; the session itself is unaffected."""
    session = granted(server.connect(C3, 1000, 0))
    wrong = server.connect(ConnectionId(4), 1000, 10, session.session_id, bytes(16))
    assert (wrong.granted, wrong.hung_up) == (None, [C3, ConnectionId(4)])
    right = server.connect(ConnectionId(5), 1000, 20, session.session_id, session.password)
    assert (granted(right), right.facts, right.zxid) == (session, [], 3)
    moved = server.connect(ConnectionId(6), 1000, 30, session.session_id, session.password)
    assert moved.hung_up == [ConnectionId(5)]


def test_expiry_by_fault_ends_the_connection_first(server: MemoryServer) -> None:
    session = granted(server.connect(C3, 1000, 0))
    server.request(C3, Create("/e", ephemeral=True), 0)
    server.request(C3, Exists("/e", watch=True), 0)
    step = server.expire(session.session_id)
    assert (heard(step), step.hung_up, len(step.facts)) == ([], [C3], 1)
    assert server.expire(session.session_id).facts == []


def test_watches_end_with_their_session(server: MemoryServer) -> None:
    server.connect(C3, 1000, 0)
    server.request(C3, Exists("/a", watch=True), 0)
    server.close_session(C3, 0)
    assert len(server.watches) == 0
    assert heard(server.request(C1, Create("/a"), 0)) == []


def test_a_refused_transaction_keeps_ephemerals_as_they_were(server: MemoryServer) -> None:
    server.request(C1, Create("/e", ephemeral=True), 0)
    server.request(C1, Multi((Delete("/e"), Create("/f", ephemeral=True), Delete("/none"))), 0)
    (ended,) = server.close_session(C1, 0).facts
    assert isinstance(ended, SessionEnded)
    assert [change.path for change in ended.removed] == ["/e"]


# --- reads and watches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "write", "kind"),
    [
        (GetData("/a", watch=True), SetData("/a", b""), "NODE_DATA_CHANGED"),
        (GetData("/a", watch=True), Delete("/a"), "NODE_DELETED"),
        (Exists("/a", watch=True), SetData("/a", b""), "NODE_DATA_CHANGED"),
        (Exists("/new", watch=True), Create("/new"), "NODE_CREATED"),
        (GetChildren("/a", watch=True), Create("/a/b"), "NODE_CHILDREN_CHANGED"),
        (GetChildren("/a", watch=True), Delete("/a"), "NODE_DELETED"),
        (GetData("/new", watch=True), Create("/new"), None),
        (GetChildren("/new", watch=True), Create("/new"), None),
        (GetData("/a"), SetData("/a", b""), None),
        (MultiRead((GetData("/a", watch=True),)), SetData("/a", b""), None),
    ],
)
def test_what_a_read_arms(server: MemoryServer, read: Request, write: Request, kind: str | None) -> None:
    """Row 5."""
    server.request(C1, Create("/a"), 0)
    server.request(C1, read, 0)
    assert [event.kind.name for _, event in server.request(C2, write, 0).notices] == ([kind] if kind else [])


def test_a_session_that_changes_what_it_watches_hears_of_it_with_the_reply(server: MemoryServer) -> None:
    """Row 6: the notices of a step are sent before its reply."""
    server.request(C1, Create("/w"), 0)
    server.request(C1, GetChildren("/w", watch=True), 0)
    step = server.request(C1, Multi((Create("/w/a"), Create("/w/b"))), 0)
    assert heard(step) == [(C1, "NODE_CHILDREN_CHANGED", "/w", 4)]


def test_a_refused_write_fires_nothing(server: MemoryServer) -> None:
    server.request(C1, Create("/a"), 0)
    server.request(C1, Exists("/a", watch=True), 0)
    server.request(C1, GetChildren("/", watch=True), 0)
    assert server.request(C2, Create("/a"), 0).reply == NodeExistsError("/a")
    assert server.request(C2, Multi((SetData("/a", b""), Delete("/none"))), 0).notices == []


def test_watches_end_with_their_connection(server: MemoryServer) -> None:
    server.request(C1, Exists("/a", watch=True), 0)
    server.disconnect(C1)
    assert server.request(C2, Create("/a"), 0).notices == []


def test_a_sync_is_answered_with_the_last_transaction(server: MemoryServer) -> None:
    assert server.request(C1, Sync("/a"), 0).reply == Synced("/a", Zxid(2))


# --- catching up -------------------------------------------------------------------------------------------------------


def test_a_reconnecting_client_hears_what_it_missed_and_watches_the_rest(server: MemoryServer) -> None:
    """Observed: data watches first, then exist, then child watches; the zxid is not sent."""
    for path in ("/s", "/s/a", "/s/b", "/s/c"):
        server.request(C2, Create(path), 0)
    seen = server.zxid
    for request in (SetData("/s/b", b"1"), Delete("/s/c"), Create("/s/y")):
        server.request(C2, request, 0)
    data, exist, child = ("/s/b", "/s/c", "/s/a"), ("/s/x", "/s/y"), ("/s", "/s/a", "/s/c")
    step = server.set_watches(C1, seen, data, exist, child, 0)
    assert [(event.kind, event.path) for _, event in step.notices] == [
        (WatchKind.NODE_DATA_CHANGED, "/s/b"),
        (WatchKind.NODE_DELETED, "/s/c"),
        (WatchKind.NODE_CREATED, "/s/y"),
        (WatchKind.NODE_CHILDREN_CHANGED, "/s"),
        (WatchKind.NODE_DELETED, "/s/c"),
    ]
    assert {event.zxid for _, event in step.notices} == {0}
    armed = [server.request(C2, write, 0) for write in (SetData("/s/a", b""), Create("/s/x"), Create("/s/a/k"))]
    assert [heard(s)[0][1:3] for s in armed] == [
        ("NODE_DATA_CHANGED", "/s/a"),
        ("NODE_CREATED", "/s/x"),
        ("NODE_CHILDREN_CHANGED", "/s/a"),
    ]


def test_two_servers_given_the_same_answer_the_same() -> None:
    def answers() -> list[object]:
        server = MemoryServer()
        steps = [server.connect(C1, 1000, 0), server.request(C1, Create("/a/b"), 1), server.request(C1, Create("/a"), 2)]
        return [(step.zxid, step.reply, step.granted) for step in steps]

    assert answers() == answers()


def test_reads_find_what_was_written(server: MemoryServer) -> None:
    server.request(C1, Create("/a", b"x"), 0)
    found, data = server.request(C2, Exists("/a"), 0).reply, server.request(C2, GetData("/a"), 0).reply
    assert isinstance(found, NodeFound)
    assert isinstance(data, DataRead)
    assert (data.data, data.stat, data.zxid) == (b"x", found.stat, 3)


# --- containers and times to live --------------------------------------------------------------------------------------


def test_a_container_is_deleted_after_its_last_child(server: MemoryServer) -> None:
    server.request(C1, Create("/c", is_container=True), 0)
    assert server.delete_unused(1) == []  # it never had a child
    server.request(C1, Create("/c/x"), 0)
    assert server.delete_unused(1) == []
    server.request(C1, Delete("/c/x"), 0)
    server.request(C2, Exists("/c", watch=True), 0)
    ((deletion, step),) = server.delete_unused(1)
    assert deletion == Delete("/c")
    assert heard(step) == [(C2, "NODE_DELETED", "/c", step.zxid)]
    assert "/c" not in server.tree


def test_a_znode_with_a_time_to_live_is_deleted_unless_it_is_used(server: MemoryServer) -> None:
    for path in ("/old", "/changed", "/parent"):
        server.request(C1, Create(path, ttl_ms=1_000), 0)
    server.request(C1, Create("/parent/x"), 0)
    server.request(C1, SetData("/changed", b"1"), 500)
    assert server.delete_unused(1_000) == []
    assert [deletion.path for deletion, _ in server.delete_unused(1_001)] == ["/old"]
    assert [deletion.path for deletion, _ in server.delete_unused(1_501)] == ["/changed"]
    server.request(C1, Delete("/parent/x"), 2_000)
    assert [deletion.path for deletion, _ in server.delete_unused(2_000)] == ["/parent"]


# --- persistent watches ------------------------------------------------------------------------------------------------


def test_a_connection_with_several_watches_gets_one_event(server: MemoryServer) -> None:
    server.request(C1, Create("/a"), 0)
    server.request(C1, GetData("/a", watch=True), 0)
    server.watches.arm_persistent("/a", True, C1)
    server.watches.arm_persistent("/", True, C1)
    step = server.request(C2, SetData("/a", b"1"), 0)
    assert heard(step) == [(C1, "NODE_DATA_CHANGED", "/a", step.zxid)]


def test_persistent_watches_end_with_their_connection(server: MemoryServer) -> None:
    server.watches.arm_persistent("/a", False, C1)
    assert len(server.watches) == 1
    server.disconnect(C1)
    assert len(server.watches) == 0
    assert heard(server.request(C2, Create("/a"), 0)) == []


@pytest.mark.parametrize("ttl_ms", [0, -1, 2**40])
def test_a_time_to_live_has_bounds(server: MemoryServer, ttl_ms: int) -> None:
    assert server.request(C1, Create("/t", ttl_ms=ttl_ms), 0).reply == BadArgumentsError("/t")
