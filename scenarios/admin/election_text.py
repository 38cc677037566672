"""Elections as Kafka's tools tell of them.

Source: Kafka 2.8, PreferredReplicaLeaderElectionCommand and LeaderElectionCommand.
"""

from collections.abc import Iterator, Mapping, Sequence

from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.admin.controller_api import election_exception
from kcsim.scenarios.admin.elections import ElectionAsked
from kcsim.zk.vocabulary import TopicPartition

SMALL_SET = 4
"""So many members, at most, Kafka's language calls a Set when it prints one, and more of them a HashSet."""
PREFERRED_TOOL_WARNINGS = (
    "This tool is deprecated. Please use kafka-leader-election tool. Tracking issue: KAFKA-8405",
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
    "Use --bootstrap-server instead to specify a broker to connect to.",
)


def asked_lines(asked: ElectionAsked) -> Iterator[str]:
    """What the tool with --zookeeper says when the wish is written. From five on, Kafka's order is that of hashes."""
    kind = "Set" if len(asked.partitions) <= SMALL_SET else "HashSet"
    yield f"Created preferred replica election path with {_listed(asked.partitions, ',')}"
    yield (f"Successfully started preferred replica election for partitions {kind}({_listed(asked.partitions, ', ')})")
    for partition in asked.unknown:
        yield f"Skipping preferred replica leader election for partition {partition} since it doesn't exist."


def result_lines(election_type: ElectionType, results: Mapping[TopicPartition, ErrorCode]) -> Iterator[str]:
    """What the tool with --bootstrap-server says of the controller's answer."""
    elected = [partition for partition, error in results.items() if error is ErrorCode.NONE]
    unneeded = [partition for partition, error in results.items() if error is ErrorCode.ELECTION_NOT_NEEDED]
    if elected:
        yield f"Successfully completed leader election ({election_type}) for partitions {_listed(elected, ', ')}"
    if unneeded:
        yield f"Valid replica already elected for partitions {_listed(unneeded, ', ')}"
    for partition, error in failures(results).items():
        told = election_exception(partition, election_type, error)
        yield f"Error completing leader election ({election_type}) for partition: {partition}: {told}"


def failures(results: Mapping[TopicPartition, ErrorCode]) -> dict[TopicPartition, ErrorCode]:
    """The partitions for which no leader could be elected; one that has the right leader already is none of them."""
    return {tp: error for tp, error in results.items() if error not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)}


def _listed(partitions: Sequence[TopicPartition], between: str) -> str:
    return between.join(map(str, partitions))
