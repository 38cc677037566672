"""Static members may return under another member id and keep their partitions.

Source: docs/kafka/consumer_groups.md 10.5.
"""

from kcsim.brokers.groups.group_metadata import GroupState
from kcsim.brokers.groups.requests import LeaveGroupRequest, SyncGroupRequest, SyncGroupResponse
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from tests.brokers.groups.group_bench import GROUP, ORDERS_0, ORDERS_1, REBALANCE_MS, SESSION_MS, GroupBench, join


async def formed(bench: GroupBench) -> tuple[str, str]:
    """Form a stable group of two static members, i1 and i2, with one partition each; i1 leads."""
    joins = [bench.later(join(f"c{n}", instance_id=f"i{n}")) for n in (1, 2)]
    first, second = [(await one.joined()).member_id for one in joins]
    parked = bench.later(SyncGroupRequest(GROUP, 1, second, "i2"))
    await bench.sync(first, 1, {first: (ORDERS_0,), second: (ORDERS_1,)})
    await parked.promise.wait(1)
    return first, second


def test_a_static_member_is_a_member_at_once() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, _ = await formed(bench)
        assert first.startswith("i1-")
        assert bench.states == [GroupState.STABLE]

    bench.play(script)


def test_one_that_comes_back_in_time_causes_no_rebalance_and_keeps_its_partitions() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await formed(bench)
        back = await bench.ask(join("c2", instance_id="i2"))
        assert (back.error, back.generation, back.leader, back.members) == (ErrorCode.NONE, 1, first, ())
        assert back.member_id != second
        members = bench.coordinator.groups[0][GROUP].metadata.members
        assert [(name, member.member_id, member.instance_id) for name, member in members.items()] == [
            (first, first, "i1"),
            (back.member_id, back.member_id, "i2"),
        ]
        answer = await bench.ask(SyncGroupRequest(GROUP, 1, back.member_id, "i2"))
        assert answer == SyncGroupResponse(ErrorCode.NONE, (ORDERS_1,))
        assert bench.states == [GroupState.STABLE]

    bench.play(script)


def test_a_leader_that_comes_back_is_sent_the_former_leaders_id() -> None:
    """The leader therefore does not compute an assignment that the coordinator has not requested."""
    bench = GroupBench()

    async def script() -> None:
        first, _ = await formed(bench)
        back = await bench.ask(join("c1", instance_id="i1"))
        assert (back.leader, back.members) == (first, ())
        groups = bench.coordinator.groups[0]
        assert groups[GROUP].metadata.leader == back.member_id

    bench.play(script)


def test_the_former_self_is_fenced_at_its_next_request() -> None:
    bench = GroupBench()

    async def script() -> None:
        _, second = await formed(bench)
        await bench.ask(join("c2", instance_id="i2"))
        assert await bench.heartbeat(second, 1, "i2") is ErrorCode.FENCED_INSTANCE_ID
        assert (await bench.ask(join("c2", second, instance_id="i2"))).error is ErrorCode.FENCED_INSTANCE_ID
        assert (await bench.ask(SyncGroupRequest(GROUP, 1, second, "i2"))).error is ErrorCode.FENCED_INSTANCE_ID

    bench.play(script)


def test_of_two_with_one_instance_id_the_later_wins_and_the_one_that_waits_is_fenced() -> None:
    bench = GroupBench()

    async def script() -> None:
        earlier = bench.later(join("c1", instance_id="i1"))
        await bench.runtime.sleep_ms(10)
        later = bench.later(join("c1", instance_id="i1"))
        assert (await earlier.joined(1)).error is ErrorCode.FENCED_INSTANCE_ID
        assert (await later.joined()).error is ErrorCode.NONE

    bench.play(script)


def test_one_that_would_change_the_choice_of_assignor_causes_a_rebalance() -> None:
    bench = GroupBench()

    async def script() -> None:
        joins = [bench.later(join(f"c{n}", instance_id=f"i{n}", protocols=("range", "sticky"))) for n in (1, 2)]
        first, second = [(await one.joined()).member_id for one in joins]
        bench.later(SyncGroupRequest(GROUP, 1, second, "i2"))
        await bench.sync(first, 1, {})
        bench.later(join("c2", instance_id="i2", protocols=("sticky",)))
        await bench.runtime.sleep_ms(1)
        assert await bench.heartbeat(first, 1, "i1") is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)


def test_one_that_comes_back_while_the_assignment_is_awaited_causes_a_rebalance() -> None:
    bench = GroupBench()

    async def script() -> None:
        joins = [bench.later(join(f"c{n}", instance_id=f"i{n}")) for n in (1, 2)]
        for one in joins:
            await one.joined()
        bench.later(join("c2", instance_id="i2"))
        await bench.runtime.sleep_ms(1)
        assert bench.states == [GroupState.PREPARING_REBALANCE]

    bench.play(script)


def test_a_static_member_is_missed_only_when_its_session_is_over() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await formed(bench)
        began_ms = bench.runtime.now_ms()
        while await bench.heartbeat(first, 1, "i1") is ErrorCode.NONE:
            await bench.runtime.sleep_ms(1_000)
        (removed,) = bench.of_kind(EventKind.GROUP_MEMBER_REMOVED)
        assert (removed.member, removed.t_ms - began_ms) == (second, SESSION_MS)

    bench.play(script)


def test_a_static_member_that_does_not_rejoin_stays_until_its_session_is_over() -> None:
    """The phase ends without it, and it is still part of the new generation."""
    bench = GroupBench()

    async def script() -> None:
        first, second = await formed(bench)
        parked = bench.later(join("c1", first, instance_id="i1", rebalance_ms=5_000))
        bench.coordinator.groups[0][GROUP].metadata.members[second].rebalance_timeout_ms = 5_000
        assert [m.member_id for m in (await parked.joined()).members] == [first, second]

    bench.play(script)


def test_a_group_of_static_members_waits_for_one_of_them_to_rejoin() -> None:
    """The member is heard of and does not rejoin: no generation begins without members."""
    bench = GroupBench()

    async def script() -> None:
        first, _ = await formed(bench)
        await bench.ask(LeaveGroupRequest(GROUP, "", "i2"))
        for _ in range(5 * REBALANCE_MS // 3_000):
            await bench.runtime.sleep_ms(3_000)
            assert await bench.heartbeat(first, 1, "i1") is ErrorCode.REBALANCE_IN_PROGRESS
        assert bench.states == [GroupState.PREPARING_REBALANCE]
        assert (await bench.later(join("c1", first, instance_id="i1")).joined(1)).generation == 2

    bench.play(script)


def test_a_generation_begins_without_a_static_member_that_does_not_rejoin_once_another_one_has() -> None:
    """No member has rejoined when the phase is over, so it is extended; when it is over again, one has."""
    bench = GroupBench()

    async def script() -> None:
        joins = [bench.later(join(f"c{n}", instance_id=f"i{n}", rebalance_ms=4_000)) for n in (1, 2, 3)]
        first, second, _ = [(await one.joined()).member_id for one in joins]
        await bench.ask(LeaveGroupRequest(GROUP, "", "i3"))
        await bench.runtime.sleep_ms(5_000)
        assert bench.states == [GroupState.PREPARING_REBALANCE]
        back = await bench.later(join("c1", first, instance_id="i1", rebalance_ms=4_000)).joined(4_000)
        assert (back.generation, [member.member_id for member in back.members]) == (2, [first, second])

    bench.play(script)


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, _ = await formed(bench)
        assert (await bench.ask(LeaveGroupRequest(GROUP, "", "i2"))).error is ErrorCode.NONE
        assert await bench.heartbeat(first, 1, "i1") is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)
