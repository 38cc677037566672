"""What brokers tell the controller through sequential znodes: ISR changes, failed log directories.

Source: Kafka 2.8, KafkaController.processIsrChangeNotification and processLogDirEventNotification.
"""

from kcsim.controller.events import IsrChangeNotification, LogDirEventNotification
from kcsim.controller.handlers.core import Core
from kcsim.zk import paths


class NotificationHandlers:
    """IsrChangeNotification and LogDirEventNotification, and the watches they need."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def register(self) -> None:
        """Watch both parents from the next listing on."""
        client, put = self._core.client, self._core.put
        client.register_child_handler(paths.LOG_DIR_EVENT_NOTIFICATION, lambda cause: put(LogDirEventNotification(), cause))
        client.register_child_handler(paths.ISR_CHANGE_NOTIFICATION, lambda cause: put(IsrChangeNotification(), cause))

    def unregister_isr_changes(self) -> None:
        self._core.client.unregister_child_handler(paths.ISR_CHANGE_NOTIFICATION)

    def unregister_log_dir_events(self) -> None:
        self._core.client.unregister_child_handler(paths.LOG_DIR_EVENT_NOTIFICATION)

    async def delete_all(self, cause: int) -> None:
        """Delete every notification unread: a new controller reads all state afresh. The listings arm the watches."""
        kafka_zk, version = self._core.kafka_zk, self._core.context.epoch_zk_version
        log_dir_events = await kafka_zk.log_dir_event_notifications(cause)
        await kafka_zk.delete_log_dir_event_notifications(log_dir_events, version, cause)
        isr_changes = await kafka_zk.isr_change_notifications(cause)
        await kafka_zk.delete_isr_change_notifications(isr_changes, version, cause)

    async def process_isr_change_notification(self, cause: int) -> None:
        """Re-read the state of every partition named, then delete exactly the notifications listed, even on an error."""
        kafka_zk, context = self._core.kafka_zk, self._core.context
        children = await kafka_zk.isr_change_notifications(cause)
        try:
            partitions = await kafka_zk.partitions_of_isr_change_notifications(children, cause)
            context.leadership.update(await kafka_zk.partition_states(partitions, cause))
        finally:
            await kafka_zk.delete_isr_change_notifications(children, context.epoch_zk_version, cause)

    async def process_log_dir_event_notification(self, cause: int) -> None:
        """Delete exactly the notifications listed."""
        kafka_zk, context = self._core.kafka_zk, self._core.context
        children = await kafka_zk.log_dir_event_notifications(cause)
        await kafka_zk.delete_log_dir_event_notifications(children, context.epoch_zk_version, cause)
