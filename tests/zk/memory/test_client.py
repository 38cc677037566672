"""The driver on one member: heartbeats, time, latency, unknown outcomes, and the view of an observer of the bytes.

The rows are those of docs/kafka/zookeeper_semantics.md.
"""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcsim.errors import Killed
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.errors import ConnectionLossError, ZooKeeperUnavailableError
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import (
    Create,
    Created,
    DataRead,
    Exists,
    GetData,
    NodeFound,
    Notice,
    SessionState,
    SessionStateChanged,
    SetData,
)
from tests.zk.memory.environment import Environment, run

CONNECTED, SUSPENDED, EXPIRED = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.EXPIRED


# --- time --------------------------------------------------------------------------------------------------------------


def test_a_request_takes_its_way_there_and_back() -> None:
    async def main(environment: Environment) -> int:
        client = await environment.open()
        requested_ms = environment.runtime.now_ms()
        await client.ask(Exists("/"), Exists("/"), Exists("/"))
        return environment.runtime.now_ms() - requested_ms

    assert run(main, latency_ms=lambda _: 7) == 14


def test_idle_sessions_live_on_by_their_heartbeats() -> None:
    async def main(environment: Environment) -> Any:
        clients = [await environment.open(400) for _ in range(5)]
        await environment.runtime.sleep_ms(120_000)
        return {client.session.state for client in clients}, [n for client in clients for n in client.heard]

    assert run(main) == ({CONNECTED}, [])


def test_a_silent_server_is_given_up_after_two_thirds_of_the_time_out() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open(3000)
        await client.ask(Exists("/"))
        heard_ms = environment.runtime.now_ms()
        await environment.zookeeper.pause("member-1", cause=4)
        return await client.until(SUSPENDED) - heard_ms, client.states

    assert run(main, latency_ms=lambda _: 1) == (2000, [("suspended", 4)])


def test_an_answer_in_time_takes_a_short_pause_for_none() -> None:
    """Requests sent meanwhile wait at the member, and are processed in order."""

    async def main(environment: Environment) -> Any:
        client = await environment.open(3000)
        await environment.zookeeper.pause("member-1")
        asking = environment.runtime.promise()

        async def ask() -> None:
            asking.resolve(await client.ask(Create("/a"), SetData("/a", b"1"), Exists("/a")))

        environment.runtime.spawn("asking", ask())
        await environment.runtime.sleep_ms(1500)
        was_answered = asking.is_settled
        await environment.zookeeper.resume("member-1")
        replies = await asking.wait(10)
        return was_answered, replies[2].stat.version, client.heard

    assert run(main) == (False, 1, [])


def test_a_session_that_was_heard_of_while_its_server_stood_still_is_not_expired_by_it() -> None:
    """Its heartbeats and its reconnection are queued there when the server continues."""

    async def main(environment: Environment) -> Any:
        client = await environment.open(3000)
        await client.ask(Create("/e", ephemeral=True))
        await environment.zookeeper.pause("member-1")
        await client.until(SUSPENDED)
        await environment.runtime.sleep_ms(2000)  # 4 s in all
        await environment.zookeeper.resume("member-1")
        await client.until(CONNECTED)
        return await client.ask(Exists("/e"))

    (reply,) = run(main)
    assert isinstance(reply, NodeFound)


def test_a_frozen_client_s_session_ends_within_a_tick_after_its_time_out() -> None:
    async def main(environment: Environment) -> Any:
        frozen, other = await environment.open(1000), await environment.open()
        await frozen.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        last_heard_ms = environment.runtime.now_ms()
        frozen.session.freeze()
        return await other.until_event("/e") - last_heard_ms

    assert 1000 <= run(main) <= 1210


def test_a_client_that_thaws_in_time_keeps_its_session_and_its_connection() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open(3000)
        client.session.freeze()
        await environment.runtime.sleep_ms(2500)
        client.session.thaw()
        await environment.runtime.sleep_ms(10_000)
        return client.session.state, client.heard

    assert run(main) == (CONNECTED, [])


def test_many_freezes_leave_one_heartbeat() -> None:
    """A heartbeat that doubled with each freeze would make long runs slow."""
    messages = 0

    def counted(_: random.Random) -> int:
        nonlocal messages
        messages += 1
        return 1

    async def main(environment: Environment) -> int:
        client = await environment.open(3000)
        for _ in range(50):
            client.session.freeze()
            await environment.runtime.sleep_ms(5)
            client.session.thaw()
        before = messages
        await environment.runtime.sleep_ms(60_000)
        return messages - before

    # One ping and its answer per second.
    assert run(main, latency_ms=counted) in range(110, 130)


# --- opening and ending ------------------------------------------------------------------------------------------------


def test_no_session_can_be_opened_at_a_dead_server_and_the_error_says_so() -> None:
    async def main(environment: Environment) -> None:
        await environment.zookeeper.kill("member-1")
        await environment.zookeeper.open_session(1000, lambda _: None, 700)

    with pytest.raises(ZooKeeperUnavailableError, match="member-1 within 700 ms; last: member-1 hung up"):
        run(main)


def test_no_session_can_be_opened_at_a_paused_server_and_the_error_says_so() -> None:
    async def main(environment: Environment) -> None:
        await environment.zookeeper.pause("member-1")
        await environment.zookeeper.open_session(1000, lambda _: None, 700)

    with pytest.raises(ZooKeeperUnavailableError, match="member-1 within 700 ms"):
        run(main)


def test_nobody_goes_on_trying_to_open_a_session_whose_opening_has_failed() -> None:
    async def main(environment: Environment) -> list[Event]:
        await environment.zookeeper.kill("member-1")
        with pytest.raises(ZooKeeperUnavailableError):
            await environment.zookeeper.open_session(1000, lambda _: None, 700)
        await environment.zookeeper.start_member("member-1")
        await environment.runtime.sleep_ms(10_000)
        return environment.events(EventKind.SESSION_CREATED)

    assert run(main) == []


def test_a_process_killed_while_opening_leaves_no_client_behind() -> None:
    """Its session, if the server created one, expires."""

    async def main(environment: Environment) -> list[Notice]:
        heard: list[Notice] = []

        async def opening() -> None:
            await environment.zookeeper.open_session(400, heard.append, 10_000)

        task = environment.runtime.spawn("opening", opening())
        await environment.runtime.sleep_ms(1)
        task.kill()
        await environment.runtime.sleep_ms(2000)
        created, ended = (environment.events(kind) for kind in (EventKind.SESSION_CREATED, EventKind.SESSION_CLOSED))
        assert [event.session_id for event in created] == [event.session_id for event in ended]
        return heard

    assert run(main) == []


def test_closing_without_a_connection_leaves_the_session_to_the_server() -> None:
    async def main(environment: Environment) -> Any:
        owner, other = await environment.open(400), await environment.open()
        await owner.ask(Create("/e", ephemeral=True))
        await other.ask(Exists("/e", watch=True))
        owner.session.refuse_connections()
        await owner.session.cut()
        await owner.session.close()
        right_after = await other.ask(Exists("/e"))
        await other.until_event("/e")
        return [state for state, _ in owner.states], right_after

    states, (right_after,) = run(main)
    assert states == ["suspended", "closed"]
    assert isinstance(right_after, NodeFound)


def test_closing_a_frozen_client_gives_up_after_the_time_out() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open(400)
        client.session.freeze()
        began_ms = environment.runtime.now_ms()
        await client.session.close()
        return client.session.state, environment.runtime.now_ms() - began_ms

    assert run(main) == (SessionState.CLOSED, 400)


def test_a_killed_caller_does_not_disturb_the_others_of_its_session() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()

        async def create(path: str) -> None:
            await client.ask(Create(path))

        tasks = [environment.runtime.spawn(path, create(path)) for path in ("/a", "/b")]
        await environment.runtime.sleep_ms(1)
        tasks[0].kill()
        await tasks[1].join()
        return await client.ask(Exists("/a"), Exists("/b"))

    assert [type(reply) for reply in run(main)] == [NodeFound, NodeFound]


# --- connections that break --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut_after_ms", range(1, 12))
def test_a_lost_request_was_applied_or_not_by_where_it_was(cut_after_ms: int) -> None:
    """Latency is 10 ms each way; a request past half of that at the cut (5 ms) still arrives; its sender learns nothing."""

    async def main(environment: Environment) -> Any:
        client, other = await environment.open(), await environment.open()
        replies: list[Any] = []

        async def ask() -> None:
            replies.extend(await client.ask(Create("/a")))

        task = environment.runtime.spawn("asking", ask())
        await environment.runtime.sleep_ms(cut_after_ms)
        await client.session.cut()
        await task.join()
        await environment.runtime.sleep_ms(20)
        return replies, isinstance((await other.ask(Exists("/a")))[0], NodeFound)

    assert run(main, latency_ms=lambda _: 10) == ([ConnectionLossError("/a")], cut_after_ms >= 5)


def test_no_connection_attempt_in_progress_outlives_the_refusal() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.session.cut()
        await environment.runtime.sleep_ms(1)  # reconnecting
        client.session.refuse_connections(cause=3)
        await environment.runtime.sleep_ms(500)
        while_refused = client.session.state
        client.session.allow_connections()
        await client.until(CONNECTED)
        return while_refused, client.states

    assert run(main, latency_ms=lambda _: 5) == (SUSPENDED, [("suspended", None), ("connected", 3)])


def test_a_refused_client_learns_of_its_expiry_only_when_it_gets_through() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open(400)
        client.session.refuse_connections(cause=5)
        await client.session.cut()
        await environment.runtime.sleep_ms(60_000)
        before = client.session.state
        client.session.allow_connections()
        await client.until(EXPIRED)
        return before, client.states

    assert run(main) == (SUSPENDED, [("suspended", 5), ("expired", 5)])


def test_a_watch_event_comes_before_any_reply_that_shows_the_change() -> None:
    """Row 6, with a jitter that could let the reply overtake the event."""

    async def main(environment: Environment) -> list[str]:
        story: list[str] = []
        watcher = await environment.zookeeper.open_session(4000, lambda _: story.append("event"), 5000)
        writer = await environment.open()
        await writer.ask(Create("/a"))
        for n in range(30):
            await watcher.call([GetData("/a", watch=True)])
            writing = environment.runtime.spawn("writing", _set(writer, n))
            version = n
            while version == n:
                (reply,) = await watcher.call([GetData("/a")])
                assert isinstance(reply, DataRead)
                version = reply.stat.version
            story.append("data")
            await writing.join()
        return story

    assert run(main, latency_ms=lambda rng: 1 + rng.randrange(9)) == ["event", "data"] * 30


async def _set(writer: Any, n: int) -> None:
    await writer.ask(SetData("/a", b"%d" % n))


# --- many clients, and repeated runs -----------------------------------------------------------------------------------


def test_two_hundred_race_for_one_ephemeral() -> None:
    async def main(environment: Environment) -> Any:
        clients = [await environment.open(18_000) for _ in range(200)]
        won: list[int] = []

        async def race(n: int) -> None:
            created, _ = await clients[n].ask(Create("/controller", b"%d" % n, ephemeral=True), Exists("/controller", True))
            if isinstance(created, Created):
                won.append(n)

        for task in [environment.runtime.spawn(f"racer {n}", race(n)) for n in range(200)]:
            await task.join()
        await clients[won[0]].session.close()
        await environment.runtime.sleep_ms(10)
        return len(won), sum(client.events == [("NODE_DELETED", "/controller")] for client in clients)

    assert run(main, tick_time_ms=2000) == (1, 200)


STORY = """
import random
from kcsim.eventlog.event_log import EventLog
from tests.zk.memory.environment import Environment
from kcsim.zk.operations import Create, Exists

async def main(environment):
    clients = [await environment.open(1000) for _ in range(10)]
    for n, client in enumerate(clients):
        await client.ask(Exists("/c", watch=True), Create("/c", b"%d" % n, ephemeral=True), Create("/s-", sequential=True))
        await client.ask(*(Create(f"/e{n}-{i}", ephemeral=True) for i in range(5)))
    clients[0].session.freeze()
    await clients[1].session.expire(3)
    await clients[2].session.cut(4)
    await environment.zookeeper.kill("member-3", 5)
    await environment.runtime.sleep_ms(5000)
    return [repr((client.heard, client.states)) for client in clients]

environment = Environment(seed=7, members=3)
for line in environment.runtime.run(main(environment)):
    print(line)
for event in environment.log.events:
    print(event)
"""


def test_the_same_seed_gives_the_same_bytes() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", STORY],
            cwd=Path(__file__).parents[3],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"SessionClosed") == 2
    assert outputs[0].count(b"ZnodeCreated") == 61


def test_the_same_client_runs_on_the_wall_clock() -> None:
    runtime = WallClockRuntime()
    zookeeper = MemoryZooKeeper(
        runtime, EventLog(runtime.now_ms).sink("zookeeper"), random.Random(1), ModelSettings(tick_time_ms=50)
    )
    heard: list[Notice] = []

    async def main() -> Any:
        reconnected = runtime.promise()

        def listen(notice: Notice) -> None:
            heard.append(notice)
            if notice == SessionStateChanged(CONNECTED):
                reconnected.resolve(None)

        session = await zookeeper.open_session(1000, listen, 5000)
        await session.call([Create("/e", ephemeral=True)])
        await session.cut()
        await reconnected.wait(5000)
        (found,) = await session.call([Exists("/e")])
        await session.close()
        return found

    assert isinstance(runtime.run(main()), NodeFound)
    assert heard == [SessionStateChanged(s) for s in (SUSPENDED, CONNECTED, SessionState.CLOSED)]


def test_killing_the_task_that_waits_for_a_reply_is_seen_as_killed() -> None:
    async def main(environment: Environment) -> list[str]:
        client = await environment.open()
        seen: list[str] = []

        async def ask() -> None:
            try:
                await client.ask(Exists("/"))
            except Killed:
                seen.append("killed")
                raise

        task = environment.runtime.spawn("asking", ask())
        await environment.runtime.sleep_ms(1)
        task.kill()
        await task.join()
        return seen

    assert run(main) == ["killed"]
