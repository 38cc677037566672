"""Requests that only the controller of a cluster of `kcsim up` can serve: no znode exists for these admin actions.

Kafka's tools take --bootstrap-server for them. Source: docs/kafka/controller.md 10.1, 12.5; the messages are Kafka 2.8's.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kcsim.controller.capabilities import Release
from kcsim.controller.events import ElectionType
from kcsim.controller.requests import ApiError, ErrorCode
from kcsim.scenarios.cli.up_cluster.control import ControlError, running_clusters, send_request
from kcsim.scenarios.cli.up_cluster.server_registry import normalize_connect_string
from kcsim.vocabulary import BrokerId, ReplicaAssignment, TopicPartition

SendRequest = Callable[[str, Mapping[str, Any], str], dict[str, Any]]
"""A function that takes a verb of the control channel, its arguments, and a cluster's name."""

STATUS_WITHIN_S = 5.0
"""A short timeout for finding a cluster among several: one of them may be shutting down."""


class RunningCluster:
    """A cluster of `kcsim up`, by its name. Every method raises ControlError when the request cannot be made."""

    def __init__(self, name: str, ask: SendRequest = send_request) -> None:
        self.name = name
        self._ask = ask

    def connect_string(self) -> str:
        """Return the connect string of the cluster's ZooKeeper."""
        found: str = self._ask("status", {}, self.name)["connect_string"]
        return found

    def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]
    ) -> dict[TopicPartition, ErrorCode]:
        """Move partitions, or cancel their moves (None). Return the error code of each partition."""
        asked = {str(partition): target and list(target) for partition, target in targets.items()}
        return _errors(self._ask("alter-partition-reassignments", {"targets": asked}, self.name))

    def list_partition_reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the partitions that are being moved, ascending."""
        found = self._ask("list-partition-reassignments", {}, self.name)["reassignments"]
        return dict(sorted((_partition(text), _assignment(entry)) for text, entry in found.items()))

    def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None
    ) -> tuple[dict[TopicPartition, ApiError], Release]:
        """Elect leaders of these partitions, or of all (None). Return the result for each, and the cluster's release.

        For all partitions, those that need no election are left out.
        """
        asked = None if partitions is None else [str(partition) for partition in partitions]
        answer = self._ask("elect-leaders", {"election_type": election_type, "partitions": asked}, self.name)
        messages = answer["messages"]
        found = {partition: ApiError(error, messages.get(str(partition))) for partition, error in _errors(answer).items()}
        if partitions is None:
            # As a broker does with the controller's reply: a large cluster has many partitions that need no election.
            found = {tp: result for tp, result in found.items() if result.error is not ErrorCode.ELECTION_NOT_NEEDED}
        return found, Release(answer["release"])


def find_cluster_on(connect: str) -> RunningCluster | None:
    """Return the running cluster on this ZooKeeper, below this chroot; None if this user has none there.

    Raises: BadConnectStringError; ControlError when the running clusters cannot be listed.
    """
    wanted = normalize_connect_string(connect)
    for name in running_clusters():
        cluster = RunningCluster(name, lambda verb, arguments, asked: send_request(verb, arguments, asked, STATUS_WITHIN_S))
        try:
            found = normalize_connect_string(cluster.connect_string())
        except ControlError:
            continue  # the cluster has ended, or is ending
        if found.chroot == wanted.chroot and set(found.addresses) & set(wanted.addresses):
            return RunningCluster(name)
    return None


def _errors(answer: Mapping[str, Any]) -> dict[TopicPartition, ErrorCode]:
    return dict(sorted((_partition(text), ErrorCode[name]) for text, name in answer["errors"].items()))


def _partition(text: str) -> TopicPartition:
    topic, _, partition = text.rpartition("-")
    return TopicPartition(topic, int(partition))


def _assignment(entry: Mapping[str, list[int]]) -> ReplicaAssignment:
    replicas, adding, removing = (
        tuple(map(BrokerId, entry[name])) for name in ("replicas", "adding_replicas", "removing_replicas")
    )
    return ReplicaAssignment(replicas, adding, removing)


# --- messages of Kafka's clients for errors --------------------------------------------------------------------------------

REASSIGNMENT_MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "The partition does not exist.",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "Replica assignment is invalid.",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    ErrorCode.NOT_CONTROLLER: "This is not the correct controller for this cluster.",
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
}


def reassignment_message(error: ErrorCode) -> str:
    """Return the reason why a partition is not moved."""
    return REASSIGNMENT_MESSAGES.get(error, error.name)
