"""The requests, responses and error codes between controller and brokers.

Left out: throttle times, tagged fields.

Source: Kafka 2.8, org.apache.kafka.common.requests and protocol.Errors; docs/kafka/requests.md 1.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar

import msgspec

from kcsim.controller.decisions.state_change_requests import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LiveLeader,
    StateChangeRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kcsim.vocabulary import BrokerEpoch, BrokerId, LeaderAndIsr, TopicPartition

__all__ = [
    "EPOCH_DURING_DELETE",
    "LEADER_DURING_DELETE",
    "NO_LEADER_EPOCH",
    "UNKNOWN_BROKER_EPOCH",
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterIsrRequest",
    "AlterIsrResponse",
    "BrokerRequest",
    "BrokerResponse",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
    "ControllerRequest",
    "ControllerResponse",
    "ErrorCode",
    "LeaderAndIsrPartitionState",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "LiveLeader",
    "StateChangeRequest",
    "StateChangeResponse",
    "StopReplicaPartitionState",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "UpdateMetadataBroker",
    "UpdateMetadataPartitionState",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
]


class ErrorCode(IntEnum):
    """Why a request, or one partition of it, was refused. Names and numbers are those of the protocol."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INELIGIBLE_REPLICA = 107


class ApiError(msgspec.Struct, frozen=True):
    """An error and its message; None: the message that the error always has, or none."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def is_failure(self) -> bool:
        return self.error is not ErrorCode.NONE


SUCCESS = ApiError()


class LeaderAndIsrResponse(msgspec.Struct, frozen=True):
    """One error per partition of the request; if the whole request was refused, the same error for each."""

    error: ErrorCode = ErrorCode.NONE
    partition_errors: Mapping[TopicPartition, ErrorCode] = msgspec.field(default_factory=dict)


class UpdateMetadataResponse(msgspec.Struct, frozen=True):
    error: ErrorCode = ErrorCode.NONE


class StopReplicaResponse(msgspec.Struct, frozen=True):
    """One error per partition of the request; no partition at all if the whole request was refused as stale."""

    error: ErrorCode = ErrorCode.NONE
    partition_errors: Mapping[TopicPartition, ErrorCode] = msgspec.field(default_factory=dict)


class ControlledShutdownRequest(msgspec.Struct, frozen=True):
    """A broker that is about to stop asks the controller to move its leaderships to other brokers."""

    api_key: ClassVar[int] = 7
    version: ClassVar[int] = 3
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class ControlledShutdownResponse(msgspec.Struct, frozen=True):
    """Success only if there is no error and no remaining partition.

    The broker that asked still leads the remaining partitions.
    """

    error: ErrorCode = ErrorCode.NONE
    remaining_partitions: tuple[TopicPartition, ...] = ()


class AlterIsrRequest(msgspec.Struct, frozen=True):
    """The leader of some partitions asks the controller for other ISRs (from protocol version 2.7 on).

    Attributes:
        partitions: the state that each partition is to have, with the version of the state znode that the leader knows.
    """

    api_key: ClassVar[int] = 56
    version: ClassVar[int] = 0
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    partitions: Mapping[TopicPartition, LeaderAndIsr]


class AlterIsrResponse(msgspec.Struct, frozen=True):
    """For each partition its state now, or why it was refused; no partition if the whole request was refused."""

    error: ErrorCode = ErrorCode.NONE
    partitions: Mapping[TopicPartition, LeaderAndIsr | ErrorCode] = msgspec.field(default_factory=dict)


class AllocateProducerIdsRequest(msgspec.Struct, frozen=True):
    """A broker asks the controller for a block of producer ids (from protocol version 3.0 on)."""

    api_key: ClassVar[int] = 67
    version: ClassVar[int] = 0
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class AllocateProducerIdsResponse(msgspec.Struct, frozen=True):
    """The first id of the block and the number of its ids. With an error, they have no meaning."""

    error: ErrorCode = ErrorCode.NONE
    first: int = 0
    count: int = 0


StateChangeResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse
ControllerRequest = ControlledShutdownRequest | AlterIsrRequest | AllocateProducerIdsRequest
"""What brokers ask of the controller."""
ControllerResponse = ControlledShutdownResponse | AlterIsrResponse | AllocateProducerIdsResponse
BrokerRequest = StateChangeRequest | ControllerRequest
BrokerResponse = StateChangeResponse | ControllerResponse
