"""Failed log directories: /log_dir_event_notification, and the brokers' responses that report the replicas concerned.

Source: Kafka 2.8, KafkaController.processLogDirEventNotification, processLeaderAndIsrResponseReceived;
docs/kafka/controller.md 11.
"""

from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import LogDirEventNotification
from kcsim.controller.handlers.broker_availability import BrokerAvailability
from kcsim.controller.requests import ErrorCode, LeaderAndIsrResponse
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.replica_state_machine import ReplicaStateMachine
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventKind
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.log_dir_events import LogDirEventZnodes
from kcsim.znodes import paths


class LogDirHandlers:
    """The handlers of LogDirEventNotification and LeaderAndIsrResponseReceived, and the watch that the first one needs."""

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: LogDirEventZnodes,
        replicas: ReplicaStateMachine,
        availability: BrokerAvailability,
    ) -> None:
        self._context = scope.context
        self._sink = scope.sink
        self._watches = watches
        self._znodes = znodes
        self._replicas = replicas
        self._availability = availability

    def register(self) -> None:
        """Register a handler for the parent znode; the next listing arms the watch."""
        self._watches.watch_children(paths.LOG_DIR_EVENT_NOTIFICATION, LogDirEventNotification())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.LOG_DIR_EVENT_NOTIFICATION)

    async def delete_all(self, cause: int) -> None:
        """Delete every notification without reading it, because a new controller reads all state afresh.

        The listing arms the watch.
        """
        names = await self._znodes.names(cause)
        await self._znodes.delete(names, self._context.epoch_zk_version, cause)

    async def process_log_dir_event_notification(self, cause: int) -> None:
        """Send LeaderAndIsr to the brokers named, so that their responses report which replicas they serve.

        Then delete exactly the notifications listed, even on an error.
        """
        context = self._context
        children = await self._znodes.names(cause)
        try:
            brokers = await self._znodes.read_brokers(children, cause)
            await self._replicas.handle_state_changes(context.replicas_on(brokers), ReplicaMachineState.ONLINE, cause)
        finally:
            await self._znodes.delete(children, context.epoch_zk_version, cause)

    async def process_leader_and_isr_response(self, broker: BrokerId, response: LeaderAndIsrResponse, cause: int) -> None:
        """Record which replicas a broker cannot serve because their log directory failed. Other errors are ignored here."""
        if response.error is not ErrorCode.NONE:
            return
        context = self._context
        before = context.replicas_on_offline_dirs.get(broker, set())
        errors = response.partition_errors
        recovered = {tp for tp, error in errors.items() if error is ErrorCode.NONE}
        failed = {tp for tp, error in errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR}
        if not failed and not before:
            return
        context.replicas_on_offline_dirs[broker] = (before - recovered) | failed
        new = sorted(context.replicas_on_offline_dirs[broker] - before)
        if new:
            failure_seq = self._sink.emit(
                EventKind.LOG_DIR_FAILED,
                cause,
                broker_id=broker,
                count=len(new),
                partitions=list(map(str, new)),
                detail=f"replicas of {summarize(new)} on {broker} are in a failed log directory",
            )
            await self._availability.on_replicas_become_offline({broker: new}, failure_seq)
