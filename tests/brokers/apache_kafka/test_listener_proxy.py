"""The proxy in front of a broker's listener: who has opened a connection, and what passes."""

import asyncio
import struct
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kcsim.brokers.apache_kafka.listener_proxy import UNKNOWN, ArrivalTimes, LinkState, ListenerProxy, source_of
from kcsim.zk.servers.free_ports import free_ports

Links = dict[tuple[str, str], LinkState]
PATIENCE_S = 60.0


def request(client_id: str | None, body: bytes = b"") -> bytes:
    """Return a request without its length: API key, version, correlation id, client id and the rest."""
    written = b"" if client_id is None else client_id.encode()
    return struct.pack(">hhih", 18, 0, 1, -1 if client_id is None else len(written)) + written + body


@pytest.mark.parametrize(
    ("client_id", "node"),
    [
        ("1", "broker-1"),
        ("broker-12-fetcher-0", "broker-12"),
        ("producer-clerk", "producer-clerk"),
        ("broker-1", "broker-1"),
        (None, UNKNOWN),
    ],
)
def test_the_client_id_of_the_first_request_names_the_node(client_id: str | None, node: str) -> None:
    assert source_of(request(client_id)) == node


@pytest.mark.parametrize("broken", [b"", b"\x00\x12\x00\x00"])
def test_a_request_that_ends_before_its_client_id_is_of_nobody(broken: bytes) -> None:
    assert source_of(broken) == UNKNOWN


# --- what passes -----------------------------------------------------------------------------------------------------------


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1024):
        writer.write(data)
    writer.close()


class SetLinks:
    """Links whose states, delays and rates a test sets."""

    def __init__(self, states: Links, delays_ms: Iterable[int] = (), rates: Iterable[int | None] = ()) -> None:
        self._states = states
        self._delays_ms = iter(delays_ms)
        self._rates = iter(rates)

    def state(self, source: str, target: str) -> LinkState:
        return self._states.get((source, target), LinkState.PASSES)

    def delay_ms(self, source: str, _target: str) -> int:
        """Return the next delay of what broker-1 sends; nothing else is late."""
        return next(self._delays_ms, 0) if source == "broker-1" else 0

    def bytes_per_s(self, source: str, _target: str) -> int | None:
        """Return the next rate for what broker-1 sends; nothing else has one."""
        return next(self._rates, None) if source == "broker-1" else None


@asynccontextmanager
async def proxy_of_echo(
    links: Links, delays_ms: Iterable[int] = (), rates: Iterable[int | None] = ()
) -> AsyncIterator[ListenerProxy]:
    (port,) = free_ports(1)
    server = await asyncio.start_server(echo, "127.0.0.1", port)
    proxy = ListenerProxy("broker-2", port, SetLinks(links, delays_ms, rates))
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
        server.close()


@asynccontextmanager
async def client_of(proxy: ListenerProxy, client_id: str) -> AsyncIterator["Client"]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Client(reader, writer, client_id)
    finally:
        writer.close()


class Client:
    """A client that sends requests and reads them back."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str) -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id

    def send(self, body: bytes) -> bytes:
        sent = request(self._client_id, body)
        framed = struct.pack(">i", len(sent)) + sent
        self._writer.write(framed)
        return framed

    async def received(self, count: int) -> bytes:
        return await asyncio.wait_for(self._reader.readexactly(count), PATIENCE_S)

    @property
    def has_received_nothing(self) -> bool:
        return not self._reader._buffer  # type: ignore[attr-defined]

    async def ended(self) -> bool:
        try:
            return await asyncio.wait_for(self._reader.read(1), PATIENCE_S) == b""
        except ConnectionResetError:
            return True


def run(script: Coroutine[Any, Any, None]) -> None:
    asyncio.run(script)


def test_everything_passes_over_links_without_faults() -> None:
    async def script() -> None:
        async with proxy_of_echo({}) as proxy, client_of(proxy, "1") as client:
            for body in (b"one", b"two"):
                sent = client.send(body)
                assert await client.received(len(sent)) == sent
            assert proxy.sources == ["broker-1"]

    run(script())


@pytest.mark.parametrize("cut", [("broker-1", "broker-2"), ("broker-2", "broker-1")])
def test_a_cut_link_holds_back_what_is_sent_until_it_is_healed_and_no_other_connection(cut: tuple[str, str]) -> None:
    """Another node's answer arrives meanwhile: what was sent before it, over the cut link, has not arrived by then."""
    links: Links = {}

    async def script() -> None:
        async with proxy_of_echo(links) as proxy, client_of(proxy, "1") as cut_off, client_of(proxy, "3") as other:
            first = cut_off.send(b"before")
            assert await cut_off.received(len(first)) == first
            links[cut] = LinkState.HOLDS
            proxy.notice_change()
            held = cut_off.send(b"held")
            answer = asyncio.ensure_future(cut_off.received(len(held)))
            sent = other.send(b"other")
            assert await other.received(len(sent)) == sent
            assert not answer.done()
            links.clear()
            proxy.notice_change()
            assert await answer == held

    run(script())


def test_a_link_that_refuses_breaks_its_connections_and_opens_none() -> None:
    links: Links = {}

    async def script() -> None:
        async with proxy_of_echo(links) as proxy, client_of(proxy, "1") as open_before:
            sent = open_before.send(b"before")
            assert await open_before.received(len(sent)) == sent
            links["broker-1", "broker-2"] = LinkState.REFUSES
            proxy.notice_change()
            assert await open_before.ended()
            async with client_of(proxy, "1") as opened_after:
                opened_after.send(b"after")
                assert await opened_after.ended()

    run(script())


def test_what_is_delayed_arrives_after_what_was_sent_before_it() -> None:
    """A stream stays in order, however much less the later part is delayed."""

    async def script() -> None:
        async with proxy_of_echo({}, [0, 100, 0]) as proxy, client_of(proxy, "1") as client:
            sent = b""
            for body in (b"first", b"late", b"last"):
                sent += client.send(body)
                await asyncio.sleep(0)
            assert await client.received(len(sent)) == sent

    run(script())


def test_a_slow_link_delays_no_other() -> None:
    hour_ms = 3_600_000

    async def script() -> None:
        async with proxy_of_echo({}, [0, hour_ms]) as proxy, client_of(proxy, "1") as slow, client_of(proxy, "3") as other:
            first = slow.send(b"first")
            assert await slow.received(len(first)) == first
            slow.send(b"late")
            sent = other.send(b"of another node")
            assert await other.received(len(sent)) == sent
            assert slow.has_received_nothing

    run(script())


def test_a_part_arrives_when_all_bytes_up_to_its_last_have_left() -> None:
    """100 bytes a second: what is sent meanwhile waits, and an idle link saves nothing up."""
    times = ArrivalTimes(SetLinks({}, rates=[100, 100, 100, None]), "broker-1", "broker-2")
    assert [times.arrives_s(0.0, 50), times.arrives_s(0.0, 100)] == [0.5, 1.5]
    assert times.arrives_s(10.0, 50) == 10.5
    assert times.arrives_s(10.1, 50) == 10.5  # the rate is gone, the order is not


def test_a_delay_comes_after_the_time_that_the_bytes_take() -> None:
    times = ArrivalTimes(SetLinks({}, delays_ms=[200, 0], rates=[100, 100]), "broker-1", "broker-2")
    assert [times.arrives_s(0.0, 50), times.arrives_s(0.0, 5)] == [0.7, 0.7]


def test_a_link_with_a_rate_slows_down_no_other_connection() -> None:
    async def script() -> None:
        async with (
            proxy_of_echo({}, rates=[None, 1]) as proxy,
            client_of(proxy, "1") as slow,
            client_of(proxy, "3") as other,
        ):
            first = slow.send(b"first")
            assert await slow.received(len(first)) == first
            slow.send(bytes(3_600))  # takes an hour
            sent = other.send(b"of another node")
            assert await other.received(len(sent)) == sent
            assert slow.has_received_nothing

    run(script())


def test_a_broker_that_does_not_run_ends_the_connection() -> None:
    async def script() -> None:
        proxy = ListenerProxy("broker-2", free_ports(1)[0], SetLinks({}))
        await proxy.start()
        try:
            async with client_of(proxy, "1") as client:
                client.send(b"")
                assert await client.ended()
        finally:
            await proxy.stop()

    run(script())
