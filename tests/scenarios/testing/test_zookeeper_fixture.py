"""kcsim_zookeeper: a chroot per test, and faults for clients that know nothing of them."""

import asyncio
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kazoo.exceptions import ConnectionLoss

from kcsim.errors import TimedOutError
from kcsim.scenarios.testing.znodes import Znodes
from kcsim.scenarios.testing.zookeeper import ZooKeeperForTest
from kcsim.scenarios.testing.zookeepers import ZooKeeperFactory
from kcsim.zk.errors import NodeExistsError, NoNodeError
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.proxy import NoSessionError
from kcsim.zk.servers.errors import MemberStateError
from tests.scenarios.testing.clients import client

pytestmark = pytest.mark.live

SERVICE = """
import os, sys, threading
from kazoo.client import KazooClient

assert sys.argv[1] == os.environ["KCSIM_ZOOKEEPER"]
kazoo = KazooClient(sys.argv[1], timeout=5.0)
kazoo.start(300)
kazoo.create("/service", os.environ["COLOUR"].encode(), ephemeral=True)
print("serving from", os.path.basename(os.getcwd()), flush=True)
threading.Event().wait()
"""
PATIENCE_S = 300.0
CONNECT_WITHIN_MS = 300_000
SHORT_SESSION_S = 5.0
"""The session timeout of clients whose session is to expire by itself; a shorter one might expire too early."""


@pytest.fixture
def zk(kcsim_zookeeper: ZooKeeperForTest) -> ZooKeeperForTest:
    return kcsim_zookeeper


# --- the chroot


def test_the_root_is_the_test_s_own(zk: ZooKeeperForTest) -> None:
    assert zk.connect_string == f"{zk.server.connect_string}{zk.chroot}"
    assert zk.znodes.children("/") == []


# --- sessions


@pytest.mark.slow
def test_a_session_lasts_as_requested_up_to_what_zookeeper_grants_by_default(
    kcsim_zookeeper_factory: ZooKeeperFactory,
) -> None:
    """20 of the short ticks would be 4 s: too short for a client on a busy machine that asks for more."""
    zookeeper = LiveZooKeeper(kcsim_zookeeper_factory().connect_string)

    async def granted(requested_ms: int) -> int:
        session = await zookeeper.open_session(requested_ms, lambda _: None, CONNECT_WITHIN_MS)
        await session.close()
        return session.timeout_ms

    requested = (100, 400, 10_000, 40_000, 60_000)
    assert [asyncio.run(granted(ms)) for ms in requested] == [400, 400, 10_000, 40_000, 40_000]


# --- reading and writing znodes


def test_znodes_are_written_and_read(zk: ZooKeeperForTest) -> None:
    znodes = zk.znodes
    znodes.ensure("/a/b")
    znodes.ensure("/a/b")
    assert znodes.create("/a/b/n-", b"x", sequential=True) == "/a/b/n-0000000000"
    znodes.set("/a", "text")
    assert (znodes.get("/a"), znodes.children("/a"), znodes.children("/none")) == (b"text", ["b"], [])
    znodes.delete_all("/a")
    assert not znodes.exists("/a")
    znodes.create("/b")
    with pytest.raises(NodeExistsError):
        znodes.create("/b")
    with pytest.raises(NoNodeError):
        znodes.get("/a")


def test_a_condition_on_znodes_is_waited_for(zk: ZooKeeperForTest) -> None:
    """Each wait begins before its condition holds: a client makes it true meanwhile."""
    with ThreadPoolExecutor(6) as waiting, client(zk.connect_string) as other:
        there = waiting.submit(zk.znodes.wait_until_exists, "/x", PATIENCE_S)
        seven = waiting.submit(zk.znodes.wait_until_data, "/x", "7", PATIENCE_S)
        long = waiting.submit(zk.znodes.wait_until_data, "/x", lambda data: len(data) > 3, PATIENCE_S)
        two = waiting.submit(zk.znodes.wait_until_children, "/x", 2, PATIENCE_S)
        these = waiting.submit(zk.znodes.wait_until_children, "/x", {"q", "p"}, PATIENCE_S)
        other.create("/x", b"1")
        assert there.result() == b"1"
        other.set("/x", b"7")
        assert seven.result() == b"7"
        other.set("/x", b"1234")
        assert long.result() == b"1234"
        for name in ("p", "q"):
            other.create(f"/x/{name}")
        assert (two.result(), these.result()) == (["p", "q"], ["p", "q"])
        gone = waiting.submit(zk.znodes.wait_until_gone, "/x", PATIENCE_S)
        other.delete("/x", recursive=True)
        gone.result()


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        (lambda znodes, s: znodes.wait_until_exists("/no", s), "/no to be there; last seen: no /no"),
        (lambda znodes, s: znodes.wait_until_gone("/x", s), "/x to be gone; last seen: /x with b'1'"),
        (lambda znodes, s: znodes.wait_until_data("/x", "2", s), "/x to be there with b'2'; last seen: /x with b'1'"),
        (
            lambda znodes, s: znodes.wait_until_data("/x", lambda data: not data, s),
            "/x to be there as asked for; last seen: /x with b'1'",
        ),
        (
            lambda znodes, s: znodes.wait_until_children("/x", 3, s),
            "/x to be there with 3 children; last seen: /x with children ['p']",
        ),
        (
            lambda znodes, s: znodes.wait_until_children("/x", ["q"], s),
            "/x to be there with ['q']; last seen: /x with children ['p']",
        ),
    ],
)
def test_a_wait_that_runs_out_says_what_was_last_seen(
    zk: ZooKeeperForTest, wait: Callable[[Znodes, float], object], message: str
) -> None:
    zk.znodes.create("/x", "1")
    zk.znodes.create("/x/p")
    for within_s in (0.05, 1.0, 20.0, PATIENCE_S):
        with pytest.raises(TimedOutError) as raised:
            wait(zk.znodes, within_s)
        if "last seen: nothing yet" not in str(raised.value):  # on a busy machine no answer may come in a short time
            break
    assert str(raised.value) == f"not within {within_s:g} s: {message}"


def test_any_condition_is_waited_for(zk: ZooKeeperForTest) -> None:
    seen = iter([[], [], [1]])
    assert zk.wait_until(lambda: next(seen)) == [1]
    with pytest.raises(TimedOutError, match=r"not within 0.02 s: a second one; last seen: \[\]"):
        zk.wait_until(list, within_s=0.02, what="a second one")
    with pytest.raises(TimedOutError, match=r"zk\.wait_until\(lambda: len\(zk\.chroot\) < 3"):
        zk.wait_until(lambda: len(zk.chroot) < 3, within_s=0.02)


# --- faults of clients


def test_an_expired_client_has_lost_its_ephemerals_and_comes_back_with_another_session(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a:
        first = a.client_id[0]
        a.create("/leader", b"a", ephemeral=True)
        zk.member("a").expire()
        assert not zk.znodes.exists("/leader")
        zk.wait_until(lambda: a.connected and a.client_id[0] != first, PATIENCE_S)


def test_nothing_can_be_expired_where_no_session_is(zk: ZooKeeperForTest) -> None:
    with pytest.raises(NoSessionError):
        zk.member("a").expire()


def test_a_cut_client_keeps_its_session(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a:
        a.create("/leader", b"a", ephemeral=True)
        states: list[str] = []
        a.add_listener(states.append)
        assert zk.member("a").cut() == 1
        zk.wait_until(lambda: states == ["SUSPENDED", "CONNECTED"], PATIENCE_S)
        assert zk.znodes.exists("/leader")


def test_a_disconnected_client_is_away_until_it_may_reconnect(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a:
        zk.member("a").disconnect()
        zk.wait_until(lambda: not a.connected, PATIENCE_S)
        assert not zk.member("a").is_connected
        zk.member("a").reconnect()
        zk.member("a").wait_until_connected(PATIENCE_S)


def test_a_suspended_client_s_session_runs_out_while_it_knows_nothing(zk: ZooKeeperForTest) -> None:
    """The client's connection stays open: other clients get its locks before it learns that its session has expired."""
    with client(zk.client_address("a"), timeout_s=SHORT_SESSION_S) as a:
        a.create("/leader", b"a", ephemeral=True)
        states: list[str] = []
        a.add_listener(states.append)
        zk.member("a").suspend()
        zk.znodes.wait_until_gone("/leader", PATIENCE_S)
        zk.member("a").resume()
        zk.wait_until(lambda: "LOST" in states, PATIENCE_S, what="a to hear that its session is lost")


def test_two_clients_have_two_proxies(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a, client(zk.client_address("b")) as b:
        zk.member("a").disconnect()
        zk.wait_until(lambda: not a.connected, PATIENCE_S)
        assert b.exists("/") is not None
        assert zk.member("a") is zk.member("a")


# --- pauses at a write


def test_a_client_stands_still_before_its_write(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a:
        pause = zk.member("a").pause_at_write("/x")
        creating = a.create_async("/x", b"1")
        assert [(w.op, w.path) for w in pause.wait_until_reached(PATIENCE_S)] == [("create", "/x")]
        assert not zk.znodes.exists("/x")
        pause.release()
        assert creating.get(timeout=PATIENCE_S) == "/x"


def test_a_client_stands_still_after_its_write_and_loses_the_answer(zk: ZooKeeperForTest) -> None:
    """This is the hardest case for a client: the write is done, and the client does not know it."""
    with client(zk.client_address("a")) as a:
        with zk.member("a").pause_at_write("/x", moment="after") as pause:
            creating = a.create_async("/x", b"1")
            pause.wait_until_reached(PATIENCE_S)
            assert zk.znodes.exists("/x")
            zk.member("a").cut()
        with pytest.raises(ConnectionLoss):
            creating.get(timeout=PATIENCE_S)


def test_only_the_write_that_was_meant_counts(zk: ZooKeeperForTest) -> None:
    with client(zk.client_address("a")) as a:
        pause = zk.member("a").pause_at_write("/x", op="set", nth=2)
        a.create("/x", b"0")
        a.create("/xyz", b"0")
        a.set("/x", b"1")
        assert not pause.is_reached
        setting = a.set_async("/x", b"2")
        pause.wait_until_reached(PATIENCE_S)
        assert zk.znodes.get("/x") == b"1"
        pause.release()
        setting.get(timeout=PATIENCE_S)


def test_a_write_that_never_comes_is_reported(zk: ZooKeeperForTest) -> None:
    pause = zk.member("a").pause_at_write("/x", op="delete")
    with pytest.raises(TimedOutError, match="a before its delete of /x; last seen: it has come to no such write"):
        pause.wait_until_reached(within_s=0.02)


# --- processes


def test_a_process_lives_is_stopped_killed_and_started_again(zk: ZooKeeperForTest, tmp_path: Path) -> None:
    script = tmp_path / "service.py"
    script.write_text(SERVICE)
    service = zk.start_process("svc", [sys.executable, script, "{zookeeper}"], {"COLOUR": "blue"}, cwd=tmp_path)
    assert f"serving from {tmp_path.name}" in service.wait_until_printed("serving", PATIENCE_S)
    assert zk.znodes.get("/service") == b"blue"
    service.pause()
    zk.znodes.wait_until_gone("/service", PATIENCE_S)
    service.resume()
    service.restart()
    zk.znodes.wait_until_exists("/service", PATIENCE_S)
    service.kill()
    assert service.state == -signal.SIGKILL
    zk.znodes.wait_until_gone("/service", PATIENCE_S)
    with pytest.raises(MemberStateError, match="cannot pause svc: it is down"):
        service.pause()


def test_a_process_that_ends_by_itself_is_waited_for(zk: ZooKeeperForTest) -> None:
    process = zk.start_process("short", [sys.executable, "-c", "print('so long'); raise SystemExit(3)"])
    assert process.wait_until_ended(PATIENCE_S) == 3
    assert "so long" in zk.process("short").output


def test_a_process_that_prints_something_else_is_reported(zk: ZooKeeperForTest) -> None:
    process = zk.start_process("wordy", [sys.executable, "-c", "print('hello')"])
    process.wait_until_ended(PATIENCE_S)
    with pytest.raises(TimedOutError, match="wordy to print 'goodbye'; last seen: 0, with 'hello"):
        process.wait_until_printed("goodbye", within_s=0.02)


# --- servers


@pytest.mark.slow
def test_a_server_of_the_test_s_own_is_killed_and_started_on_its_data(
    zk: ZooKeeperForTest, kcsim_zookeeper_factory: ZooKeeperFactory
) -> None:
    own = kcsim_zookeeper_factory()
    own.znodes.create("/kept", "1")
    assert own.server is not zk.server
    assert not zk.znodes.exists("/kept")
    assert own.servers.kill("leader") == "member-1"
    own.servers.heal()
    assert own.znodes.get("/kept") == b"1"
