"""Faults that are injected into a session: each has exactly its effect, and is confirmed; for both adapters."""

from typing import Any

import pytest

from kcsim.errors import TimedOutError
from kcsim.zk.errors import NoNodeError
from kcsim.zk.operations import (
    Create,
    Exists,
    GetChildren,
    GetData,
    NodeFound,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
    Sync,
    Synced,
    WatchKind,
)
from tests.conformance.environment import LIVE_IS_SLOW, SHORT_TIMEOUT_MS, Environment, Run

CONNECTED, SUSPENDED, EXPIRED = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.EXPIRED


def causes(notices: list[Any]) -> list[tuple[SessionState, int | None]]:
    return [(n.state, n.cause) for n in notices if isinstance(n, SessionStateChanged)]


# --- expire ------------------------------------------------------------------------------------------------------------


def test_when_expire_returns_the_session_has_ended_at_the_server(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        owner, other = await environment.open(), await environment.open()
        await owner.ask(Create("/e", ephemeral=True))
        await owner.session.expire()
        return await other.ask(Exists("/e"))

    assert run(main) == [NoNodeError("/e")]


def test_expiry_names_its_fault(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.expire(cause=42)
        await client.until(SUSPENDED, EXPIRED)
        return causes(client.notices)

    assert run(main) == [(SUSPENDED, 42), (EXPIRED, 42)]


def test_a_session_without_a_connection_can_be_expired(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client, other = await environment.open(), await environment.open()
        await client.ask(Create("/e", ephemeral=True))
        client.session.refuse_connections()
        await client.session.cut()
        await client.session.expire()
        gone = await other.ask(Exists("/e"))
        before = client.session.state
        client.session.allow_connections()
        await client.until(SUSPENDED, EXPIRED)
        return before, gone

    assert run(main) == (SUSPENDED, [NoNodeError("/e")])


def test_other_sessions_do_not_notice(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client, other = await environment.open(), await environment.open()
        await client.session.expire()
        await client.until(SUSPENDED, EXPIRED)
        return other.session.state, await other.heard()

    assert run(main) == (CONNECTED, [])


def test_an_ended_session_cannot_be_expired_again(run: Run) -> None:
    """A fault that has no effect is an error."""

    async def main(environment: Environment) -> None:
        client = await environment.open()
        await client.session.expire()
        await client.until(SUSPENDED, EXPIRED)
        await client.session.expire()

    with pytest.raises(TimedOutError):
        run(main)


# --- cut, refuse, allow ------------------------------------------------------------------------------------------------


def test_when_cut_returns_the_client_has_noticed(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.cut(cause=42)
        heard = causes(client.notices)[:1]
        await client.until(SUSPENDED, CONNECTED)
        return heard

    assert run(main) == [(SUSPENDED, 42)]


def test_there_must_be_a_connection_to_cut(run: Run) -> None:
    async def main(environment: Environment) -> None:
        client = await environment.open()
        client.session.refuse_connections()
        await client.session.cut()
        await client.session.cut()

    with pytest.raises(TimedOutError):
        run(main)


@pytest.mark.parametrize(
    ("watch", "change", "kind"),
    [
        (GetData("/a", watch=True), SetData("/a", b"1"), WatchKind.NODE_DATA_CHANGED),
        (Exists("/a/b", watch=True), Create("/a/b"), WatchKind.NODE_CREATED),
        (GetChildren("/a", watch=True), Create("/a/b"), WatchKind.NODE_CHILDREN_CHANGED),
    ],
    ids=["data", "existence", "children"],
)
def test_the_only_watch_of_a_session_outlives_its_connection(
    run: Run, watch: Exists | GetChildren | GetData, change: Request, kind: WatchKind
) -> None:
    async def main(environment: Environment) -> WatchKind:
        client, other = await environment.open(), await environment.open()
        await client.does(Create("/a"))
        await client.ask(watch)
        await client.session.cut()
        await client.until(SUSPENDED, CONNECTED)
        await other.does(change)
        return (await client.until_event(watch.path)).kind

    assert run(main) is kind


def test_refusing_connections_leaves_an_open_one_alone(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        client.session.refuse_connections()
        return await client.ask(Sync()), client.notices

    (synced,), notices = run(main)
    assert isinstance(synced, Synced)
    assert notices == []


@LIVE_IS_SLOW
def test_a_client_that_is_refused_until_its_time_out_is_over_has_expired(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        other, client = await environment.open(), await environment.open(SHORT_TIMEOUT_MS)
        await client.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        client.session.refuse_connections(cause=7)
        await client.session.cut(cause=8)
        event = await other.until_event("/e")
        before = client.session.state
        client.session.allow_connections()
        await client.until(SUSPENDED, EXPIRED)
        return before, event.kind, causes(client.notices)

    before, kind, heard = run(main)
    assert before is SUSPENDED
    assert kind is WatchKind.NODE_DELETED
    assert heard == [(SUSPENDED, 8), (EXPIRED, 8)]


def test_a_fault_s_cause_ends_with_the_reconnection(run: Run) -> None:
    """A second loss that was not announced is not attributed to the first."""

    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.cut(cause=42)
        await client.until(SUSPENDED, CONNECTED)
        await client.session.cut()
        await client.until(SUSPENDED, CONNECTED)
        return causes(client.notices)

    assert run(main) == [(SUSPENDED, 42), (CONNECTED, 42), (SUSPENDED, None), (CONNECTED, None)]


# --- freeze and thaw ---------------------------------------------------------------------------------------------------


def test_a_short_freeze_goes_unnoticed(run: Run) -> None:
    """Events that happen meanwhile arrive on thawing."""

    async def main(environment: Environment) -> Any:
        frozen, witness = await environment.open(), await environment.open()
        await frozen.ask(Create("/a"), GetData("/a", watch=True))
        await witness.ask(GetData("/a", watch=True))
        frozen.session.freeze()
        await witness.ask(SetData("/a", b"1"))
        await witness.until_event("/a")
        while_frozen = list(frozen.notices)
        frozen.session.thaw()
        await frozen.until_event("/a")
        return while_frozen, await frozen.events(), frozen.session.state

    assert run(main) == ([], [("NODE_DATA_CHANGED", "/a")], CONNECTED)


def test_a_frozen_client_sends_nothing_until_it_thaws(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        frozen, other = await environment.open(), await environment.open()
        replies: list[Any] = []

        async def ask() -> None:
            replies.extend(await frozen.ask(Create("/a")))

        frozen.session.freeze()
        task = environment.runtime.spawn("asking", ask())
        for _ in range(50):
            await other.ask(Sync())
        before = await other.ask(Exists("/a"))
        frozen.session.thaw()
        await task.join()
        return before, await other.ask(Exists("/a")), replies

    before, after, (created,) = run(main)
    assert before == [NoNodeError("/a")]
    assert [reply.stat for reply in after] == [created.stat]


def test_a_client_frozen_past_its_time_out_finds_out_when_it_thaws(run: Run) -> None:
    """A zombie: the client still considers itself connected when all other clients have seen its session end."""

    async def main(environment: Environment) -> Any:
        other, frozen = await environment.open(), await environment.open(SHORT_TIMEOUT_MS)
        await frozen.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        frozen.session.freeze(cause=42)
        await other.until_event("/e")
        before = frozen.session.state, list(frozen.notices)
        frozen.session.thaw(cause=43)
        await frozen.until(SUSPENDED, EXPIRED)
        return before, causes(frozen.notices)

    before, heard = run(main)
    assert before == (CONNECTED, [])
    assert heard == [(SUSPENDED, 42), (EXPIRED, 42)]


def test_a_frozen_client_s_session_can_be_expired(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        frozen, other = await environment.open(), await environment.open()
        await frozen.ask(Create("/e", ephemeral=True))
        frozen.session.freeze()
        await frozen.session.expire()
        gone = await other.ask(Exists("/e"))
        before = frozen.session.state
        frozen.session.thaw()
        await frozen.until(SUSPENDED, EXPIRED)
        return before, gone

    assert run(main) == (CONNECTED, [NoNodeError("/e")])


# --- abandon -----------------------------------------------------------------------------------------------------------


def test_an_abandoned_session_lives_on_at_the_server_until_its_time_is_up(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        other, owner = await environment.open(), await environment.open(SHORT_TIMEOUT_MS)
        await owner.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        owner.session.abandon()
        right_after = await other.ask(Exists("/e"))
        event = await other.until_event("/e")
        return right_after, event.kind, owner.notices

    (right_after,), kind, notices = run(main)
    assert isinstance(right_after, NodeFound)
    assert kind is WatchKind.NODE_DELETED
    assert notices == []


@LIVE_IS_SLOW
def test_a_call_that_waits_for_an_abandoned_session_is_never_answered(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        other, client = await environment.open(), await environment.open(SHORT_TIMEOUT_MS)
        await client.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        client.session.freeze()
        task = environment.runtime.spawn("asking", _ask_forever(client))
        await other.ask(Sync())
        client.session.abandon()
        await other.until_event("/e")
        is_done = task.is_done
        task.kill()
        await task.join()
        return is_done

    assert run(main) is False


async def _ask_forever(client: Any) -> None:
    await client.ask(Create("/never"))
