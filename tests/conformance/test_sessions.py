"""The life of a session: its time-out, its connection, its end, and the fate of its watches; for both adapters.

Source: ZooKeeper 3.9 Programmer's Guide, "ZooKeeper Sessions"; the rows are those of docs/kafka/zookeeper_semantics.md.
"""

from typing import Any

import pytest

from kcsim.errors import Outcome
from kcsim.zk.errors import ConnectionLossError, NoNodeError, SessionClosedError, SessionExpiredError
from kcsim.zk.operations import (
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    NodeFound,
    Request,
    SessionState,
    SessionStateChanged,
    SetData,
    Sync,
    WatchEvent,
    WatchKind,
)
from tests.conformance.environment import (
    LIVE_IS_SLOW,
    LONGEST_TIMEOUT_MS,
    SHORT_TIMEOUT_MS,
    Client,
    Environment,
    Run,
    run_on_model,
)
from tests.conftest import TICK_MS

CONNECTED, SUSPENDED, EXPIRED, CLOSED = (
    SessionState.CONNECTED,
    SessionState.SUSPENDED,
    SessionState.EXPIRED,
    SessionState.CLOSED,
)


@pytest.mark.parametrize(
    ("requested_ms", "granted_ms"),
    [(1, 2 * TICK_MS), (1_001, 1_001), (3_600_000, LONGEST_TIMEOUT_MS)],
    ids=["short", "fitting", "long"],
)
def test_the_server_grants_between_2_ticks_and_its_longest(run: Run, requested_ms: int, granted_ms: int) -> None:
    async def main(environment: Environment) -> Any:
        return (await environment.open(requested_ms)).session.timeout_ms

    assert run(main) == granted_ms


def test_an_open_session_is_connected_and_that_is_not_announced(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        return client.session.state, await client.heard()

    assert run(main) == (CONNECTED, [])


def test_sessions_have_ids_of_their_own(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        return [(await environment.open()).session.session_id for _ in range(3)]

    assert len({*run(main), 0}) == 4


# --- close -------------------------------------------------------------------------------------------------------------


def test_closing_removes_the_ephemerals_at_once_and_notifies_their_watchers(run: Run) -> None:
    """Row 8."""

    async def main(environment: Environment) -> Any:
        owner, watcher = await environment.open(), await environment.open()
        await owner.ask(Create("/a"), Create("/a/e", ephemeral=True), Create("/a/p"))
        await watcher.ask(Exists("/a/e", watch=True), GetChildren("/a", watch=True))
        await owner.session.close()
        return await watcher.events(), await watcher.ask(Exists("/a/e"), Exists("/a/p"))

    events, (ephemeral, persistent) = run(main)
    assert events == [("NODE_DELETED", "/a/e"), ("NODE_CHILDREN_CHANGED", "/a")]
    assert ephemeral == NoNodeError("/a/e")
    assert isinstance(persistent, NodeFound)


def test_a_closed_session_answers_nothing_any_more(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.close()
        return client.session.state, client.notices, await client.ask(Exists("/a"), Create("/a"))

    state, notices, replies = run(main)
    assert (state, notices) == (CLOSED, [SessionStateChanged(CLOSED)])
    assert replies == [SessionClosedError("/a"), SessionClosedError("/a")]


def test_closing_twice_is_closing_once(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.close()
        await client.session.close()
        return client.notices

    assert run(main) == [SessionStateChanged(CLOSED)]


def test_what_was_asked_before_the_close_is_answered(run: Run) -> None:
    """Row 9: requests before the close are answered first."""

    async def main(environment: Environment) -> Any:
        client, other = await environment.open(), await environment.open()
        replies: list[Any] = []

        async def ask() -> None:
            replies.extend(await client.ask(*(Create(f"/n{n}") for n in range(20))))

        task = environment.runtime.spawn("asking", ask())
        await other.ask(Exists("/"))  # lets the task take its first step
        await client.session.close()
        await task.join()
        return replies

    assert [type(reply) for reply in run(main)] == [Created] * 20


# --- expiry ------------------------------------------------------------------------------------------------------------


def test_the_server_expires_a_session_that_is_silent_for_its_time_out(run: Run) -> None:
    """Row 8: its ephemerals are deleted and their watchers notified, no sooner than the time-out."""

    async def main(environment: Environment) -> Any:
        watcher, owner = await environment.open(), await environment.open(SHORT_TIMEOUT_MS)
        await owner.ask(Create("/e", ephemeral=True))
        await watcher.ask(Exists("/e", watch=True))
        silent_since = environment.runtime.now_ms()
        await owner.ask(Sync())  # its last sign of life is no earlier than this
        owner.session.freeze()
        event = await watcher.until_event("/e")
        return event.kind, environment.runtime.now_ms() - silent_since

    kind, silent_ms = run(main)
    assert kind is WatchKind.NODE_DELETED
    assert silent_ms >= SHORT_TIMEOUT_MS


@LIVE_IS_SLOW
def test_heartbeats_keep_an_idle_session_alive(run: Run) -> None:
    """Meanwhile two other sessions with the same time-out fall silent one after the other and are expired."""
    timeout_ms = 5_000  # on a busy machine a client may stand still for a while

    async def main(environment: Environment) -> Any:
        idle, witness = await environment.open(timeout_ms), await environment.open()
        await idle.ask(Create("/e", ephemeral=True))
        for n in range(2):
            silent = await environment.open(timeout_ms)
            await silent.ask(Create(f"/silent-{n}", ephemeral=True))
            await witness.ask(Exists(f"/silent-{n}", watch=True))
            silent.session.freeze()
            await witness.until_event(f"/silent-{n}")
        return idle.session.state, idle.notices, await idle.ask(Exists("/e"))

    state, notices, (found,) = run(main)
    assert (state, notices) == (CONNECTED, [])
    assert isinstance(found, NodeFound)


def test_the_client_learns_of_its_expiry_when_it_reconnects_and_is_never_revived(run: Run) -> None:
    """Row 8."""

    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.expire()
        await client.until(SUSPENDED, EXPIRED)
        replies = await client.ask(Exists("/a"), Multi((Create("/a"),)))
        await client.session.close()
        return client.session.state, client.notices, replies

    state, notices, replies = run(main)
    assert state is EXPIRED
    assert notices == [SessionStateChanged(SUSPENDED), SessionStateChanged(EXPIRED)]
    assert replies == [SessionExpiredError("/a"), SessionExpiredError(None)]
    assert all(reply.outcome is Outcome.NOT_APPLIED for reply in replies)


def test_each_ephemeral_of_an_expired_session_fires_its_own_event(run: Run) -> None:
    """Row 8."""

    async def main(environment: Environment) -> Any:
        owner, watcher = await environment.open(), await environment.open()
        paths = [f"/e{n}" for n in range(5)]
        await owner.ask(*(Create(path, ephemeral=True) for path in paths))
        await watcher.ask(*(Exists(path, watch=True) for path in paths))
        await owner.session.expire()
        return await watcher.heard()

    heard = run(main)
    assert sorted(event.path for event in heard) == [f"/e{n}" for n in range(5)]
    assert {event.kind for event in heard} == {WatchKind.NODE_DELETED}
    assert len({event.zxid for event in heard}) == 1


# --- reconnecting ------------------------------------------------------------------------------------------------------


async def cut_off(client: Client) -> None:
    """Break the connection, and keep it from being restored."""
    client.session.refuse_connections()
    await client.session.cut()
    await client.until(SUSPENDED)


async def come_back(client: Client) -> None:
    client.session.allow_connections()
    await client.until(CONNECTED)


def test_a_session_outlives_its_connection(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        before = client.session.session_id
        await client.ask(Create("/e", ephemeral=True))
        await cut_off(client)
        await come_back(client)
        found = await client.get(Exists("/e"), NodeFound)
        return before, client.session.session_id, found.stat.ephemeral_owner

    assert len(set(run(main))) == 1


def test_a_suspended_session_answers_at_once_that_the_outcome_is_unknown(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await cut_off(client)
        requested_at_ms = environment.runtime.now_ms()
        replies = await client.ask(Create("/a"), Multi((Create("/a"),)))
        return client.session.state, client.notices, replies, environment.runtime.now_ms() - requested_at_ms

    state, notices, replies, took_ms = run(main)
    assert (state, notices) == (SUSPENDED, [SessionStateChanged(SUSPENDED)]), "it has waited for its connection"
    assert replies == [ConnectionLossError("/a"), ConnectionLossError(None)]
    assert all(reply.outcome is Outcome.UNKNOWN for reply in replies)
    if run is run_on_model:  # the duration on a real server depends on the machine
        assert took_ms < 100


def test_requests_in_flight_when_the_connection_breaks_have_an_unknown_outcome(run: Run) -> None:
    """Row 8: each is answered, those that the server had processed with its reply; the outcome of later ones is unknown."""

    async def main(environment: Environment) -> Any:
        client, other = await environment.open(), await environment.open()
        replies: list[Any] = []

        async def ask() -> None:
            replies.extend(await client.ask(*(Create(f"/n{n}") for n in range(2_000))))

        task = environment.runtime.spawn("asking", ask())
        await other.ask(Exists("/"))
        await client.session.cut()
        await task.join()
        await client.until(SUSPENDED, CONNECTED)
        found = await other.ask(*(Exists(f"/n{n}") for n in range(2_000)))
        return replies, found

    replies, found = run(main)
    kinds = [type(reply) for reply in replies]
    answered = kinds.count(Created)
    assert kinds == [Created] * answered + [ConnectionLossError] * (2_000 - answered)
    # The applied requests are a prefix of all requests, and contain all answered ones.
    applied = [isinstance(reply, NodeFound) for reply in found]
    assert applied == sorted(applied, reverse=True)
    assert sum(applied) >= answered


def test_a_connection_may_be_lost_many_times(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/e", ephemeral=True))
        for _ in range(10):
            await client.session.cut()
            await client.until(SUSPENDED, CONNECTED)
        return client.notices, await client.ask(Exists("/e"))

    notices, (found,) = run(main)
    assert notices == [SessionStateChanged(SUSPENDED), SessionStateChanged(CONNECTED)] * 10
    assert isinstance(found, NodeFound)


# --- watches over a lost connection ------------------------------------------------------------------------------------


async def arm_all_kinds(client: Client) -> None:
    """Arm watches of every kind, on existing znodes and on missing ones."""
    await client.ask(Create("/data"), Create("/gone"), Create("/parent"), Create("/still"))
    await client.ask(
        GetData("/data", watch=True),
        Exists("/gone", watch=True),
        GetChildren("/parent", watch=True),
        Exists("/absent", watch=True),
        GetData("/still", watch=True),
        GetChildren("/still", watch=True),
    )


ALL_KINDS: list[Request] = [SetData("/data", b"x"), Delete("/gone"), Create("/parent/child"), Create("/absent")]
ALL_HEARD = {
    ("NODE_DATA_CHANGED", "/data"),
    ("NODE_DELETED", "/gone"),
    ("NODE_CHILDREN_CHANGED", "/parent"),
    ("NODE_CREATED", "/absent"),
}


def test_watches_are_armed_again_on_a_new_connection(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        await arm_all_kinds(watcher)
        await cut_off(watcher)
        await come_back(watcher)
        await actor.ask(*ALL_KINDS)
        return await watcher.events()

    events = run(main)
    assert len(events) == len(ALL_HEARD)
    assert set(events) == ALL_HEARD


def test_what_was_missed_while_the_connection_was_lost_is_heard_afterwards(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        await arm_all_kinds(watcher)
        await cut_off(watcher)
        await actor.ask(*ALL_KINDS)
        await come_back(watcher)
        return await watcher.heard()

    suspended, connected, *events = run(main)
    assert [suspended, connected] == [SessionStateChanged(SUSPENDED), SessionStateChanged(CONNECTED)]
    assert len(events) == len(ALL_HEARD)
    assert {(e.kind.name, e.path) for e in events} == ALL_HEARD
    # The server compares zxids with the last one that the client saw; it no longer knows which transaction it was.
    assert {e.zxid for e in events} == {0}


def test_a_missed_deletion_is_heard_once_by_one_who_watches_data_and_children(run: Run) -> None:
    """The server reports it twice."""

    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        await watcher.ask(Create("/a"), GetData("/a", watch=True), GetChildren("/a", watch=True))
        await cut_off(watcher)
        await actor.ask(Delete("/a"))
        await come_back(watcher)
        return await watcher.events()

    assert run(main) == [("NODE_DELETED", "/a")]


def test_what_happened_before_the_watch_is_not_taken_for_missed(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), SetData("/a", b"1"), Create("/a/b"))
        await client.ask(GetData("/a", watch=True), GetChildren("/a", watch=True), Exists("/none", watch=True))
        await client.session.cut()
        await client.until(SUSPENDED, CONNECTED)
        return await client.events()

    assert run(main) == []


def test_every_watch_is_heard_exactly_once_whenever_the_connection_breaks(run: Run) -> None:
    """Also between two events of one transaction: the first must not be taken as a sign that all of it was seen."""

    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        is_complete: list[bool] = []
        paths = [f"/n{n:03}" for n in range(60)]
        await actor.ask(*(Create(path) for path in paths))
        for turn in range(30):
            await watcher.ask(*(GetData(path, watch=True) for path in paths))
            task = environment.runtime.spawn("acting", actor.does(Multi(tuple(SetData(path, b"") for path in paths))))
            await watcher.until_event(paths[turn % 5])
            await watcher.session.cut()
            await task.join()
            await watcher.until(SUSPENDED, CONNECTED)
            events = [notice.path for notice in await watcher.heard() if isinstance(notice, WatchEvent)]
            is_complete.append(sorted(events) == paths)
        return is_complete

    assert run(main) == [True] * 30


def test_a_watch_that_has_fired_is_not_armed_again(run: Run) -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/a"), GetData("/a", watch=True), SetData("/a", b"1"))
        await client.events()
        await client.session.cut()
        await client.until(SUSPENDED, CONNECTED)
        await client.ask(SetData("/a", b"2"))
        return await client.events()

    assert run(main) == []


def test_an_exists_watch_on_what_is_not_there_becomes_none_on_what_is(run: Run) -> None:
    """It was an exists watch, used up by the creation; deleting the znode later fires nothing."""

    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(), await environment.open()
        await watcher.ask(Exists("/a", watch=True))
        await actor.ask(Create("/a"))
        first = await watcher.events()
        await cut_off(watcher)
        await actor.ask(Delete("/a"))
        await come_back(watcher)
        return first, await watcher.events()

    assert run(main) == ([("NODE_CREATED", "/a")], [])


def test_many_watches_survive_a_lost_connection(run: Run) -> None:
    """They do not fit into one request that arms them."""

    async def main(environment: Environment) -> Any:
        actor, watcher = await environment.open(LONGEST_TIMEOUT_MS), await environment.open(LONGEST_TIMEOUT_MS)
        long_name = "x" * 400
        paths = [f"/{long_name}-{n}" for n in range(700)]
        await watcher.ask(*(Exists(path, watch=True) for path in paths))
        await cut_off(watcher)
        await come_back(watcher)
        await actor.ask(Multi(tuple(Create(path) for path in paths)))
        return [notice.path for notice in await watcher.heard() if isinstance(notice, WatchEvent)] == paths

    assert run(main)
