"""What follows when brokers start, fail or change their listeners, or when replicas become offline.

Source: Kafka 2.8, KafkaController.onBrokerStartup, onBrokerFailure, onBrokerUpdate, onReplicasBecomeOffline;
docs/kafka/controller.md 6.
"""

from collections.abc import Sequence

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.context import Replicas
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.vocabulary import BrokerId, LeaderAndIsr


class BrokerAvailability:
    """Moves partitions and replicas, and notifies the brokers, after a change of which brokers or replicas are online."""

    def __init__(
        self,
        scope: ControllerScope,
        machines: StateMachines,
        deletions: TopicDeletionManager,
        reassignments: ReassignmentHandlers,
        own: KafkaControllerRequestBatch,
    ) -> None:
        self._context = scope.context
        self._every_failure_is_announced = scope.config.capabilities.every_failure_is_announced
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._deletions = deletions
        self._reassignments = reassignments
        self._own = own

    async def on_broker_startup(self, started: Sequence[BrokerId], cause: int) -> None:
        """Bring the replicas on started brokers online, and continue what had waited for these brokers."""
        context = self._context
        for broker in started:
            context.replicas_on_offline_dirs.pop(broker, None)
        await self._own.send(lambda batch: batch.metadata_for_existing(started), cause)
        await self._own.send(lambda batch: batch.metadata_for_started(started), cause)
        await self._reassignments.delete_left_behind(started, cause)
        await self._replicas.handle_state_changes(context.replicas_on(started), ReplicaMachineState.ONLINE, cause)
        await self._partitions.trigger_online_state_change(cause)
        await self._reassignments.resume_to(started, cause)
        waiting = {
            topic
            for topic in context.topics_to_be_deleted
            if not context.replicas_of(context.partitions_of(topic)).keys().isdisjoint(started)
        }
        if waiting:
            await self._deletions.resume_deletion_for_topics(waiting, cause)

    async def on_broker_failure(self, failed: Sequence[BrokerId], cause: int) -> None:
        """Take the replicas on failed brokers offline."""
        context = self._context
        for broker in failed:
            context.replicas_on_offline_dirs.pop(broker, None)
            context.shutting_down.discard(broker)
        await self.on_replicas_become_offline(context.replicas_on(failed), cause)

    async def on_replicas_become_offline(self, replicas: Replicas, cause: int) -> None:
        """Handle replicas that went offline: elect new leaders, remove the replicas from the ISRs, notify the brokers."""
        context = self._context
        queued = context.topics_to_be_deleted
        to_delete = {broker: [tp for tp in hosted if tp.topic in queued] for broker, hosted in replicas.items()}
        others = {broker: [tp for tp in hosted if tp.topic not in queued] for broker, hosted in replicas.items()}
        leaderless = context.partitions_with_offline_leader()
        await self._partitions.handle_state_changes(leaderless, PartitionMachineState.OFFLINE, cause)
        elections = await self._partitions.trigger_online_state_change(cause)
        await self._replicas.handle_state_changes(others, ReplicaMachineState.OFFLINE, cause)
        await self._deletions.fail_replica_deletion(to_delete, cause)
        if self._every_failure_is_announced:
            # Kafka 3.1, KAFKA-13225: the state machines have sent nothing.
            is_unsent = not any(others.values()) and not any(isinstance(e, LeaderAndIsr) for e in elections.values())
        else:
            is_unsent = not leaderless
        if is_unsent:
            # No election has sent requests, so the brokers' metadata would still list the dead brokers.
            await self._own.send_update_metadata(cause)

    async def on_broker_update(self, cause: int) -> None:
        """Send the changed listeners of a live broker to every broker."""
        await self._own.send_update_metadata(cause)
