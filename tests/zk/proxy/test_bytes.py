"""Every byte arrives, once, in order, whatever it means and however slow an end is; ends arrive after all bytes."""

import asyncio
from random import Random

import pytest

from kcsim.zk.operations import Create, GetData, SetData
from kcsim.zk.proxy import Breakpoint, ProxiedWrite, ZooKeeperProxy, connection
from kcsim.zk.proxy.peer import Peer
from kcsim.zk.servers.free_ports import free_ports
from tests.zk.proxy.peers import (
    BOUND_S,
    HELLO,
    FakeServer,
    answer,
    between,
    connect,
    connect_through,
    request,
    run,
    session_through,
)

MEGABYTE = 1024 * 1024


# --- all bytes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_what_is_no_zookeeper_protocol_passes_both_ways(seed: int) -> None:
    random = Random(seed)
    there, back = random.randbytes(300_000), random.randbytes(300_000)

    async def main() -> tuple[bytes, bytes]:
        async with between() as (proxy, server):
            client, serving = await connect_through(proxy, server)
            sent = asyncio.gather(client.send(there), serving.send(back))
            received = await serving.receive(len(there)), await client.receive(len(back))
            await sent
            return received

    assert run(main()) == (there, back)


def test_a_word_of_four_letters_is_not_waited_on() -> None:
    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await connect_through(proxy, server)
            await client.send(b"ruok")
            assert await serving.receive(4) == b"ruok"
            await serving.send(b"imok")
            serving.close()
            return await client.receive_all()

    assert run(main()) == b"imok"


def test_an_answer_to_what_is_no_protocol_is_not_taken_for_a_frame() -> None:
    """Its first bytes announce 48 more, which never come."""

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await connect_through(proxy, server)
            await client.send(b"mntr")
            assert await serving.receive(4) == b"mntr"
            await serving.send(b"\0\0\0\x30ab")
            assert await client.receive(6) == b"\0\0\0\x30ab"

    run(main())


@pytest.mark.parametrize("is_watched", [False, True])
def test_a_request_of_megabytes_passes_whether_or_not_somebody_looks_at_it(is_watched: bool) -> None:
    """The request is longer than ZooKeeper accepts by default; one longer than the proxy reads (16 MB) passes unread."""
    seen: list[int] = []

    def look(writes: list[ProxiedWrite]) -> bool:
        seen.append(len(writes[0].data or b""))
        return False

    async def main() -> None:
        async with between() as (proxy, server):
            if is_watched:
                proxy.break_at(Breakpoint("before", look, lambda: None))  # type: ignore[arg-type]
            client, serving = await session_through(proxy, server)
            for size in (3 * MEGABYTE, 17 * MEGABYTE):
                frame = request(1, SetData("/a", bytes(size)))
                sending = asyncio.ensure_future(client.send(frame))
                assert await serving.receive(len(frame)) == frame
                await sending

    run(main())
    assert seen == ([3 * MEGABYTE] if is_watched else [])


def test_an_answer_of_megabytes_passes() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            frame = answer(1, bytes(range(256)) * 4 * 3 * 1024)
            sending = asyncio.ensure_future(serving.send(frame))
            assert await client.receive(len(frame)) == frame
            await sending

    run(main())


def test_a_frame_cut_into_single_bytes_arrives() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            proxy.break_at(Breakpoint("before", lambda _: False, lambda: None))
            client, serving = await connect_through(proxy, server)
            stream = HELLO + request(1, Create("/a", b"x")) + request(2, GetData("/a"))
            for at in range(len(stream)):
                await client.send(stream[at : at + 1])
            assert await serving.receive(len(stream)) == stream

    run(main())


# --- back-pressure -----------------------------------------------------------------------------------------------------


def test_who_reads_slowly_slows_the_sender_and_loses_nothing() -> None:
    """Data in transit is then in the system's socket buffers, not in our memory."""
    offered = 96 * MEGABYTE
    block = bytes(range(256)) * 1024

    async def main() -> tuple[int, int]:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            sent = 0

            async def offer() -> None:
                nonlocal sent
                while sent < offered:
                    serving.writer.write(block)
                    sent += len(block)
                    await serving.writer.drain()
                serving.close()

            offering = asyncio.ensure_future(offer())
            stalled_at = -1
            while stalled_at != sent:  # nothing more is accepted for a while
                stalled_at = sent
                await asyncio.wait({offering}, timeout=0.2)
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            received = 0
            while data := await asyncio.wait_for(client.reader.read(MEGABYTE), BOUND_S):
                assert data == (block * (2 + len(data) // len(block)))[received % 256 : received % 256 + len(data)]
                received += len(data)
            await offering
            return stalled_at, received

    stalled_at, received = run(main())
    assert stalled_at < offered // 2
    assert received == offered


# --- ends --------------------------------------------------------------------------------------------------------------


def test_the_server_s_end_comes_after_all_that_it_sent_to_a_slow_client_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here nearly all data is in the proxy when the server ends, and the client takes longer than the linger time."""

    async def send_without_waiting(to: Peer, data: bytes) -> None:
        to.writer.write(data)

    monkeypatch.setattr(connection, "_LINGER_S", 0.01)
    monkeypatch.setattr(Peer, "send", send_without_waiting)
    data = bytes(range(256)) * 40_000

    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            serving.writer.write(data)
            serving.close()
            return await client.receive_all(pause_s=0.002)

    assert run(main()) == data


@pytest.mark.parametrize("is_watched", [False, True])
def test_the_client_s_end_comes_after_all_that_it_sent_half_a_request_included(is_watched: bool) -> None:
    data = HELLO + request(1, Create("/a", b"x" * MEGABYTE)) + request(2, Create("/b"))[:-3]

    async def main() -> bytes:
        async with between() as (proxy, server):
            if is_watched:
                proxy.break_at(Breakpoint("before", lambda _: False, lambda: None))
            client, serving = await connect_through(proxy, server)
            sending = asyncio.ensure_future(client.send(data))
            received = await serving.receive(100)
            await sending
            client.close()
            return received + await serving.receive_all()

    assert run(main()) == data


def test_a_client_that_has_sent_everything_can_still_be_answered() -> None:
    """`echo ruok | nc` is such a client."""

    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await connect_through(proxy, server)
            client.writer.write(b"ruok")
            client.writer.write_eof()
            assert await serving.receive_all() == b"ruok"
            await serving.send(b"imok")
            serving.close()
            return await client.receive_all()

    assert run(main()) == b"imok"


# --- servers -----------------------------------------------------------------------------------------------------------


def test_where_no_server_is_the_client_is_turned_away() -> None:
    async def main() -> bytes:
        async with ZooKeeperProxy(f"127.0.0.1:{free_ports(1)[0]}") as proxy:
            client = await connect(proxy)
            return await client.receive_all()

    assert run(main()) == b""


def test_each_connection_goes_to_the_next_member_that_takes_it() -> None:
    (nobody,) = free_ports(1)

    async def main() -> None:
        async with FakeServer().running() as first, FakeServer().running() as second:
            where = f"127.0.0.1:{first.port},127.0.0.1:{nobody},127.0.0.1:{second.port}"
            async with ZooKeeperProxy(where) as proxy:
                for server in (first, second, first):
                    client, serving = await connect_through(proxy, server)
                    await client.send(b"ruok")
                    assert await serving.receive(4) == b"ruok"

    run(main())
