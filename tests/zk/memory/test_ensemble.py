"""Three members: effects when one is killed, paused, resumed or started, and the fate of the sessions."""

from typing import Any

import pytest

from kcsim.errors import TimedOutError
from kcsim.eventlog.events import EventKind
from kcsim.zk.errors import ConnectionLossError
from kcsim.zk.operations import Create, Created, Exists, NodeFound, SessionState, SetData
from kcsim.zk.servers.errors import MemberStateError, NoSuchMemberError
from tests.zk.memory.environment import Environment, run

CONNECTED, SUSPENDED = SessionState.CONNECTED, SessionState.SUSPENDED
ONE, TWO, THREE = "member-1", "member-2", "member-3"


def test_clients_spread_over_the_members_and_share_one_tree() -> None:
    async def main(environment: Environment) -> Any:
        clients = [await environment.open() for _ in range(20)]
        await clients[0].ask(Create("/a"))
        replies = [(await client.ask(Exists("/a")))[0] for client in clients]
        return {client.session.member for client in clients}, {type(reply) for reply in replies}

    assert run(main, members=3) == ({ONE, TWO, THREE}, {NodeFound})


def test_zxids_carry_the_leader_s_epoch() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open_at(ONE)
        (before,) = await client.ask(Create("/a"))
        await environment.zookeeper.kill(THREE)
        await client.until(CONNECTED)
        (after,) = await client.ask(Create("/b"))
        return before, after

    before, after = run(main, members=3)
    assert (before.zxid >> 32, after.zxid >> 32) == (1, 2)


def test_when_the_leader_dies_all_are_suspended_and_go_on_under_the_next() -> None:
    """No session is lost: the new leader gives each its full time-out again."""

    async def main(environment: Environment) -> Any:
        clients = [await environment.open_at(member) for member in (ONE, TWO, THREE)]
        for n, client in enumerate(clients):
            await client.ask(Create(f"/e{n}", ephemeral=True))
        await environment.zookeeper.kill(THREE, cause=9)
        during = await environment.zookeeper.leader_name()
        for client in clients:
            await client.until(CONNECTED)
        found = await clients[0].ask(*(Exists(f"/e{n}") for n in range(3)))
        return (
            during,
            await environment.zookeeper.leader_name(),
            {tuple(c.states) for c in clients},
            {type(r) for r in found},
        )

    during, leader, states, found = run(main, members=3)
    assert (during, leader) == (None, TWO)
    assert states == {(("suspended", 9), ("connected", 9))}
    assert found == {NodeFound}


def test_an_election_takes_its_time() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open_at(ONE)
        killed_ms = environment.runtime.now_ms()
        await environment.zookeeper.kill(THREE)
        return await client.until(CONNECTED) - killed_ms

    assert run(main, members=3, election_ms=3000) in range(3000, 3600)


def test_a_follower_s_death_is_noticed_by_its_own_clients_only() -> None:
    async def main(environment: Environment) -> Any:
        at_one, at_two = await environment.open_at(ONE), await environment.open_at(TWO)
        await environment.zookeeper.kill(ONE, cause=9)
        await at_one.until(CONNECTED)
        return at_one.states, at_one.session.member, at_two.states

    own, moved_to, others = run(main, members=3)
    assert own == [("suspended", 9), ("connected", 9)]
    assert moved_to in (TWO, THREE)
    assert others == []


def test_without_a_majority_nobody_is_served_and_time_stands_still() -> None:
    """A minute without a quorum costs no session of one second."""

    async def main(environment: Environment) -> Any:
        client = await environment.open_at(THREE, 1000)
        await client.ask(Create("/e", ephemeral=True))
        await environment.zookeeper.kill(ONE)
        await environment.zookeeper.kill(TWO, cause=9)
        await client.until(SUSPENDED)
        await environment.runtime.sleep_ms(60_000)
        during = client.session.state, await environment.zookeeper.leader_name(), await client.ask(Exists("/e"))
        await environment.zookeeper.start_member(ONE)
        await client.until(CONNECTED)
        return during, client.states, await client.ask(Exists("/e"))

    during, states, (found,) = run(main, members=3)
    assert during == (SUSPENDED, None, [ConnectionLossError("/e")])
    assert states == [("suspended", 9), ("connected", 9)]
    assert isinstance(found, NodeFound)


def test_a_session_cannot_be_expired_without_a_leader() -> None:
    async def main(environment: Environment) -> None:
        client = await environment.open_at(THREE)
        await environment.zookeeper.kill(ONE)
        await environment.zookeeper.kill(TWO)
        await client.session.expire()

    with pytest.raises(TimedOutError, match="member-1 is dead, member-2 is dead, member-3 is up"):
        run(main, members=3)


def test_an_expiry_asked_for_during_an_election_waits_for_its_end() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open_at(ONE)
        await environment.zookeeper.kill(THREE)
        requested_ms = environment.runtime.now_ms()
        await client.session.expire(cause=7)
        (closed,) = environment.events(EventKind.SESSION_CLOSED)[-1:]
        return environment.runtime.now_ms() - requested_ms, closed.cause, closed.error

    assert run(main, members=3) == (300, 7, "SESSIONEXPIRED")


def test_a_paused_follower_is_given_up_and_has_to_join_again() -> None:
    async def main(environment: Environment) -> Any:
        at_one, at_two = await environment.open_at(ONE), await environment.open_at(TWO)
        await environment.zookeeper.pause(ONE, cause=9)
        suspended_ms = await at_one.until(SUSPENDED)
        await at_one.until(CONNECTED)
        moved_to = at_one.session.member
        await environment.runtime.sleep_ms(5000)
        await environment.zookeeper.resume(ONE)
        back = await environment.open_at(ONE)
        return suspended_ms > 2000, at_one.states[0], moved_to, at_two.states, await back.ask(Create("/a"))

    is_late, first, moved_to, others, (created,) = run(main, members=3)
    assert (is_late, first, others) == (True, ("suspended", 9), [])
    assert moved_to in (TWO, THREE)
    assert isinstance(created, Created)


def test_a_paused_leader_holds_up_writes_but_not_its_followers_reads() -> None:
    async def main(environment: Environment) -> Any:
        client, reader = await environment.open_at(ONE), await environment.open_at(TWO)
        await environment.zookeeper.pause(THREE)
        written = environment.runtime.promise()

        async def write() -> None:
            written.resolve(await client.ask(Create("/a"), Exists("/a")))

        environment.runtime.spawn("writing", write())
        (read,) = await reader.ask(Exists("/"))
        await environment.runtime.sleep_ms(1000)
        was_written = written.is_settled
        await environment.zookeeper.resume(THREE)
        return type(read), was_written, [type(reply) for reply in await written.wait(10)], client.heard

    assert run(main, members=3) == (NodeFound, False, [Created, NodeFound], [])


def test_a_leader_paused_past_the_sync_limit_is_replaced() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open_at(ONE)
        await client.ask(Create("/a"))
        paused_ms = environment.runtime.now_ms()
        await environment.zookeeper.pause(THREE, cause=9)
        in_between = await environment.zookeeper.leader_name()
        suspended_ms = await client.until(SUSPENDED)
        await client.until(CONNECTED)
        leader = await environment.zookeeper.leader_name()
        await environment.zookeeper.resume(THREE)
        (reply,) = await client.ask(SetData("/a", b"x"))
        return (
            in_between,
            suspended_ms - paused_ms,
            client.states[0],
            leader,
            await environment.zookeeper.leader_name(),
            reply,
        )

    in_between, after_ms, first, leader, still, reply = run(main, members=3, sync_limit=10)
    assert (in_between, first, leader, still) == (None, ("suspended", 9), TWO, TWO)
    assert after_ms in range(2000, 2010)
    assert reply.zxid >> 32 == 2


def test_a_pause_that_ended_in_time_does_not_count_for_the_next() -> None:
    async def main(environment: Environment) -> Any:
        await environment.zookeeper.pause(THREE)
        await environment.runtime.sleep_ms(1500)
        await environment.zookeeper.resume(THREE)
        await environment.runtime.sleep_ms(100)
        await environment.zookeeper.pause(THREE)
        await environment.runtime.sleep_ms(1500)  # past the limit of the first pause
        await environment.zookeeper.resume(THREE)
        return await environment.zookeeper.leader_name()

    assert run(main, members=3, sync_limit=10) == THREE


def test_one_alone_keeps_everything_over_its_death() -> None:
    async def main(environment: Environment) -> Any:
        client = await environment.open()
        await client.ask(Create("/p", b"kept"), Create("/e", ephemeral=True))
        await environment.zookeeper.kill(ONE)
        await client.until(SUSPENDED)
        await environment.runtime.sleep_ms(20_000)
        await environment.zookeeper.start_member(ONE)
        await client.until(CONNECTED)
        return await client.ask(Exists("/p"), Exists("/e"))

    assert [type(reply) for reply in run(main)] == [NodeFound, NodeFound]


@pytest.mark.parametrize(
    ("verbs", "message"),
    [
        (["kill", "kill"], "cannot kill member-1: it is dead"),
        (["kill", "pause"], "cannot pause member-1: it is dead"),
        (["start_member"], "cannot start member-1: it is up"),
        (["resume"], "cannot resume member-1: it is up"),
        (["pause", "pause"], "cannot pause member-1: it is paused"),
        (["pause", "start_member"], "cannot start member-1: it is paused"),
    ],
)
def test_a_verb_without_effect_is_an_error(verbs: list[str], message: str) -> None:
    async def main(environment: Environment) -> None:
        for verb in verbs:
            await getattr(environment.zookeeper, verb)(ONE)

    with pytest.raises(MemberStateError, match=message):
        run(main, members=3)


def test_an_unknown_member_is_named_with_the_nearest() -> None:
    async def main(environment: Environment) -> None:
        await environment.zookeeper.kill("membre-2")

    with pytest.raises(NoSuchMemberError, match="did you mean 'member-2'"):
        run(main, members=3)
