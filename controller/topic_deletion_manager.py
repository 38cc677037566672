"""Deletes topics: queues them, waits until all their replicas can go, has the brokers delete, and cleans up ZooKeeper.

A topic waits while it is ineligible: a replica of it is offline, a broker failed to delete, it is being reassigned. There is
no timer: it goes on when a broker that hosts it starts, or its reassignment completes.

Source: Kafka 2.8, TopicDeletionManager and KafkaController.processTopicDeletion; reference controller.md 8.
"""

from collections.abc import Collection, Iterable

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.context import Replicas
from kcsim.controller.core import Core
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import TopicDeletion
from kcsim.controller.partition_state_machine import PartitionStateMachine
from kcsim.controller.replica_state_machine import ReplicaStateMachine, replicas_by_broker
from kcsim.controller.requests import ErrorCode, StopReplicaResponse
from kcsim.zk import paths
from kcsim.zk.events import EventFields, EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from kcsim.zk.wording import named


class TopicDeletionManager:
    """The one user of the context's three sets of topics to be deleted."""

    def __init__(
        self, core: Core, partitions: PartitionStateMachine, replicas: ReplicaStateMachine, own: ControllersOwnBatch
    ) -> None:
        self._core = core
        self._partitions = partitions
        self._replicas = replicas
        self._own = own

    def register(self) -> None:
        """Watch /admin/delete_topics from the next listing on."""
        put = self._core.put
        self._core.client.register_child_handler(paths.DELETE_TOPICS, lambda cause: put(TopicDeletion(), cause))

    def unregister(self) -> None:
        self._core.client.unregister_child_handler(paths.DELETE_TOPICS)

    # --- what is asked for

    async def init(self, cause: int) -> None:
        """At failover: queue what was asked for before; where deletion is disabled, refuse it."""
        context = self._core.context
        asked = await self._core.kafka_zk.topic_deletions(register_watch=True, cause=cause)
        if not self._core.config.delete_topic_enable:
            await self._refuse(asked, "deletion of topics is disabled", cause)
            return
        context.queue_for_deletion(asked)
        reassigned = {tp.topic for tp in context.partitions_being_reassigned}
        context.topics_ineligible_for_deletion = {
            topic for topic in asked if topic in reassigned or not all(self._online_or_not(topic)[1].values())
        }

    async def process_topic_deletion(self, cause: int) -> None:
        """List the deletions asked for, which re-arms the watch, and take them on."""
        context = self._core.context
        asked = await self._core.kafka_zk.topic_deletions(register_watch=True, cause=cause)
        unknown = [topic for topic in asked if topic not in context.topics]
        known = [topic for topic in asked if topic in context.topics]
        if unknown:
            await self._refuse(unknown, "there is no such topic", cause)
        if not known:
            return
        if not self._core.config.delete_topic_enable:
            await self._refuse(known, "deletion of topics is disabled", cause)
            return
        reassigned = {tp.topic for tp in context.partitions_being_reassigned}
        # Not queued yet, so this marks nobody: Kafka's order, by which a first request does not wait for a reassignment.
        self.mark_ineligible([topic for topic in known if topic in reassigned], "it is being reassigned", cause)
        context.queue_for_deletion(known)
        await self.resume_deletions(cause)

    async def _refuse(self, topics: Iterable[str], why: str, cause: int) -> None:
        refused = list(topics)
        for topic in refused:
            self._tell(topic, "refused", why, cause)
        version = self._core.context.epoch_zk_version
        await self._core.kafka_zk.delete_topic_deletions(refused, version, cause)

    # --- who has to wait

    def mark_ineligible(self, topics: Collection[str], why: str, cause: int) -> None:
        """Make those of these topics that are queued wait."""
        for topic in sorted(self._core.context.topics_to_be_deleted.intersection(topics)):
            self._core.context.topics_ineligible_for_deletion.add(topic)
            self._tell(topic, "ineligible", why, cause)

    async def resume_deletion_for_topics(self, topics: Collection[str], cause: int) -> None:
        """Something that these topics may have waited for has happened."""
        context = self._core.context
        queued = context.topics_to_be_deleted.intersection(topics)
        if queued:
            context.topics_ineligible_for_deletion -= queued
            await self.resume_deletions(cause)

    async def resume_deletions(self, cause: int) -> None:
        """Go on with every queued topic as far as that is possible now.

        Raises: IllegalStateError when a replica has no state: nothing is gone on with then.
        """
        context = self._core.context
        to_retry: list[tuple[BrokerId, TopicPartition]] = []
        to_start: list[str] = []
        for topic in sorted(context.topics_to_be_deleted):
            states = context.replica_states_of(topic)
            is_under_way = ReplicaMachineState.DELETION_STARTED in states.values()
            # Kafka looks for one whose deletion has begun, and meets one that its table of states does not have.
            if not is_under_way and (unknown := context.replicas_without_state(topic)):
                broker, tp = unknown[0]
                raise IllegalStateError(f"the replica of {tp} on {broker} has no state")
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
        context = self._core.context
        begun = {
            topic: self._tell(topic, "started", "all its replicas that are online are to go", cause) for topic in topics
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
        """Have every replica deleted that is online and not deleted yet; the others make their topics wait."""
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
        """Per replica of a topic, its state, and whether it is online."""
        context = self._core.context
        states = context.replica_states_of(topic)
        return states, {(broker, tp): context.is_replica_online(broker, tp) for broker, tp in states}

    async def process_stop_replica_response(self, broker: BrokerId, response: StopReplicaResponse, cause: int) -> None:
        """A broker has deleted replicas, or failed to."""
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
        """Replicas, of queued topics or not, cannot be deleted now."""
        queued = self._core.context.topics_to_be_deleted
        failed = {broker: [tp for tp in hosted if tp.topic in queued] for broker, hosted in replicas.items()}
        topics = {tp.topic for hosted in failed.values() for tp in hosted}
        if topics:
            await self._replicas.handle_state_changes(failed, ReplicaMachineState.DELETION_INELIGIBLE, cause)
            self.mark_ineligible(topics, "deletion of replicas failed", cause)
            await self.resume_deletions(cause)

    async def _complete_delete_topic(self, topic: str, cause: int) -> None:
        context, zk = self._core.context, self._core.kafka_zk
        done = self._tell(topic, "completing", "every replica is deleted, so its znodes go", cause)
        self._core.client.unregister_node_handler(paths.topic(topic))
        deleted = context.replica_states_of(topic)
        await self._replicas.handle_state_changes(replicas_by_broker(deleted), ReplicaMachineState.NON_EXISTENT, done)
        await zk.delete_topic(topic, context.epoch_zk_version, done)
        await zk.delete_topic_configs([topic], context.epoch_zk_version, done)
        await zk.delete_topic_deletions([topic], context.epoch_zk_version, done)
        context.remove_topic(topic)
        # Nobody takes them out of there: Kafka does not end a reassignment with the topic that it was of.
        moving = sorted(tp for tp in context.partitions_being_reassigned if tp.topic == topic)
        rest = f", though {named(moving)} is still held for being reassigned" if moving else ""
        self._tell(topic, "completed", f"its name is free again{rest}", done)

    def _tell(self, topic: str, step: str, why: str, cause: int) -> int:
        fields = EventFields(topic=topic, step=step, detail=f"deletion of topic {topic} {step}: {why}")
        return self._core.sink.emit(EventKind.TOPIC_DELETION, cause, **fields)
