"""__consumer_offsets: which of its partitions a group belongs to, and how a broker creates the topic on first use.

Source: Kafka 2.8, GroupMetadataManager.partitionFor, AutoTopicCreationManager with ZooKeeper;
docs/kafka/consumer_groups.md 9.
"""

from dataclasses import dataclass

from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.placement import draw
from kcsim.controller.decisions.topic_ids import TopicNumbers
from kcsim.eventlog.sink import Cause
from kcsim.jvm_hash_order import string_hash
from kcsim.vocabulary import OFFSETS_TOPIC, ReplicaAssignment, TopicState
from kcsim.zk.kafka.brokers import BrokerZnodes
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.zk.kafka.topics import TopicZnodes
from kcsim.znodes import BadZnodeError

SMALLEST_INT, SIGN = 1 << 31, 1 << 31
CONFIG = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}


def partition_for(group_id: str, partitions: int) -> int:
    """Return the partition in which a group is stored; its leader coordinates the group."""
    unsigned = string_hash(group_id)
    if unsigned == SMALLEST_INT:
        return 0  # a Java int has no positive counterpart of it
    return (unsigned if unsigned < SIGN else (1 << 32) - unsigned) % partitions


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """How one broker creates the topic.

    Args:
        partitions, replication_factor: offsets.topic.num.partitions and offsets.topic.replication.factor.
        numbers: the source of random numbers for the placement.
    """

    brokers: BrokerZnodes
    topics: TopicZnodes
    configs: ConfigZnodes
    partitions: int
    replication_factor: int
    numbers: TopicNumbers

    async def create(self, cause: Cause) -> bool:
        """Create the topic on the brokers that are registered now. Return True if this call created it.

        Return False also if fewer brokers than replicas are registered, or without ZooKeeper; the next request tries again.
        """
        try:
            found = await self.brokers.read_all_with_epochs(cause=cause)
            if len(found) < self.replication_factor:
                return False
            brokers = effective_brokers([BrokerMetadata(i.broker_id, i.rack) for i, _ in found], RackAwareMode.ENFORCED)
            first = draw(self.numbers, len(brokers))
            placed = assign_replicas(brokers, self.partitions, self.replication_factor, first)
            if OFFSETS_TOPIC in await self.topics.names(cause=cause):
                return False
            await self.configs.set_or_create("topics", OFFSETS_TOPIC, CONFIG, cause)
            assignments = {partition: ReplicaAssignment(tuple(replicas)) for partition, replicas in placed.items()}
            await self.topics.create(OFFSETS_TOPIC, TopicState(assignments, self.numbers.topic_id()), cause)
        except (RefusedError, BadZnodeError, *UNAVAILABLE):  # includes that another broker has created it meanwhile
            return False
        return True
