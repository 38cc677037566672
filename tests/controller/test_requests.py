"""The protocol's numbers. Source: reference requests.md 1."""

from kcsim.controller.requests import (
    ControlledShutdownRequest,
    ErrorCode,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

ERRORS = """
NONE 0, OFFSET_OUT_OF_RANGE 1, UNKNOWN_TOPIC_OR_PARTITION 3, LEADER_NOT_AVAILABLE 5, NOT_LEADER_OR_FOLLOWER 6,
REQUEST_TIMED_OUT 7, BROKER_NOT_AVAILABLE 8, REPLICA_NOT_AVAILABLE 9, STALE_CONTROLLER_EPOCH 11, INVALID_TOPIC_EXCEPTION 17,
NOT_ENOUGH_REPLICAS 19, NOT_ENOUGH_REPLICAS_AFTER_APPEND 20, INVALID_REQUIRED_ACKS 21, TOPIC_ALREADY_EXISTS 36,
INVALID_PARTITIONS 37, INVALID_REPLICATION_FACTOR 38, INVALID_REPLICA_ASSIGNMENT 39, NOT_CONTROLLER 41,
KAFKA_STORAGE_ERROR 56, REASSIGNMENT_IN_PROGRESS 60, TOPIC_DELETION_DISABLED 73, FENCED_LEADER_EPOCH 74,
UNKNOWN_LEADER_EPOCH 75, STALE_BROKER_EPOCH 77, OFFSET_NOT_AVAILABLE 78, PREFERRED_LEADER_NOT_AVAILABLE 80,
ELIGIBLE_LEADERS_NOT_AVAILABLE 83, ELECTION_NOT_NEEDED 84, NO_REASSIGNMENT_IN_PROGRESS 85, INVALID_UPDATE_VERSION 95,
UNKNOWN_SERVER_ERROR -1
"""


def test_the_error_codes_are_kafkas() -> None:
    listed = {entry.strip() for entry in ERRORS.replace("\n", " ").split(",")}
    assert {f"{error.name} {error.value}" for error in ErrorCode} == listed


def test_requests_have_kafkas_keys_and_the_versions_of_protocol_2_6() -> None:
    requests = (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest, ControlledShutdownRequest)
    assert [(request.api_key, request.version) for request in requests] == [(4, 4), (5, 3), (6, 6), (7, 3)]
