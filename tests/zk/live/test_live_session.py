"""Features of the live adapter only: a connect string, threads, a ledger, and the xids that ZooKeeper's log will contain."""

import asyncio
import struct
import threading
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest

from kcsim.errors import Killed
from kcsim.eventlog.sink import Cause
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import SessionId, ZkVersion
from kcsim.zk.errors import BadArgumentsError, NoNodeError, ZooKeeperUnavailableError
from kcsim.zk.live import LiveZooKeeper, wire
from kcsim.zk.live import session as live_session
from kcsim.zk.operations import (
    Check,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    NodeFound,
    Notice,
    SessionState,
    SessionStateChanged,
    SetData,
    WatchEvent,
)
from kcsim.zk.ports import FaultableSession
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.zk.servers.free_ports import free_ports

pytestmark = pytest.mark.live

TIMEOUT_MS = 20_000
BOUND_MS = 60_000


class Ledger:
    def __init__(self) -> None:
        self.writes: list[tuple[SessionId, int, Cause]] = []
        self.faults: list[tuple[SessionId, int]] = []
        self.closes: list[tuple[SessionId, Cause]] = []
        self.opens: list[tuple[SessionId, Cause]] = []

    def record_open(self, session_id: SessionId, cause: Cause) -> None:
        self.opens.append((session_id, cause))

    def record_write(self, session_id: SessionId, xid: int, cause: Cause) -> None:
        self.writes.append((session_id, xid, cause))

    def record_session_fault(self, session_id: SessionId, cause: int) -> None:
        self.faults.append((session_id, cause))

    def record_close(self, session_id: SessionId, cause: Cause) -> None:
        self.closes.append((session_id, cause))


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return WallClockRuntime().run(main)


async def opened(zookeeper: LiveZooKeeper) -> tuple[FaultableSession, "asyncio.Queue[Notice]"]:
    heard: asyncio.Queue[Notice] = asyncio.Queue()
    return await zookeeper.open_session(TIMEOUT_MS, heard.put_nowait, BOUND_MS), heard


async def until(session: FaultableSession, heard: "asyncio.Queue[Notice]", state: SessionState) -> None:
    while session.state is not state:
        await asyncio.wait_for(heard.get(), BOUND_MS / 1000)


def connection_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if "zk_loop" in t.name]


def join_connection_threads() -> None:
    for thread in connection_threads():
        thread.join(BOUND_MS / 1000)
    assert connection_threads() == []


# --- opening -----------------------------------------------------------------------------------------------------------


def test_without_a_server_it_says_where_how_long_and_why() -> None:
    (port,) = free_ports(1)

    async def main() -> None:
        await LiveZooKeeper(f"127.0.0.1:{port}/chroot").open_session(TIMEOUT_MS, lambda _: None, 2_000)

    with pytest.raises(ZooKeeperUnavailableError, match=rf"127.0.0.1:{port}/chroot within 2000 ms.*refused"):
        run(main())
    join_connection_threads()


def test_a_host_name_that_means_nothing_is_named() -> None:
    async def main() -> None:
        await LiveZooKeeper("no-such-host.invalid:2181").open_session(TIMEOUT_MS, lambda _: None, 300)

    with pytest.raises(ZooKeeperUnavailableError, match=r"no-such-host.invalid"):
        run(main())


def test_a_server_that_never_answers_does_not_hold_it_up() -> None:
    """The server accepts the connection and does not answer, like a stopped process."""

    async def main() -> None:
        silent = await asyncio.start_server(lambda *_: None, "127.0.0.1")
        port = silent.sockets[0].getsockname()[1]
        try:
            await LiveZooKeeper(f"127.0.0.1:{port}").open_session(TIMEOUT_MS, lambda _: None, 200)
        finally:
            silent.close()

    with pytest.raises(ZooKeeperUnavailableError, match="200 ms"):
        run(main())
    join_connection_threads()


def test_a_client_killed_while_it_opens_a_session_leaves_none_behind() -> None:
    (port,) = free_ports(1)

    async def main() -> None:
        opening = asyncio.ensure_future(LiveZooKeeper(f"127.0.0.1:{port}").open_session(1_000, lambda _: None, BOUND_MS))
        await asyncio.sleep(0)  # its first step
        opening.cancel()
        with pytest.raises(Killed):
            await opening

    run(main())
    join_connection_threads()


def test_any_server_of_the_list_will_do(server: EmbeddedZooKeeper) -> None:
    (nobody,) = free_ports(1)

    async def main() -> list[Any]:
        zookeeper = LiveZooKeeper(f"127.0.0.1:{nobody},{server.connect_string}")
        sessions = [(await opened(zookeeper))[0] for _ in range(6)]
        for session in sessions:
            await session.close()
        return [session.state for session in sessions]

    assert run(main()) == [SessionState.CLOSED] * 6


@pytest.mark.parametrize("connect_string", ["127.0.0.1:port", ":2181", ""])
def test_a_connect_string_that_cannot_be_understood_is_refused_at_once(connect_string: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- the message is the parser's
        LiveZooKeeper(connect_string)


# --- the chroot --------------------------------------------------------------------------------------------------------


def test_paths_are_below_the_chroot_in_both_directions(server: EmbeddedZooKeeper) -> None:
    async def main() -> Any:
        outside, _ = await opened(LiveZooKeeper(server.connect_string))
        await outside.call([Create("/tree"), Create("/tree/chroot")])
        inside, heard = await opened(LiveZooKeeper(f"{server.connect_string}/tree/chroot"))
        (created,) = await inside.call([Create("/n-", sequential=True)])
        await inside.call([Exists("/", watch=True), GetChildren("/", watch=True)])
        multi, failed = await inside.call([Multi((Create("/m"), Check("/m", ZkVersion(0)))), Multi((Delete("/none"),))])
        await outside.call([SetData("/tree/chroot", b"x")])
        (children,) = await outside.call([GetChildren("/tree/chroot")])
        await inside.call([Exists("/")])
        events = [heard.get_nowait() for _ in range(heard.qsize())]
        await inside.close()
        await outside.close()
        return created, multi, failed, children, events

    created, multi, failed, children, events = run(main())
    assert created.path == "/n-0000000000"
    assert [result.path for result in multi.results] == ["/m", "/m"]
    assert failed.error == NoNodeError("/none")
    assert children.children == ("m", "n-0000000000")
    assert [event.path for event in events if hasattr(event, "path")] == ["/", "/"]


def test_watches_below_a_chroot_are_armed_again(server: EmbeddedZooKeeper) -> None:
    """SetWatches needs the full paths, including the chroot."""

    async def main() -> Any:
        outside, _ = await opened(LiveZooKeeper(server.connect_string))
        await outside.call([Create("/other"), Create("/other/a")])
        inside, heard = await opened(LiveZooKeeper(f"{server.connect_string}/other"))
        await inside.call([GetData("/a", watch=True)])
        await inside.cut()
        await until(inside, heard, SessionState.CONNECTED)
        await outside.call([SetData("/other/a", b"1")])
        await inside.call([Exists("/a")])
        events = [heard.get_nowait() for _ in range(heard.qsize())]
        await inside.close()
        await outside.close()
        return [event.path for event in events if hasattr(event, "path")]

    assert run(main()) == ["/a"]


def test_the_root_is_not_deleted(server: EmbeddedZooKeeper) -> None:
    async def main() -> Any:
        session, _ = await opened(LiveZooKeeper(server.connect_string))
        replies = await session.call([Delete("/")])
        await session.close()
        return replies

    assert run(main()) == [BadArgumentsError("/")]


# --- the ledger --------------------------------------------------------------------------------------------------------


def test_each_write_with_a_cause_is_recorded_and_no_read(server: EmbeddedZooKeeper) -> None:
    ledger = Ledger()

    async def main() -> SessionId:
        session, _ = await opened(LiveZooKeeper(server.connect_string, ledger))
        await session.call([Create("/l"), Exists("/l"), SetData("/l", b"x"), Multi((Delete("/l"),))], cause=7)
        await session.call([Create("/l"), Delete("/l")])
        await session.close(cause=8)
        return session.session_id

    session_id = run(main())
    assert ledger.writes == [(session_id, 1, 7), (session_id, 3, 7), (session_id, 4, 7)]
    assert ledger.closes == [(session_id, 8)]


def test_an_xid_is_never_used_twice_in_a_session(server: EmbeddedZooKeeper) -> None:
    """Otherwise a write after a reconnection would be confused with one before it."""
    ledger = Ledger()

    async def main() -> None:
        session, heard = await opened(LiveZooKeeper(server.connect_string, ledger))
        await session.call([Create("/x")], cause=1)
        await session.cut(cause=2)
        await until(session, heard, SessionState.CONNECTED)
        await session.call([Delete("/x")], cause=3)
        await session.close()

    run(main())
    assert [(xid, cause) for _, xid, cause in ledger.writes] == [(1, 1), (2, 3)]
    assert [cause for _, cause in ledger.faults] == [2]


def test_a_fault_of_the_servers_is_the_cause_of_what_its_sessions_go_through(server: EmbeddedZooKeeper) -> None:
    async def main() -> tuple[SessionState, int | None]:
        zookeeper = LiveZooKeeper(server.connect_string)
        session, heard = await opened(zookeeper)
        zookeeper.set_server_fault_cause(9)
        await session.cut()
        notice = await heard.get()
        await session.close()
        assert isinstance(notice, SessionStateChanged)
        return notice.state, notice.cause

    assert run(main()) == (SessionState.SUSPENDED, 9)


def test_a_client_that_opens_a_session_says_why(server: EmbeddedZooKeeper) -> None:
    """The log's reader finds the session before the call that opens it returns, and has to know whose session it is."""
    ledger = Ledger()

    async def main() -> SessionId:
        zookeeper = LiveZooKeeper(server.connect_string, ledger)
        session = await zookeeper.open_session(BOUND_MS, lambda _: None, BOUND_MS, cause=5)
        await session.close()
        return session.session_id

    session_id = run(main())
    assert ledger.opens == [(session_id, 5)]


# --- closing -----------------------------------------------------------------------------------------------------------


async def serve_one_session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, closed: list[int]) -> None:
    """Grant a session, answer its pings, and confirm its close; append to `closed` before that."""

    async def request() -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))

    def answer(body: bytes) -> None:
        writer.write(len(body).to_bytes(4) + body)

    await request()
    answer(struct.pack("!iiqi16sb", 0, TIMEOUT_MS, 1, 16, b"", 0))
    code = 0
    while code != wire.CLOSE_SESSION:
        xid, code = struct.unpack_from("!ii", await request())
        if code == wire.CLOSE_SESSION:
            closed.append(xid)
        answer(wire.REPLY_HEAD.pack(xid, 0, 0))
    writer.close()


def test_a_close_is_waited_for_as_long_as_the_session_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ephemeral znodes of a session that is not closed remain until it expires, however busy the machine is."""
    monkeypatch.setattr(live_session, "_CLOSE_BOUND_S", 0.0)
    closed: list[int] = []

    async def main() -> None:
        server = await asyncio.start_server(partial(serve_one_session, closed=closed), "127.0.0.1")
        session, _ = await opened(LiveZooKeeper(f"127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        await session.close()
        server.close()
        assert (len(closed), session.state) == (1, SessionState.CLOSED)

    run(main())
    join_connection_threads()


# --- threads -----------------------------------------------------------------------------------------------------------


def test_neither_close_nor_expiry_nor_abandonment_leaves_a_thread(server: EmbeddedZooKeeper) -> None:
    async def main() -> int:
        zookeeper = LiveZooKeeper(server.connect_string)
        (closed, _), (expired, heard), (abandoned, _), (frozen, _) = [await opened(zookeeper) for _ in range(4)]
        threads = len(connection_threads())
        await closed.close()
        await expired.expire()
        await until(expired, heard, SessionState.EXPIRED)
        abandoned.abandon()
        frozen.freeze()
        frozen.abandon()
        return threads

    assert run(main()) == 4
    join_connection_threads()


def test_a_session_forgotten_by_its_loop_dies_with_its_next_heartbeat(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        await LiveZooKeeper(server.connect_string).open_session(400, lambda _: None, BOUND_MS)

    run(main())
    join_connection_threads()


@pytest.mark.slow
def test_thousands_of_requests_in_one_call_are_answered_in_their_places(server: EmbeddedZooKeeper) -> None:
    async def main() -> Any:
        session, _ = await opened(LiveZooKeeper(server.connect_string))
        await session.call([Create("/many")])
        created = await session.call([Create(f"/many/{n}", str(n).encode()) for n in range(5_000)])
        read = await session.call([GetData(f"/many/{n}") for n in range(5_000)])
        await session.close()
        return created, read

    created, read = run(main())
    assert {type(reply) for reply in created} == {Created}
    assert [reply.data for reply in read] == [str(n).encode() for n in range(5_000)]


def test_a_batch_that_is_larger_than_what_is_sent_at_once_is_answered_whole(server: EmbeddedZooKeeper) -> None:
    async def main() -> Any:
        session, _ = await opened(LiveZooKeeper(server.connect_string))
        replies = await session.call([Create(f"/large-{n}", bytes(200_000)) for n in range(5)])
        await session.close()
        return replies

    assert [reply.path for reply in run(main())] == [f"/large-{n}" for n in range(5)]


@pytest.mark.slow
def test_an_idle_session_keeps_its_connection_by_its_heartbeats(server: EmbeddedZooKeeper) -> None:
    """It is idle until another session, with a time-out as long, has ended without a heartbeat."""

    async def main() -> list[Notice]:
        zookeeper = LiveZooKeeper(server.connect_string)
        silent, _ = await opened(zookeeper)
        await silent.call([Create("/silent", ephemeral=True)])
        heard: asyncio.Queue[Notice] = asyncio.Queue()
        idle = await zookeeper.open_session(10_000, heard.put_nowait, BOUND_MS)
        await idle.call([Exists("/silent", watch=True)])
        silent.abandon()
        notices = [await asyncio.wait_for(heard.get(), BOUND_MS / 1000)]
        await idle.close()
        return notices

    assert [type(notice) for notice in run(main())] == [WatchEvent]


def test_a_listener_s_defect_does_not_keep_back_what_follows(server: EmbeddedZooKeeper) -> None:
    async def main() -> Any:
        errors: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))

        def listener(notice: Notice) -> None:
            raise ValueError(f"cannot take {notice}")

        session = await LiveZooKeeper(server.connect_string).open_session(TIMEOUT_MS, listener, BOUND_MS)
        replies = await session.call([Exists("/defect", watch=True), Create("/defect"), Exists("/defect")])
        await session.close()
        return replies, errors

    replies, errors = run(main())
    assert isinstance(replies[2], NodeFound)
    assert [type(error) for error in errors] == [ValueError, ValueError]
