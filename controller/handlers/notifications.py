"""What brokers tell the controller: changed ISRs and failed log directories, through znodes and through their answers.

Source: Kafka 2.8, KafkaController.processIsrChangeNotification, processLogDirEventNotification,
processLeaderAndIsrResponseReceived; reference controller.md 9 and 11.
"""

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.core import Core
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import IsrChangeNotification, LogDirEventNotification
from kcsim.controller.handlers.brokers import BrokerHandlers
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.controller.requests import ErrorCode, LeaderAndIsrResponse
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId
from kcsim.zk.wording import named


class NotificationHandlers:
    """IsrChangeNotification, LogDirEventNotification, LeaderAndIsrResponseReceived, and the watches they need."""

    def __init__(
        self,
        core: Core,
        replicas: ReplicaStateMachine,
        brokers: BrokerHandlers,
        reassignments: ReassignmentHandlers,
        own: ControllersOwnBatch,
    ) -> None:
        self._core = core
        self._replicas = replicas
        self._brokers = brokers
        self._reassignments = reassignments
        self._own = own

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
        """Re-read the state of every partition named, tell all brokers, complete reassignments that waited for it.

        Then delete exactly the notifications listed, even on an error.
        """
        kafka_zk, context = self._core.kafka_zk, self._core.context
        children = await kafka_zk.isr_change_notifications(cause)
        try:
            partitions = await kafka_zk.partitions_of_isr_change_notifications(children, cause)
            if partitions:
                for tp, state in (await kafka_zk.partition_states(partitions, cause)).items():
                    context.put_leadership(tp, state)
                await self._own.send_update_metadata(cause, partitions)
                for tp in partitions:
                    await self._reassignments.process_isr_change(tp, cause)
        finally:
            await kafka_zk.delete_isr_change_notifications(children, context.epoch_zk_version, cause)

    async def process_log_dir_event_notification(self, cause: int) -> None:
        """Have the brokers named say anew which of their replicas they serve; delete exactly the notifications listed."""
        kafka_zk, context = self._core.kafka_zk, self._core.context
        children = await kafka_zk.log_dir_event_notifications(cause)
        try:
            brokers = await kafka_zk.brokers_of_log_dir_events(children, cause)
            await self._replicas.handle_state_changes(context.replicas_on(brokers), ReplicaMachineState.ONLINE, cause)
        finally:
            await kafka_zk.delete_log_dir_event_notifications(children, context.epoch_zk_version, cause)

    async def process_leader_and_isr_response(self, broker: BrokerId, response: LeaderAndIsrResponse, cause: int) -> None:
        """Learn which replicas a broker cannot serve because their directory failed; any other error is only told of."""
        if response.error is not ErrorCode.NONE:
            return
        context = self._core.context
        before = context.replicas_on_offline_dirs.get(broker, set())
        errors = response.partition_errors
        recovered = {tp for tp, error in errors.items() if error is ErrorCode.NONE}
        failed = {tp for tp, error in errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR}
        if not failed and not before:
            return
        context.replicas_on_offline_dirs[broker] = (before - recovered) | failed
        new = sorted(context.replicas_on_offline_dirs[broker] - before)
        if new:
            told = self._core.sink.emit(
                EventKind.LOG_DIR_FAILED,
                cause,
                broker_id=broker,
                count=len(new),
                partitions=list(map(str, new)),
                detail=f"replicas of {named(new)} on {broker} are in a failed log directory",
            )
            await self._brokers.on_replicas_become_offline({broker: new}, told)
