"""Effects of a proxy's faults on the bytes of both sides, and its start and stop."""

import asyncio

import pytest

from kcsim.vocabulary import SessionId
from kcsim.zk.live import wire
from kcsim.zk.operations import Create
from kcsim.zk.proxy import Breakpoint, ProxyError, ProxyNotRunningError, ZooKeeperProxy
from kcsim.zk.servers.errors import BadConnectStringError
from tests.zk.proxy.peers import (
    GONE,
    HELLO,
    WELCOME,
    End,
    FakeServer,
    answer,
    between,
    connect,
    connect_through,
    request,
    run,
    session_through,
    until,
)

# --- faults ----------------------------------------------------------------------------------------------------------


def test_cut_breaks_both_sides_and_says_how_many() -> None:
    async def main() -> tuple[int, int, bytes, bytes]:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            other, other_serving = await connect_through(proxy, server)
            count, again = await proxy.cut(), await proxy.cut()
            assert [await end.receive_all() for end in (other, other_serving)] == [b"", b""]
            return count, again, await client.receive_all(), await serving.receive_all()

    assert run(main()) == (2, 0, b"", b"")


def test_refused_is_who_comes_anew_and_not_who_is_there() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.refuse()
            assert await (await connect(proxy)).receive_all() == b""
            await client.send(request(1, Create("/a")))
            assert await serving.receive(4) == request(1, Create("/a"))[:4]
            proxy.allow()
            await session_through(proxy, server)

    run(main())


@pytest.mark.parametrize("last_words", [b"", answer(1)], ids=["silent", "with last words"])
@pytest.mark.parametrize("who", ["client", "server"])
def test_an_end_is_held_too_and_comes_behind_what_was_sent_before(who: str, last_words: bytes) -> None:
    """To the other side, it has only fallen silent."""

    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            ending, listening = (client, serving) if who == "client" else (serving, client)
            proxy.hold()
            ending.writer.write(last_words)
            ending.close()
            arrival = asyncio.ensure_future(listening.receive_all())
            arrived, _ = await asyncio.wait({arrival}, timeout=0.1)
            assert not arrived
            assert [session.is_connected for session in proxy.sessions] == [True]
            proxy.release()
            return await arrival

    assert run(main()) == last_words


def test_what_the_client_sent_while_held_is_delivered_in_order() -> None:
    frames = [request(xid, Create(f"/{xid}", b"x" * 50_000)) for xid in range(1, 20)]

    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.hold()
            sending = asyncio.ensure_future(client.send(b"".join(frames)))
            receiving = asyncio.ensure_future(serving.receive(1))
            arrived, _ = await asyncio.wait({receiving}, timeout=0.1)
            assert not arrived
            proxy.release()
            received = await receiving + await serving.receive(len(b"".join(frames)) - 1)
            await sending
            return received

    assert run(main()) == b"".join(frames)


def test_a_new_connection_is_taken_while_held_and_nothing_comes_of_it() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            proxy.hold()
            client, serving = await connect_through(proxy, server)
            await client.send(HELLO)
            receiving = asyncio.ensure_future(serving.receive(len(HELLO)))
            arrived, _ = await asyncio.wait({receiving}, timeout=0.1)
            assert not arrived
            proxy.release()
            assert await receiving == HELLO

    run(main())


COME_BACK = wire.encode_connect(SessionId(7), bytes(range(16)), 4_000)


async def take_over(server: FakeServer, taken: End) -> End:
    """Act as the server during a session's expiry, up to the confirming answer; return the connection waiting for it."""
    assert await taken.receive(len(COME_BACK)) == COME_BACK
    await taken.send(WELCOME)
    assert await taken.receive(12) == wire.frame(1, wire.CLOSE_SESSION, b"")
    await taken.send(answer(1))
    confirming = await server.connection()
    assert await confirming.receive(len(COME_BACK)) == COME_BACK
    return confirming


def test_while_a_session_is_expired_its_client_is_kept_from_taking_it_up() -> None:
    """Otherwise client and proxy would compete for the session.

    The client's connection ends first; it reconnects, and waits for the confirmation.
    """

    async def main() -> None:
        async with between() as (proxy, server):
            _, serving = await session_through(proxy, server)
            expiring = asyncio.ensure_future(proxy.expire())
            assert await serving.receive_all() == b""
            taken = await server.connection()
            client, waiting = await connect_through(proxy, server)
            await client.send(COME_BACK)
            arrival = asyncio.ensure_future(waiting.receive(len(COME_BACK)))
            confirming = await take_over(server, taken)
            assert not arrival.done()
            assert not expiring.done()
            await confirming.send(GONE)
            await expiring
            assert await arrival == COME_BACK

    run(main())


def test_a_client_kept_back_by_an_expiry_and_held_meanwhile_is_held_after_it() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            await session_through(proxy, server)
            expiring = asyncio.ensure_future(proxy.expire())
            taken = await server.connection()
            client, waiting = await connect_through(proxy, server)
            await client.send(COME_BACK)
            arrival = asyncio.ensure_future(waiting.receive(len(COME_BACK)))
            confirming = await take_over(server, taken)
            proxy.hold()
            await confirming.send(GONE)
            await expiring
            arrived, _ = await asyncio.wait({arrival}, timeout=0.1)
            assert not arrived
            proxy.release()
            assert await arrival == COME_BACK

    run(main())


# --- start and stop ----------------------------------------------------------------------------------------------------


def test_stop_breaks_what_is_open_even_in_the_middle_of_an_act() -> None:
    async def main() -> tuple[bytes, bytes]:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            hit = asyncio.Event()

            async def act() -> None:
                hit.set()
                await asyncio.Event().wait()

            proxy.break_at(Breakpoint("before", lambda _: True, act))
            await client.send(request(1, Create("/a")))
            await until(hit)
            await proxy.stop()
            return await client.receive_all(), await serving.receive_all()

    assert run(main()) == (b"", b"")


def test_an_act_may_stop_the_proxy() -> None:
    async def main() -> tuple[bytes, bytes]:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.break_at(Breakpoint("before", lambda _: True, proxy.stop))
            await client.send(request(1, Create("/a")))
            return await client.receive_all(), await serving.receive_all()

    assert run(main()) == (b"", b"")


def test_a_stopped_proxy_has_no_address_and_one_that_runs_is_not_started_again() -> None:
    async def main() -> None:
        proxy = ZooKeeperProxy("127.0.0.1:2181/a/b")
        with pytest.raises(ProxyNotRunningError):
            _ = proxy.port
        await proxy.start()
        assert proxy.connect_string == f"127.0.0.1:{proxy.port}/a/b"
        with pytest.raises(ProxyError, match=f"runs already, at {proxy.connect_string}"):
            await proxy.start()
        await proxy.stop()
        await proxy.stop()
        with pytest.raises(ProxyNotRunningError):
            _ = proxy.connect_string

    run(main())


def test_a_connect_string_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(BadConnectStringError):
        ZooKeeperProxy("127.0.0.1:port")


def test_the_sessions_are_known_when_their_clients_know_them() -> None:
    async def main() -> None:
        async with between() as (proxy, server):
            client, _ = await session_through(proxy, server)
            (session,) = proxy.sessions
            assert (session.session_id, session.password, session.timeout_ms) == (7, WELCOME[24:40], 4_000)
            assert (session.is_connected, session.has_ended) == (True, False)
            await proxy.cut()
            assert [s.is_connected for s in proxy.sessions] == [False]
            assert await client.receive_all() == b""

    run(main())


def test_stopping_while_a_client_is_just_connecting_does_not_hang() -> None:
    """A cancellation that arrives in the same step as the server's connection must not be lost."""

    async def main() -> None:
        for turns in range(60):
            async with between() as (proxy, _):
                client = asyncio.ensure_future(connect(proxy))
                for _ in range(turns % 12):
                    await asyncio.sleep(0)
                await proxy.stop()
                client.cancel()
                await asyncio.gather(client, return_exceptions=True)

    run(main())
