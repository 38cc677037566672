"""Deletes topics: queues them, waits until all their replicas can be deleted, stops the replicas, removes the znodes.

A topic waits while it is ineligible: one of its replicas is offline, a broker failed to delete a replica, or the topic is
being reassigned. There is no timer: deletion resumes when a broker that hosts the topic starts, or when its reassignment
completes.

Source: Kafka 2.8, TopicDeletionManager and KafkaController.processTopicDeletion; docs/kafka/controller.md 8.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.context import Replicas
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import TopicDeletion
from kcsim.controller.requests import ErrorCode, StopReplicaResponse
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.state_machines.replica_state_machine import replicas_by_broker
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventFields, EventKind, with_reason
from kcsim.eventlog.step_names import TopicDeletionStep
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, FailureReason, TopicPartition
from kcsim.zk.kafka.configs import ConfigZnodes
from kcsim.zk.kafka.topic_deletions import TopicDeletionZnodes
from kcsim.zk.kafka.topics import TopicZnodes
from kcsim.znodes import paths


@dataclass(frozen=True, slots=True)
class DeletedTopicZnodes:
    """The gateways to what is removed with a topic: the request to delete it, its own znodes and its settings."""

    deletions: TopicDeletionZnodes
    topics: TopicZnodes
    configs: ConfigZnodes


class TopicDeletionManager:
    """The deletion of topics; the only user of the context's three sets of topics to be deleted."""

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: DeletedTopicZnodes,
        machines: StateMachines,
        own: KafkaControllerRequestBatch,
    ) -> None:
        self._config = scope.config
        self._context = scope.context
        self._sink = scope.sink
        self._watches = watches
        self._znodes = znodes
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._own = own

    def register(self) -> None:
        """Register a handler for /admin/delete_topics; the next listing arms the watch."""
        self._watches.watch_children(paths.DELETE_TOPICS, TopicDeletion())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.DELETE_TOPICS)

    # --- deletion requests

    async def init(self, cause: int) -> None:
        """Queue, at failover, the deletions requested before; refuse them where deletion is disabled."""
        context = self._context
        requested = await self._znodes.deletions.topics(register_watch=True, cause=cause)
        if not self._config.delete_topic_enable:
            await self._refuse(requested, "deletion of topics is disabled", cause)
            return
        context.queue_for_deletion(requested)
        waits = not self._config.hardening.deletion_ends_reassignments
        reassigned = {tp.topic for tp in context.partitions_being_reassigned if waits}
        context.topics_ineligible_for_deletion = {
            topic for topic in requested if topic in reassigned or not all(self._online_or_not(topic)[1].values())
        }

    async def process_topic_deletion(self, cause: int) -> None:
        """List the requested deletions, which re-arms the watch, and start them."""
        context = self._context
        requested = await self._znodes.deletions.topics(register_watch=True, cause=cause)
        unknown = [topic for topic in requested if topic not in context.topics]
        known = [topic for topic in requested if topic in context.topics]
        if unknown:
            await self._refuse(unknown, "there is no such topic", cause)
        if not known:
            return
        if not self._config.delete_topic_enable:
            await self._refuse(known, "deletion of topics is disabled", cause)
            return
        reassigned = {tp.topic for tp in context.partitions_being_reassigned}
        # No topic is queued yet, so this call marks none. It is Kafka's order: the first request does not wait for a
        # reassignment.
        moving = [topic for topic in known if topic in reassigned]
        self.mark_ineligible(moving, "it is being reassigned", cause, FailureReason.BEING_REASSIGNED)
        context.queue_for_deletion(known)
        await self.resume_deletions(cause)

    async def _refuse(self, topics: Iterable[str], why: str, cause: int) -> None:
        refused = list(topics)
        for topic in refused:
            self._emit_step(topic, TopicDeletionStep.REFUSED, why, cause)
        version = self._context.epoch_zk_version
        await self._znodes.deletions.delete(refused, version, cause)

    # --- ineligible topics

    def mark_ineligible(self, topics: Collection[str], why: str, cause: int, reason: FailureReason | None = None) -> None:
        """Mark those of these topics that are queued as ineligible."""
        for topic in sorted(self._context.topics_to_be_deleted.intersection(topics)):
            self._context.topics_ineligible_for_deletion.add(topic)
            self._emit_step(topic, TopicDeletionStep.INELIGIBLE, why, cause, reason)

    async def resume_deletion_for_topics(self, topics: Collection[str], cause: int) -> None:
        """Make these topics eligible again and resume their deletion."""
        context = self._context
        queued = context.topics_to_be_deleted.intersection(topics)
        if queued:
            context.topics_ineligible_for_deletion -= queued
            await self.resume_deletions(cause)

    async def resume_deletions(self, cause: int) -> None:
        """Continue the deletion of every queued topic as far as possible now.

        Raises: IllegalStateError when a replica has no state; no deletion continues then. A hardened one gives it a state.
        """
        context = self._context
        to_retry: list[tuple[BrokerId, TopicPartition]] = []
        to_start: list[str] = []
        for topic in sorted(context.topics_to_be_deleted):
            states = context.replica_states_of(topic)
            is_under_way = ReplicaMachineState.DELETION_STARTED in states.values()
            # Kafka looks for a replica whose deletion has started, and fails at a replica that has no entry in its table of
            # states.
            if not is_under_way and (unknown := context.replicas_without_state(topic)):
                if not self._config.hardening.isolates_failures:
                    broker, tp = unknown[0]
                    raise IllegalStateError(f"the replica of {tp} on {broker} has no state")
                for state in (ReplicaMachineState.NEW, ReplicaMachineState.OFFLINE):
                    await self._replicas.handle_state_changes(replicas_by_broker(unknown), state, cause)
                states = context.replica_states_of(topic)
            if all(state is ReplicaMachineState.DELETION_SUCCESSFUL for state in states.values()):
                await self._complete_delete_topic(topic, cause)
                continue
            if not is_under_way:
                ineligible = ReplicaMachineState.DELETION_INELIGIBLE
                to_retry.extend(replica for replica, state in states.items() if state is ineligible)
                if topic not in context.topics_ineligible_for_deletion:
                    to_start.append(topic)
        if to_retry:
            await self._replicas.handle_state_changes(replicas_by_broker(to_retry), ReplicaMachineState.OFFLINE, cause)
        if to_start:
            await self._on_topic_deletion(to_start, cause)

    # --- deletion itself

    async def _on_topic_deletion(self, topics: Collection[str], cause: int) -> None:
        context = self._context
        begun = {
            topic: self._emit_step(topic, TopicDeletionStep.STARTED, "all its replicas that are online are to go", cause)
            for topic in topics
        }
        by = next(iter(begun.values())) if len(begun) == 1 else cause
        unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
        partitions = [tp for topic in unseen for tp in context.partitions_of(topic)]
        await self._partitions.handle_state_changes(partitions, PartitionMachineState.OFFLINE, by)
        await self._partitions.handle_state_changes(partitions, PartitionMachineState.NON_EXISTENT, by)
        context.topics_with_deletion_started.update(unseen)
        await self._own.send_update_metadata(by, [tp for topic in topics for tp in context.partitions_of(topic)])
        await self._delete_replicas(topics, by)

    async def _delete_replicas(self, topics: Collection[str], cause: int) -> None:
        """Delete every replica that is online and not deleted yet; an offline replica makes its topic ineligible."""
        dead: list[tuple[BrokerId, TopicPartition]] = []
        to_delete: list[tuple[BrokerId, TopicPartition]] = []
        waiting: list[str] = []
        for topic in topics:
            states, online = self._online_or_not(topic)
            gone = [replica for replica, is_online in online.items() if not is_online]
            dead.extend(gone)
            to_delete.extend(
                replica
                for replica, is_online in online.items()
                if is_online and states[replica] is not ReplicaMachineState.DELETION_SUCCESSFUL
            )
            if gone:
                waiting.append(topic)
        move = self._replicas.handle_state_changes
        await move(replicas_by_broker(dead), ReplicaMachineState.DELETION_INELIGIBLE, cause)
        await move(replicas_by_broker(to_delete), ReplicaMachineState.OFFLINE, cause)
        await move(replicas_by_broker(to_delete), ReplicaMachineState.DELETION_STARTED, cause)
        if waiting:
            self.mark_ineligible(waiting, "it has offline replicas", cause)

    def _online_or_not(
        self, topic: str
    ) -> tuple[dict[tuple[BrokerId, TopicPartition], ReplicaMachineState], dict[tuple[BrokerId, TopicPartition], bool]]:
        """Return, for each replica of a topic, its state, and whether it is online."""
        context = self._context
        states = context.replica_states_of(topic)
        return states, {(broker, tp): context.is_replica_online(broker, tp) for broker, tp in states}

    async def process_stop_replica_response(self, broker: BrokerId, response: StopReplicaResponse, cause: int) -> None:
        """Handle a broker's response: replicas were deleted, or could not be deleted."""
        failed: list[TopicPartition] = []
        deleted: list[TopicPartition] = []
        for tp, error in response.partition_errors.items():
            is_done = response.error is ErrorCode.NONE and error is ErrorCode.NONE
            (deleted if is_done else failed).append(tp)
        await self.fail_replica_deletion({broker: failed}, cause)
        if deleted:
            await self._replicas.handle_state_changes({broker: deleted}, ReplicaMachineState.DELETION_SUCCESSFUL, cause)
            await self.resume_deletions(cause)

    async def fail_replica_deletion(self, replicas: Replicas, cause: int) -> None:
        """Mark replicas that cannot be deleted now. Replicas of topics that are not queued are ignored."""
        queued = self._context.topics_to_be_deleted
        failed = {broker: [tp for tp in hosted if tp.topic in queued] for broker, hosted in replicas.items()}
        topics = {tp.topic for hosted in failed.values() for tp in hosted}
        if topics:
            await self._replicas.handle_state_changes(failed, ReplicaMachineState.DELETION_INELIGIBLE, cause)
            self.mark_ineligible(topics, "deletion of replicas failed", cause)
            await self.resume_deletions(cause)

    async def _complete_delete_topic(self, topic: str, cause: int) -> None:
        context, zk = self._context, self._znodes
        done = self._emit_step(topic, TopicDeletionStep.COMPLETING, "every replica is deleted, so its znodes go", cause)
        self._watches.unwatch_node(paths.topic(topic))
        deleted = context.replica_states_of(topic)
        await self._replicas.handle_state_changes(replicas_by_broker(deleted), ReplicaMachineState.NON_EXISTENT, done)
        await zk.topics.delete(topic, context.epoch_zk_version, done)
        await zk.configs.delete_topics([topic], context.epoch_zk_version, done)
        await zk.deletions.delete([topic], context.epoch_zk_version, done)
        context.remove_topic(topic)
        # Nothing removes them from that set: Kafka does not end a reassignment when its topic is deleted.
        moving = sorted(tp for tp in context.partitions_being_reassigned if tp.topic == topic)
        rest = f", though {summarize(moving)} is still held for being reassigned" if moving else ""
        reason = FailureReason.BEING_REASSIGNED if moving else None
        self._emit_step(topic, TopicDeletionStep.COMPLETED, f"its name is free again{rest}", done, reason)

    def _emit_step(
        self, topic: str, step: TopicDeletionStep, why: str, cause: int, reason: FailureReason | None = None
    ) -> int:
        fields = EventFields(topic=topic, step=step.value, detail=f"deletion of topic {topic} {step}: {why}")
        return self._sink.emit(EventKind.TOPIC_DELETION, cause, **with_reason(fields, reason))
