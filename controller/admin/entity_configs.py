"""Settings of topics and brokers, written with the notification that makes brokers read them.

Source: Kafka 2.8, AdminZkClient.changeTopicConfig and changeBrokerConfig; docs/kafka/znodes.md 8.
"""

from collections.abc import Collection, Mapping

from kcsim.controller.decisions.kafka_refusals import UnknownTopicOrPartitionError
from kcsim.controller.decisions.topic_config import check_topic_config
from kcsim.controller.decisions.topic_creation import check_topic_name
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId
from kcsim.zk.errors import NoNodeError
from kcsim.zk.kafka.kafka_zk import KafkaZk

TOPICS, BROKERS = "topics", "brokers"
DEFAULT = "<default>"
"""Name of the entity that stands for all brokers."""


async def change_topic_config(
    kafka_zk: KafkaZk, topic: str, added: Mapping[str, str], removed: Collection[str] = (), cause: Cause = None
) -> dict[str, str]:
    """Add and remove settings of a topic. Return all settings that the topic then has.

    Raises: InvalidTopicError, UnknownTopicOrPartitionError, InvalidConfigurationError, ConfigError.
    """
    config = _changed(await kafka_zk.configs.read_entity(TOPICS, topic, cause), added, removed)
    check_topic_name(topic)
    if not await kafka_zk.topics.exists(topic, cause):
        raise UnknownTopicOrPartitionError(f"Topic '{topic}' does not exist.")
    check_topic_config(config)
    await write_config(kafka_zk, TOPICS, topic, config, cause)
    return config


async def change_broker_config(
    kafka_zk: KafkaZk,
    broker: BrokerId | None,
    added: Mapping[str, str],
    removed: Collection[str] = (),
    cause: Cause = None,
) -> dict[str, str]:
    """Add and remove settings of a broker, or of all brokers (None).

    Returns all settings that this entity then has. Nothing is checked.
    """
    name = DEFAULT if broker is None else str(broker)
    config = _changed(await kafka_zk.configs.read_entity(BROKERS, name, cause), added, removed)
    await write_config(kafka_zk, BROKERS, name, config, cause)
    return config


def _changed(config: Mapping[str, str], added: Mapping[str, str], removed: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in {**config, **added}.items() if name not in removed}


async def write_config(
    kafka_zk: KafkaZk, entity_type: str, name: str, config: Mapping[str, str], cause: Cause = None
) -> None:
    """Write all settings of an entity, and notify the brokers. Nothing is checked."""
    await kafka_zk.configs.set_or_create(entity_type, name, config, cause)
    changed = f"{entity_type}/{name}"
    try:
        await kafka_zk.config_changes.create(changed, cause)
    except NoNodeError:  # no broker has ever registered here
        await kafka_zk.config_changes.create_parent(cause)
        await kafka_zk.config_changes.create(changed, cause)
