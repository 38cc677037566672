"""What administrators learn about groups and delete of them, and what only clients over TCP send.

Source: docs/kafka/consumer_groups.md 10, 12. What a real broker answers to the same is in tests/vectors/group-answers.
"""

import pytest

from kcsim.brokers.groups.admin_requests import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from kcsim.brokers.groups.consumer_protocol import subscription_bytes
from kcsim.brokers.groups.group_metadata import GroupTombstone, OffsetTombstone
from kcsim.brokers.groups.group_requests import GroupRequests
from kcsim.brokers.groups.requests import (
    CoordinatorKind,
    FindCoordinatorRequest,
    JoinGroupRequest,
    LeaveGroupMembersRequest,
    LeaveGroupMembersResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDetails,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
)
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import LeaderEpoch, TopicPartition
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

RETURNS_0 = TopicPartition("returns", 0)
NOTED = OffsetDetails(LeaderEpoch(4), "note")


async def described(bench: GroupBench, group_id: str = GROUP) -> DescribedGroup:
    response: DescribeGroupsResponse = await bench.ask(DescribeGroupsRequest((group_id,)))
    (group,) = response.groups
    return group


async def next_coordinator(bench: GroupBench) -> None:
    """Let another broker become coordinator, which knows what is stored only."""
    bench.coordinator.on_resignation(0, CAUSE)
    bench.coordinator = bench.new_coordinator("broker-2")
    bench.coordinator.on_election(0, CAUSE)
    await bench.runtime.sleep_ms(1)


# --- descriptions ----------------------------------------------------------------------------------------------------------


def test_subscriptions_and_assignments_are_described_while_the_group_is_stable() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert await described(bench) == DescribedGroup(ErrorCode.NONE, GROUP, "Dead")
        member_id = await bench.new_id("c1")
        assert await described(bench) == DescribedGroup(ErrorCode.NONE, GROUP, "Empty")
        joining = bench.later(join("c1", member_id))
        await bench.runtime.sleep_ms(1)
        member = DescribedMember(member_id, None, "c1", "")
        assert await described(bench) == DescribedGroup(
            ErrorCode.NONE, GROUP, "PreparingRebalance", "consumer", "", (member,)
        )
        await joining.joined()
        assert (await described(bench)).state == "CompletingRebalance"
        await bench.sync(member_id, 1, {member_id: (ORDERS_0,)})
        member = member._replace(subscription=Subscription(("orders",)), assignment=(ORDERS_0,))
        assert await described(bench) == DescribedGroup(ErrorCode.NONE, GROUP, "Stable", "consumer", "range", (member,))

    bench.play(script)


def test_who_does_not_coordinate_a_group_does_not_describe_delete_or_list_it() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.form("c1")
        bench.coordinator.on_resignation(0, CAUSE)
        error = ErrorCode.NOT_COORDINATOR
        assert await described(bench) == DescribedGroup(error, GROUP)
        assert await bench.ask(DeleteGroupsRequest((GROUP,))) == DeleteGroupsResponse({GROUP: error})
        assert await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_0,))) == OffsetDeleteResponse(error)
        assert await bench.ask(LeaveGroupMembersRequest(GROUP, ())) == LeaveGroupMembersResponse(error)
        assert await bench.ask(ListGroupsRequest()) == ListGroupsResponse(ErrorCode.NONE)

    bench.play(script)


def test_while_groups_are_loaded_a_list_may_be_incomplete_and_a_sync_begins_again() -> None:
    bench = GroupBench()

    async def script() -> None:
        bench.coordinator.on_resignation(0, CAUSE)
        bench.coordinator.on_election(0, CAUSE)
        assert await bench.ask(ListGroupsRequest()) == ListGroupsResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        assert (await described(bench)).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (await bench.sync("c1", 1)).error is ErrorCode.REBALANCE_IN_PROGRESS

    bench.play(script)


def test_groups_are_listed_by_their_states() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.form("c1")
        await bench.ask(OffsetCommitRequest("simple", {ORDERS_0: 1}))
        stable, empty = ListedGroup(GROUP, "consumer", "Stable"), ListedGroup("simple", "", "Empty")
        assert set((await bench.ask(ListGroupsRequest())).groups) == {stable, empty}
        assert (await bench.ask(ListGroupsRequest(frozenset({"Empty"})))).groups == (empty,)
        assert (await bench.ask(ListGroupsRequest(frozenset({"stable"})))).groups == ()

    bench.play(script)


# --- deletion --------------------------------------------------------------------------------------------------------------


def test_a_group_is_deleted_once_it_has_no_members_and_the_next_coordinator_does_not_find_it() -> None:
    bench = GroupBench()

    async def script() -> None:
        (member_id,) = await bench.form("c1")
        await bench.commit(member_id, 1, 5)
        assert (await bench.ask(DeleteGroupsRequest((GROUP,)))).errors == {GROUP: ErrorCode.NON_EMPTY_GROUP}
        await bench.leave(member_id)
        await bench.runtime.sleep_ms(REBALANCE_MS)
        request = DeleteGroupsRequest((GROUP, "unknown"))
        assert (await bench.ask(request)).errors == {GROUP: ErrorCode.NONE, "unknown": ErrorCode.GROUP_ID_NOT_FOUND}
        await bench.runtime.sleep_ms(1)
        assert (await described(bench)).state == "Dead"
        await next_coordinator(bench)
        assert (await described(bench)).state == "Dead"
        assert await bench.ask(OffsetFetchRequest(GROUP, None)) == OffsetFetchResponse(ErrorCode.NONE)

    bench.play(script)
    (deleted,) = bench.of_kind(EventKind.OFFSETS_DELETED)
    assert (deleted.group, deleted.count, deleted.state, deleted.detail) == (GROUP, 1, "Dead", "orders-0")
    (stored,) = bench.stored.records.values()
    assert stored[-2:] == [OffsetTombstone(GROUP, ORDERS_0), GroupTombstone(GROUP)]


def test_offsets_of_topics_that_members_consume_are_not_deleted() -> None:
    bench = GroupBench()

    async def script() -> None:
        (member_id,) = await bench.form("c1")
        offsets = {ORDERS_0: 1, RETURNS_0: 2}
        await bench.ask(OffsetCommitRequest(GROUP, offsets, 1, member_id))
        deleted = await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_0, RETURNS_0)))
        assert deleted == OffsetDeleteResponse(
            ErrorCode.NONE, {ORDERS_0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, RETURNS_0: ErrorCode.NONE}
        )
        await next_coordinator(bench)
        assert (await bench.ask(OffsetFetchRequest(GROUP, None))).offsets == {ORDERS_0: 1}

    bench.play(script)


@pytest.mark.parametrize("subscription", [subscription_bytes(Subscription(("orders",))), b"\xff"], ids=["bytes", "damaged"])
def test_what_members_consume_is_read_from_their_bytes(subscription: bytes) -> None:
    """Where nobody can know it, they may consume anything."""
    bench = GroupBench()

    async def script() -> None:
        member_id = await joined_at_once(bench, (("range", subscription),))
        await bench.ask(SyncGroupRequest(GROUP, 1, member_id))
        is_readable = subscription != b"\xff"
        errors = (await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_0, RETURNS_0)))).partition_errors
        refused = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        assert errors == {ORDERS_0: refused, RETURNS_0: ErrorCode.NONE if is_readable else refused}

    bench.play(script)


def test_with_its_last_offset_an_empty_group_goes() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.ask(OffsetCommitRequest(GROUP, {ORDERS_0: 1, ORDERS_1: 2}))
        await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_0,)))
        assert (await described(bench)).state == "Empty"
        await bench.ask(OffsetDeleteRequest(GROUP, ()))
        await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_1,)))
        assert (await described(bench)).state == "Dead"
        assert await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_1,))) == OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)

    bench.play(script)


# --- other clients ---------------------------------------------------------------------------------------------------------


async def joined_at_once(
    bench: GroupBench, protocols: tuple[tuple[str, bytes], ...], protocol_type: str = "consumer"
) -> str:
    """Let an old client join, and return its id."""
    request = JoinGroupRequest(
        GROUP, SESSION_MS, REBALANCE_MS, "", protocols, "c1", protocol_type=protocol_type, is_id_required=False
    )
    response = await bench.later(request).joined()
    assert (response.error, response.protocol_type) == (ErrorCode.NONE, protocol_type)
    return response.member_id


def test_a_member_without_an_id_joins_at_once_if_its_version_is_old() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert (await joined_at_once(bench, (("range", b""),))).startswith("c1-")
        assert bench.runtime.now_ms() >= DELAY_MS

    bench.play(script)


def test_a_group_of_another_type_keeps_its_bytes_and_its_type() -> None:
    bench = GroupBench()

    async def script() -> None:
        worker = await joined_at_once(bench, (("sessioned", b"\x00any"),), "connect")
        synced = await bench.ask(SyncGroupRequest(GROUP, 1, worker, None, {worker: b"\x00all"}, b""))
        assert (synced.assignment, synced.protocol_type, synced.protocol) == (b"\x00all", "connect", "sessioned")
        await next_coordinator(bench)
        group = await described(bench)
        assert (group.protocol_type, group.protocol) == ("connect", "sessioned")
        assert [(member.subscription, member.assignment) for member in group.members] == [(b"\x00any", b"\x00all")]
        assert (await bench.ask(join("c2"))).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert await bench.ask(OffsetDeleteRequest(GROUP, (ORDERS_0,))) == OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP)
        await bench.leave(worker)
        await bench.runtime.sleep_ms(REBALANCE_MS)
        assert (await bench.ask(ListGroupsRequest())).groups == (ListedGroup(GROUP, "connect", "Empty"),)

    bench.play(script)


def test_members_that_the_leader_does_not_mention_get_what_it_says() -> None:
    bench = GroupBench()

    async def script() -> None:
        one, two = [await bench.new_id(name) for name in ("c1", "c2")]
        joins = [bench.later(join(name, member_id)) for name, member_id in (("c1", one), ("c2", two))]
        generation = (await joins[0].joined()).generation
        waiting = bench.later(SyncGroupRequest(GROUP, generation, two))
        await bench.ask(SyncGroupRequest(GROUP, generation, one, None, {one: b"\x01"}, b""))
        assert (await waiting.promise.wait(1_000)).assignment == b""

    bench.play(script)


@pytest.mark.parametrize("named", [("connect", "range"), ("consumer", "sticky"), ("consumer", "")])
def test_a_sync_that_names_another_protocol_is_refused(named: tuple[str, str]) -> None:
    bench = GroupBench()

    async def script() -> None:
        (member_id,) = await bench.form("c1")
        request = SyncGroupRequest(GROUP, 1, member_id, protocol_type=named[0], protocol=named[1])
        assert (await bench.ask(request)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        right = SyncGroupRequest(GROUP, 1, member_id, protocol_type="consumer", protocol="range")
        assert (await bench.ask(right)).error is ErrorCode.NONE

    bench.play(script)


def test_several_members_leave_with_one_request_and_each_has_its_own_error() -> None:
    bench = GroupBench()

    async def script() -> None:
        one, two = await bench.form("c1", "c2")
        members = tuple(map(MemberIdentity, (one, "c9-unknown", two)))
        response = await bench.ask(LeaveGroupMembersRequest(GROUP, members))
        errors = (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE)
        assert response == LeaveGroupMembersResponse(ErrorCode.NONE, tuple(zip(members, errors, strict=True)))
        unknown = await bench.ask(LeaveGroupMembersRequest("unknown", members[:1]))
        assert unknown.members == ((members[0], ErrorCode.UNKNOWN_MEMBER_ID),)

    bench.play(script)


def test_transactions_have_no_coordinator() -> None:
    bench = GroupBench()

    async def script() -> None:
        transactional = FindCoordinatorRequest("p", CoordinatorKind.TRANSACTION)
        assert (await bench.ask(transactional)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    bench.play(script)
    assert bench.made_topics == []


# --- offsets ---------------------------------------------------------------------------------------------------------------


def test_what_is_stored_beside_an_offset_is_returned_also_by_the_next_coordinator() -> None:
    bench = GroupBench()

    async def script() -> None:
        await bench.ask(OffsetCommitRequest(GROUP, {ORDERS_0: 1, ORDERS_1: 2}, details={ORDERS_0: NOTED, ORDERS_1: NOTED}))
        await bench.ask(OffsetCommitRequest(GROUP, {ORDERS_1: 3}))
        wanted = OffsetFetchResponse(ErrorCode.NONE, {ORDERS_0: 1, ORDERS_1: 3}, {ORDERS_0: NOTED})
        assert await bench.ask(OffsetFetchRequest(GROUP, None)) == wanted
        await next_coordinator(bench)
        assert await bench.ask(OffsetFetchRequest(GROUP, (ORDERS_0, ORDERS_1, RETURNS_0))) == wanted

    bench.play(script)


def test_metadata_of_more_than_offset_metadata_max_bytes_is_refused_and_the_other_offsets_are_stored() -> None:
    bench = GroupBench(offset_metadata_max_bytes=4)

    async def script() -> None:
        details = {ORDERS_0: OffsetDetails(metadata="12345"), ORDERS_1: OffsetDetails(metadata="1234")}
        answer = await bench.ask(OffsetCommitRequest(GROUP, {ORDERS_0: 1, ORDERS_1: 2}, details=details))
        assert answer == OffsetCommitResponse(ErrorCode.NONE, {ORDERS_0: ErrorCode.OFFSET_METADATA_TOO_LARGE})
        assert (await bench.ask(OffsetFetchRequest(GROUP, None))).offsets == {ORDERS_1: 2}

    bench.play(script)


def test_offsets_of_partitions_that_the_broker_does_not_know_are_refused() -> None:
    bench = GroupBench()

    async def script() -> None:
        requests = GroupRequests(bench.coordinator, bench.metadata)
        unknown = {ORDERS_0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        committed = await requests.handle(OffsetCommitRequest(GROUP, {ORDERS_0: 1}), CAUSE)
        assert committed == OffsetCommitResponse(ErrorCode.NONE, unknown)
        await bench.ask(OffsetCommitRequest(GROUP, {ORDERS_1: 1}))
        deleted = await requests.handle(OffsetDeleteRequest(GROUP, (ORDERS_0,)), CAUSE)
        assert deleted == OffsetDeleteResponse(ErrorCode.NONE, unknown)

    bench.play(script)


def test_simple_consumers_may_have_a_group_without_a_name() -> None:
    bench = GroupBench()

    async def script() -> None:
        assert (await bench.ask(OffsetCommitRequest("", {ORDERS_0: 1}))).error is ErrorCode.NONE
        assert (await bench.ask(OffsetFetchRequest("", None))).offsets == {ORDERS_0: 1}
        assert await bench.ask(OffsetDeleteRequest("", (ORDERS_0,))) == OffsetDeleteResponse(ErrorCode.INVALID_GROUP_ID)
        assert (await bench.ask(DeleteGroupsRequest(("",)))).errors == {"": ErrorCode.NONE}

    bench.play(script)
