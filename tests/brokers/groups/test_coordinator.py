"""A broker's coordination of a group: joins, generations, sessions, offsets.

Source: docs/kafka/consumer_groups.md 10, 11.
"""

import pytest

from kcsim.brokers.groups.group_metadata import GroupState
from kcsim.brokers.groups.requests import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from tests.brokers.groups.group_bench import (
    CAUSE,
    DELAY_MS,
    GROUP,
    ORDERS_0,
    ORDERS_1,
    REBALANCE_MS,
    SESSION_MS,
    GroupBench,
    join,
)

# --- 10.1 join -------------------------------------------------------------------------------------------------------------


def test_a_dynamic_member_is_first_given_an_id_and_joins_with_it() -> None:
    bench = GroupBench()

    async def script() -> None:
        first = await bench.ask(join("c1"))
        assert first == JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, first.member_id)
        assert first.member_id.startswith("c1-")
        joined = await bench.later(join("c1", first.member_id)).joined()
        assert (joined.error, joined.member_id, joined.generation) == (ErrorCode.NONE, first.member_id, 1)
        assert (joined.leader, joined.protocol) == (first.member_id, "range")

    bench.play(script)


def test_only_the_leader_hears_who_the_members_are() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.new_id("c1"), await bench.new_id("c2")
        joins = [bench.later(join("c1", first)), bench.later(join("c2", second))]
        of_first, of_second = [await one.joined() for one in joins]
        assert [member.member_id for member in of_first.members] == [first, second]
        assert of_second.members == ()
        assert of_second.leader == first

    bench.play(script)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (join("c9", "c9-gone"), ErrorCode.UNKNOWN_MEMBER_ID),
        (join("c9", protocols=("sticky",)), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (join("c9", protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (join("c9", session_ms=5_999), ErrorCode.INVALID_SESSION_TIMEOUT),
        (join("c9", session_ms=1_800_001), ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
    ids=["unknown member", "no assignor in common", "another protocol type", "session too short", "session too long"],
)
def test_joins_are_refused(request_: JoinGroupRequest, error: ErrorCode) -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.form("c1")
        assert (await bench.ask(request_)).error is error

    bench.play(script)


def test_a_member_id_in_a_group_that_nobody_knows_is_refused() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert (await bench.ask(join("c1", "c1-of-old"))).error is ErrorCode.UNKNOWN_MEMBER_ID
        assert (await bench.heartbeat("c1-of-old", 1)) is ErrorCode.UNKNOWN_MEMBER_ID

    bench.play(script)


def test_a_full_group_refuses_new_members() -> None:
    bench = GroupBench(group_max_size=1)

    async def script() -> None:
        await bench.form("c1")
        assert (await bench.ask(join("c2"))).error is ErrorCode.GROUP_MAX_SIZE_REACHED

    bench.play(script)


def test_a_follower_that_rejoins_a_stable_group_unchanged_gets_the_current_generation() -> None:
    bench = GroupBench()

    async def script() -> None:
        _, follower = await bench.form("c1", "c2")
        again = await bench.ask(join("c2", follower))
        assert (again.error, again.generation, again.members) == (ErrorCode.NONE, 1, ())
        assert bench.states == [GroupState.STABLE]

    bench.play(script)


def test_a_leader_that_rejoins_begins_a_rebalance() -> None:
    """This is how a leader reports new partitions."""
    bench = GroupBench()

    async def script() -> None:
        leader, follower = await bench.form("c1", "c2")
        parked = bench.later(join("c1", leader))
        await bench.runtime.sleep_ms(1)
        assert not parked.is_there
        assert await bench.heartbeat(follower, 1) is ErrorCode.REBALANCE_IN_PROGRESS
        rejoined = bench.later(join("c2", follower))
        assert (await parked.joined()).generation == (await rejoined.joined()).generation == 2

    bench.play(script)
    assert "leads and rejoined" in (bench.of_kind(EventKind.GROUP_REBALANCE)[-1].rule or "")


def test_a_follower_with_another_subscription_begins_a_rebalance() -> None:
    """At that client a pattern matches a new topic."""
    bench = GroupBench()

    async def script() -> None:
        leader, follower = await bench.form("c1", "c2")
        bench.later(join("c2", follower, topics=("orders", "returns")))
        await bench.runtime.sleep_ms(1)
        assert await bench.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)
    assert "changed its subscription" in (bench.of_kind(EventKind.GROUP_REBALANCE)[-1].rule or "")


def test_a_lost_join_answer_is_given_again_while_the_assignment_is_awaited() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        first = await bench.later(join("c1", leader)).joined()
        assert await bench.ask(join("c1", leader)) == first
        assert bench.states == [GroupState.COMPLETING_REBALANCE]

    bench.play(script)


# --- 10.2 the join phase -------------------------------------------------------------------------------------------------


def test_the_first_rebalance_waits_for_others_to_come() -> None:
    bench = GroupBench()

    async def script() -> None:
        joining = bench.later(join("c1", await bench.new_id("c1")))
        began_ms = bench.runtime.now_ms()
        await joining.joined()
        assert bench.runtime.now_ms() - began_ms == DELAY_MS

    bench.play(script)


def test_the_first_rebalance_is_extended_while_members_come_up_to_the_rebalance_timeout() -> None:
    bench = GroupBench()

    async def script() -> None:
        joining = bench.later(join("c1", await bench.new_id("c1"), rebalance_ms=8_000))
        began_ms = bench.runtime.now_ms()
        for number in range(2, 7):
            await bench.runtime.sleep_ms(1_900)
            if not joining.is_there:
                bench.later(join(f"c{number}", await bench.new_id(f"c{number}"), rebalance_ms=8_000))
        assert len((await joining.joined()).members) == 5
        assert [e.t_ms - began_ms for e in bench.of_kind(EventKind.GROUP_GENERATION)] == [8_000]

    bench.play(script)


def test_a_later_rebalance_ends_as_soon_as_all_are_back() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.form("c1", "c2")
        began_ms = bench.runtime.now_ms()
        newcomer = bench.later(join("c3", await bench.new_id("c3")))
        joins = [bench.later(join("c1", first)), bench.later(join("c2", second)), newcomer]
        generations = {(await one.joined()).generation for one in joins}
        assert generations == {2}
        assert bench.runtime.now_ms() == began_ms

    bench.play(script)


def test_who_is_not_back_when_the_rebalance_timeout_is_over_is_out() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.form("c1", "c2")
        began_ms = bench.runtime.now_ms()
        newcomer = bench.later(join("c3", await bench.new_id("c3")))
        rejoined = bench.later(join("c1", first))
        # The member keeps its session alive, but does not rejoin.
        while not rejoined.is_there:
            await bench.heartbeat(second, 1)
            await bench.runtime.sleep_ms(3_000)
        assert [m.member_id for m in (await rejoined.joined()).members] == [first, (await newcomer.joined()).member_id]
        assert bench.of_kind(EventKind.GROUP_GENERATION)[-1].t_ms - began_ms == REBALANCE_MS

    bench.play(script)
    assert bench.of_kind(EventKind.GROUP_MEMBER_REMOVED)[-1].rule == "did not rejoin in time"


def test_a_pending_member_holds_a_later_rebalance_up_until_its_session_would_be_over() -> None:
    bench = GroupBench()

    async def script() -> None:
        (first,) = await bench.form("c1")
        await bench.new_id("c2")  # never joins with it
        began_ms = bench.runtime.now_ms()
        rejoined = bench.later(join("c1", first))
        await rejoined.joined()
        assert bench.runtime.now_ms() - began_ms == SESSION_MS

    bench.play(script)


def test_the_assignor_with_most_votes_among_those_all_support_wins() -> None:
    bench = GroupBench()

    async def script() -> None:
        ids = [await bench.new_id(f"c{n}") for n in (1, 2, 3)]
        likes = [("range", "sticky"), ("sticky", "range"), ("roundrobin", "sticky", "range")]
        joins = [bench.later(join(f"c{n}", ids[n], protocols=likes[n])) for n in range(3)]
        assert (await joins[0].joined()).protocol == "sticky"

    bench.play(script)


# --- 10.3 sync -------------------------------------------------------------------------------------------------------------


def test_a_followers_sync_waits_for_the_leader_and_who_is_not_mentioned_gets_nothing() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader, second, third = [await bench.new_id(f"c{n}") for n in (1, 2, 3)]
        joins = [bench.later(join("c", member_id)) for member_id in (leader, second, third)]
        for one in joins:
            await one.joined()
        parked = [bench.later(SyncGroupRequest(GROUP, 1, member_id)) for member_id in (second, third)]
        await bench.runtime.sleep_ms(1)
        assert [one.is_there for one in parked] == [False, False]
        assert (await bench.sync(leader, 1, {leader: (ORDERS_0,), second: (ORDERS_1,)})).assignment == (ORDERS_0,)
        assert [await one.promise.wait(1) for one in parked] == [
            SyncGroupResponse(ErrorCode.NONE, (ORDERS_1,)),
            SyncGroupResponse(ErrorCode.NONE, ()),
        ]

    bench.play(script)
    assert bench.of_kind(EventKind.GROUP_STABLE)[-1].count == 2


def test_a_sync_is_answered_by_the_state_of_the_group() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader, follower = await bench.form("c1", "c2")
        assert await bench.sync(leader, 1) == SyncGroupResponse(ErrorCode.NONE, (ORDERS_0,))
        assert (await bench.sync(follower, 0)).error is ErrorCode.ILLEGAL_GENERATION
        assert (await bench.sync("c9-unknown", 1)).error is ErrorCode.UNKNOWN_MEMBER_ID
        bench.later(join("c1", leader))
        await bench.runtime.sleep_ms(1)
        assert (await bench.sync(follower, 1)).error is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)


def test_a_member_waiting_in_sync_when_another_joins_has_to_rejoin() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.new_id("c1"), await bench.new_id("c2")
        joins = [bench.later(join("c1", first)), bench.later(join("c2", second))]
        for one in joins:
            await one.joined()
        parked = bench.later(SyncGroupRequest(GROUP, 1, second))
        bench.later(join("c3", await bench.new_id("c3")))
        assert await parked.promise.wait(1) == SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)

    bench.play(script)


def test_an_assignment_that_cannot_be_stored_is_handed_out_to_nobody() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        await bench.later(join("c1", leader)).joined()
        bench.stored.error = ErrorCode.NOT_ENOUGH_REPLICAS
        answer = await bench.sync(leader, 1, {leader: (ORDERS_0,)})
        assert answer == SyncGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        assert bench.states == [GroupState.PREPARING_REBALANCE]

    bench.play(script)


def test_an_assignment_stored_too_late_is_for_nobody() -> None:
    """A member joined while the record was on its way to the replicas: the record belongs to a past generation."""
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        await bench.later(join("c1", leader)).joined()
        held = bench.stored.held = bench.runtime.promise()
        syncing = bench.later(SyncGroupRequest(GROUP, 1, leader, None, {leader: (ORDERS_0,)}))
        bench.later(join("c2", await bench.new_id("c2")))
        assert await syncing.promise.wait(1) == SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
        held.resolve(None)
        await bench.runtime.sleep_ms(1)
        assert bench.states == [GroupState.PREPARING_REBALANCE]

    bench.play(script)
    assert bench.of_kind(EventKind.GROUP_STABLE) == []


def test_an_assignment_of_the_generation_before_is_not_taken_for_the_next() -> None:
    """The next generation was complete when the record of the former one had reached the replicas."""
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        await bench.later(join("c1", leader)).joined()
        held = bench.stored.held = bench.runtime.promise()
        bench.later(SyncGroupRequest(GROUP, 1, leader, None, {leader: (ORDERS_0, ORDERS_1)}))
        await bench.runtime.sleep_ms(1)
        other = await bench.new_id("c2")
        joins = [bench.later(join("c2", other)), bench.later(join("c1", leader))]
        assert [(await one.joined()).generation for one in joins] == [2, 2]
        bench.stored.held = None
        parked = bench.later(SyncGroupRequest(GROUP, 2, other))
        held.resolve(None)
        await bench.runtime.sleep_ms(1)
        assert (bench.states, parked.is_there) == ([GroupState.COMPLETING_REBALANCE], False)
        await bench.sync(leader, 2, {leader: (ORDERS_0,), other: (ORDERS_1,)})
        assert await parked.promise.wait(1) == SyncGroupResponse(ErrorCode.NONE, (ORDERS_1,))

    bench.play(script)


# --- 10.4 heartbeat, leave, commit -----------------------------------------------------------------------------------------


def test_a_heartbeat_is_answered_by_the_state_of_the_group() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        await bench.later(join("c1", leader)).joined()
        assert await bench.heartbeat(leader, 1) is ErrorCode.NONE  # CompletingRebalance: from 2.7 on
        await bench.sync(leader, 1, {})
        assert await bench.heartbeat(leader, 1) is ErrorCode.NONE
        assert await bench.heartbeat(leader, 2) is ErrorCode.ILLEGAL_GENERATION
        assert await bench.heartbeat("c9-unknown", 1) is ErrorCode.UNKNOWN_MEMBER_ID
        bench.later(join("c2", await bench.new_id("c2")))
        await bench.runtime.sleep_ms(1)
        assert await bench.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)


def test_a_member_that_is_not_heard_of_for_its_session_timeout_is_out() -> None:
    bench = GroupBench()

    async def script() -> None:
        survivor, crashed = await bench.form("c1", "c2")
        began_ms = bench.runtime.now_ms()
        while await bench.heartbeat(survivor, 1) is ErrorCode.NONE:
            await bench.runtime.sleep_ms(1_000)
        (removed,) = bench.of_kind(EventKind.GROUP_MEMBER_REMOVED)
        assert (removed.member, removed.t_ms - began_ms) == (crashed, SESSION_MS)
        assert (await bench.later(join("c1", survivor)).joined()).generation == 2
        assert await bench.heartbeat(crashed, 1) is ErrorCode.UNKNOWN_MEMBER_ID

    bench.play(script)
    assert "sent no heartbeat" in (bench.of_kind(EventKind.GROUP_MEMBER_REMOVED)[-1].rule or "")


def test_a_member_parked_in_a_join_does_not_expire() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.form("c1", "c2")
        parked = bench.later(join("c1", first))
        for _ in range(8):
            await bench.heartbeat(second, 1)
            await bench.runtime.sleep_ms(3_000)
        rejoined = bench.later(join("c2", second))
        assert (await parked.joined()).error is (await rejoined.joined()).error is ErrorCode.NONE

    bench.play(script)
    assert bench.of_kind(EventKind.GROUP_MEMBER_REMOVED) == []


def test_a_first_join_that_waits_for_five_minutes_is_given_up() -> None:
    """Its client has long sent another join (KAFKA-7610); otherwise such members would accumulate."""
    bench = GroupBench()

    async def script() -> None:
        (first,) = await bench.form("c1")
        newcomer = bench.later(join("c2", await bench.new_id("c2"), rebalance_ms=1_000_000))
        for _ in range(120):
            await bench.heartbeat(first, 1)
            await bench.runtime.sleep_ms(3_000)
        assert (await newcomer.joined()).error is ErrorCode.UNKNOWN_MEMBER_ID

    bench.play(script)


def test_who_leaves_is_out_at_once_and_the_last_one_leaves_an_empty_group() -> None:
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.form("c1", "c2")
        assert await bench.leave(second) is ErrorCode.NONE
        assert await bench.heartbeat(first, 1) is ErrorCode.REBALANCE_IN_PROGRESS
        assert await bench.leave(first) is ErrorCode.NONE
        await bench.runtime.sleep_ms(1)
        assert bench.states == [GroupState.EMPTY]
        assert await bench.leave(first) is ErrorCode.UNKNOWN_MEMBER_ID

    bench.play(script)
    assert [e.generation for e in bench.of_kind(EventKind.GROUP_GENERATION)] == [1, 2]


def test_commits_carry_the_generation() -> None:
    bench = GroupBench()

    async def script() -> None:
        leader = await bench.new_id("c1")
        await bench.later(join("c1", leader)).joined()
        assert await bench.commit(leader, 1, 5) is ErrorCode.REBALANCE_IN_PROGRESS  # CompletingRebalance
        await bench.sync(leader, 1, {})
        assert await bench.commit(leader, 1, 5) is ErrorCode.NONE
        assert await bench.commit(leader, 0, 4) is ErrorCode.ILLEGAL_GENERATION
        assert await bench.commit("", -1, 4) is ErrorCode.UNKNOWN_MEMBER_ID  # the group has members
        found = await bench.ask(OffsetFetchRequest(GROUP, (ORDERS_0, ORDERS_1)))
        assert found == OffsetFetchResponse(ErrorCode.NONE, {ORDERS_0: 5})

    bench.play(script)


def test_a_group_without_members_takes_commits_without_a_generation() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert await bench.commit("", 3, 7) is ErrorCode.ILLEGAL_GENERATION
        assert await bench.commit("", -1, 7) is ErrorCode.NONE
        assert (await bench.ask(OffsetFetchRequest(GROUP, (ORDERS_0,)))).offsets == {ORDERS_0: 7}

    bench.play(script)


@pytest.mark.parametrize(
    ("stored", "returned"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_a_commit_that_is_not_kept_is_refused_in_the_clients_words(stored: ErrorCode, returned: ErrorCode) -> None:
    bench = GroupBench()
    bench.stored.error = stored

    async def script() -> None:
        assert await bench.commit("", -1, 7) is returned
        assert (await bench.ask(OffsetFetchRequest(GROUP, (ORDERS_0,)))).offsets == {}

    bench.play(script)


# --- finding and failover --------------------------------------------------------------------------------------------------


def test_the_first_search_for_a_coordinator_has_the_topic_made() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert await bench.ask(FindCoordinatorRequest(GROUP)) == FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    bench.play(script)
    assert bench.made_topics == [CAUSE]


def test_who_does_not_coordinate_the_group_says_so_to_every_request() -> None:
    bench = GroupBench()

    async def script() -> None:
        bench.coordinator.on_resignation(0, CAUSE)
        requests: list[GroupRequest] = [
            join("c1"),
            SyncGroupRequest(GROUP, 1, "c1"),
            HeartbeatRequest(GROUP, 1, "c1"),
            LeaveGroupRequest(GROUP, "c1"),
            OffsetCommitRequest(GROUP, {ORDERS_0: 1}),
            OffsetFetchRequest(GROUP, (ORDERS_0,)),
        ]
        assert {(await bench.ask(request)).error for request in requests} == {ErrorCode.NOT_COORDINATOR}

    bench.play(script)


def test_the_next_coordinator_loads_the_group_and_nobody_has_to_rejoin() -> None:
    """Generation, leader, assignments and offsets are in the log; each member gets a fresh session."""
    bench = GroupBench()

    async def script() -> None:
        first, second = await bench.form("c1", "c2", assignments=lambda ids: {ids[0]: (ORDERS_0,), ids[1]: (ORDERS_1,)})
        await bench.commit(first, 1, 42)
        await bench.runtime.sleep_ms(SESSION_MS - 1)
        bench.coordinator.on_resignation(0, CAUSE)
        bench.coordinator = bench.new_coordinator("broker-2")
        bench.coordinator.on_election(0, CAUSE)
        assert (await bench.ask(OffsetFetchRequest(GROUP, ()))).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert await bench.heartbeat(first, 1) is ErrorCode.NONE  # no session expires while groups are loaded
        await bench.runtime.sleep_ms(SESSION_MS - 1)
        assert await bench.heartbeat(first, 1) is await bench.heartbeat(second, 1) is ErrorCode.NONE
        assert await bench.sync(second, 1) == SyncGroupResponse(ErrorCode.NONE, (ORDERS_1,))
        assert (await bench.ask(OffsetFetchRequest(GROUP, (ORDERS_0,)))).offsets == {ORDERS_0: 42}

    bench.play(script)
    assert [(e.node, e.state) for e in bench.of_kind(EventKind.GROUP_COORDINATION)] == [
        ("broker-1", "given up"),
        ("broker-2", "loaded"),
    ]


def test_a_member_waiting_at_a_coordinator_that_resigns_has_to_look_for_another() -> None:
    bench = GroupBench()

    async def script() -> None:
        joining = bench.later(join("c1", await bench.new_id("c1")))
        await bench.runtime.sleep_ms(1)
        bench.coordinator.on_resignation(0, CAUSE)
        assert (await joining.joined(1)).error is ErrorCode.NOT_COORDINATOR

    bench.play(script)


def test_members_that_nobody_hears_of_after_a_failover_expire_at_the_new_coordinator() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.form("c1")
        bench.coordinator.on_resignation(0, CAUSE)
        bench.coordinator = bench.new_coordinator("broker-2")
        bench.coordinator.on_election(0, CAUSE)
        await bench.runtime.sleep_ms(SESSION_MS + 1)
        assert bench.states == [GroupState.EMPTY]

    bench.play(script)


def test_a_leave_of_somebody_unknown_is_refused() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.form("c1")
        assert await bench.ask(LeaveGroupRequest(GROUP, "c9-unknown")) == LeaveGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID)
        assert await bench.ask(HeartbeatRequest("", 1, "c1")) == HeartbeatResponse(ErrorCode.INVALID_GROUP_ID)

    bench.play(script)
