"""Elections in the words of Kafka's tools.

Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand and LeaderElectionCommand; Kafka 3.0 and 3.9, LeaderElectionCommand.
"""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.controller.admin.elections import RequestedElection
from kcsim.controller.capabilities import Release, is_from
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.jvm_hash_order import SMALL_SET, partition_set_order
from kcsim.vocabulary import TopicPartition

EXCEPTIONS: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "UnknownTopicOrPartitionException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "PreferredLeaderNotAvailableException",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "EligibleLeadersNotAvailableException",
    ErrorCode.NOT_CONTROLLER: "NotControllerException",
}
MESSAGES: Mapping[ErrorCode, str] = {ErrorCode.NOT_CONTROLLER: "This is not the correct controller for this cluster."}
"""Messages that an error has in the client when the answer has none."""
NAMES_VALID_SINCE = Release("3.0")
"""The first release whose kafka-leader-election names the partitions that have a valid leader already."""
REASON_IS_PRINTED_SINCE = Release("3.7")
"""The first release with kafka-leader-election in Java, which prints its exception's message alone."""
PREFERRED_TOOL_WARNINGS = (
    "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405",
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
    "Use --bootstrap-server instead to specify a broker to connect to.",
)


def requested_election_lines(requested: RequestedElection) -> Iterator[str]:
    """Yield what the tool with --zookeeper prints after writing the request.

    The partitions are those of a Scala Set; from five elements on, of a HashSet.
    """
    kind = "Set" if len(requested.partitions) <= SMALL_SET else "HashSet"
    partitions = partition_set_order(requested.partitions)
    yield f"Created preferred replica election path with {_listed(partitions, ',')}"
    yield f"Successfully started preferred replica election for partitions {kind}({_listed(partitions, ', ')})"
    for partition in requested.unknown:
        yield f"Skipping preferred replica leader election for partition {partition} since it doesn't exist."


def result_lines(election_type: ElectionType, results: Mapping[TopicPartition, ApiError], release: Release) -> Iterator[str]:
    """Yield what the tool of this release with --bootstrap-server prints for the controller's reply.

    Before Kafka 3.0 the tool lists the elected partitions where it means those that have a valid leader already.
    """
    names_valid = is_from(release, NAMES_VALID_SINCE)
    elected = [partition for partition, result in results.items() if not result.is_failure]
    if elected:
        yield f"Successfully completed leader election ({election_type}) for partitions {_listed(elected, ', ')}"
    valid = [partition for partition, result in results.items() if result.error is ErrorCode.ELECTION_NOT_NEEDED]
    if valid:
        yield f"Valid replica already elected for partitions {_listed(valid if names_valid else elected, ', ')}"
    for partition, result in failures(results).items():
        exception = election_exception(result)
        yield f"Error completing leader election ({election_type}) for partition: {partition}: {exception}"


def failures(results: Mapping[TopicPartition, ApiError]) -> dict[TopicPartition, ApiError]:
    """Return the partitions for which no leader could be elected. A partition that has the right leader is not a failure."""
    fine = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    return {tp: result for tp, result in results.items() if result.error not in fine}


def election_exception(result: ApiError) -> str:
    """Return the exception that an admin client prints for a failed election: its class and its message."""
    name = EXCEPTIONS.get(result.error, "UnknownServerException")
    message = result.message or MESSAGES.get(result.error, result.error.name)
    return f"org.apache.kafka.common.errors.{name}: {message}"


def _listed(partitions: Sequence[TopicPartition], between: str) -> str:
    return between.join(map(str, partitions))
