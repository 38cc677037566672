"""Brokers that come, go, bounce or change their listeners: /brokers/ids.

Source: Kafka 2.8, KafkaController.processBrokerChange, onBrokerStartup, onBrokerFailure, onReplicasBecomeOffline,
processBrokerModification; reference controller.md 6.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.context import Replicas
from kcsim.controller.core import Core
from kcsim.controller.decisions.broker_changes import BrokerChanges, diff_brokers
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import BrokerChange, BrokerModifications
from kcsim.controller.handlers.reassignment import ReassignmentHandlers
from kcsim.controller.partition_state_machine import PartitionStateMachine
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.controller.topic_deletion_manager import TopicDeletionManager
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, BrokerInfo
from kcsim.zk.zookeeper_client import NodeHandler

Seen = dict[BrokerId, tuple[BrokerInfo, BrokerEpoch]]


class BrokerHandlers:
    """BrokerChange and BrokerModifications, and the watches they need."""

    def __init__(
        self,
        core: Core,
        partitions: PartitionStateMachine,
        replicas: ReplicaStateMachine,
        deletions: TopicDeletionManager,
        reassignments: ReassignmentHandlers,
        own: ControllersOwnBatch,
    ) -> None:
        self._core = core
        self._partitions = partitions
        self._replicas = replicas
        self._deletions = deletions
        self._reassignments = reassignments
        self._own = own

    def register(self) -> None:
        """Watch /brokers/ids from the next listing on."""
        self._core.client.register_child_handler(paths.BROKER_IDS, lambda cause: self._core.put(BrokerChange(), cause))

    def unregister(self) -> None:
        self._core.client.unregister_child_handler(paths.BROKER_IDS)

    async def register_modifications(self, broker_ids: Collection[BrokerId], cause: int) -> None:
        """Watch the registrations of these brokers for changed data; asks ZooKeeper, which arms the watches."""
        for broker_id in broker_ids:
            changed = partial(self._core.put, BrokerModifications(broker_id))
            await self._core.client.register_and_check_existence(
                paths.broker_id(broker_id), NodeHandler(data_changed=changed), cause
            )

    def unregister_modifications(self, broker_ids: Collection[BrokerId]) -> None:
        for broker_id in broker_ids:
            self._core.client.unregister_node_handler(paths.broker_id(broker_id))

    # --- who is there

    async def process_broker_change(self, cause: int) -> None:
        """List the brokers anew, which re-arms the watch, and act on the difference to what was known.

        Raises: BadZnodeError when any registration cannot be read; then nothing is done for any broker.
        """
        context = self._core.context
        listed = await self._core.kafka_zk.all_brokers_with_epochs(cause)
        seen = {info.broker_id: (info, epoch) for info, epoch in listed}
        changes = diff_brokers(context.broker_epochs, {b: epoch for b, (_, epoch) in seen.items()})
        if not self._core.config.protections.broker_epoch:
            changes = replace(changes, bounced=())  # nobody told one life of a broker from another
        changed = self._core.sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            brokers=sorted(seen),
            rule="started: new ids; stopped: ids gone; bounced: same id, higher broker epoch",
            inputs=f"known {dict(sorted(context.broker_epochs.items()))}, seen { {b: seen[b][1] for b in sorted(seen)} }",
            detail=f"started {list(changes.started)}, stopped {list(changes.stopped)}, bounced {list(changes.bounced)}",
        )
        self._change_channels(changes, seen, changed)
        if changes.started:
            context.add_live_brokers(seen[b] for b in changes.started)
            await self._on_broker_startup(changes.started, changed)
        if changes.bounced:
            context.remove_live_brokers(changes.bounced)
            if changes.started:
                self._tell_next("bounced: gone", changed)
            await self._on_broker_failure(changes.bounced, changed)
            context.add_live_brokers(seen[b] for b in changes.bounced)
            self._tell_next("bounced: back", changed)
            await self._on_broker_startup(changes.bounced, changed)
        if changes.stopped:
            context.remove_live_brokers(changes.stopped)
            if changes.started or changes.bounced:
                self._tell_next("stopped", changed)
            await self._on_broker_failure(changes.stopped, changed)

    def _tell_next(self, step: str, cause: int) -> None:
        """Changes are worked through one after the other: from here on elections see the brokers otherwise."""
        alive = self._core.context.live_or_shutting_down_broker_ids
        self._core.sink.emit(EventKind.BROKER_CHANGE, cause, step=step, brokers=alive)

    def _change_channels(self, changes: BrokerChanges, seen: Seen, cause: int) -> None:
        channels = self._core.channel_manager
        for broker in changes.started:
            channels.add_broker(seen[broker][0], cause)
        for broker in changes.bounced:  # what was queued was meant for its former life
            channels.remove_broker(broker, cause)
        for broker in changes.bounced:
            channels.add_broker(seen[broker][0], cause)
        for broker in changes.stopped:
            channels.remove_broker(broker, cause)

    async def process_broker_modifications(self, broker_id: BrokerId, cause: int) -> None:
        """Re-read one registration, which re-arms the watch; only other endpoints or features count as a change.

        The connection to the broker stays what it was.
        """
        context = self._core.context
        info = await self._core.kafka_zk.broker(broker_id, cause)
        known = context.live_brokers.get(broker_id)
        if info is None or known is None or (info.endpoints, info.features) == (known.endpoints, known.features):
            return
        context.live_brokers[broker_id] = info
        changed = self._core.sink.emit(
            EventKind.BROKER_CHANGE,
            cause,
            broker_id=broker_id,
            brokers=context.live_or_shutting_down_broker_ids,
            detail=f"broker {broker_id} now listens at {', '.join(map(str, info.endpoints))}",
        )
        await self._own.send_update_metadata(changed)

    # --- what follows

    async def _on_broker_startup(self, started: Sequence[BrokerId], cause: int) -> None:
        context = self._core.context
        for broker in started:
            context.replicas_on_offline_dirs.pop(broker, None)
        await self._own.send(lambda batch: batch.metadata_for_existing(started), cause)
        await self._own.send(lambda batch: batch.metadata_for_started(started), cause)
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
        await self.register_modifications(started, cause)

    async def _on_broker_failure(self, failed: Sequence[BrokerId], cause: int) -> None:
        context = self._core.context
        for broker in failed:
            context.replicas_on_offline_dirs.pop(broker, None)
            context.shutting_down.discard(broker)
        await self.on_replicas_become_offline(context.replicas_on(failed), cause)
        self.unregister_modifications(failed)

    async def on_replicas_become_offline(self, replicas: Replicas, cause: int) -> None:
        """Replicas do not serve any more: elect where they led, take them out of the ISRs, tell everybody."""
        context = self._core.context
        queued = context.topics_to_be_deleted
        to_delete = {broker: [tp for tp in hosted if tp.topic in queued] for broker, hosted in replicas.items()}
        others = {broker: [tp for tp in hosted if tp.topic not in queued] for broker, hosted in replicas.items()}
        leaderless = context.partitions_with_offline_leader()
        await self._partitions.handle_state_changes(leaderless, PartitionMachineState.OFFLINE, cause)
        await self._partitions.trigger_online_state_change(cause)
        await self._replicas.handle_state_changes(others, ReplicaMachineState.OFFLINE, cause)
        await self._deletions.fail_replica_deletion(to_delete, cause)
        if not leaderless:
            # Nobody was told anything by an election, so that the dead would still stand in everybody's metadata.
            await self._own.send_update_metadata(cause)
