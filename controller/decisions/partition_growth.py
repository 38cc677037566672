"""The growth of a topic: which brokers host the new partitions, and when Kafka refuses.

The first replicas of the new partitions continue round the ring from the position of partition 0; the followers' shift
starts again. Existing partitions are never moved.

Source: Kafka 2.8, AdminManager.createPartitions and AdminZkClient.addPartitions; docs/kafka/assignment.md 7.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import (
    AdminOperationError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidTopicError,
    ReassignmentInProgressError,
    UnknownTopicOrPartitionError,
    as_printed,
)
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas
from kcsim.vocabulary import BrokerId


def partitions_to_create(
    topic: str,
    existing: Mapping[int, Replicas] | None,
    brokers: Sequence[BrokerMetadata],
    total_partitions: int,
    new_assignments: Sequence[Replicas] | None = None,
    *,
    is_queued_for_deletion: bool = False,
    is_being_reassigned: bool = False,
) -> Assignment:
    """Return the new partitions for a topic that is to have `total_partitions`, or refuse.

    Args:
        existing: None if the topic does not exist.
        brokers: the live ones; all with a rack, or none.
        new_assignments: the replicas of the new partitions, one list each; None to have Kafka place them.

    Returns: the new partitions only.

    Raises: InvalidTopicError, ReassignmentInProgressError, UnknownTopicOrPartitionError, InvalidPartitionsError,
    InvalidReplicaAssignmentError, and what added_partitions raises.
    """
    if is_queued_for_deletion:
        raise InvalidTopicError("The topic is queued for deletion.")
    if is_being_reassigned:
        raise ReassignmentInProgressError(f"A partition reassignment is in progress for the topic '{topic}'.")
    if existing is None:
        raise UnknownTopicOrPartitionError(f"The topic '{topic}' does not exist.")
    current = len(existing)
    if total_partitions < current:
        raise InvalidPartitionsError(
            f"Topic currently has {current} partitions, which is higher than the requested {total_partitions}."
        )
    if total_partitions == current:
        raise InvalidPartitionsError(f"Topic already has {current} partitions.")
    if new_assignments is None:
        return added_partitions(topic, existing, brokers, total_partitions)
    _refuse_unknown_brokers(new_assignments, {broker.id for broker in brokers})
    if len(new_assignments) != total_partitions - current:
        raise InvalidReplicaAssignmentError(
            f"Increasing the number of partitions by {total_partitions - current}"
            f" but {len(new_assignments)} assignments provided."
        )
    return added_partitions(topic, existing, brokers, total_partitions, dict(enumerate(new_assignments, current)))


def _refuse_unknown_brokers(assignments: Sequence[Replicas], known: Collection[BrokerId]) -> None:
    unknown = dict.fromkeys(broker for replicas in assignments for broker in replicas if broker not in known)
    if unknown:
        raise InvalidReplicaAssignmentError(f"Unknown broker(s) in replica assignment: {_listed(unknown)}.")


def added_partitions(
    topic: str,
    existing: Mapping[int, Replicas],
    brokers: Sequence[BrokerMetadata],
    total_partitions: int,
    assignment: Mapping[int, Replicas] | None = None,
) -> Assignment:
    """Place the partitions that a topic lacks, or check their requested assignment.

    Args:
        existing: every partition of the topic with its full list of replicas.
        brokers: the live ones; all with a rack, or none.
        assignment: the requested replicas per partition. It may also name existing partitions, which stay where they are.

    Returns: the new partitions only.

    Raises: AdminOperationError without a partition 0; InvalidPartitionsError; InvalidReplicaAssignmentError; and what
    assign_replicas raises.
    """
    if 0 not in existing:
        raise AdminOperationError(
            f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is missing."
            f" Assignment: {as_printed(existing)}"
        )
    new = total_partitions - len(existing)
    if new <= 0:
        raise InvalidPartitionsError(
            "The number of partitions for a topic can only be increased."
            f" Topic {topic} currently has {len(existing)} partitions, {total_partitions} would not be an increase."
        )
    replication_factor = len(existing[0])
    if assignment is not None:
        _check_replicas(assignment, replication_factor)
        return {partition: replicas for partition, replicas in sorted(assignment.items()) if partition not in existing}
    by_id = sorted(brokers, key=lambda broker: broker.id)
    start = start_index_of_added(existing, by_id)
    return assign_replicas(by_id, new, replication_factor, Draw(start, start), start_partition=len(existing))


def start_index_of_added(existing: Mapping[int, Replicas], brokers: Sequence[BrokerMetadata]) -> int:
    """Return the index of partition 0's preferred leader, or of the next larger id, among the sorted ids.

    The index is 0 if no id is as large. With racks the index is used on the ring too, where it means another broker: the
    rotation jumps. Kafka does the same.
    """
    ids = sorted(broker.id for broker in brokers)
    found = bisect_left(ids, existing[0][0])
    return found if found < len(ids) else 0


def _check_replicas(assignment: Mapping[int, Replicas], replication_factor: int) -> None:
    for partition, replicas in sorted(assignment.items()):
        if not replicas:
            raise InvalidReplicaAssignmentError(f"Cannot have replication factor of 0 for partition id {partition}.")
        if len(set(replicas)) < len(replicas):
            raise InvalidReplicaAssignmentError(
                f"Duplicate brokers not allowed in replica assignment: {_listed(replicas)} for partition id {partition}."
            )
    unlike = {p: len(replicas) for p, replicas in sorted(assignment.items()) if len(replicas) != replication_factor}
    if unlike:
        raise InvalidReplicaAssignmentError(
            f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while partitions"
            f" [{_listed(unlike)}] have replication factors [{_listed(unlike.values())}], respectively."
        )


def _listed(numbers: Collection[int]) -> str:
    return ", ".join(map(str, numbers))
