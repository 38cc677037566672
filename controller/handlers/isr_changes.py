"""Notifications of changed ISRs, which partition leaders write: /isr_change_notification.

Source: Kafka 2.8, KafkaController.processIsrChangeNotification; docs/kafka/controller.md 9.
"""

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.context import ControllerContext
from kcsim.controller.events import IsrChangeNotification
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.watches import ControllerWatches
from kcsim.zk.kafka.isr_changes import IsrChangeZnodes
from kcsim.zk.kafka.partition_states import PartitionStateZnodes
from kcsim.znodes import paths


class IsrChangeHandler:
    """The handler of IsrChangeNotification, and the watch that this event needs."""

    def __init__(
        self,
        context: ControllerContext,
        watches: ControllerWatches,
        znodes: IsrChangeZnodes,
        states: PartitionStateZnodes,
        reassignments: ReassignmentHandlers,
        own: KafkaControllerRequestBatch,
    ) -> None:
        self._context = context
        self._watches = watches
        self._znodes = znodes
        self._states = states
        self._reassignments = reassignments
        self._own = own

    def register(self) -> None:
        """Register a handler for the parent znode; the next listing arms the watch."""
        self._watches.watch_children(paths.ISR_CHANGE_NOTIFICATION, IsrChangeNotification())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.ISR_CHANGE_NOTIFICATION)

    async def delete_all(self, cause: int) -> None:
        """Delete every notification without reading it, because a new controller reads all state afresh.

        The listing arms the watch.
        """
        names = await self._znodes.names(cause)
        await self._znodes.delete(names, self._context.epoch_zk_version, cause)

    async def process_isr_change_notification(self, cause: int) -> None:
        """Re-read the states of all partitions named, notify all brokers, and complete reassignments that can complete now.

        Then delete exactly the notifications listed, even on an error.
        """
        context = self._context
        children = await self._znodes.names(cause)
        try:
            partitions = await self._znodes.read_partitions(children, cause)
            if partitions:
                for tp, state in (await self._states.read(partitions, cause)).items():
                    context.put_leadership(tp, state)
                await self._own.send_update_metadata(cause, partitions)
                for tp in partitions:
                    await self._reassignments.process_isr_change(tp, cause)
        finally:
            await self._znodes.delete(children, context.epoch_zk_version, cause)
