"""The notifications of changed settings: /config/changes.

Source: Kafka 2.8, KafkaZkClient.createConfigChangeNotification, ZkNodeChangeNotificationListener.
"""

from collections.abc import Iterable

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.zk.operations import DataRead, Delete
from kcsim.znodes import paths


class ConfigChangeZnodes:
    """The gateway to the notifications of changed settings."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def names(self, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of the notifications, sorted, which is their order in time."""
        return await self._znodes.get_children(paths.CONFIG_CHANGES, register_watch, cause)

    async def read_data(self, name: str, cause: Cause = None) -> DataRead | None:
        """Return the undecoded data and Stat of a notification; None if it does not exist."""
        return await self._znodes.get_data(paths.child(paths.CONFIG_CHANGES, name), cause)

    async def create_parent(self, cause: Cause = None) -> None:
        """Create /config/changes, and its missing ancestors. Raises: NodeExistsError."""
        await self._znodes.create_recursively(paths.CONFIG_CHANGES, None, cause)

    async def create(self, entity_path: str, cause: Cause = None) -> str:
        """Notify all brokers that an entity's settings changed; return the notification's path.

        Args:
            entity_path: the entity, such as `topics/orders`.
        """
        return await self._znodes.create_sequential(
            paths.CONFIG_CHANGE_PREFIX, znodes.encode_config_change(entity_path), cause
        )

    async def delete_older(self, names: Iterable[str], oldest_ms: int, cause: Cause = None) -> None:
        """Delete those of the notifications that were created before a time, in ms since 1970. Refusals are ignored."""
        client = self._znodes.client
        read = await client.read_data([paths.child(paths.CONFIG_CHANGES, name) for name in names], cause)
        old = [found.path for found in read if isinstance(found, DataRead) and found.stat.ctime_ms < oldest_ms]
        if old:
            await client.request([Delete(path) for path in old], cause)
