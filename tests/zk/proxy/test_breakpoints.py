"""The position of a breakpoint in the bytes of both sides, and the fate of the bytes after it."""

import asyncio

import pytest

from kcsim.zk.live import wire
from kcsim.zk.operations import Create, GetData, SetData
from kcsim.zk.proxy import Breakpoint, ProxiedWrite
from tests.zk.proxy.peers import (
    answer,
    between,
    request,
    run,
    session_through,
    until,
)


def test_before_a_write_what_came_ahead_of_it_has_been_sent_and_no_more() -> None:
    read, write = request(1, GetData("/a")), request(2, Create("/c/a"))

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            hit, go_on = asyncio.Event(), asyncio.Event()

            async def act() -> None:
                hit.set()
                await go_on.wait()

            proxy.break_at(Breakpoint("before", lambda writes: writes[0].path == "/a", act))
            await client.send(read + write + read)
            await until(hit)
            assert await serving.receive(len(read)) == read
            receiving = asyncio.ensure_future(serving.receive(len(write + read)))
            await serving.send(answer(1))
            assert await client.receive(len(answer(1))) == answer(1)  # the other direction continues
            assert not receiving.done()
            go_on.set()
            assert await receiving == write + read

    run(main())


def test_after_a_write_its_answer_waits_and_requests_go_on() -> None:
    write, read = request(5, Create("/c/a")), request(6, GetData("/c/a"))

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            hit, go_on = asyncio.Event(), asyncio.Event()

            async def act() -> None:
                hit.set()
                await go_on.wait()

            proxy.break_at(Breakpoint("after", lambda writes: writes == (ProxiedWrite("create", "/a"),), act))
            await client.send(write)
            assert await serving.receive(len(write)) == write
            assert not hit.is_set()
            await serving.send(answer(-1) + answer(5) + answer(6))
            await until(hit)
            assert await client.receive(len(answer(-1))) == answer(-1)
            receiving = asyncio.ensure_future(client.receive(2 * len(answer(5))))
            await client.send(read)
            assert await serving.receive(len(read)) == read
            assert not receiving.done()
            go_on.set()
            assert await receiving == answer(5) + answer(6)

    run(main())


@pytest.mark.parametrize("behind", [b"", request(8, Create("/behind", bytes(150_000)))], ids=["alone", "with more behind"])
def test_who_is_killed_before_a_write_has_not_sent_it(behind: bytes) -> None:
    """The act ends the client's process: what the proxy holds was never sent, nor what is in the system's buffers after it.

    More data than the buffers of both sockets take would keep the end of the connection from arriving.
    """
    write = request(7, Create("/c/a"))

    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.break_at(Breakpoint("before", lambda _: True, client.die))
            client.writer.write(write + behind)
            return await serving.receive_all()

    assert run(main()) == b""


def test_who_is_held_by_a_breakpoint_and_then_killed_has_not_sent_the_write() -> None:
    async def main() -> bytes:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            hit = asyncio.Event()

            def pause() -> None:
                proxy.hold()
                hit.set()

            proxy.break_at(Breakpoint("before", lambda _: True, pause))
            await client.send(request(1, Create("/c/a")))
            await until(hit)
            await client.die()
            proxy.release()
            return await serving.receive_all()

    assert run(main()) == b""


def test_several_trigger_at_one_write_in_the_order_they_were_set_and_once() -> None:
    hits: list[str] = []

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.break_at(Breakpoint("before", lambda _: True, lambda: hits.append("first")))
            proxy.break_at(Breakpoint("before", lambda _: False, lambda: hits.append("never")))
            proxy.break_at(Breakpoint("before", lambda _: True, lambda: hits.append("second")))
            for xid in (1, 2):
                await client.send(request(xid, Create("/c/a")))
                assert await serving.receive(len(request(xid, Create("/c/a")))) == request(xid, Create("/c/a"))

    run(main())
    assert hits == ["first", "second"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_each_request_that_writes_is_shown_once_for_its_moment_and_no_other(moment: str) -> None:
    """A breakpoint can therefore count requests."""
    shown: list[str] = []

    def look(writes: list[ProxiedWrite]) -> bool:
        shown.append(writes[0].path)
        return False

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.break_at(Breakpoint(moment, look, lambda: None))  # type: ignore[arg-type]
            stream = request(1, Create("/1")) + request(2, GetData("/2")) + request(3, SetData("/3", b""))
            await client.send(stream)
            assert await serving.receive(len(stream)) == stream
            answers = answer(1) + answer(2) + answer(3)
            await serving.send(answers)
            assert await client.receive(len(answers)) == answers

    run(main())
    assert shown == ["/1", "/3"]


def test_the_end_of_a_session_waits_for_the_act_before_it() -> None:
    """It runs each time, and requests before the last one have been sent."""
    read, closing = request(1, GetData("/a")), wire.frame(2, wire.CLOSE_SESSION, b"")

    async def main() -> None:
        async with between() as (proxy, server):
            hit, go_on = asyncio.Event(), asyncio.Event()

            async def act() -> None:
                hit.set()
                await go_on.wait()

            proxy.before_closing(act)
            for _ in range(2):
                client, serving = await session_through(proxy, server)
                await client.send(read + closing)
                await until(hit)
                assert await serving.receive(len(read)) == read
                assert not proxy.sessions[-1].has_ended
                go_on.set()
                assert await serving.receive(len(closing)) == closing
                assert proxy.sessions[-1].has_ended
                hit.clear()
                go_on.clear()

    run(main())


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_act_that_fails_breaks_the_connection_and_is_raised_by_stop(moment: str) -> None:
    async def fail() -> None:
        raise ValueError("a defect of the test's")

    async def main() -> None:
        async with between() as (proxy, server):
            client, serving = await session_through(proxy, server)
            proxy.break_at(Breakpoint(moment, lambda _: True, fail))  # type: ignore[arg-type]
            await client.send(request(1, Create("/a")))
            if moment == "after":
                await serving.receive(len(request(1, Create("/a"))))
                await serving.send(answer(1))
            assert await client.receive_all() == b""
            with pytest.raises(ValueError, match="a defect of the test's"):
                await proxy.stop()

    run(main())
