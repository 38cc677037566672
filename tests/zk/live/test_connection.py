"""The connection thread by itself: killed before it begins, after its end, frozen, and with a server of an old version."""

import asyncio
import queue
import socket
import threading
from struct import pack
from typing import Any

import pytest

from kcsim.errors import TimedOutError
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import SessionId, Zxid
from kcsim.zk.errors import NoNodeError
from kcsim.zk.live import LiveZooKeeper, freezable_handler, wire
from kcsim.zk.live.connect_settings import ConnectSettings
from kcsim.zk.live.connection import CallBatch, LiveConnection
from kcsim.zk.live.freezable_handler import FreezableHandler
from kcsim.zk.operations import Exists, Notice, WatchEvent, WatchKind
from kcsim.zk.security import ClientSecurity
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.zk.proxy.peers import WELCOME

TIMEOUT_MS = 20_000
BOUND_MS = 60_000
CONNECTED = 3  # ZooKeeper's number of that state


class Listener:
    """Keeps the names of what it hears."""

    def __init__(self) -> None:
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()

    def next(self) -> str:
        return self._heard.get(timeout=BOUND_MS / 1000)

    def on_connected(self, session_id: SessionId, password: bytes, timeout_ms: int) -> None:
        self._heard.put("connected")

    def on_suspended(self) -> None:
        self._heard.put("suspended")

    def on_expired(self) -> None:
        self._heard.put("expired")

    def on_watch(self, event: WatchEvent) -> None:
        self._heard.put("watch")

    def on_answered(self, batch: CallBatch) -> None:
        self._heard.put("answered")

    def on_ended(self, error: Exception | None) -> None:
        self._heard.put("ended" if error is None else repr(error))

    def is_listening(self) -> bool:
        return True


def connection_to(connect_string: str, listener: Listener) -> LiveConnection:
    settings = ConnectSettings(connect_string, ClientSecurity(), accepts_read_only=False)
    return LiveConnection(settings, TIMEOUT_MS, BOUND_MS, listener, None, None)


def test_a_thread_that_is_killed_before_it_begins_connects_to_nobody() -> None:
    """The process that is killed at this moment is a client of which its server never hears."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        listener = Listener()
        connection = connection_to(f"127.0.0.1:{server.getsockname()[1]}", listener)
        connection.kill()
        connection.open()
        assert listener.next() == "ended"
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.live
def test_a_thread_that_has_ended_takes_no_requests(server: EmbeddedZooKeeper) -> None:
    """Otherwise their callers would wait without end."""
    listener = Listener()
    connection = connection_to(server.connect_string, listener)
    connection.open()
    assert listener.next() == "connected"
    connection.kill()
    while listener.next() != "ended":
        pass
    assert not connection.submit(CallBatch([Exists("/")], None, lambda replies: None))


def test_a_freeze_is_over_only_when_the_thread_has_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezable_handler, "_FREEZE_BOUND_S", 0.01)
    handler = FreezableHandler(lambda: True, connect_timeout_s=1.0)
    handler.enter()
    with pytest.raises(TimedOutError, match="did not come to rest"):
        handler.freeze()
    handler.leave()
    handler.freeze()


@pytest.mark.live
def test_any_number_of_calls_can_be_made_on_a_frozen_client(server: EmbeddedZooKeeper) -> None:
    """They wait in the client; the loop that makes them does not."""

    async def main() -> None:
        session = await LiveZooKeeper(server.connect_string).open_session(TIMEOUT_MS, lambda _: None, BOUND_MS)
        session.freeze()
        calls = [asyncio.ensure_future(session.call([Exists("/")])) for _ in range(3_000)]
        await asyncio.sleep(0)  # the first step of each
        session.thaw()
        answered.append(len(await asyncio.gather(*calls)))
        await session.close()

    answered: list[int] = []
    thread = threading.Thread(target=lambda: WallClockRuntime().run(main()), daemon=True)
    thread.start()
    thread.join(BOUND_MS / 1000)
    assert answered == [3_000]


def test_a_watch_event_that_names_no_transaction_has_zxid_0() -> None:
    """Up to ZooKeeper 3.8 the reply header of an event carries -1."""

    async def old_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(WELCOME)
        await receive(reader)
        for reply in (
            wire.REPLY_HEAD.pack(1, 5, NoNodeError.code),
            wire.REPLY_HEAD.pack(wire.WATCH_EVENT_XID, -1, 0)
            + pack("!iii", WatchKind.NODE_CREATED.value, CONNECTED, 2)
            + b"/a",
        ):
            writer.write(wire.INT.pack(len(reply)) + reply)

    async def receive(reader: asyncio.StreamReader) -> None:
        (length,) = wire.INT.unpack(await reader.readexactly(4))
        await reader.readexactly(length)

    async def main() -> Any:
        server = await asyncio.start_server(old_server, "127.0.0.1")
        heard: asyncio.Queue[Notice] = asyncio.Queue()
        zookeeper = LiveZooKeeper(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        session = await zookeeper.open_session(TIMEOUT_MS, heard.put_nowait, BOUND_MS)
        await session.call([Exists("/a", watch=True)])
        notice = await asyncio.wait_for(heard.get(), BOUND_MS / 1000)
        session.abandon()
        server.close()
        return notice

    assert WallClockRuntime().run(main()) == WatchEvent(WatchKind.NODE_CREATED, "/a", Zxid(0))
