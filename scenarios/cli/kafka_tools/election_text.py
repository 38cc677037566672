"""Elections in the words of Kafka's tools.

Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand and LeaderElectionCommand.
"""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.controller.admin.elections import RequestedElection
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.jvm_hash_order import SMALL_SET, partition_set_order
from kcsim.scenarios.cli.kafka_tools.controller_api import election_exception
from kcsim.vocabulary import TopicPartition

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


def result_lines(
    election_type: ElectionType, results: Mapping[TopicPartition, ErrorCode], *, names_valid: bool = False
) -> Iterator[str]:
    """Yield what the tool with --bootstrap-server prints for the controller's reply.

    Args:
        names_valid: as from Kafka 3.0 on; until then the tool lists the elected partitions where it means those that have a
            valid leader already.
    """
    elected = [partition for partition, error in results.items() if error is ErrorCode.NONE]
    if elected:
        yield f"Successfully completed leader election ({election_type}) for partitions {_listed(elected, ', ')}"
    valid = [partition for partition, error in results.items() if error is ErrorCode.ELECTION_NOT_NEEDED]
    if valid:
        yield f"Valid replica already elected for partitions {_listed(valid if names_valid else elected, ', ')}"
    for partition, error in failures(results).items():
        exception = election_exception(partition, election_type, error)
        yield f"Error completing leader election ({election_type}) for partition: {partition}: {exception}"


def failures(results: Mapping[TopicPartition, ErrorCode]) -> dict[TopicPartition, ErrorCode]:
    """Return the partitions for which no leader could be elected. A partition that has the right leader is not a failure."""
    return {tp: error for tp, error in results.items() if error not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)}


def _listed(partitions: Sequence[TopicPartition], between: str) -> str:
    return between.join(map(str, partitions))
