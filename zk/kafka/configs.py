"""The settings of topics, brokers, users, clients and addresses: /config.

Source: Kafka 2.8, KafkaZkClient.getEntityConfigs, getLogConfigs, setOrCreateEntityConfigs; docs/kafka/znodes.md.
"""

from collections.abc import Iterable, Mapping

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.znodes import paths


class ConfigZnodes:
    """The gateway to the settings of entities."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def entities(self, entity_type: str, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of the entities of a type that have a znode of settings."""
        return await self._znodes.get_children(paths.entity_type_config(entity_type), cause=cause)

    async def read_entity(self, entity_type: str, entity_name: str, cause: Cause = None) -> dict[str, str]:
        """Return the settings of a topic, broker, user, client or address; empty if it has none."""
        found = await self._znodes.get_data(paths.entity_config(entity_type, entity_name), cause)
        if found is None:
            return {}
        with self._znodes.decoding(cause) as report:
            return znodes.decode_config(found.path, found.data, report)

    async def read_topics(self, topics: Iterable[str], cause: Cause = None) -> dict[str, dict[str, str]]:
        """Return the settings of topics, in the order given.

        Raises: BadZnodeError if any topic's settings are null or empty data, or have a value that is not a string.
        """
        wanted = list(topics)
        found = {r.path: r for r in await self._znodes.read_existing([paths.topic_config(topic) for topic in wanted], cause)}
        with self._znodes.decoding(cause) as report:
            return {
                topic: znodes.decode_config(path, found[path].data, report) if path in found else {}
                for topic in wanted
                for path in [paths.topic_config(topic)]
            }

    async def set_or_create(
        self, entity_type: str, entity_name: str, config: Mapping[str, str], cause: Cause = None
    ) -> None:
        """Write an entity's settings, whatever the znode's version. A config change (config_changes.py) then notifies
        the brokers."""
        path = paths.entity_config(entity_type, entity_name)
        await self._znodes.set_or_create(path, znodes.encode_config(config), UNFENCED, cause)

    async def delete_topics(self, topics: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete the settings of topics; topics without settings are ignored."""
        await self._znodes.delete([paths.topic_config(topic) for topic in topics], expected, cause)
