"""Settings of topics and brokers, written so that the brokers hear of it.

Source: Kafka 2.8, AdminZkClient.changeTopicConfig and changeBrokerConfig; reference znodes.md 8.
"""

from collections.abc import Collection, Mapping

from kcsim.controller.decisions.kafka_refusals import UnknownTopicOrPartitionError
from kcsim.controller.decisions.topic_config import check_topic_config
from kcsim.controller.decisions.topic_creation import check_topic_name
from kcsim.zk import paths
from kcsim.zk.errors import NoNodeError
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import BrokerId

TOPICS, BROKERS = "topics", "brokers"
DEFAULT = "<default>"
"""Name of the entity that stands for all brokers."""


async def change_topic_config(
    kafka_zk: KafkaZk, topic: str, added: Mapping[str, str], removed: Collection[str] = (), cause: Cause = None
) -> dict[str, str]:
    """Add and remove settings of a topic, and return all it has then.

    Raises: InvalidTopicError, UnknownTopicOrPartitionError, InvalidConfigurationError, ConfigError.
    """
    config = _changed(await kafka_zk.entity_config(TOPICS, topic, cause), added, removed)
    check_topic_name(topic)
    if not await kafka_zk.exists(paths.topic(topic), cause):
        raise UnknownTopicOrPartitionError(f"Topic '{topic}' does not exist.")
    check_topic_config(config)
    await _write(kafka_zk, TOPICS, topic, config, cause)
    return config


async def change_broker_config(
    kafka_zk: KafkaZk,
    broker: BrokerId | None,
    added: Mapping[str, str],
    removed: Collection[str] = (),
    cause: Cause = None,
) -> dict[str, str]:
    """Add and remove settings of a broker, or of all (None), and return what is set there then. Nothing is checked."""
    name = DEFAULT if broker is None else str(broker)
    config = _changed(await kafka_zk.entity_config(BROKERS, name, cause), added, removed)
    await _write(kafka_zk, BROKERS, name, config, cause)
    return config


def _changed(config: Mapping[str, str], added: Mapping[str, str], removed: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in {**config, **added}.items() if name not in removed}


async def _write(kafka_zk: KafkaZk, entity_type: str, name: str, config: Mapping[str, str], cause: Cause) -> None:
    await kafka_zk.set_or_create_entity_config(entity_type, name, config, cause)
    changed = f"{entity_type}/{name}"
    try:
        await kafka_zk.create_config_change(changed, cause)
    except NoNodeError:  # no broker has ever been here
        await kafka_zk.create_recursively(paths.CONFIG_CHANGES, None, cause)
        await kafka_zk.create_config_change(changed, cause)
