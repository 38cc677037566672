"""Clients of the model behind a socket: faults, and all that the port of the simulator does not have.

What the port has is compared with the real server in tests/conformance; kazoo's own suite is in test_kazoo_suite.py.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from struct import pack
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    UnimplementedError,
)
from kazoo.protocol.states import KazooState, WatchedEvent
from kazoo.security import ACL, Id, make_acl, make_digest_acl

from kcsim.vocabulary import SessionId
from kcsim.zk.errors import NoWatcherError
from kcsim.zk.files.data_directory import DataDirectory
from kcsim.zk.live.wire import CLOSE_SESSION, GET_DATA, INT, LONG, PING_XID, SET_WATCHES_XID, encode
from kcsim.zk.model_server import ModelZooKeeper
from kcsim.zk.model_server.requests import (
    ADD_WATCH,
    AUTH,
    CHECK_WATCHES,
    COUNT_DESCENDANTS,
    GET_EPHEMERALS,
    PING,
    REMOVE_WATCHES,
    SET_WATCHES_2,
    WHO_AM_I,
)
from kcsim.zk.model_server.service import AUTH_XID
from kcsim.zk.operations import Create
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.errors import MemberStateError, PortTakenError
from kcsim.zk.servers.four_letter_words import Mode, ask, ask_server
from tests.zk.model_server.raw_client import raw_client_of, text
from tests.zk.servers.processes import until

BOUND_S = 60.0
TIMEOUT_S = 20.0
LONGEST_SESSION_MS = 30_000


@pytest.fixture
def model() -> Iterator[ModelZooKeeper]:
    with ModelZooKeeper(settings=ServerSettings(max_session_timeout_ms=LONGEST_SESSION_MS)) as zookeeper:
        yield zookeeper


@contextmanager
def client_of(zookeeper: ModelZooKeeper, timeout_s: float = TIMEOUT_S) -> Iterator[KazooClient]:
    client = KazooClient(zookeeper.connect_string, timeout=timeout_s)
    client.start(BOUND_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


class Events:
    """The watch events that a client receives, in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, event: WatchedEvent) -> None:
        self.seen.append((event.type, event.path))


# --- access control


def test_an_acl_is_enforced_and_shown(model: ModelZooKeeper) -> None:
    mine = make_digest_acl("me", "secret", all=True)
    with client_of(model) as other, client_of(model) as me:
        me.add_auth("digest", "me:secret")
        me.create("/private", b"1", acl=[mine])
        assert me.get("/private")[0] == b"1"
        attempts: list[Callable[[], Any]] = [
            lambda: other.get("/private"),
            lambda: other.get_children("/private"),
            lambda: other.set("/private", b"2"),
            lambda: other.create("/private/x"),
            lambda: other.set_acls("/private", [mine]),
            lambda: other.get_acls("/private"),
        ]
        for forbidden in attempts:
            with pytest.raises(NoAuthError):
                forbidden()
        assert other.exists("/private") is not None
        me.create("/private/child", acl=[mine])
        with pytest.raises(NoAuthError):
            other.delete("/private/child")
        other.add_auth("digest", "me:secret")
        other.delete("/private/child")
        acls, stat = other.get_acls("/private")
        assert (acls, stat.acl_version) == ([mine], 0)


def test_the_hash_of_a_password_is_shown_only_to_who_may_administrate(model: ModelZooKeeper) -> None:
    mine = make_digest_acl("me", "secret", all=True)
    with client_of(model) as other, client_of(model) as me:
        me.create("/shown", acl=[mine, make_acl("world", "anyone", read=True)])
        assert Id("digest", "me:x") in [acl.id for acl in other.get_acls("/shown")[0]]
        me.add_auth("digest", "me:secret")
        assert mine in me.get_acls("/shown")[0]


def test_an_acl_is_changed_if_it_has_the_version_named(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        client.create("/a")
        assert client.set_acls("/a", [make_acl("world", "anyone", read=True, admin=True)], version=0).acl_version == 1
        with pytest.raises(NoAuthError):
            client.set("/a", b"x")
        with pytest.raises(BadVersionError):
            client.set_acls("/a", [make_acl("world", "anyone", all=True)], version=0)


@pytest.mark.parametrize(
    "acl",
    [
        [ACL(31, Id("world", "somebody"))],
        [ACL(31, Id("digest", "without-a-hash"))],
        [ACL(31, Id("nonsense", "x"))],
        [ACL(31, Id("ip", "no-address"))],
        [ACL(31, Id("auth", ""))],  # this client has no identity
    ],
    ids=str,
)
def test_an_acl_that_means_nobody_is_refused(acl: list[ACL], model: ModelZooKeeper) -> None:
    with client_of(model) as client, pytest.raises(InvalidACLError):
        client.create("/a", acl=acl)


def test_the_scheme_auth_means_the_client_s_own_identities(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        client.add_auth("digest", "me:secret")
        client.create("/a", acl=[ACL(31, Id("auth", ""))])
        assert client.get_acls("/a")[0] == [make_digest_acl("me", "secret", all=True)]


def test_an_address_can_be_allowed(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        client.create("/here", acl=[make_acl("ip", "127.0.0.0/8", all=True)])
        client.create("/elsewhere", acl=[make_acl("ip", "10.0.0.1", all=True)])
        client.get("/here")
        with pytest.raises(NoAuthError):
            client.get("/elsewhere")


def test_an_unknown_scheme_ends_the_connection(model: ModelZooKeeper) -> None:
    with client_of(model) as client, pytest.raises(AuthFailedError):
        client.add_auth("nonsense", "x")


# --- watches


PERSISTENT, RECURSIVE = 0, 1
CREATED, DELETED, CHANGED, CHILDREN = 1, 2, 3, 4


def test_a_persistent_watch_stays(model: ModelZooKeeper) -> None:
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        client.create("/w")
        assert raw.call(ADD_WATCH, text("/w") + INT.pack(PERSISTENT)) == (0, INT.pack(0))
        client.set("/w", b"1")
        client.set("/w", b"2")
        client.create("/w/child")
        client.create("/w/child/below")
        client.delete("/w", recursive=True)
        raw.call(PING, xid=PING_XID)
        changed, children = (CHANGED, "/w"), (CHILDREN, "/w")
        assert raw.events == [changed, changed, children, children, (DELETED, "/w")]


def test_a_recursive_watch_sees_all_below_and_no_lists(model: ModelZooKeeper) -> None:
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        raw.call(ADD_WATCH, text("/") + INT.pack(RECURSIVE))
        client.create("/w")
        client.create("/w/child", b"")
        client.set("/w/child", b"1")
        client.delete("/w/child")
        raw.call(PING, xid=PING_XID)
        assert raw.events == [(CREATED, "/w"), (CREATED, "/w/child"), (CHANGED, "/w/child"), (DELETED, "/w/child")]


def test_watches_are_removed(model: ModelZooKeeper) -> None:
    data_watchers, any_watcher = INT.pack(2), INT.pack(3)
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        client.create("/w")
        raw.call(GET_DATA, text("/w") + b"\1")
        raw.call(ADD_WATCH, text("/w") + INT.pack(PERSISTENT))
        assert raw.call(CHECK_WATCHES, text("/w") + data_watchers)[0] == 0
        assert raw.call(REMOVE_WATCHES, text("/w") + any_watcher)[0] == 0
        assert raw.call(REMOVE_WATCHES, text("/w") + any_watcher)[0] == NoWatcherError.code
        assert raw.call(CHECK_WATCHES, text("/w") + data_watchers)[0] == NoWatcherError.code
        client.set("/w", b"1")
        raw.call(PING, xid=PING_XID)
        assert raw.events == []


def test_a_client_that_reconnects_arms_its_persistent_watches_again(model: ModelZooKeeper) -> None:
    nothing = INT.pack(0)
    one = INT.pack(1)
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        persistent, recursive = one + text("/p"), one + text("/r")
        body = LONG.pack(0) + nothing * 3 + persistent + recursive
        assert raw.call(SET_WATCHES_2, body, xid=SET_WATCHES_XID)[0] == 0
        client.ensure_path("/p/x")
        client.ensure_path("/r/x")
        raw.call(PING, xid=PING_XID)
        assert raw.events == [(CREATED, "/p"), (CHILDREN, "/p"), (CREATED, "/r"), (CREATED, "/r/x")]


def test_a_dropped_watch_stays_silent(model: ModelZooKeeper) -> None:
    dropped, kept = Events(), Events()
    with client_of(model) as client:
        client.create("/a")
        client.create("/b")
        client.get("/a", watch=dropped)
        client.get("/b", watch=kept)
        assert model.drop_watches("/a") == 1
        client.set("/a", b"1")
        client.set("/b", b"1")
        until(lambda: kept.seen, bool, "the event of the other watch")
        assert dropped.seen == []


# --- kinds of znodes, and reads of many


def test_containers_and_times_to_live_are_in_the_stat(model: ModelZooKeeper) -> None:
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        for create in (Create("/container", is_container=True), Create("/short", ttl_ms=5_000)):
            code, body = encode(create, "")
            assert raw.call(code, body)[0] == 0
        assert client.exists("/container").ephemeralOwner == -(2**63)
        assert client.exists("/short").ephemeralOwner == 5_000 - 2**56
        client.create("/container/child")
        client.create("/short/child")


def test_a_session_s_ephemerals_can_be_listed_by_prefix(model: ModelZooKeeper) -> None:
    with raw_client_of(model.connect_string) as raw:
        for path in ("/e", "/f"):
            raw.call(*encode(Create(path, ephemeral=True), ""))
        assert raw.call(GET_EPHEMERALS, text("/e")) == (0, INT.pack(1) + text("/e"))


def test_descendants_can_be_counted(model: ModelZooKeeper) -> None:
    with client_of(model) as client, raw_client_of(model.connect_string) as raw:
        client.ensure_path("/a/b/c")
        client.ensure_path("/ab")
        assert raw.call(COUNT_DESCENDANTS, text("/a")) == (0, INT.pack(2))


def test_a_client_can_ask_who_it_is(model: ModelZooKeeper) -> None:
    with raw_client_of(model.connect_string) as raw:
        raw.call(AUTH, INT.pack(0) + text("digest") + text("me:secret"), xid=AUTH_XID)
        expected = INT.pack(2) + text("digest") + text("me") + text("ip") + text("127.0.0.1")
        assert raw.call(WHO_AM_I) == (0, expected)


def test_an_unknown_operation_is_not_implemented(model: ModelZooKeeper) -> None:
    with client_of(model) as client, pytest.raises(UnimplementedError):
        client.reconfig(joining=None, leaving="1", new_members=None)


# --- faults


def test_a_lost_reply_s_write_is_applied(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        model.lose_reply("/lost")
        client.create("/other")
        with pytest.raises(ConnectionLoss):
            client.create("/lost")
        client.retry(client.get, "/other")
        assert client.exists("/lost") is not None
        with pytest.raises(NodeExistsError):
            client.create("/lost")


def test_an_expired_session_loses_its_ephemerals_at_once(model: ModelZooKeeper) -> None:
    lost = threading.Event()
    with client_of(model) as client, client_of(model) as other:
        client.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
        client.create("/e", ephemeral=True)
        assert model.expire_session(client.client_id[0])
        assert other.exists("/e") is None
        assert lost.wait(BOUND_S)
        assert not model.expire_session(SessionId(0x77))


def test_a_client_that_closes_gets_the_events_of_its_own_ephemerals_first(model: ModelZooKeeper) -> None:
    """As on ZooKeeper 3.9.5; found by the comparison of random operations."""
    with raw_client_of(model.connect_string) as raw:
        raw.call(*encode(Create("/e", ephemeral=True), ""))
        raw.call(GET_DATA, text("/e") + b"\1")
        assert raw.call(CLOSE_SESSION)[0] == 0
        assert raw.events == [(DELETED, "/e")]


def test_a_session_expires_when_its_client_is_silent(model: ModelZooKeeper) -> None:
    with client_of(model) as other, ExitStack() as stack:
        silent = stack.enter_context(raw_client_of(model.connect_string, 1_000))
        silent.call(*encode(Create("/e", ephemeral=True), ""))
        assert other.exists("/e") is not None
        until(lambda: other.exists("/e"), lambda stat: stat is None, "the end of the silent session", BOUND_S)


# --- members


def test_one_member_of_three_may_die_and_two_may_not() -> None:
    settings = ServerSettings(max_session_timeout_ms=LONGEST_SESSION_MS)
    with ModelZooKeeper(3, settings) as ensemble, client_of(ensemble) as client:
        client.create("/a")
        first = asyncio.run(ensemble.leader_name())
        assert first is not None
        asyncio.run(ensemble.kill(first))
        second = asyncio.run(ensemble.wait_for_leader(other_than=first))
        client.retry(client.set, "/a", b"1")
        asyncio.run(ensemble.kill(second))
        assert asyncio.run(ensemble.leader_name()) is None
        asyncio.run(ensemble.start_member(first))
        assert client.retry(client.get, "/a")[0] == b"1"
        noted = [line.split(" ", 1)[1] for line in ensemble.log_path(first).read_text().splitlines()]
        assert [line.partition(" 127")[0] for line in noted[:3]] == ["listens on", "leads", "killed"]
        with pytest.raises(MemberStateError):
            asyncio.run(ensemble.start_member(first))


def test_a_paused_member_answers_after_it_is_resumed(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        asyncio.run(model.pause("member-1"))
        pending = client.create_async("/a")
        assert not pending.ready()
        asyncio.run(model.resume("member-1"))
        assert pending.get(timeout=BOUND_S) == "/a"


# --- members that lag behind


@pytest.fixture
def ensemble() -> Iterator[ModelZooKeeper]:
    with ModelZooKeeper(3, ServerSettings(max_session_timeout_ms=LONGEST_SESSION_MS)) as zookeeper:
        yield zookeeper


@contextmanager
def client_at(ensemble: ModelZooKeeper, member: str) -> Iterator[KazooClient]:
    """Open a client of one member only."""
    address = ensemble.connect_string.split(",")[ensemble.member_names.index(member)]
    client = KazooClient(address, timeout=TIMEOUT_S)
    client.start(BOUND_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def leader_and_followers(ensemble: ModelZooKeeper) -> tuple[str, list[str]]:
    leader = asyncio.run(ensemble.wait_for_leader())
    return leader, [name for name in ensemble.member_names if name != leader]


def zxid_of(client: KazooClient) -> str:
    return next(line for line in str(client.command(b"srvr")).splitlines() if line.startswith("Zxid"))


def test_a_client_of_a_member_that_lags_behind_reads_the_past(ensemble: ModelZooKeeper) -> None:
    leader, (follower, other) = leader_and_followers(ensemble)
    with (
        client_at(ensemble, leader) as writer,
        client_at(ensemble, follower) as stale,
        client_at(ensemble, other) as current,
    ):
        writer.create("/a", b"1")
        ensemble.lag_member(follower)
        writer.set("/a", b"2")
        writer.create("/b")
        assert [each.get("/a")[0] for each in (writer, current, stale)] == [b"2", b"2", b"1"]
        assert [each.exists("/b") is not None for each in (writer, current, stale)] == [True, True, False]
        assert "b" not in stale.get_children("/")
        assert zxid_of(writer) == zxid_of(current) != zxid_of(stale)
        ensemble.catch_up_member(follower)
        assert stale.get("/a")[0] == b"2"
        assert "b" in stale.get_children("/")
        assert zxid_of(writer) == zxid_of(stale)


def test_a_watch_at_a_member_that_lags_behind_fires_when_it_catches_up(ensemble: ModelZooKeeper) -> None:
    """Also a watch that was set after the change, on the state before it; and each in the order of the transactions."""
    leader, (follower, _) = leader_and_followers(ensemble)
    events, both = Events(), threading.Event()

    def note(event: WatchedEvent) -> None:
        events(event)
        if len(events.seen) == 3:
            both.set()

    with client_at(ensemble, leader) as writer, client_at(ensemble, follower) as stale:
        writer.create("/a")
        stale.get("/a", watch=note)
        ensemble.lag_member(follower)
        writer.create("/b")
        writer.set("/a", b"1")
        assert stale.exists("/b", watch=note) is None
        assert "b" not in stale.get_children("/", watch=note)
        assert events.seen == []
        ensemble.catch_up_member(follower)
        assert both.wait(BOUND_S)
        assert events.seen == [("CREATED", "/b"), ("CHILD", "/"), ("CHANGED", "/a")]
        writer.set("/a", b"2")
        assert stale.get("/a", watch=note)[0] == b"2"
        writer.set("/a", b"3")
        until(lambda: len(events.seen), lambda count: count == 4, "the event of a watch set afterwards", BOUND_S)


def test_a_member_that_lags_behind_answers_a_write_when_it_has_applied_it(ensemble: ModelZooKeeper) -> None:
    """The others see the write at once; the client's later requests wait, too; sync waits, and shows the present."""
    leader, (follower, other) = leader_and_followers(ensemble)
    with (
        client_at(ensemble, leader) as writer,
        client_at(ensemble, follower) as stale,
        client_at(ensemble, follower) as second,
    ):
        ensemble.lag_member(follower)
        written, read = stale.create_async("/w"), stale.get_async("/w")
        synced = second.sync_async("/")
        until(lambda: writer.exists("/w"), lambda stat: stat is not None, "the write at the leader", BOUND_S)
        new = KazooClient(ensemble.connect_string.split(",")[ensemble.member_names.index(follower)], timeout=TIMEOUT_S)
        started = new.start_async()
        with client_at(ensemble, other) as current:
            assert current.exists("/w") is not None
        assert not any(each.ready() for each in (written, read, synced))
        assert not started.is_set()
        ensemble.catch_up_member(follower)
        assert written.get(timeout=BOUND_S) == "/w"
        assert read.get(timeout=BOUND_S)[0] == b""
        assert synced.get(timeout=BOUND_S) == "/"
        assert started.wait(BOUND_S)
        new.stop()
        new.close()


def test_a_client_that_has_seen_more_is_not_let_in_by_a_member_that_lags_behind(ensemble: ModelZooKeeper) -> None:
    leader, (follower, _) = leader_and_followers(ensemble)
    with client_at(ensemble, leader) as client:
        ensemble.lag_member(follower)
        client.create("/a")
        addresses = ensemble.connect_string.split(",")
        session_id, password = client.client_id
        host, port = addresses[ensemble.member_names.index(follower)].split(":")
        for seen, is_let_in in ((client.last_zxid, False), (0, True)):
            with socket.create_connection((host, int(port)), timeout=BOUND_S) as raw:
                asked = pack("!iqiqi", 0, seen, 5_000, session_id, len(password)) + password + b"\0"
                raw.sendall(INT.pack(len(asked)) + asked)
                assert bool(raw.recv(4)) is is_let_in


def test_a_lag_ends_with_its_member_or_its_leader(ensemble: ModelZooKeeper) -> None:
    leader, (follower, other) = leader_and_followers(ensemble)
    with pytest.raises(MemberStateError, match=f"cannot hold back {leader}: it is the leader"):
        ensemble.lag_member(leader)
    with pytest.raises(MemberStateError, match=f"cannot catch up {follower}: it is not lagging behind"):
        ensemble.catch_up_member(follower)
    ensemble.lag_member(follower)
    with pytest.raises(MemberStateError, match="lagging behind already"):
        ensemble.lag_member(follower)
    asyncio.run(ensemble.restart(follower))
    ensemble.lag_member(follower)
    with client_at(ensemble, other) as client:
        client.create("/a")
    asyncio.run(ensemble.kill(leader))
    asyncio.run(ensemble.wait_for_leader(other_than=leader))
    with client_at(ensemble, follower) as client:
        assert client.exists("/a") is not None
    asyncio.run(ensemble.kill(follower))
    with pytest.raises(MemberStateError, match=f"cannot hold back {follower}: it is not serving"):
        ensemble.lag_member(follower)


# --- what monitoring tools ask


def test_words_are_answered(model: ModelZooKeeper) -> None:
    host, port = model.connect_string.split(":")
    with client_of(model) as client:
        client.create("/e", ephemeral=True)
        words = ("ruok", "isro", "mntr", "stat", "cons", "conf", "dump", "wchs")
        answers = {word: ask(host, int(port), word, BOUND_S) for word in words}
        assert (answers["ruok"], answers["isro"]) == ("imok", "rw")
        assert "zk_ephemerals_count\t1\n" in answers["mntr"]
        assert "Mode: standalone" in answers["stat"]
        assert f"sid={client.client_id[0]:#x}" in answers["cons"]
        assert f"maxSessionTimeout={LONGEST_SESSION_MS}" in answers["conf"]
        assert "/e" in answers["dump"]
        assert ask_server(host, int(port)).mode is Mode.STANDALONE
        assert client.server_version() == (3, 9, 5)


# --- the server as a whole


def test_its_log_is_that_of_a_server(model: ModelZooKeeper) -> None:
    with client_of(model) as client:
        client.create("/a", b"1")
        with pytest.raises(NoNodeError):
            client.delete("/none")
        client.set_acls("/a", [make_acl("world", "anyone", all=True)])
        directory = model.transaction_log_dir("member-1")
        assert directory is not None
        transactions = list(DataDirectory(directory.parent).transactions())
    assert [t.zxid for t in transactions] == [1, 2, 3, 4]
    names = [type(t.ops[0]).__name__ for t in transactions]
    assert names == ["CreateSessionTxn", "CreateTxn", "ErrorTxn", "SetAclTxn"]
    assert transactions[1].cxid > 0


def test_nothing_is_left_of_it(model: ModelZooKeeper) -> None:
    directory = model.log_path("member-1").parent
    port = int(model.connect_string.rpartition(":")[2])
    assert directory.is_dir()
    asyncio.run(model.stop())
    assert not directory.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=BOUND_S)


def test_a_taken_port_is_named(model: ModelZooKeeper) -> None:
    port = int(model.connect_string.rpartition(":")[2])
    with pytest.raises(PortTakenError, match=str(port)):
        ModelZooKeeper(client_ports=[port]).__enter__()


@pytest.mark.parametrize("raw", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\2ab"], ids=repr)
def test_a_client_that_speaks_another_protocol_is_disconnected(raw: bytes, model: ModelZooKeeper) -> None:
    host, port = model.connect_string.split(":")
    with socket.create_connection((host, int(port)), timeout=BOUND_S) as connection:
        connection.sendall(raw)
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    with client_of(model) as client:
        client.create("/still-there")
