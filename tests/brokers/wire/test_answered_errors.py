"""The errors in responses of all shapes, with what each is about."""

from typing import Any

import pytest
from kio.index import load_request_schema

from kcsim.brokers.groups.admin_requests import DeleteGroupsResponse
from kcsim.brokers.groups.requests import HeartbeatResponse
from kcsim.brokers.requests import (
    EpochEnd,
    ListedOffset,
    ListOffsetsResponse,
    MetadataResponse,
    OffsetsForLeaderEpochResponse,
    PartitionMetadata,
    ProduceResponse,
    ProduceResult,
)
from kcsim.brokers.wire.answered_errors import ErrorSubject, error_name, errors_in
from kcsim.brokers.wire.apis.group_admin import DELETE_GROUPS
from kcsim.brokers.wire.apis.groups import HEARTBEAT
from kcsim.brokers.wire.apis.metadata import METADATA
from kcsim.brokers.wire.apis.offsets import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from kcsim.brokers.wire.apis.records import PRODUCE
from kcsim.brokers.wire.apis.registry import APIS, response_values
from kcsim.brokers.wire.frames import RequestFrame
from kcsim.brokers.wire.message_building import message_of
from kcsim.controller.requests import ErrorCode
from kcsim.vocabulary import LeaderEpoch, TopicPartition
from tests.brokers.differential.raw_client import ALL_BROKERS, produce
from tests.brokers.test_record_batches import batch_of, record

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOT_LEADER, FENCED = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH
UNAVAILABLE, UNKNOWN = ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
PRODUCED = produce("orders", 0, batch_of(record(0, 0), 1))
NO_LEADER = PartitionMetadata(None, LeaderEpoch(1), UNAVAILABLE, (), ())


@pytest.mark.parametrize(
    ("api", "request_fields", "response", "found"),
    [
        (
            PRODUCE,
            PRODUCED,
            ProduceResponse({ORDERS_0: ProduceResult(), ORDERS_1: ProduceResult(NOT_LEADER)}),
            [("NOT_LEADER_OR_FOLLOWER", ErrorSubject("orders", 1))],
        ),
        (PRODUCE, PRODUCED, ProduceResponse({ORDERS_0: ProduceResult()}), []),
        (
            METADATA,
            ALL_BROKERS,
            MetadataResponse({}, None, {ORDERS_0: NO_LEADER}, {"nothing": UNKNOWN}),
            [
                ("LEADER_NOT_AVAILABLE", ErrorSubject("orders", 0)),
                ("UNKNOWN_TOPIC_OR_PARTITION", ErrorSubject("nothing")),
            ],
        ),
        (
            LIST_OFFSETS,
            {"replica_id": -1, "isolation_level": 0, "topics": ()},
            ListOffsetsResponse({ORDERS_0: ListedOffset(), ORDERS_1: ListedOffset(FENCED)}),
            [("FENCED_LEADER_EPOCH", ErrorSubject("orders", 1))],
        ),
        (
            OFFSET_FOR_LEADER_EPOCH,
            {"replica_id": -1, "topics": ()},
            OffsetsForLeaderEpochResponse({ORDERS_1: EpochEnd(FENCED)}),
            [("FENCED_LEADER_EPOCH", ErrorSubject("orders", 1))],
        ),
        (
            HEARTBEAT,
            {"group_id": "readers", "generation_id": 1, "member_id": "one", "group_instance_id": None},
            HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS),
            [("REBALANCE_IN_PROGRESS", ErrorSubject(group="readers"))],
        ),
        (
            DELETE_GROUPS,
            {"groups_names": ("readers", "writers")},
            DeleteGroupsResponse({"readers": ErrorCode.NON_EMPTY_GROUP, "writers": ErrorCode.NONE}),
            [("NON_EMPTY_GROUP", ErrorSubject(group="readers"))],
        ),
    ],
)
def test_an_error_is_found_with_what_it_is_about(
    api: int, request_fields: dict[str, Any], response: object, found: list[tuple[str, ErrorSubject]]
) -> None:
    for version in (APIS[api].versions[0], APIS[api].versions[-1]):
        message = message_of(load_request_schema(api, version), request_fields)
        values = response_values(response, RequestFrame(api, version, 1, "shop", message))
        assert values is not None
        assert errors_in(values, getattr(message, "group_id", None)) == found


def test_an_error_that_no_broker_of_ours_gives_has_kafkas_name() -> None:
    assert error_name(58) == "SASL_AUTHENTICATION_FAILED"
