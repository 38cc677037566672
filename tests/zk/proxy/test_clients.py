"""Clients that do not know of the proxy, kazoo's unchanged: equal results as without it, and only the injected faults."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random
from subprocess import Popen
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException
from kazoo.protocol.states import KazooState

from kcsim.zk.proxy import Breakpoint, NoSessionError, ProxyError, ProxyThread
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.four_letter_words import Mode, ask_server
from tests.zk.servers.processes import until

pytestmark = pytest.mark.live

TIMEOUT_S = 20.0
SHORT_TIMEOUT_S = 2.0  # of sessions that are to expire
BOUND_S = 60.0


class States:
    """The states that a client's listener receives, in order."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._changed = threading.Condition()

    def __call__(self, state: str) -> None:
        with self._changed:
            self._seen.append(state)
            self._changed.notify_all()

    def until(self, state: str) -> list[str]:
        """The states up to the first `state`, for which this waits: kazoo's thread may have gone on to others by then."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: state in self._seen, BOUND_S)
            assert arrived, f"waited {BOUND_S} s for {state}; last seen: {self._seen}"
            return self._seen[: self._seen.index(state) + 1]


@contextmanager
def client_at(connect_string: str, timeout_s: float = TIMEOUT_S) -> Iterator[tuple[KazooClient, States]]:
    client, states = KazooClient(connect_string, timeout=timeout_s), States()
    client.start(BOUND_S)
    client.add_listener(states)
    try:
        yield client, states
    finally:
        client.stop()
        client.close()


@pytest.fixture
def outside(server: EmbeddedZooKeeper) -> Iterator[KazooClient]:
    """Yield a client that connects to the server directly."""
    with client_at(server.connect_string) as (client, _):
        yield client


@pytest.fixture
def root(outside: KazooClient) -> str:
    """Create a znode for this test only; return its path."""
    path: str = outside.create("/clients-", sequence=True)
    return path


@pytest.fixture
def proxy(server: EmbeddedZooKeeper, root: str) -> Iterator[ProxyThread]:
    with ProxyThread(server.connect_string + root) as proxy:
        yield proxy


# --- the same work -----------------------------------------------------------------------------------------------------


def random_writes(client: KazooClient, top: str, seed: int) -> list[str]:
    """Send 250 writes, many of which fail, pipelined in batches, and return the results."""
    random = Random(seed)
    client.create(top)
    replies = []
    for _ in range(10):
        asked = [random_write(client, random, top) for _ in range(25)]
        replies += [reply_of(write) for write in asked]
    return replies


def random_write(client: KazooClient, random: Random, top: str) -> Any:
    path, data, version = f"{top}/{random.randrange(30)}", random.randbytes(random.randrange(2_000)), random.randrange(-1, 3)
    match random.randrange(5):
        case 0:
            return client.create_async(path, data)
        case 1:
            return client.create_async(f"{top}/n-", data, sequence=True)
        case 2:
            return client.set_async(path, data, version)
        case 3:
            return client.delete_async(path, version)
        case _:
            transaction = client.transaction()
            transaction.check(path, version)
            transaction.set_data(path, data)
            transaction.create(f"{path}-{random.randrange(9)}", data)
            return transaction.commit_async()


def reply_of(write: Any) -> str:
    try:
        reply = write.get(timeout=BOUND_S)
    except KazooException as refused:
        return type(refused).__name__
    return " ".join(map(words_of, reply if isinstance(reply, list) else [reply]))


def words_of(part: Any) -> str:
    """Return the part that does not depend on the clock: a path, a version, the kind of an error."""
    if isinstance(part, Exception):
        return type(part).__name__
    return str(getattr(part, "version", part))


def write_at_once(connect_string: str) -> tuple[list[list[str]], list[dict[str, tuple[bytes, int]]]]:
    """Let four clients write, each below its own znode; return all replies, and the final content."""
    with ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        clients = [stack.enter_context(client_at(connect_string))[0] for _ in range(4)]
        replies = list(pool.map(lambda n: random_writes(clients[n], f"/{n}", seed=n), range(4)))
        return replies, [contents(clients[0], f"/{n}") for n in range(4)]


def contents(client: KazooClient, top: str) -> dict[str, tuple[bytes, int]]:
    found = {}
    for name in sorted(client.get_children(top)):
        data, stat = client.get(f"{top}/{name}")
        found[name] = (data, stat.version)
    return found


@pytest.mark.slow
def test_a_thousand_writes_of_four_clients_at_once_end_as_without_a_proxy(
    server: EmbeddedZooKeeper, outside: KazooClient, root: str, proxy: ProxyThread
) -> None:
    """A breakpoint that never triggers is set: every write is parsed."""
    proxy.break_at(Breakpoint("after", lambda _: False, lambda: None))
    outside.create(f"{root}/direct")
    directly = write_at_once(f"{server.connect_string}{root}/direct")
    assert {"NoNodeError", "BadVersionError", "NodeExistsError"} <= {word for replies in directly[0] for word in replies}
    assert write_at_once(proxy.connect_string) == directly


def test_a_lock_keeps_its_promise_while_its_holders_are_cut_off(
    server: EmbeddedZooKeeper, outside: KazooClient, root: str, proxy: ProxyThread
) -> None:
    """All clients are connected before the first cut: `KazooClient.start` raises when it loses a connection just opened."""
    outside.create(f"{root}/count", b"0")
    connected = threading.Barrier(3, timeout=BOUND_S)

    def add_under_lock(name: str) -> None:
        with client_at(proxy.connect_string) as (client, _):
            connected.wait()
            lock = client.Lock("/lock", name)
            for n in range(5):
                assert client.retry(lock.acquire, timeout=BOUND_S)
                count, _ = client.retry(client.get, "/count")
                if n == 2:
                    proxy.cut()
                client.retry(client.set, "/count", str(int(count) + 1).encode())
                client.retry(lock.release)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add_under_lock, "abc"))
    assert outside.get(f"{root}/count")[0] == b"15"


def test_the_leader_whose_session_is_expired_is_followed_by_the_next(
    server: EmbeddedZooKeeper, root: str, proxy: ProxyThread
) -> None:
    led: list[str] = []
    leads = {"a": threading.Event(), "b": threading.Event()}
    over = threading.Event()

    def lead(name: str) -> None:
        led.append(name)
        leads[name].set()
        over.wait(BOUND_S)

    with client_at(proxy.connect_string) as (first, states), client_at(server.connect_string + root) as (second, _):
        threads = [threading.Thread(target=first.Election("/election", "a").run, args=(lead, "a"), daemon=True)]
        threads[0].start()
        assert leads["a"].wait(BOUND_S)
        threads.append(threading.Thread(target=second.Election("/election", "b").run, args=(lead, "b"), daemon=True))
        threads[1].start()
        until(lambda: second.get_children("/election"), lambda seen: len(seen) == 2, "the second candidate")
        proxy.expire()
        assert leads["b"].wait(BOUND_S)
        assert states.until(KazooState.LOST) == [KazooState.SUSPENDED, KazooState.LOST]
        over.set()
        for thread in threads:
            thread.join(BOUND_S)
    assert led == ["a", "b"]


def test_words_of_four_letters_pass(proxy: ProxyThread) -> None:
    assert ask_server("127.0.0.1", proxy.port, BOUND_S).mode is Mode.STANDALONE


# --- faults ------------------------------------------------------------------------------------------------------------


def test_cut_is_a_suspension_and_the_session_stays(outside: KazooClient, root: str, proxy: ProxyThread) -> None:
    with client_at(proxy.connect_string) as (client, states):
        session_id = client.client_id[0]
        client.create("/e", ephemeral=True)
        assert proxy.cut() == 1
        assert states.until(KazooState.CONNECTED) == [KazooState.SUSPENDED, KazooState.CONNECTED]
        assert client.client_id[0] == session_id
        assert outside.exists(f"{root}/e").ephemeralOwner == session_id


def test_expire_is_a_loss_and_the_ephemerals_are_gone_on_return(outside: KazooClient, root: str, proxy: ProxyThread) -> None:
    with client_at(proxy.connect_string) as (client, states):
        client.create("/e", ephemeral=True)
        proxy.expire()
        assert outside.exists(f"{root}/e") is None
        assert states.until(KazooState.LOST) == [KazooState.SUSPENDED, KazooState.LOST]


def test_without_a_session_there_is_nothing_to_expire(proxy: ProxyThread) -> None:
    with pytest.raises(NoSessionError, match="it has seen 0 in all"):
        proxy.expire()


def test_refused_for_longer_than_its_time_out_a_session_is_lost(outside: KazooClient, root: str, proxy: ProxyThread) -> None:
    with client_at(proxy.connect_string, SHORT_TIMEOUT_S) as (client, states):
        client.create("/e", ephemeral=True)
        proxy.refuse()
        proxy.cut()
        until(lambda: outside.exists(f"{root}/e"), lambda seen: seen is None, "the session to expire")
        assert states.until(KazooState.SUSPENDED) == [KazooState.SUSPENDED]
        proxy.allow()
        assert states.until(KazooState.LOST) == [KazooState.SUSPENDED, KazooState.LOST]


def test_held_for_longer_than_its_time_out_a_session_is_lost(outside: KazooClient, root: str, proxy: ProxyThread) -> None:
    """Neither side is notified: the server, by its clock, and the client, by its own, find out separately."""
    with client_at(proxy.connect_string, SHORT_TIMEOUT_S) as (client, states):
        client.create("/e", ephemeral=True)
        proxy.hold()
        late = client.create_async("/late")
        until(lambda: outside.exists(f"{root}/e"), lambda seen: seen is None, "the session to expire")
        assert states.until(KazooState.SUSPENDED)
        proxy.release()
        states.until(KazooState.LOST)
        with pytest.raises(KazooException):
            late.get(timeout=BOUND_S)
        assert outside.exists(f"{root}/late") is None


# --- breakpoints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moment", "is_there"), [("before", False), ("after", True)])
def test_an_act_may_block_and_use_the_proxy_and_another_client(
    outside: KazooClient, root: str, proxy: ProxyThread, moment: Any, is_there: bool
) -> None:
    seen: list[bool] = []

    def act() -> None:
        seen.append(outside.exists(f"{root}/z") is not None)
        proxy.cut()

    proxy.break_at(Breakpoint(moment, lambda writes: writes[0].path == "/z", act))
    with client_at(proxy.connect_string) as (client, _):
        with pytest.raises(ConnectionLoss):
            client.create("/z")
        assert (client.retry(client.exists, "/z") is not None) is is_there
    assert seen == [is_there]


PROGRAM = """
import sys
from kazoo.client import KazooClient
client = KazooClient(sys.argv[1], timeout=20)
client.start()
client.create("/e", ephemeral=True)
writes = [client.create_async(f"/{n}") for n in range(1000)]
[write.get() for write in writes]
"""


def children_left_by_a_process_killed(moment: Any, outside: KazooClient, root: str, proxy: ProxyThread) -> set[str]:
    """Run a process until this moment of the write to /0, then SIGKILL it; return what is left after its session."""
    killed = threading.Event()
    with Popen([sys.executable, "-c", PROGRAM, proxy.connect_string]) as process:

        def kill() -> None:
            process.kill()
            process.wait(BOUND_S)
            killed.set()

        proxy.break_at(Breakpoint(moment, lambda writes: writes[0].path == "/0", kill))
        assert killed.wait(BOUND_S)
    assert process.returncode == -signal.SIGKILL
    proxy.expire()
    assert outside.exists(f"{root}/e") is None
    return set(outside.get_children(root))


def test_a_process_killed_before_a_write_has_done_neither_it_nor_what_it_had_sent_behind_it(
    outside: KazooClient, root: str, proxy: ProxyThread
) -> None:
    assert children_left_by_a_process_killed("before", outside, root, proxy) == set()


def test_a_process_killed_after_a_write_has_done_it(outside: KazooClient, root: str, proxy: ProxyThread) -> None:
    assert "0" in children_left_by_a_process_killed("after", outside, root, proxy)


# --- the thread --------------------------------------------------------------------------------------------------------


def proxy_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "kcsim-zookeeper-proxy"]


def test_stop_ends_its_thread_and_does_not_wait_for_an_act_that_never_returns(server: EmbeddedZooKeeper, root: str) -> None:
    hit, never = threading.Event(), threading.Event()

    def act() -> None:
        hit.set()
        never.wait()

    before = proxy_threads()
    with ProxyThread(server.connect_string + root) as proxy, client_at(proxy.connect_string) as (client, _):
        proxy.break_at(Breakpoint("before", lambda _: True, act))
        client.create_async("/a")
        assert hit.wait(BOUND_S)
        proxy.stop()
        assert proxy_threads() == before
    never.set()


@pytest.mark.parametrize("verb", [ProxyThread.cut, ProxyThread.refuse, ProxyThread.expire])
def test_a_verb_that_would_wait_for_itself_is_an_error(
    server: EmbeddedZooKeeper, root: str, verb: Callable[[ProxyThread], object]
) -> None:
    """Breakpoints are matched in the proxy's own thread."""
    proxy = ProxyThread(server.connect_string + root)
    proxy.start()
    proxy.break_at(Breakpoint("before", lambda _: bool(verb(proxy)), lambda: None))
    with client_at(proxy.connect_string) as (client, _), pytest.raises(ConnectionLoss):
        client.create("/a")
    with pytest.raises(ProxyError, match="cannot wait for itself"):
        proxy.stop()


def test_a_stopped_proxy_does_nothing(server: EmbeddedZooKeeper) -> None:
    proxy = ProxyThread(server.connect_string)
    proxy.stop()
    with pytest.raises(ProxyError, match="not running"):
        proxy.cut()
    with proxy:
        assert proxy.sessions == []
        with pytest.raises(ProxyError, match="runs already"):
            proxy.start()
    with pytest.raises(ProxyError, match="not running"):
        _ = proxy.connect_string
