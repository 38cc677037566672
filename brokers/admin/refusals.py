"""The errors of Kafka's protocol for what the broker refuses, or cannot do.

Source: Kafka 2.8, ApiError.fromThrowable, Errors.
"""

from collections.abc import Mapping

from kcsim.controller.decisions.kafka_refusals import (
    ConfigError,
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    ReassignmentInProgressError,
    RefusedError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError

REFUSALS = (RefusedError, ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError)
"""What may be raised while a request is carried out."""

_ERRORS: Mapping[type[Exception], ErrorCode] = {
    ConfigError: ErrorCode.INVALID_CONFIG,
    InvalidConfigurationError: ErrorCode.INVALID_CONFIG,
    InvalidPartitionsError: ErrorCode.INVALID_PARTITIONS,
    InvalidReplicaAssignmentError: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    InvalidReplicationFactorError: ErrorCode.INVALID_REPLICATION_FACTOR,
    InvalidRequestError: ErrorCode.INVALID_REQUEST,
    InvalidTopicError: ErrorCode.INVALID_TOPIC_EXCEPTION,
    ReassignmentInProgressError: ErrorCode.REASSIGNMENT_IN_PROGRESS,
    TopicExistsError: ErrorCode.TOPIC_ALREADY_EXISTS,
    UnknownTopicOrPartitionError: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


def api_error(error: Exception) -> ApiError:
    """Return the error of the protocol; UNKNOWN_SERVER_ERROR for all that the protocol has none for."""
    return ApiError(_ERRORS.get(type(error), ErrorCode.UNKNOWN_SERVER_ERROR), str(error))
