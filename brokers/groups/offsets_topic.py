"""__consumer_offsets: which of its partitions a group belongs to, and how a broker makes the topic when it is first needed.

Source: Kafka 2.8, GroupMetadataManager.partitionFor, AutoTopicCreationManager with ZooKeeper; reference
consumer_groups.md 9.
"""

from kcsim.brokers.isr import UNAVAILABLE
from kcsim.controller.decisions.assignment import assign_replicas
from kcsim.controller.decisions.broker_ring import BrokerMetadata, RackAwareMode, effective_brokers
from kcsim.controller.decisions.java_hash import string_hash
from kcsim.controller.decisions.kafka_refusals import RefusedError
from kcsim.controller.decisions.placement import RandomNumbers, draw
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import ReplicaAssignment, TopicState
from kcsim.zk.znodes import BadZnodeError

OFFSETS_TOPIC = "__consumer_offsets"
SMALLEST_INT, SIGN = 1 << 31, 1 << 31
CONFIG = {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}


def partition_for(group_id: str, partitions: int) -> int:
    """Return the partition in which a group is kept; its leader coordinates the group."""
    unsigned = string_hash(group_id)
    if unsigned == SMALLEST_INT:
        return 0  # Java has no positive number for it
    return (unsigned if unsigned < SIGN else (1 << 32) - unsigned) % partitions


async def create_offsets_topic(
    kafka_zk: KafkaZk, partitions: int, replication_factor: int, numbers: RandomNumbers, cause: Cause
) -> bool:
    """Make the topic on the brokers that are registered now; says whether this was who made it.

    False as well with fewer brokers than replicas are wanted, or without ZooKeeper: the next who asks tries again.
    """
    try:
        found = await kafka_zk.all_brokers_with_epochs(cause, register_watch=False)
        if len(found) < replication_factor:
            return False
        brokers = effective_brokers([BrokerMetadata(i.broker_id, i.rack) for i, _ in found], RackAwareMode.ENFORCED)
        placed = assign_replicas(brokers, partitions, replication_factor, draw(numbers, len(brokers)))
        if OFFSETS_TOPIC in await kafka_zk.all_topics(cause=cause):
            return False
        await kafka_zk.set_or_create_entity_config("topics", OFFSETS_TOPIC, CONFIG, cause)
        assignments = {partition: ReplicaAssignment(tuple(replicas)) for partition, replicas in placed.items()}
        await kafka_zk.create_topic(OFFSETS_TOPIC, TopicState(assignments), cause)
    except (RefusedError, BadZnodeError, *UNAVAILABLE):  # one of the latter is that somebody else was faster
        return False
    return True
