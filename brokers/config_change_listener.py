"""Processes the notifications of changed settings, of which every broker sees every one.

A client that changes the settings of a topic or broker writes them, and then a notification below /config/changes. Every
broker processes the notifications that it has not seen, in order, and re-reads the settings that they name. A notification
that cannot be processed is reported and skipped; only a name without a number stops the broker, until the next notification
or session, when it tries again. Source: Kafka 2.8, ZkNodeChangeNotificationListener; docs/kafka/znodes.md 8.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from kcsim import znodes
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.sink import Cause, EventSink
from kcsim.runtime.ports import Mailbox, Runtime, Task
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.config_changes import ConfigChangeZnodes
from kcsim.zk.kafka.zookeeper_client import SessionHandler, ZooKeeperClient, ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError, paths

KEPT_FOR_MS = 15 * 60 * 1_000
"""Any broker that processes notifications deletes those that are older than this."""
HANDLER = "config-changes"


class ConfigChangeListener:
    """The listener of one broker.

    Args:
        epoch_ms: wall-clock time at the start of the run, in ms since 1970.
        apply: re-reads and applies the settings of an entity, given by its path, for example `topics/orders`.
    """

    def __init__(
        self,
        runtime: Runtime,
        client: ZooKeeperClient,
        changes: ConfigChangeZnodes,
        sink: EventSink,
        epoch_ms: int,
        apply: Callable[[str, Cause], Awaitable[None]],
    ) -> None:
        self._runtime = runtime
        self._client = client
        self._changes = changes
        self._sink = sink
        self._epoch_ms = epoch_ms
        self._apply = apply
        self._last_processed = -1
        self._wake: Mailbox[Cause] = runtime.mailbox()
        self._task: Task | None = None

    async def startup(self, cause: Cause) -> None:
        """Process all existing notifications, then wait for more."""
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
        """Process the new notifications in order, up to a name without a number. Arms the watch."""
        try:
            names = await self._changes.names(register_watch=True, cause=cause)
            for name in names:
                number = _number(name)
                if number > self._last_processed:
                    await self._process(name, cause)
                    self._last_processed = number
            await self._delete_old(names, cause)
        except (ZooKeeperError, ZooKeeperClientExpiredError):
            return  # the session has expired or will expire: the next session tries again
        except BadZnodeError as error:
            self._report(error, cause)

    async def _process(self, name: str, cause: Cause) -> None:
        """Process one notification; skip it if it, or the settings that it names, cannot be read."""
        found = await self._changes.read_data(name, cause)
        if found is None:
            return
        try:
            entity = znodes.decode_config_change(
                found.path, found.data, lambda where, why: self._report(BadZnodeError(where, why), cause)
            )
        except BadZnodeError as error:
            self._report(error, cause)
            return
        if entity is not None:
            with suppress(BadZnodeError):  # reading the settings has reported it
                await self._apply(entity, cause)

    def _report(self, error: BadZnodeError, cause: Cause) -> None:
        fields = EventFields(path=error.path, detail=error.reason)
        self._sink.emit(EventKind.BAD_ZNODE, cause, **with_reason(fields, error.failure))

    async def _delete_old(self, names: tuple[str, ...], cause: Cause) -> None:
        """Delete the notifications that are older than KEPT_FOR_MS."""
        if not names:
            return
        oldest_ms = self._epoch_ms + self._runtime.now_ms() - KEPT_FOR_MS
        await self._changes.delete_older(names, oldest_ms, cause)


def _number(name: str) -> int:
    """Return the sequence number that ZooKeeper appended to a notification's name.

    Raises: BadZnodeError for a name that no broker can have created.
    """
    digits = name.removeprefix(paths.name(paths.CONFIG_CHANGE_PREFIX))
    if not digits.isdecimal():
        raise BadZnodeError(paths.child(paths.CONFIG_CHANGES, name), "no number at the end of its name")
    return int(digits)
