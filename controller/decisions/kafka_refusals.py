"""Kafka's refusals of a topic, of more partitions or of a reassignment: its exceptions, under its names.

Nothing is done in part when one of these is raised. The messages are exactly Kafka 2.8's where clients and tools show them.
Source: Kafka's org.apache.kafka.common.errors and kafka.admin; docs/kafka/assignment.md 6, 7 and 9.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class RefusedError(Exception):
    """Kafka refuses a request; nothing was done. `kafka_name` is the name of Kafka's exception, the message its message.

    Attributes:
        legacy_message: the message of Kafka 0.10 to 1.0, where it was different.
    """

    kafka_name: ClassVar[str]

    def __init__(self, message: str, legacy_message: str | None = None) -> None:
        super().__init__(message)
        self.legacy_message = legacy_message


class InvalidPartitionsError(RefusedError):
    """A number of partitions that is not possible."""

    kafka_name = "InvalidPartitionsException"


class InvalidReplicationFactorError(RefusedError):
    """A replication factor below one, or above the number of brokers."""

    kafka_name = "InvalidReplicationFactorException"


class InvalidReplicaAssignmentError(RefusedError):
    """An explicit assignment that breaks a rule."""

    kafka_name = "InvalidReplicaAssignmentException"


class InvalidTopicError(RefusedError):
    """A topic's name that is not allowed, or a topic that is being deleted."""

    kafka_name = "InvalidTopicException"


class InvalidRequestError(RefusedError):
    """A request that contradicts itself."""

    kafka_name = "InvalidRequestException"


class TopicExistsError(RefusedError):
    """A topic of that name exists already."""

    kafka_name = "TopicExistsException"


class UnknownTopicOrPartitionError(RefusedError):
    """The topic does not exist."""

    kafka_name = "UnknownTopicOrPartitionException"


class ReassignmentInProgressError(RefusedError):
    """A topic cannot grow while one of its partitions is being reassigned."""

    kafka_name = "ReassignmentInProgressException"


class BrokerNotAvailableError(RefusedError):
    """A replica is assigned to a broker that is not alive."""

    kafka_name = "BrokerNotAvailableException"


class InvalidConfigurationError(RefusedError):
    """A setting that does not exist, or two that contradict each other."""

    kafka_name = "InvalidConfigurationException"


class ConfigError(RefusedError):
    """A setting with an invalid value."""

    kafka_name = "ConfigException"


class IllegalArgumentError(RefusedError):
    """An argument of a command-line tool that is invalid or names something that does not exist."""

    kafka_name = "IllegalArgumentException"


class AdminOperationError(RefusedError):
    """An administrative operation that cannot be carried out on this cluster."""

    kafka_name = "AdminOperationException"


class AdminCommandFailedError(RefusedError):
    """Arguments that a command-line tool does not accept."""

    kafka_name = "AdminCommandFailedException"


def topic_command_line(refusal: RefusedError) -> str:
    """Return the line that `kafka-topics` prints for a refusal."""
    return f"Error while executing topic command : {refusal}"


def as_printed(assignment: Mapping[int, Sequence[int]]) -> str:
    """Format an assignment for a message: {0: [1, 2], 1: [2, 3]}. Kafka prints different collection types there."""
    return str({partition: list(replicas) for partition, replicas in sorted(assignment.items())})
