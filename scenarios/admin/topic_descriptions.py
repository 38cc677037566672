"""Topics as they are, described, and which of their partitions deserve attention.

Source: Kafka 2.8, TopicCommand.describeTopic.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kcsim.controller.decisions.topic_config import MIN_INSYNC_REPLICAS
from kcsim.scenarios.admin.entity_configs import BROKERS, DEFAULT
from kcsim.scenarios.admin.java_order import map_order
from kcsim.scenarios.admin.topics import broker_metadata
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import BrokerId, PartitionState, ReplicaAssignment, TopicPartition, TopicState

DEFAULT_MIN_INSYNC_REPLICAS = 1
PROPERTIES = 16
"""For so many is the map made in which Kafka's tool has a topic's settings, and in whose order it prints them."""


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition. A state that is missing or cannot be read shows as: no leader, nobody in sync."""

    partition: int
    assignment: ReplicaAssignment
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]

    def replicas_due(self, by_broker: bool) -> int:
        """How many replicas there are to be; who asks a broker does not count those on their way in."""
        return len(self.assignment.replicas) - (len(self.assignment.adding_replicas) if by_broker else 0)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """`config` has what is set for the topic itself, `min_insync_replicas` what holds for it in the end."""

    topic: str
    config: Mapping[str, str]
    min_insync_replicas: int
    is_marked_for_deletion: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        """That of the first partition, replicas on their way in and out included; 0 without partitions."""
        return len(self.partitions[0].assignment.replicas) if self.partitions else 0


class Report(StrEnum):
    """Only partitions of which this is true; the values are the flags of `kafka-topics --describe`."""

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
    """Describe these topics, in the order given; one that is gone is left out.

    Args:
        leading: leaders and ISRs, if somebody else is to be believed than the state znodes.

    Raises: BadZnodeError.
    """
    states = await kafka_zk.topic_states(topics, cause)
    configs = await kafka_zk.topic_configs(states, cause)
    default = (await kafka_zk.entity_config(BROKERS, DEFAULT, cause)).get(MIN_INSYNC_REPLICAS)
    if leading is None:
        leading = await kafka_zk.partition_states(
            [TopicPartition(topic, partition) for topic, state in states.items() for partition in sorted(state.assignments)],
            cause,
        )
    marked = await kafka_zk.topic_deletions(cause=cause)
    return [
        TopicDescription(
            topic,
            {name: configs[topic][name] for name in map_order(configs[topic], PROPERTIES)},
            _min_insync_replicas(configs[topic].get(MIN_INSYNC_REPLICAS, default)),
            topic in marked,
            tuple(_described(topic, state, leading)),
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
    report: Report,
    min_insync_replicas: int,
    live: Collection[BrokerId],
    by_broker: bool = False,
) -> bool:
    """Say whether a report is to show a partition.

    Args:
        live: registered brokers; a leader that is not among them makes its partition unavailable.
        by_broker: a broker was asked, which tells of replicas on their way in and out.
    """
    in_sync = len(partition.isr)
    match report:
        case Report.UNDER_REPLICATED:
            return in_sync < partition.replicas_due(by_broker)
        case Report.UNAVAILABLE:
            return partition.leader is None or partition.leader not in live
        case Report.UNDER_MIN_ISR:
            return partition.leader is None or in_sync < min_insync_replicas
        case Report.AT_MIN_ISR:
            return in_sync == min_insync_replicas
