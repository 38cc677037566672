"""How a broker learns of settings that change while it runs, and what it does about the one that concerns the controller.

Whoever changes the settings of a topic or broker writes them, and then a notification below /config/changes. Every broker
goes through the notifications it has not seen, in order, and reads what they name anew. The first that cannot be processed
stops it: later ones wait, until the next notification or session lets it try again.

Every setting is remembered; of use are unclean.leader.election.enable, and those of topics that logs go by.
Source: Kafka 2.8, ZkNodeChangeNotificationListener, DynamicConfigManager, TopicConfigHandler, DynamicLogConfig; reference
znodes.md 8.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from kcsim.zk import paths, znodes
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.events import EventKind
from kcsim.zk.kafka_zk import KafkaZk
from kcsim.zk.operations import DataRead, Delete
from kcsim.zk.ports import Cause, EventSink, Mailbox, Runtime, Task
from kcsim.zk.vocabulary import BrokerId
from kcsim.zk.znodes import BadZnodeError
from kcsim.zk.zookeeper_client import SessionHandler, ZooKeeperClient, ZooKeeperClientExpiredError

UNCLEAN = "unclean.leader.election.enable"
DEFAULT = "<default>"
KEPT_FOR_MS = 15 * 60 * 1_000
"""A notification that is older is deleted by whoever comes by."""
HANDLER = "config-changes"


class UncleanElections(Protocol):
    """What is asked of the controller module."""

    def enable_default_unclean_leader_election(self, cause: Cause) -> None: ...
    def disable_default_unclean_leader_election(self) -> None: ...
    def enable_topic_unclean_leader_election(self, topic: str, cause: Cause) -> None: ...


class DynamicConfig:
    """The settings of one broker that can change.

    Args:
        is_unclean_allowed: unclean.leader.election.enable as the broker was started with it.
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970.
        on_topic: told the settings of a topic that have changed.

    Attributes:
        settings: of every entity of which a notification was processed: `topics/orders` -> name -> value.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        is_unclean_allowed: bool,
        runtime: Runtime,
        client: ZooKeeperClient,
        kafka_zk: KafkaZk,
        sink: EventSink,
        controller: UncleanElections,
        epoch_ms: int,
        on_topic: Callable[[str, Mapping[str, str]], None],
    ) -> None:
        self.settings: dict[str, Mapping[str, str]] = {}
        self._own = (f"brokers/{broker_id}", f"brokers/{DEFAULT}")  # the former goes over the latter
        self._is_unclean_allowed_from_the_start = is_unclean_allowed
        self._is_unclean_allowed = is_unclean_allowed
        self._runtime = runtime
        self._client = client
        self._kafka_zk = kafka_zk
        self._sink = sink
        self._controller = controller
        self._epoch_ms = epoch_ms
        self._on_topic = on_topic
        self._last_processed = -1
        self._wake: Mailbox[Cause] = runtime.mailbox()
        self._task: Task | None = None

    async def read_own(self, cause: Cause) -> None:
        """Take up what is set for this broker, before it starts.

        Raises: ZooKeeperError, ZooKeeperClientExpiredError, BadZnodeError.
        """
        for entity in self._own:
            await self._apply(entity, cause)

    async def startup(self, cause: Cause) -> None:
        """Process all notifications that are there, then wait for more."""
        self._client.register_child_handler(paths.CONFIG_CHANGES, self._wake.put)
        self._client.register_session_handler(HANDLER, SessionHandler(after_new_session=self._wake.put))
        await self._process_notifications(cause)
        self._task = self._runtime.spawn(HANDLER, self._run())

    def close(self) -> None:
        self._client.unregister_child_handler(paths.CONFIG_CHANGES)
        self._client.unregister_session_handler(HANDLER)
        if self._task is not None:
            self._task.kill()

    async def _run(self) -> None:
        while True:
            await self._process_notifications(await self._wake.get())

    async def _process_notifications(self, cause: Cause) -> None:
        """Process what is new; whatever cannot be is left for the next time. Arms the watch."""
        try:
            names = await self._kafka_zk.get_children(paths.CONFIG_CHANGES, register_watch=True, cause=cause)
            for name in names:
                number = _number(name)
                if number > self._last_processed:
                    await self._process(paths.child(paths.CONFIG_CHANGES, name), cause)
                    self._last_processed = number
            await self._delete_old(names, cause)
        except (ZooKeeperError, ZooKeeperClientExpiredError):
            return  # the session is gone, or going: the next one looks again
        except BadZnodeError as error:
            self._report(error, cause)

    async def _process(self, path: str, cause: Cause) -> None:
        found = await self._kafka_zk.get_data(path, cause)
        if found is None:
            return
        entity = znodes.decode_config_change(
            path, found.data, lambda where, why: self._report(BadZnodeError(where, why), cause)
        )
        if entity is not None:
            await self._apply(entity, cause)

    def _report(self, error: BadZnodeError, cause: Cause) -> None:
        self._sink.emit(EventKind.BAD_ZNODE, cause, path=error.path, detail=error.reason)

    async def _delete_old(self, names: tuple[str, ...], cause: Cause) -> None:
        """Delete the notifications that everybody has had time to see."""
        if not names:
            return
        read = await self._client.read_data([paths.child(paths.CONFIG_CHANGES, name) for name in names], cause)
        oldest_ms = self._epoch_ms + self._runtime.now_ms() - KEPT_FOR_MS
        old = [found.path for found in read if isinstance(found, DataRead) and found.stat.ctime_ms < oldest_ms]
        if old:
            await self._client.request([Delete(path) for path in old], cause)

    # --- what follows

    async def _apply(self, entity: str, cause: Cause) -> None:
        entity_type, _, name = entity.partition("/")
        settings = self.settings[entity] = await self._kafka_zk.entity_config(entity_type, name, cause)
        if entity_type == "topics":
            self._on_topic(name, settings)
        if entity_type == "topics" and _is_true(settings.get(UNCLEAN)):
            self._controller.enable_topic_unclean_leader_election(name, cause)
        elif entity in self._own:
            self._apply_default(cause)

    def _apply_default(self, cause: Cause) -> None:
        given = next((v for e in self._own if (v := self.settings.get(e, {}).get(UNCLEAN)) is not None), None)
        is_allowed = self._is_unclean_allowed_from_the_start if given is None else _is_true(given)
        was_allowed, self._is_unclean_allowed = self._is_unclean_allowed, is_allowed
        if is_allowed and not was_allowed:
            self._controller.enable_default_unclean_leader_election(cause)
        elif was_allowed and not is_allowed:
            self._controller.disable_default_unclean_leader_election()


def _number(name: str) -> int:
    """The number that ZooKeeper appended. Raises: BadZnodeError for what no broker can have made."""
    digits = name.removeprefix(paths.name(paths.CONFIG_CHANGE_PREFIX))
    if not digits.isdecimal():
        raise BadZnodeError(paths.child(paths.CONFIG_CHANGES, name), "no number at the end of its name")
    return int(digits)


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"
