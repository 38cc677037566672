"""How fast replicas may be copied while partitions move: settings of the topics and brokers that take part.

Source: Kafka 2.8, ReassignPartitionsCommand (modifyTopicThrottles, modifyBrokerThrottles, clearAllThrottles).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kcsim.controller.decisions.reassignment import Plan
from kcsim.controller.decisions.topic_config import FOLLOWER_THROTTLED_REPLICAS, LEADER_THROTTLED_REPLICAS
from kcsim.scenarios.admin.entity_configs import BROKERS, TOPICS, change_broker_config, change_topic_config
from kcsim.scenarios.admin.topics import broker_metadata
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import BrokerId, TopicPartition

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
TOPIC_THROTTLES = (LEADER_THROTTLED_REPLICAS, FOLLOWER_THROTTLED_REPLICAS)


@dataclass(frozen=True, slots=True)
class Throttled:
    """Brokers and topics whose throttles are meant, each ascending."""

    brokers: tuple[BrokerId, ...]
    topics: tuple[str, ...]


async def set_throttles(kafka_zk: KafkaZk, current: Plan, targets: Plan, rate: int, cause: Cause = None) -> None:
    """Limit what the moves from `current` to `targets` may take.

    Args:
        rate: bytes a second, for each broker that gives or gets a replica.
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


async def clear_throttles(kafka_zk: KafkaZk, targets: Plan, cause: Cause = None) -> Throttled:
    """Remove the throttles of every live broker, of those that the moves name, and of their topics.

    Which brokers a finished move came from is not known any more, hence all. Only what is set is written.
    """
    alive = {broker.id for broker in await broker_metadata(kafka_zk, cause)}
    brokers = sorted(alive.union(*targets.values()))
    topics = sorted({partition.topic for partition in targets})
    for broker in brokers:
        if set(await kafka_zk.entity_config(BROKERS, str(broker), cause)) & set(BROKER_THROTTLES):
            await change_broker_config(kafka_zk, broker, {}, BROKER_THROTTLES, cause)
    for topic in topics:
        if set(await kafka_zk.entity_config(TOPICS, topic, cause)) & set(TOPIC_THROTTLES):
            await change_topic_config(kafka_zk, topic, {}, TOPIC_THROTTLES, cause)
    return Throttled(tuple(brokers), tuple(topics))
