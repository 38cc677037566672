"""The watches of the active controller: each queues a controller event when a znode changes."""

from functools import partial

from kcsim.controller.event_manager import ControllerEventManager
from kcsim.controller.events import ActiveControllerEvent
from kcsim.controller.scope import ControllerScope
from kcsim.eventlog.sink import Cause
from kcsim.zk.kafka.zookeeper_client import NodeHandler, ZooKeeperClient


class ControllerWatches:
    """The watches that handlers register; each is armed by the next read of its znode.

    A watch fires once. The handler of its event reads the znode again, which arms the watch again.
    """

    def __init__(self, client: ZooKeeperClient, events: ControllerEventManager, scope: ControllerScope) -> None:
        self._client = client
        self._events = events
        self._notices_deletions = scope.config.hardening.watches_requests
        self._quarantine = scope.quarantine

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

    async def watch_request(self, path: str, event: ActiveControllerEvent, cause: Cause) -> bool:
        """Queue the event when a request in /admin is created; return whether it exists now. This check arms the watch.

        A hardened controller also queues it when the request is deleted, or changed while it is in quarantine.
        """
        put, quarantine = partial(self._events.put, event), self._quarantine

        def changed(seen: Cause) -> None:
            if path in quarantine:
                put(seen)

        hardened = NodeHandler(created=put, deleted=put, data_changed=changed)
        handler = hardened if self._notices_deletions else NodeHandler(created=put)
        exists = await self._client.register_and_check_existence(path, handler, cause)
        if not exists:
            quarantine.release(path, "it was deleted", cause)
        return exists

    def watch_data_or_deletion(self, path: str, event: ActiveControllerEvent) -> None:
        """Queue the event when the data of a znode changes, or the znode is deleted."""
        put = partial(self._events.put, event)
        self._client.register_node_handler(path, NodeHandler(data_changed=put, deleted=put))

    def unwatch_children(self, path: str) -> None:
        """Ignore changes of a znode's children from now on, also if the watch is armed."""
        self._client.unregister_child_handler(path)

    def unwatch_node(self, path: str) -> None:
        """Ignore the creation of a znode and changes of its data from now on, also if the watch is armed."""
        self._client.unregister_node_handler(path)

    def _data_handler(self, event: ActiveControllerEvent) -> NodeHandler:
        return NodeHandler(data_changed=partial(self._events.put, event))
