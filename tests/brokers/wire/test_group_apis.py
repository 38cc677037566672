"""What requests about groups over TCP are to a broker, and its responses to clients."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

import pytest
from kio.index import load_request_schema

from kcsim.brokers.groups.admin_requests import (
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteResponse,
)
from kcsim.brokers.groups.requests import (
    CoordinatorKind,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupMembersRequest,
    LeaveGroupMembersResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDetails,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Subscription,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kcsim.brokers.wire.apis import group_admin, group_offsets, groups
from kcsim.brokers.wire.apis.api import AnsweredRequestError
from kcsim.brokers.wire.apis.group_admin import LIST_GROUPS
from kcsim.brokers.wire.apis.group_offsets import OFFSET_COMMIT, OFFSET_FETCH
from kcsim.brokers.wire.apis.groups import FIND_COORDINATOR, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.frames import RequestFrame, decode_request, decode_response, encode_request
from kcsim.brokers.wire.message_building import message_of
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition
from tests.brokers.differential.group_conversation import ASSIGNMENT, SUBSCRIPTION, commit, fetch, join, leave, sync
from tests.brokers.wire.recorded_frames import Exchange, recorded_exchanges
from tests.brokers.wire.response_frames import response_frame

APIS = {**groups.APIS, **group_offsets.APIS, **group_admin.APIS}
RECORDED = [one for one in recorded_exchanges() if one.api_key in APIS]
ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
CLIENT = "127.0.0.1:40000"


def sent(api_key: int, version: int, client_id: str | None = "test", **values: Any) -> RequestFrame:
    """Return a request as it arrives."""
    message = message_of(load_request_schema(api_key, version), values)
    return decode_request(encode_request(message, 7, client_id), CLIENT)


def message_to(response: Any, frame: RequestFrame) -> Any:
    """Return the message that a client gets."""
    answer = response_frame(response, frame)
    assert answer is not None
    return decode_response(answer, frame.api_key, frame.version)[1]


# --- recorded --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api_key", sorted(APIS))
def test_what_kafka_answered_is_answered_again(api_key: int) -> None:
    """The order of partitions is no part of the protocol."""
    recorded = [one for one in RECORDED if one.api_key == api_key]
    assert recorded
    for exchange in recorded:
        assert exchange.response is not None
        frame = decode_request(exchange.request, CLIENT)
        assert request_of(frame).__class__.__name__.endswith("Request")
        _, kafkas = decode_response(exchange.response, api_key, exchange.version)
        ours = message_to(as_the_broker_knows(exchange, kafkas), frame)
        assert in_order(ours) == in_order(kafkas)


def as_the_broker_knows(exchange: Exchange, message: Any) -> Any:
    """Return the broker's response that a message was made of."""
    error = ErrorCode(message.error_code.value) if hasattr(message, "error_code") else ErrorCode.NONE
    match exchange.api_key:
        case groups.FIND_COORDINATOR:
            endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", message.host, message.port)
            found = (BrokerId(message.node_id), endpoint) if error is ErrorCode.NONE else ()
            return FindCoordinatorResponse(error, *found)
        case groups.JOIN_GROUP:
            return JoinGroupResponse(
                error,
                message.member_id,
                message.generation_id,
                message.protocol_name or None,
                message.leader,
                tuple(JoinedMember(one.member_id, one.metadata, one.group_instance_id) for one in message.members),
                protocol_type=getattr(message, "protocol_type", None),
            )
        case groups.SYNC_GROUP:
            named = getattr(message, "protocol_type", None), getattr(message, "protocol_name", None)
            return SyncGroupResponse(error, message.assignment, 0, *named)
        case groups.HEARTBEAT:
            return HeartbeatResponse(error)
        case groups.LEAVE_GROUP if exchange.version < 3:
            return LeaveGroupResponse(error)
        case groups.LEAVE_GROUP:
            members = ((MemberIdentity(one.member_id, one.group_instance_id), one.error_code) for one in message.members)
            return LeaveGroupMembersResponse(error, tuple((one, ErrorCode(code.value)) for one, code in members))
        case group_offsets.OFFSET_COMMIT:
            return OffsetCommitResponse(ErrorCode.NONE, partition_errors(message))
        case group_offsets.OFFSET_DELETE:
            return OffsetDeleteResponse(error, partition_errors(message))
        case group_offsets.OFFSET_FETCH:
            return fetched(error, message)
        case group_admin.DESCRIBE_GROUPS:
            return DescribeGroupsResponse(tuple(map(described, message.groups)))
        case group_admin.LIST_GROUPS:
            return ListGroupsResponse(error, tuple(map(listed, message.groups)))
        case group_admin.DELETE_GROUPS:
            return DeleteGroupsResponse({one.group_id: ErrorCode(one.error_code.value) for one in message.results})
    raise AssertionError(exchange)


def fetched(error: ErrorCode, message: Any) -> OffsetFetchResponse:
    offsets, details = {}, {}
    for topic in message.topics:
        for one in topic.partitions:
            if one.committed_offset >= 0:
                tp = TopicPartition(topic.name, one.partition_index)
                offsets[tp] = one.committed_offset
                details[tp] = OffsetDetails(getattr(one, "committed_leader_epoch", LeaderEpoch(-1)), one.metadata)
    return OffsetFetchResponse(error, offsets, details)


def listed(group: Any) -> ListedGroup:
    return ListedGroup(group.group_id, group.protocol_type, getattr(group, "group_state", ""))


def described(group: Any) -> DescribedGroup:
    members = (
        DescribedMember(
            one.member_id,
            getattr(one, "group_instance_id", None),
            one.client_id,
            one.client_host,
            one.member_metadata,
            one.member_assignment,
        )
        for one in group.members
    )
    error = ErrorCode(group.error_code.value)
    return DescribedGroup(error, group.group_id, group.group_state, group.protocol_type, group.protocol_data, tuple(members))


def partition_errors(message: Any) -> dict[TopicPartition, ErrorCode]:
    return {
        TopicPartition(topic.name, one.partition_index): ErrorCode(one.error_code.value)
        for topic in message.topics
        for one in topic.partitions
    }


def in_order(message: Any) -> Any:
    """Return a message with its topics and partitions in order, if it has any."""
    if not hasattr(message, "topics"):
        return message
    partitions = [tuple(sorted(topic.partitions, key=attrgetter("partition_index"))) for topic in message.topics]
    topics = [replace(topic, partitions=found) for topic, found in zip(message.topics, partitions, strict=True)]
    return replace(message, topics=tuple(sorted(topics, key=attrgetter("name"))))


# --- versions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", APIS[FIND_COORDINATOR].versions)
def test_a_coordinator_of_transactions_can_be_asked_for_from_version_1_on(version: int) -> None:
    asked = request_of(sent(FIND_COORDINATOR, version, key="g", key_type=1))
    assert asked == FindCoordinatorRequest("g", CoordinatorKind.TRANSACTION if version else CoordinatorKind.GROUP)


def test_a_kind_of_coordinator_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AnsweredRequestError) as answered:
        request_of(sent(FIND_COORDINATOR, 3, key="g", key_type=2))
    assert answered.value.values["error_code"] is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", APIS[JOIN_GROUP].versions)
def test_a_join_is_the_same_to_the_broker_in_all_versions_but_for_what_they_lack(version: int) -> None:
    values = {**join("g", "m", "i"), "rebalance_timeout": 60_000}
    assert request_of(sent(JOIN_GROUP, version, **values)) == JoinGroupRequest(
        "g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000 if version >= 1 else 30_000,
        member_id="m",
        protocols=(("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION)),
        client_id="test",
        instance_id="i" if version >= 5 else None,
        client_host="/127.0.0.1",
        is_id_required=version >= 4,
    )


def test_a_client_without_a_name_joins_with_an_empty_one() -> None:
    assert request_of(sent(JOIN_GROUP, 7, None, **join("g"))).client_id == ""


@pytest.mark.parametrize("version", APIS[JOIN_GROUP].versions)
def test_no_protocol_is_an_empty_name_before_version_7(version: int) -> None:
    message = message_to(JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID), sent(JOIN_GROUP, version, **join("g")))
    assert message.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", APIS[SYNC_GROUP].versions)
def test_a_sync_carries_the_leaders_bytes(version: int) -> None:
    is_named = version >= 5
    assert request_of(sent(SYNC_GROUP, version, **sync("g", 4, "m", {"m": ASSIGNMENT}, "i"))) == SyncGroupRequest(
        "g",
        4,
        "m",
        "i" if version >= 3 else None,
        {"m": ASSIGNMENT},
        b"",
        "consumer" if is_named else None,
        "range" if is_named else None,
    )


@pytest.mark.parametrize("field", ["protocol_type", "protocol_name"])
def test_a_sync_that_must_name_its_protocol_and_does_not_is_refused(field: str) -> None:
    with pytest.raises(AnsweredRequestError) as answered:
        request_of(sent(SYNC_GROUP, 5, **{**sync("g", 4, "m", {}), field: None}))
    assert answered.value.values["error_code"] is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", APIS[LEAVE_GROUP].versions)
def test_one_member_leaves_before_version_3_and_many_from_then_on(version: int) -> None:
    asked = request_of(sent(LEAVE_GROUP, version, member_id="m", **leave("g", ("m", None), ("", "i"))))
    if version < 3:
        assert asked == LeaveGroupRequest("g", "m")
    else:
        assert asked == LeaveGroupMembersRequest("g", (MemberIdentity("m"), MemberIdentity("", "i")))


@pytest.mark.parametrize("version", APIS[OFFSET_COMMIT].versions)
def test_a_commit_keeps_what_its_version_has(version: int) -> None:
    values = commit("g", {0: 5, 1: 6}, 4, "m", "i", leader_epoch=3, metadata="note")
    details = OffsetDetails(LeaderEpoch(3 if version >= 6 else -1), "note")
    assert request_of(sent(OFFSET_COMMIT, version, **values)) == OffsetCommitRequest(
        "g",
        {ORDERS_0: 5, ORDERS_1: 6},
        4 if version else -1,
        "m" if version else "",
        "i" if version >= 7 else None,
        {ORDERS_0: details, ORDERS_1: details},
    )


def test_no_metadata_is_none_to_be_stored() -> None:
    assert request_of(sent(OFFSET_COMMIT, 8, **commit("g", {0: 5}, metadata=None))).details == {}


@pytest.mark.parametrize("version", APIS[OFFSET_COMMIT].versions)
def test_partitions_of_a_commit_have_their_own_errors(version: int) -> None:
    frame = sent(OFFSET_COMMIT, version, **commit("g", {1: 6, 0: 5}))
    message = message_to(
        OffsetCommitResponse(ErrorCode.ILLEGAL_GENERATION, {ORDERS_1: ErrorCode.OFFSET_METADATA_TOO_LARGE}), frame
    )
    assert partition_errors(message) == {
        ORDERS_0: ErrorCode.ILLEGAL_GENERATION,
        ORDERS_1: ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }


@pytest.mark.parametrize("version", APIS[OFFSET_FETCH].versions)
def test_a_refused_fetch_of_offsets_names_its_error_as_its_version_can(version: int) -> None:
    frame = sent(OFFSET_FETCH, version, **fetch("g", (0, 1)))
    assert request_of(frame) == OffsetFetchRequest("g", (ORDERS_0, ORDERS_1))
    message = message_to(OffsetFetchResponse(ErrorCode.NOT_COORDINATOR), frame)
    if version < 2:
        assert set(partition_errors(message).values()) == {ErrorCode.NOT_COORDINATOR}
    else:
        assert (message.error_code.name, message.topics) == ("not_coordinator", ())


@pytest.mark.parametrize("version", range(2, 8))
def test_the_offsets_of_all_partitions_are_asked_for_with_null(version: int) -> None:
    frame = sent(OFFSET_FETCH, version, **fetch("g", None))
    assert request_of(frame) == OffsetFetchRequest("g", None)
    message = message_to(OffsetFetchResponse(ErrorCode.NONE, {ORDERS_1: 9}), frame)
    assert [(topic.name, [one.committed_offset for one in topic.partitions]) for topic in message.topics] == [
        ("orders", [9])
    ]


@pytest.mark.parametrize("version", APIS[LIST_GROUPS].versions)
def test_states_are_asked_for_from_version_4_on(version: int) -> None:
    asked = request_of(sent(LIST_GROUPS, version, states_filter=["Stable"]))
    assert asked == ListGroupsRequest(frozenset({"Stable"} if version == 4 else ()))


# --- values of simulated consumers -----------------------------------------------------------------------------------------


def test_subscriptions_and_assignments_of_simulated_consumers_are_sent_as_bytes() -> None:
    one = JoinedMember("m", Subscription(("orders",)))
    joined = message_to(JoinGroupResponse(ErrorCode.NONE, "m", 1, "range", "m", (one,)), sent(JOIN_GROUP, 7, **join("g")))
    assert [member.metadata for member in joined.members] == [SUBSCRIPTION]
    frame = sent(SYNC_GROUP, 5, **sync("g", 1, "m", {}))
    assert message_to(SyncGroupResponse(ErrorCode.NONE, (ORDERS_0, ORDERS_1)), frame).assignment == ASSIGNMENT
    assert message_to(SyncGroupResponse(ErrorCode.ILLEGAL_GENERATION), frame).assignment == b""
