"""Descriptions of requests in the event log, however large the requests are."""

import pytest
from msgspec import structs

from kcsim.controller.channels.request_descriptions import describe_refusals, describe_request, name_of_request, refusals_in
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    ErrorCode,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ReplicaAssignment, TopicPartition
from tests.controller.synthetic_cluster import BOOKS, DELETED, MOVING, ORDERS, ids, state

ASSIGNED = ReplicaAssignment(ids(1, 2, 3))
LEAD = LeaderAndIsrPartitionState(state(1, 1, 2), ASSIGNED, is_new=False)
ALIVE = tuple(UpdateMetadataBroker(broker, (), None) for broker in ids(1, 2))


def lai(**states: LeaderAndIsrPartitionState) -> LeaderAndIsrRequest:
    partitions = {TopicPartition(topic, 0): replica for topic, replica in states.items()}
    return LeaderAndIsrRequest(BrokerId(1), ControllerEpoch(5), BrokerEpoch(102), partitions, ())


def um(partitions: dict[TopicPartition, UpdateMetadataPartitionState]) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(BrokerId(1), ControllerEpoch(5), BrokerEpoch(102), partitions, ALIVE)


def sr(partitions: dict[TopicPartition, StopReplicaPartitionState]) -> StopReplicaRequest:
    return StopReplicaRequest(BrokerId(1), ControllerEpoch(5), BrokerEpoch(102), partitions)


@pytest.mark.parametrize(
    ("request_", "description"),
    [
        (lai(orders=LEAD), "orders-0: leader 1, leader epoch 7, ISR [1, 2]"),
        (
            lai(books=structs.replace(LEAD, state=state(None, 2)), orders=structs.replace(LEAD, is_new=True)),
            "books-0: no leader, leader epoch 7, ISR [2]; orders-0: leader 1, leader epoch 7, ISR [1, 2], new",
        ),
        (um({}), "no partitions; 2 brokers are alive"),
        (
            um(
                {
                    ORDERS: UpdateMetadataPartitionState(state(1, 1, 2), ids(1, 2, 3), ids(3)),
                    BOOKS: UpdateMetadataPartitionState(state(1, 1), ids(1), ()),
                    DELETED: UpdateMetadataPartitionState(state(LEADER_DURING_DELETE, 1, epoch=0), ids(1), ()),
                }
            ),
            "orders-0: leader 1, leader epoch 7, ISR [1, 2], offline [3]; books-0: leader 1, leader epoch 7, ISR [1]; "
            "deleted-0: deleted; 2 brokers are alive",
        ),
        (
            sr(
                {
                    MOVING: StopReplicaPartitionState(LeaderEpoch(9), False),
                    DELETED: StopReplicaPartitionState(EPOCH_DURING_DELETE, True),
                }
            ),
            "moving-0: leader epoch 9; deleted-0: leader epoch -2, delete",
        ),
    ],
)
def test_a_request_says_of_each_partition_what_changes_for_its_recipient(
    request_: StateChangeRequest, description: str
) -> None:
    assert describe_request(request_) == description


@pytest.mark.parametrize(("total", "rest"), [(5, ""), (6, "; and 1 more"), (100_000, "; and 99995 more")])
def test_no_more_than_five_partitions_are_named(total: int, rest: str) -> None:
    request = structs.replace(lai(), partitions={TopicPartition("t", n): LEAD for n in range(total)})
    named = "; ".join(f"t-{n}: leader 1, leader epoch 7, ISR [1, 2]" for n in range(5))
    assert describe_request(request) == named + rest


def test_requests_have_kafka_s_names() -> None:
    assert [name_of_request(r) for r in (lai(), um({}), sr({}))] == ["LeaderAndIsr", "UpdateMetadata", "StopReplica"]


def test_of_an_answer_only_refusals_are_reported() -> None:
    errors = {ORDERS: ErrorCode.NONE, BOOKS: ErrorCode.KAFKA_STORAGE_ERROR, MOVING: ErrorCode.FENCED_LEADER_EPOCH}
    refused = [(BOOKS, ErrorCode.KAFKA_STORAGE_ERROR), (MOVING, ErrorCode.FENCED_LEADER_EPOCH)]
    assert refusals_in(LeaderAndIsrResponse(partition_errors=errors)) == refused
    assert refusals_in(StopReplicaResponse(partition_errors=errors)) == refused
    assert refusals_in(UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH)) == []
    assert describe_refusals(refused) == "books-0: KAFKA_STORAGE_ERROR; moving-0: FENCED_LEADER_EPOCH"


def test_no_more_than_five_refusals_are_named() -> None:
    refused = [(TopicPartition("t", n), ErrorCode.STALE_CONTROLLER_EPOCH) for n in range(8)]
    assert describe_refusals(refused).endswith("t-4: STALE_CONTROLLER_EPOCH; and 3 more")
