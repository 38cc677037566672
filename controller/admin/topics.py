"""Topics created, grown and deleted, as `kafka-topics --zookeeper` does it.

The tool does not call the controller: it reads, decides and writes by itself, and the controller's watches do the rest.
Source: Kafka 2.8, TopicCommand (ZookeeperTopicService) and AdminZkClient; docs/kafka/assignment.md 6 and 7,
docs/kafka/znodes.md 7.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kcsim.controller.admin.entity_configs import TOPICS
from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import (
    AdminOperationError,
    BrokerNotAvailableError,
    IllegalArgumentError,
    InvalidTopicError,
    TopicExistsError,
)
from kcsim.controller.decisions.partition_growth import added_partitions
from kcsim.controller.decisions.placement import Assignment, RandomNumbers, Replicas, draw
from kcsim.controller.decisions.topic_config import check_topic_config
from kcsim.controller.decisions.topic_creation import check_collision, check_explicit_assignment, check_topic_name
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import INTERNAL_TOPICS, ReplicaAssignment, TopicState
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.kafka_zk import KafkaZk


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created.

    Attributes:
        assignment: the replicas of partitions 0, 1, …; None to have `partitions` partitions placed with `replication_factor`
            replicas each.
        mode: how racks are used in the placement.
    """

    name: str
    partitions: int = 1
    replication_factor: int = 1
    assignment: Sequence[Replicas] | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    mode: RackAwareMode = RackAwareMode.ENFORCED


async def create_topic(
    kafka_zk: KafkaZk, wanted: NewTopic, numbers: RandomNumbers, cause: Cause = None, topic_id: str | None = None
) -> Assignment:
    """Write a topic's settings, then its assignment. Return the assignment.

    Checks in the tool's order, which is not a broker's order: a replication factor that is too large is reported even for a
    topic that exists.

    Args:
        numbers: the source of start index and shift.
        topic_id: as in write_new_topic.

    Raises: RefusedError (TopicExistsError, InvalidTopicError, InvalidReplicationFactorError, …); nothing is written then.
    """
    check_topic_config(wanted.config)
    placed = dict(enumerate(wanted.assignment)) if wanted.assignment else await _placed(kafka_zk, wanted, numbers, cause)
    check_topic_name(wanted.name)
    existing = await kafka_zk.topics.names(cause=cause)
    if wanted.name in existing:
        raise topic_exists(wanted.name)
    check_collision(wanted.name, existing)
    if wanted.assignment:
        check_explicit_assignment(placed)
    await write_new_topic(kafka_zk, wanted.name, placed, wanted.config, cause, topic_id)
    return placed


async def write_new_topic(
    kafka_zk: KafkaZk,
    topic: str,
    placed: Assignment,
    config: Mapping[str, str],
    cause: Cause = None,
    topic_id: str | None = None,
) -> None:
    """Write the settings of a new topic, then its assignment.

    Args:
        topic_id: None: the controller gives the topic an id, if its protocol version has ids.

    Raises: TopicExistsError if another client created the topic first; the settings stay in force then, as with Kafka.
    """
    await kafka_zk.configs.set_or_create(TOPICS, topic, config, cause)
    try:
        await kafka_zk.topics.create(topic, TopicState(_assignments(placed), topic_id), cause)
    except NodeExistsError:
        raise topic_exists(topic) from None


def topic_exists(topic: str) -> TopicExistsError:
    """Return the refusal of a topic whose name is taken."""
    return TopicExistsError(f"Topic '{topic}' already exists.")


async def _placed(kafka_zk: KafkaZk, wanted: NewTopic, numbers: RandomNumbers, cause: Cause) -> Assignment:
    brokers = effective_brokers(await broker_metadata(kafka_zk, cause), wanted.mode)
    drawn = draw(numbers, len(brokers))
    return assign_replicas(brokers, wanted.partitions, wanted.replication_factor, drawn)


async def add_partitions(
    kafka_zk: KafkaZk, topic: str, total: int, assignment: Sequence[Replicas] | None = None, cause: Cause = None
) -> Assignment:
    """Give a topic more partitions, and return the new ones. The existing partitions are written again as they were read.

    Args:
        total: the number of partitions after the change.
        assignment: the replicas of partitions 0, 1, …; entries of existing partitions are ignored. None to have the new
            partitions placed.

    Raises: RefusedError; nothing is written then.
    """
    if topic in INTERNAL_TOPICS:
        raise IllegalArgumentError(f"The number of partitions for the internal topic {topic} cannot be changed.")
    state = (await kafka_zk.topics.read([topic], cause)).get(topic)
    if state is None or not state.assignments:
        raise InvalidTopicError(f"The topic {topic} does not exist")
    existing = {partition: found.replicas for partition, found in state.assignments.items()}
    brokers = effective_brokers(await broker_metadata(kafka_zk, cause), RackAwareMode.ENFORCED)
    new = {partition: replicas for partition, replicas in enumerate(assignment or ()) if partition >= len(existing)}
    added = added_partitions(topic, existing, brokers, total, new or None)
    _refuse_unavailable(added, brokers)
    await write_added_partitions(kafka_zk, topic, state, added, cause)
    return added


async def write_added_partitions(
    kafka_zk: KafkaZk, topic: str, state: TopicState, added: Assignment, cause: Cause = None
) -> None:
    """Write a topic's assignment with further partitions. Args: state: the topic as it was read."""
    grown = replace(state, assignments={**state.assignments, **_assignments(added)})
    await kafka_zk.topics.set_assignment(topic, grown, UNFENCED, cause)


def _refuse_unavailable(assignment: Assignment, brokers: Sequence[BrokerMetadata]) -> None:
    alive = [broker.id for broker in brokers]
    for partition, replicas in assignment.items():
        if not set(alive).issuperset(replicas):
            specified, available = (", ".join(map(str, ids)) for ids in (replicas, alive))
            raise BrokerNotAvailableError(
                f"Some brokers specified for partition id {partition} are not available."
                f" Specified brokers: {specified}, available brokers: {available}."
            )


async def delete_topic(kafka_zk: KafkaZk, topic: str, cause: Cause = None) -> bool:
    """Request a topic's deletion. Return False if it was requested before. Does not check whether the topic exists.

    Raises: AdminOperationError for an internal topic.
    """
    if topic in INTERNAL_TOPICS:
        raise AdminOperationError(f"Topic {topic} is a kafka internal topic and is not allowed to be marked for deletion.")
    try:
        await kafka_zk.topic_deletions.create(topic, cause)
    except NodeExistsError:
        return False
    return True


async def matching_topics(
    kafka_zk: KafkaZk, pattern: str | None = None, exclude_internal: bool = False, cause: Cause = None
) -> list[str]:
    """Return the names of matching topics, sorted.

    Args:
        pattern: a regular expression for the whole name, or several separated by commas; None for all topics.

    Raises: IllegalArgumentError.
    """
    topics = [
        name for name in await kafka_zk.topics.names(cause=cause) if not (exclude_internal and name in INTERNAL_TOPICS)
    ]
    if pattern is None:
        return topics
    # As in Kafka's topic filters: blanks and surrounding quotation marks are removed, and a comma means "or".
    alternatives = pattern.replace(",", "|").replace(" ", "").strip("\"'")
    try:
        wanted = re.compile(alternatives, re.ASCII)
    except re.error:
        raise IllegalArgumentError(f"{alternatives} is an invalid regex.") from None
    return [name for name in topics if wanted.fullmatch(name)]


async def broker_metadata(kafka_zk: KafkaZk, cause: Cause = None) -> list[BrokerMetadata]:
    """Return the live brokers, by id."""
    found = await kafka_zk.brokers.read_all_with_epochs(cause=cause)
    return [BrokerMetadata(info.broker_id, info.rack) for info, _ in found]


def _assignments(placed: Assignment) -> dict[int, ReplicaAssignment]:
    return {partition: ReplicaAssignment(tuple(replicas)) for partition, replicas in placed.items()}
