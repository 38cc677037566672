"""The requests of consumers over TCP: a broker reads what was meant, and the consumer reads what the broker answered."""

from typing import Any

import pytest

from kcsim.brokers.groups.consumer_protocol import assignment_bytes, assignment_of, subscription_bytes
from kcsim.brokers.groups.requests import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
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
from kcsim.brokers.records import Run
from kcsim.brokers.requests import (
    ANY_LEADER_EPOCH,
    CONSUMER,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetQuery,
    PartitionMetadata,
)
from kcsim.brokers.wire.apis.registry import request_of
from kcsim.brokers.wire.consumer_requests import ConsumerRequests
from kcsim.brokers.wire.frames import RequestFrame, decode_request
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition
from tests.brokers.wire.response_frames import response_frame

B1, B2, E3 = BrokerId(1), BrokerId(2), LeaderEpoch(3)
ORDERS_0, ORDERS_1, BILLS_0 = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("bills", 0)
CLIENT = "127.0.0.1:40000"
SUBSCRIPTION = Subscription(("bills", "orders"), (BILLS_0,))
JOIN = JoinGroupRequest("billing", 4_000, 300_000, "c1-id", (("range", SUBSCRIPTION),), "consumer-c1", "c1")
SYNC = SyncGroupRequest(
    "billing", 7, "c1-id", None, {"c1-id": (ORDERS_0,), "c2-id": ()}, protocol_type="consumer", protocol="range"
)
ENDPOINT = Endpoint("PLAINTEXT", "PLAINTEXT", "10.0.0.1", 9092)


def arrived(request: Any) -> RequestFrame:
    """Return a request as it arrives at a broker."""
    return decode_request(ConsumerRequests("consumer-c1").encode(request, 7), CLIENT)


def answered(request: Any, response: Any) -> Any:
    """Return what a consumer reads of a broker's response to a request."""
    frame = response_frame(response, arrived(request))
    assert frame is not None
    correlation_id, read = ConsumerRequests("consumer-c1").decode(frame, request)
    assert correlation_id == 7
    return read


@pytest.mark.parametrize(
    "request_",
    [
        MetadataRequest(("bills", "orders")),
        MetadataRequest(None),
        MetadataRequest((), allow_auto_topic_creation=True),
        ListOffsetsRequest({ORDERS_1: OffsetQuery(-2), BILLS_0: OffsetQuery(5, E3)}),
        FindCoordinatorRequest("billing"),
        HeartbeatRequest("billing", 7, "c1-id", "c1"),
        OffsetCommitRequest("billing", {ORDERS_0: 5, BILLS_0: 0}, 7, "c1-id", "c1"),
        OffsetCommitRequest("billing", {ORDERS_0: 5, ORDERS_1: 6}, details={ORDERS_1: OffsetDetails(E3, "by hand")}),
        OffsetFetchRequest("billing", (BILLS_0, ORDERS_0, ORDERS_1)),
        OffsetFetchRequest("billing", None),
    ],
    ids=repr,
)
def test_a_broker_gets_the_request_that_was_sent(request_: Any) -> None:
    assert request_of(arrived(request_)) == request_


def test_subscriptions_and_assignments_arrive_as_bytes() -> None:
    """The coordinator passes them on without reading them."""
    joining, syncing = request_of(arrived(JOIN)), request_of(arrived(SYNC))
    assert joining.protocols == (("range", subscription_bytes(SUBSCRIPTION)),)
    assert (joining.member_id, joining.instance_id, joining.client_id) == ("c1-id", "c1", "consumer-c1")
    assert (joining.session_timeout_ms, joining.rebalance_timeout_ms) == (4_000, 300_000)
    assert joining.is_id_required
    assert syncing.assignments == {"c1-id": assignment_bytes((ORDERS_0,)), "c2-id": assignment_bytes(())}
    assert (syncing.generation, syncing.protocol_type, syncing.protocol) == (7, "consumer", "range")


def test_a_member_leaves_alone() -> None:
    leaving = request_of(arrived(LeaveGroupRequest("billing", "c1-id", "c1")))
    assert leaving == LeaveGroupMembersRequest("billing", (MemberIdentity("c1-id", "c1"),))


def test_a_fetch_has_no_session() -> None:
    """All partitions are listed each time, so that a broker that was started again needs no memory of the consumer."""
    wanted = {ORDERS_0: FetchPartition(ANY_LEADER_EPOCH, 5, 0), BILLS_0: FetchPartition(E3, 0, 0)}
    frame = arrived(FetchRequest(CONSUMER, 500, wanted))
    assert (frame.message.session_id, frame.message.session_epoch) == (0, -1)
    fetch = request_of(frame)
    assert (fetch.replica_id, fetch.max_wait_ms, fetch.partitions) == (CONSUMER, 500, wanted)


COMMIT = OffsetCommitRequest("billing", {ORDERS_0: 5, BILLS_0: 0}, 7, "c1-id")
REFUSED = OffsetCommitResponse(ErrorCode.ILLEGAL_GENERATION)
PARTLY = OffsetCommitResponse(ErrorCode.NONE, {ORDERS_0: ErrorCode.OFFSET_METADATA_TOO_LARGE})
METADATA = MetadataResponse(
    {B1: ENDPOINT},
    B1,
    {
        ORDERS_0: PartitionMetadata(B1, E3, ErrorCode.NONE, (B1, B2), (B1,), (B2,)),
        ORDERS_1: PartitionMetadata(None, E3, ErrorCode.LEADER_NOT_AVAILABLE, (B2,), (B2,), (B2,)),
    },
    {"bills": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    {B1: "a"},
    "a-cluster",
)
OFFSETS = OffsetFetchResponse(ErrorCode.NONE, {ORDERS_0: 5, ORDERS_1: 6}, {ORDERS_1: OffsetDetails(E3, "by hand")})


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (MetadataRequest(("bills", "orders")), METADATA),
        (MetadataRequest(None), MetadataResponse({}, None, {}, cluster_id="a-cluster")),
        (
            ListOffsetsRequest({ORDERS_0: OffsetQuery()}),
            ListOffsetsResponse({ORDERS_0: ListedOffset(ErrorCode.NONE, 5, E3)}),
        ),
        (FindCoordinatorRequest("billing"), FindCoordinatorResponse(ErrorCode.NONE, B1, ENDPOINT)),
        (FindCoordinatorRequest("billing"), FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)),
        (JOIN, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, "c1-id")),
        (SYNC, SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS, b"")),
        (HeartbeatRequest("billing", 7, "c1-id"), HeartbeatResponse(ErrorCode.NONE)),
        (HeartbeatRequest("billing", 7, "c1-id"), HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)),
        (COMMIT, OffsetCommitResponse(ErrorCode.NONE)),
        (COMMIT, REFUSED),
        (COMMIT, PARTLY),
        (OffsetFetchRequest("billing", (ORDERS_0, ORDERS_1, BILLS_0)), OFFSETS),
        (OffsetFetchRequest("billing", (ORDERS_0,)), OffsetFetchResponse(ErrorCode.NOT_COORDINATOR)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_consumer_gets_the_response_that_was_sent(request_: Any, response: Any) -> None:
    assert answered(request_, response) == response


def test_the_leader_of_a_group_gets_the_subscriptions_of_all() -> None:
    members = (JoinedMember("c1-id", SUBSCRIPTION, "c1"), JoinedMember("c2-id", Subscription(("orders",))))
    sent = JoinGroupResponse(ErrorCode.NONE, "c1-id", 7, "range", "c1-id", members, protocol_type="consumer")
    got = answered(JOIN, sent)
    assert (got.generation, got.protocol, got.protocol_type, got.leader) == (7, "range", "consumer", "c1-id")
    assert got.members == tuple(
        JoinedMember(m.member_id, subscription_bytes(m.subscription), m.instance_id) for m in members
    )


def test_a_member_gets_its_assignment() -> None:
    got = answered(SYNC, SyncGroupResponse(ErrorCode.NONE, (BILLS_0, ORDERS_0), 0, "consumer", "range"))
    assert assignment_of(got.assignment) == (BILLS_0, ORDERS_0)
    assert (got.protocol_type, got.protocol) == ("consumer", "range")


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_member_that_leaves_gets_its_own_error(error: ErrorCode) -> None:
    of_member = ((MemberIdentity("c1-id"), error),)
    request = LeaveGroupRequest("billing", "c1-id")
    assert answered(request, LeaveGroupMembersResponse(ErrorCode.NONE, of_member)) == LeaveGroupResponse(error)


def test_records_are_read_from_the_offset_that_was_asked_for() -> None:
    run = Run(3, 4, E3, "producer-p", 3, 1_000, 100)
    request = FetchRequest(CONSUMER, 500, {ORDERS_0: FetchPartition(ANY_LEADER_EPOCH, 5, 0)})
    got = answered(request, FetchResponse({ORDERS_0: FetchedPartition(ErrorCode.NONE, 7, 0, (run,))}))
    (read,) = got.partitions[ORDERS_0].runs
    assert (read.base_offset, read.end_offset, got.partitions[ORDERS_0].high_watermark) == (5, 7, 7)
