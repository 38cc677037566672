"""Faults injected through a proxy look to our own sessions like the faults of the sessions themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kcsim.vocabulary import ZkVersion
from kcsim.zk.errors import ConnectionLossError, NoNodeError
from kcsim.zk.live import LiveSession, LiveZooKeeper
from kcsim.zk.operations import (
    Check,
    Create,
    Created,
    Delete,
    Exists,
    Multi,
    NodeFound,
    Notice,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
)
from kcsim.zk.proxy import Breakpoint, NoSessionError, ProxiedWrite, ZooKeeperProxy
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from tests.requirements import require
from tests.zk.proxy.peers import BOUND_S, run

pytestmark = pytest.mark.live

TIMEOUT_MS = 20_000
SHORT_TIMEOUT_MS = 2_000  # of a session that is to expire


class Heard:
    """The notices that a session's listener received."""

    def __init__(self) -> None:
        self.notices: asyncio.Queue[Notice] = asyncio.Queue()
        self.states: list[SessionState] = []

    async def until(self, state: SessionState) -> list[SessionState]:
        while state not in self.states:
            notice = await asyncio.wait_for(self.notices.get(), BOUND_S)
            if isinstance(notice, SessionStateChanged):
                self.states.append(notice.state)
        return self.states


@asynccontextmanager
async def session_at(connect_string: str, timeout_ms: int = TIMEOUT_MS) -> AsyncIterator[tuple[LiveSession, Heard]]:
    heard = Heard()
    session = await LiveZooKeeper(connect_string).open_session(timeout_ms, heard.notices.put_nowait, int(BOUND_S * 1000))
    try:
        yield session, heard
    finally:
        await session.close()


async def call(session: LiveSession, *requests: Request) -> list[ReplyOrError]:
    return await asyncio.wait_for(session.call(list(requests)), BOUND_S)


def test_an_expired_session_hears_of_it_when_it_comes_back_and_its_ephemerals_are_gone_before(
    server: EmbeddedZooKeeper,
) -> None:
    async def main() -> None:
        async with (
            ZooKeeperProxy(server.connect_string) as proxy,
            session_at(proxy.connect_string) as (session, heard),
            session_at(server.connect_string) as (outside, _),
        ):
            await call(session, Create("/proxied-ephemeral", ephemeral=True))
            await proxy.expire()
            (seen,) = await call(outside, Exists("/proxied-ephemeral"))
            assert seen == NoNodeError("/proxied-ephemeral")
            assert await heard.until(SessionState.EXPIRED) == [SessionState.SUSPENDED, SessionState.EXPIRED]
            assert [(s.session_id, s.has_ended) for s in proxy.sessions] == [(session.session_id, True)]
            with pytest.raises(NoSessionError, match="no session is open through this proxy; it has seen 1 in all"):
                await proxy.expire()

    run(main())


def test_a_cut_session_comes_back_as_it_was(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        async with ZooKeeperProxy(server.connect_string) as proxy, session_at(proxy.connect_string) as (session, heard):
            await call(session, Create("/proxied-cut", ephemeral=True))
            assert await proxy.cut() == 1
            assert await heard.until(SessionState.CONNECTED) == [SessionState.SUSPENDED, SessionState.CONNECTED]
            (found,) = await call(session, Exists("/proxied-cut"))
            assert isinstance(found, NodeFound)
            assert found.stat.ephemeral_owner == session.session_id
            (known,) = proxy.sessions
            assert (known.session_id, known.password) == (session.session_id, session.password)
            assert (known.timeout_ms, known.is_connected) == (session.timeout_ms, True)

    run(main())


def test_of_several_sessions_the_one_named_is_expired_or_else_the_newest(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        async with (
            ZooKeeperProxy(server.connect_string) as proxy,
            session_at(proxy.connect_string) as (first, first_heard),
            session_at(proxy.connect_string) as (second, _),
            session_at(proxy.connect_string) as (third, third_heard),
        ):
            assert [s.session_id for s in proxy.sessions] == [first.session_id, second.session_id, third.session_id]
            await proxy.expire()
            await third_heard.until(SessionState.EXPIRED)
            await proxy.expire(first.session_id)
            await first_heard.until(SessionState.EXPIRED)
            assert [s.has_ended for s in proxy.sessions] == [True, False, True]
            (created,) = await call(second, Create("/proxied-second"))
            assert isinstance(created, Created)
            with pytest.raises(NoSessionError, match=f"session {first.session_id:#018x} is not open"):
                await proxy.expire(first.session_id)

    run(main())


def test_a_closed_session_has_ended(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        async with ZooKeeperProxy(server.connect_string) as proxy:
            async with session_at(proxy.connect_string):
                assert [s.has_ended for s in proxy.sessions] == [False]
            assert [s.has_ended for s in proxy.sessions] == [True]

    run(main())


def test_a_session_that_expired_while_refused_has_ended_when_its_client_has_been_notified(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        async with (
            ZooKeeperProxy(server.connect_string) as proxy,
            session_at(proxy.connect_string, SHORT_TIMEOUT_MS) as (session, heard),
            session_at(server.connect_string) as (outside, outside_heard),
        ):
            await call(session, Create("/proxied-refused", ephemeral=True))
            await call(outside, Exists("/proxied-refused", watch=True))
            proxy.refuse()
            await proxy.cut()
            await asyncio.wait_for(outside_heard.notices.get(), BOUND_S)  # the ephemeral is gone
            assert heard.states == []
            assert [s.has_ended for s in proxy.sessions] == [False]
            proxy.allow()
            assert await heard.until(SessionState.EXPIRED) == [SessionState.SUSPENDED, SessionState.EXPIRED]
            assert [s.has_ended for s in proxy.sessions] == [True]

    run(main())


@pytest.mark.parametrize(
    ("asked", "writes"),
    [
        (Create("/point/new", b"x"), (ProxiedWrite("create", "/new", b"x"),)),
        (SetData("/point/old", b"x"), (ProxiedWrite("set", "/old", b"x", ZkVersion(-1)),)),
        (Delete("/point/old", ZkVersion(0)), (ProxiedWrite("delete", "/old", None, ZkVersion(0)),)),
        (
            Multi((Check("/point/old", ZkVersion(0)), Create("/point/new"))),
            (ProxiedWrite("check", "/old", None, ZkVersion(0)), ProxiedWrite("create", "/new")),
        ),
    ],
)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_breakpoint_sits_before_the_write_is_applied_or_after_it(
    server: EmbeddedZooKeeper, moment: str, asked: Request, writes: tuple[ProxiedWrite, ...]
) -> None:
    """A client cut off before or after the write observes the same, and only ZooKeeper knows the difference."""

    async def main() -> None:
        async with session_at(server.connect_string) as (outside, _):
            await call(outside, Create("/point"), Delete("/point/old"), Delete("/point/new"), Create("/point/old"))
            async with (
                ZooKeeperProxy(f"{server.connect_string}/point") as proxy,
                session_at(f"127.0.0.1:{proxy.port}") as (session, _),
            ):
                proxy.break_at(Breakpoint(moment, lambda seen: tuple(seen) == writes, proxy.cut))  # type: ignore[arg-type]
                (reply,) = await call(session, asked)
            assert isinstance(reply, ConnectionLossError)
            assert (await _state_of(outside) == _UNTOUCHED) is (moment == "before")

    run(main())


_UNTOUCHED = ((False, None), (True, 0))


async def _state_of(session: LiveSession) -> tuple[tuple[bool, int | None], ...]:
    """Return, for the two znodes of the breakpoints, whether each exists, and its version."""
    seen = await call(session, Exists("/point/new"), Exists("/point/old"))
    return tuple((isinstance(s, NodeFound), s.stat.version if isinstance(s, NodeFound) else None) for s in seen)


def test_a_write_can_be_made_to_wait_so_that_another_client_wins_an_election(server: EmbeddedZooKeeper) -> None:
    async def main() -> None:
        async with (
            ZooKeeperProxy(server.connect_string) as slow,
            session_at(slow.connect_string) as (loser, _),
            session_at(server.connect_string) as (winner, _),
        ):
            decided = asyncio.Event()
            slow.break_at(Breakpoint("before", lambda writes: any(w.path == "/proxied-role" for w in writes), decided.wait))
            candidacy = asyncio.ensure_future(call(loser, Create("/proxied-role", b"loser", ephemeral=True)))
            (won,) = await call(winner, Create("/proxied-role", b"winner", ephemeral=True))
            assert isinstance(won, Created)
            assert not candidacy.done()
            decided.set()
            (lost,) = await candidacy
            assert str(lost) == "NODEEXISTS for /proxied-role"

    run(main())


@pytest.mark.slow
def test_an_ensemble_s_next_member_takes_the_client_over() -> None:
    """Its session survives, and a pending expiry is known to any member to which it reconnects."""

    require("java")

    async def main() -> None:
        async with (
            EmbeddedZooKeeper(
                3, ServerSettings(max_session_timeout_ms=TIMEOUT_MS, init_limit=600, sync_limit=300)
            ) as ensemble,
            ZooKeeperProxy(ensemble.connect_string) as proxy,
            session_at(proxy.connect_string) as (session, heard),
        ):
            await call(session, Create("/e", ephemeral=True))
            await ensemble.kill("member-1")  # the proxy's first choice
            assert await heard.until(SessionState.CONNECTED) == [SessionState.SUSPENDED, SessionState.CONNECTED]
            (found,) = await call(session, Exists("/e"))
            assert isinstance(found, NodeFound)
            await proxy.expire()
            await heard.until(SessionState.EXPIRED)
            async with session_at(proxy.connect_string) as (later, _):
                assert await call(later, Exists("/e")) == [NoNodeError("/e")]

    run(main())
