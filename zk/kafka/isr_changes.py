"""The notifications of changed ISRs: /isr_change_notification.

Source: Kafka 2.8, KafkaZkClient.getAllIsrChangeNotifications, propagateIsrChanges, deleteIsrChangeNotifications.
"""

from collections.abc import Iterable

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, TopicPartition
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.znodes import paths


class IsrChangeZnodes:
    """The gateway to the ISR change notifications."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def names(self, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of the ISR change notifications, sorted, which is their order in time; arm the child watch.

        For children that are no sequential znodes these are the names that Kafka looks for. Raises: BadZnodeError if a name
        is too short.
        """
        children = await self._znodes.get_children(paths.ISR_CHANGE_NOTIFICATION, register_watch=True, cause=cause)
        return tuple(sorted(set(map(znodes.isr_change_name, children))))

    async def read_partitions(self, names: Iterable[str], cause: Cause = None) -> list[TopicPartition]:
        """Return the partitions that ISR change notifications name, sorted."""
        replies = await self._znodes.read_existing([paths.child(paths.ISR_CHANGE_NOTIFICATION, n) for n in names], cause)
        with self._znodes.decoding(cause) as report:
            return sorted({tp for r in replies for tp in znodes.decode_isr_change(r.path, r.data, report)})

    async def create(self, partitions: Iterable[TopicPartition], cause: Cause = None) -> str:
        """Notify the controller of changed ISRs; return the notification's path.

        If the answer is lost, the request is repeated and creates a second notification.
        """
        return await self._znodes.create_sequential(paths.ISR_CHANGE_PREFIX, znodes.encode_partitions(partitions), cause)

    async def delete(self, names: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete ISR change notifications; those that do not exist any more are ignored."""
        await self._znodes.delete([paths.child(paths.ISR_CHANGE_NOTIFICATION, n) for n in names], expected, cause)
