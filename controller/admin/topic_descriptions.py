"""Descriptions of topics, and the reports on partitions that need attention.

Source: Kafka 2.8, TopicCommand.describeTopic.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kcsim.controller.admin.entity_configs import BROKERS, DEFAULT
from kcsim.controller.admin.topics import broker_metadata
from kcsim.controller.decisions.topic_config import MIN_INSYNC_REPLICAS
from kcsim.eventlog.sink import Cause
from kcsim.jvm_hash_order import map_order
from kcsim.vocabulary import BrokerId, PartitionState, ReplicaAssignment, TopicPartition, TopicState
from kcsim.zk.kafka.kafka_zk import KafkaZk

DEFAULT_MIN_INSYNC_REPLICAS = 1
PROPERTIES = 16
"""Initial capacity of the hash map of a topic's settings, whose iteration order Kafka's tool prints."""


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition. A missing or unreadable state shows as no leader and an empty ISR."""

    partition: int
    assignment: ReplicaAssignment
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]

    def replicas_due(self, by_broker: bool) -> int:
        """Return the number of replicas that must be in sync; a broker's answer does not count the adding replicas."""
        return len(self.assignment.replicas) - (len(self.assignment.adding_replicas) if by_broker else 0)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """`config` holds the topic's own settings, `min_insync_replicas` the value in force for the topic."""

    topic: str
    config: Mapping[str, str]
    min_insync_replicas: int
    is_marked_for_deletion: bool
    partitions: tuple[PartitionDescription, ...]
    topic_id: str | None = None

    @property
    def replication_factor(self) -> int:
        """The number of replicas of the first partition, including adding and removing replicas; 0 without partitions."""
        return len(self.partitions[0].assignment.replicas) if self.partitions else 0


class DescribeReport(StrEnum):
    """A condition that limits the partitions shown; the values are the flags of `kafka-topics --describe`."""

    UNDER_REPLICATED = "under-replicated-partitions"
    UNAVAILABLE = "unavailable-partitions"
    UNDER_MIN_ISR = "under-min-isr-partitions"
    AT_MIN_ISR = "at-min-isr-partitions"


async def describe_topics(
    kafka_zk: KafkaZk,
    topics: Iterable[str],
    cause: Cause = None,
    leading: Mapping[TopicPartition, PartitionState] | None = None,
) -> list[TopicDescription]:
    """Describe these topics, in the order given; a topic that does not exist is left out.

    Args:
        leading: leaders and ISRs to use instead of those in the state znodes.

    Raises: BadZnodeError.
    """
    states = await kafka_zk.topics.read(topics, cause)
    configs = await kafka_zk.configs.read_topics(states, cause)
    default = (await kafka_zk.configs.read_entity(BROKERS, DEFAULT, cause)).get(MIN_INSYNC_REPLICAS)
    if leading is None:
        leading = await kafka_zk.partition_states.read(
            [TopicPartition(topic, partition) for topic, state in states.items() for partition in sorted(state.assignments)],
            cause,
        )
    marked = await kafka_zk.topic_deletions.topics(cause=cause)
    return [
        TopicDescription(
            topic,
            {name: configs[topic][name] for name in map_order(configs[topic], PROPERTIES)},
            _min_insync_replicas(configs[topic].get(MIN_INSYNC_REPLICAS, default)),
            topic in marked,
            tuple(_described(topic, state, leading)),
            state.topic_id,
        )
        for topic, state in states.items()
    ]


def _described(
    topic: str, state: TopicState, leading: Mapping[TopicPartition, PartitionState]
) -> Iterator[PartitionDescription]:
    for partition, assignment in sorted(state.assignments.items()):
        found = leading.get(TopicPartition(topic, partition))
        leader, isr = (found.leader_and_isr.leader, found.leader_and_isr.isr) if found else (None, ())
        yield PartitionDescription(partition, assignment, leader, isr)


def _min_insync_replicas(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else DEFAULT_MIN_INSYNC_REPLICAS


async def live_brokers(kafka_zk: KafkaZk, cause: Cause = None) -> set[BrokerId]:
    return {broker.id for broker in await broker_metadata(kafka_zk, cause)}


def is_reported(
    partition: PartitionDescription,
    report: DescribeReport,
    min_insync_replicas: int,
    live: Collection[BrokerId],
    by_broker: bool = False,
) -> bool:
    """Return whether a report shows a partition.

    Args:
        live: registered brokers; a leader that is not among them makes its partition unavailable.
        by_broker: the description comes from a broker, which knows the adding and removing replicas.
    """
    in_sync = len(partition.isr)
    match report:
        case DescribeReport.UNDER_REPLICATED:
            return in_sync < partition.replicas_due(by_broker)
        case DescribeReport.UNAVAILABLE:
            return partition.leader is None or partition.leader not in live
        case DescribeReport.UNDER_MIN_ISR:
            return partition.leader is None or in_sync < min_insync_replicas
        case DescribeReport.AT_MIN_ISR:
            return in_sync == min_insync_replicas
