"""The watches of the active controller: each queues a controller event when a znode changes."""

from functools import partial

from kcsim.controller.event_manager import ControllerEventManager
from kcsim.controller.events import ActiveControllerEvent
from kcsim.eventlog.sink import Cause
from kcsim.zk.kafka.zookeeper_client import NodeHandler, ZooKeeperClient


class ControllerWatches:
    """The watches that handlers register; each is armed by the next read of its znode.

    A watch fires once. The handler of its event reads the znode again, which arms the watch again.
    """

    def __init__(self, client: ZooKeeperClient, events: ControllerEventManager) -> None:
        self._client = client
        self._events = events

    def put(self, event: ActiveControllerEvent, cause: Cause) -> None:
        """Queue an event without a change of a znode."""
        self._events.put(event, cause)

    def watch_children(self, path: str, event: ActiveControllerEvent) -> None:
        """Queue the event when children of a znode are created or deleted."""
        self._client.register_child_handler(path, partial(self._events.put, event))

    def watch_data(self, path: str, event: ActiveControllerEvent) -> None:
        """Queue the event when the data of a znode changes."""
        self._client.register_node_handler(path, self._data_handler(event))

    async def watch_data_of_existing(self, path: str, event: ActiveControllerEvent, cause: Cause) -> None:
        """Queue the event when the data of a znode changes, and check whether the znode exists, which arms the watch."""
        await self._client.register_and_check_existence(path, self._data_handler(event), cause)

    async def watch_creation(self, path: str, event: ActiveControllerEvent, cause: Cause) -> bool:
        """Queue the event when a znode is created; return whether it exists now. This check arms the watch."""
        handler = NodeHandler(created=partial(self._events.put, event))
        return await self._client.register_and_check_existence(path, handler, cause)

    def unwatch_children(self, path: str) -> None:
        """Ignore changes of a znode's children from now on, also if the watch is armed."""
        self._client.unregister_child_handler(path)

    def unwatch_node(self, path: str) -> None:
        """Ignore the creation of a znode and changes of its data from now on, also if the watch is armed."""
        self._client.unregister_node_handler(path)

    def _data_handler(self, event: ActiveControllerEvent) -> NodeHandler:
        return NodeHandler(data_changed=partial(self._events.put, event))
