"""The decision on a request for a new topic: its assignment, or Kafka's refusal.

Left out: topic configuration and creation policies, which come after all this. Source: Kafka 2.8, AdminManager.createTopics,
AdminZkClient.validateTopicCreate, Topic.validate; docs/kafka/assignment.md 6.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata
from kcsim.controller.decisions.kafka_refusals import (
    AdminCommandFailedError,
    AdminOperationError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    InvalidTopicError,
    TopicExistsError,
    as_printed,
)
from kcsim.controller.decisions.placement import Assignment, Draw, Replicas
from kcsim.vocabulary import BrokerId

UNSET = -1
"""As a number of partitions or a replication factor: the broker's default."""
MAX_NAME_LENGTH = 249
LEGAL_NAME = re.compile(r"[A-Za-z0-9._-]+")


def new_topic_assignment(
    topic: str,
    existing_topics: Collection[str],
    brokers: Sequence[BrokerMetadata],
    drawn: Draw,
    partitions: int = UNSET,
    replication_factor: int = UNSET,
    assignment: Mapping[int, Replicas] | None = None,
    default_partitions: int = 1,
    default_replication_factor: int = 1,
) -> Assignment:
    """Decide the assignment of a new topic.

    Checks in Kafka's order: a replication factor that is too large is reported before a bad name.

    Args:
        brokers: the live ones; all with a rack, or none. An explicit assignment is not checked against them.
        assignment: explicit; None or empty to have Kafka place the partitions. Partitions must be exactly 0..P-1, where
            Kafka checks only the sum of the non-negative ones.
        default_partitions: num.partitions, for UNSET.
        default_replication_factor: default.replication.factor, for UNSET.

    Raises: TopicExistsError, InvalidRequestError, InvalidTopicError, InvalidReplicaAssignmentError, and what assign_replicas
    raises.
    """
    if topic in existing_topics:
        raise TopicExistsError(f"Topic '{topic}' already exists.")
    if assignment and (partitions, replication_factor) != (UNSET, UNSET):
        raise InvalidRequestError(
            "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time."
        )
    placed: Assignment
    if assignment:
        placed = dict(sorted(assignment.items()))
    else:
        placed = assign_replicas(
            brokers,
            default_partitions if partitions == UNSET else partitions,
            default_replication_factor if replication_factor == UNSET else replication_factor,
            drawn,
        )
    check_topic_name(topic)
    check_collision(topic, existing_topics)
    if assignment:
        check_explicit_assignment(placed)
    return placed


def check_topic_name(topic: str) -> None:
    """Refuse a topic name that Kafka does not allow. Raises: InvalidTopicError."""
    if not topic:
        raise InvalidTopicError("Topic name is illegal, it can't be empty")
    if topic in (".", ".."):
        raise InvalidTopicError('Topic name cannot be "." or ".."')
    if len(topic) > MAX_NAME_LENGTH:
        raise InvalidTopicError(
            f"Topic name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters, topic name: {topic}"
        )
    if not LEGAL_NAME.fullmatch(topic):
        raise InvalidTopicError(
            f"Topic name \"{topic}\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
        )


def check_collision(topic: str, existing_topics: Collection[str]) -> None:
    """Refuse a name whose metrics would have the same name as another topic's: metric names replace dots by underscores.

    Raises: InvalidTopicError.
    """
    colliding = sorted(other for other in existing_topics if other.replace(".", "_") == topic.replace(".", "_"))
    if colliding:
        raise InvalidTopicError(f"Topic '{topic}' collides with existing topics: {', '.join(colliding)}")


def check_explicit_assignment(assignment: Mapping[int, Replicas]) -> None:
    """Refuse an assignment of a new topic that breaks a rule. Raises: InvalidReplicaAssignmentError."""
    if len({len(replicas) for replicas in assignment.values()}) > 1:
        raise InvalidReplicaAssignmentError("All partitions should have the same number of replicas")
    if any(len(set(replicas)) < len(replicas) for replicas in assignment.values()):
        raise InvalidReplicaAssignmentError(f"Duplicate replica assignment found: {as_printed(assignment)}")
    if sorted(assignment) != list(range(len(assignment))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")


def parse_replica_assignment(text: str) -> list[Replicas]:
    """Parse `--replica-assignment`: partitions separated by commas, the brokers of each by colons, as 0:1,1:2.

    Raises: ValueError that names the text that is no broker id; AdminCommandFailedError, AdminOperationError as the old
    tool.
    """
    found: list[Replicas] = []
    for partition, entry in enumerate(text.split(",")):
        replicas = tuple(_parse_broker_id(part.strip(), entry) for part in entry.split(":"))
        repeated = dict.fromkeys(str(broker) for broker in replicas if replicas.count(broker) > 1)
        if repeated:
            raise AdminCommandFailedError(f"Partition replica lists may not contain duplicate entries: {','.join(repeated)}")
        if found and len(replicas) != len(found[0]):
            raise AdminOperationError(f"Partition {partition} has different replication factor: {entry.strip()}")
        found.append(replicas)
    return found


def _parse_broker_id(word: str, entry: str) -> BrokerId:
    if not re.fullmatch("[0-9]+", word):
        raise ValueError(f"{word!r} in {entry!r} is no broker id; write the replicas of two partitions as 0:1,1:2")
    return BrokerId(int(word))
