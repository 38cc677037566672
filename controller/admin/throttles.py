"""Replication throttles during reassignments: settings of the topics and brokers that take part.

Source: Kafka 2.8, ReassignPartitionsCommand (modifyTopicThrottles, modifyBrokerThrottles, clearAllThrottles).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.controller.admin.entity_configs import BROKERS, TOPICS, change_broker_config, change_topic_config
from kcsim.controller.admin.topics import broker_metadata
from kcsim.controller.decisions.reassignment import Plan
from kcsim.controller.decisions.topic_config import FOLLOWER_THROTTLED_REPLICAS, LEADER_THROTTLED_REPLICAS
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.kafka.kafka_zk import KafkaZk

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
TOPIC_THROTTLES = (LEADER_THROTTLED_REPLICAS, FOLLOWER_THROTTLED_REPLICAS)


@dataclass(frozen=True, slots=True)
class ThrottledEntities:
    """The brokers and topics whose throttles were cleared, each ascending."""

    brokers: tuple[BrokerId, ...]
    topics: tuple[str, ...]


async def set_throttles(kafka_zk: KafkaZk, current: Plan, targets: Plan, rate: int, cause: Cause = None) -> None:
    """Limit the replication rate of the moves from `current` to `targets`.

    Args:
        rate: bytes per second, for each broker that a replica moves from or to.
    """
    for topic in sorted({partition.topic for partition in targets}):
        of_topic = sorted(partition for partition in targets if partition.topic == topic)
        sources = [(p, broker) for p in of_topic for broker in current[p]]
        destinations = [(p, broker) for p in of_topic for broker in targets[p] if broker not in current[p]]
        settings = {
            LEADER_THROTTLED_REPLICAS: _throttled_replicas(sources),
            FOLLOWER_THROTTLED_REPLICAS: _throttled_replicas(destinations),
        }
        await change_topic_config(kafka_zk, topic, settings, cause=cause)
    for broker in sorted({b for plan in (current, targets) for p in targets for b in plan[p]}):
        await change_broker_config(kafka_zk, broker, {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)}, cause=cause)


def _throttled_replicas(replicas: Iterable[tuple[TopicPartition, BrokerId]]) -> str:
    return ",".join(sorted({f"{partition.partition}:{broker}" for partition, broker in replicas}))


async def clear_throttles(kafka_zk: KafkaZk, targets: Plan, cause: Cause = None) -> ThrottledEntities:
    """Remove the throttles of every live broker, of the brokers that the moves name, and of the moves' topics.

    The source brokers of a finished move are not known any more, hence all live brokers. Only entities that have a throttle
    are written.
    """
    alive = {broker.id for broker in await broker_metadata(kafka_zk, cause)}
    brokers = sorted(alive.union(*targets.values()))
    topics = sorted({partition.topic for partition in targets})
    for broker in brokers:
        if set(await kafka_zk.configs.read_entity(BROKERS, str(broker), cause)) & set(BROKER_THROTTLES):
            await change_broker_config(kafka_zk, broker, {}, BROKER_THROTTLES, cause)
    for topic in topics:
        if set(await kafka_zk.configs.read_entity(TOPICS, topic, cause)) & set(TOPIC_THROTTLES):
            await change_topic_config(kafka_zk, topic, {}, TOPIC_THROTTLES, cause)
    return ThrottledEntities(tuple(brokers), tuple(topics))
