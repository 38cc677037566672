"""The notifications of failed log directories: /log_dir_event_notification.

Source: Kafka 2.8, KafkaZkClient.getAllLogDirEventNotifications, propagateLogDirEvent, deleteLogDirEventNotifications.
"""

from collections.abc import Iterable

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ControllerEpochZkVersion
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.znodes import paths


class LogDirEventZnodes:
    """The gateway to the log directory notifications."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def names(self, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of the log directory notifications, sorted, which is their order in time; arm the child watch.

        For children that are no sequential znodes these are the names that Kafka looks for. Raises: BadZnodeError if a name
        is too short.
        """
        children = await self._znodes.get_children(paths.LOG_DIR_EVENT_NOTIFICATION, register_watch=True, cause=cause)
        return tuple(sorted(set(map(znodes.log_dir_event_name, children))))

    async def read_brokers(self, names: Iterable[str], cause: Cause = None) -> list[BrokerId]:
        """Return the brokers that log directory notifications name, sorted."""
        replies = await self._znodes.read_existing([paths.child(paths.LOG_DIR_EVENT_NOTIFICATION, n) for n in names], cause)
        with self._znodes.decoding(cause) as report:
            brokers = {znodes.decode_log_dir_event(r.path, r.data, report) for r in replies}
        return sorted(broker for broker in brokers if broker is not None)

    async def create(self, broker_id: BrokerId, cause: Cause = None) -> str:
        """Notify the controller that a log directory failed; return the notification's path.

        If the answer is lost, the request is repeated and creates a second notification.
        """
        return await self._znodes.create_sequential(
            paths.LOG_DIR_EVENT_PREFIX, znodes.encode_log_dir_event(broker_id), cause
        )

    async def delete(self, names: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete log directory notifications; those that do not exist any more are ignored."""
        await self._znodes.delete([paths.child(paths.LOG_DIR_EVENT_NOTIFICATION, n) for n in names], expected, cause)
