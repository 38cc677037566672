"""Topics that come and go, and partitions that are added: /brokers/topics and the znode of each topic.

Source: Kafka 2.8, KafkaController.processTopicChange, processPartitionModifications, onNewPartitionCreation; reference
controller.md 7.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from kcsim.controller.core import Core
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import PartitionModifications, TopicChange
from kcsim.controller.partition_state_machine import PartitionStateMachine, Strategy
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import ReplicaAssignment, TopicPartition, TopicState
from kcsim.zk.zookeeper_client import NodeHandler


class TopicHandlers:
    """TopicChange and PartitionModifications, and the watches they need."""

    def __init__(self, core: Core, partitions: PartitionStateMachine, replicas: ReplicaStateMachine) -> None:
        self._core = core
        self._partitions = partitions
        self._replicas = replicas

    def register(self) -> None:
        """Watch /brokers/topics from the next listing on."""
        put = self._core.put
        self._core.client.register_child_handler(paths.BROKER_TOPICS, lambda cause: put(TopicChange(), cause))

    def unregister(self) -> None:
        self._core.client.unregister_child_handler(paths.BROKER_TOPICS)
        for topic in self._core.context.topics:
            self._core.client.unregister_node_handler(paths.topic(topic))

    async def read_topics(self, topics: Iterable[str], cause: int) -> list[TopicPartition]:
        """Watch and read these topics' znodes into the context; return the partitions found."""
        wanted = sorted(topics)
        for topic in wanted:
            changed = partial(self._core.put, PartitionModifications(topic))
            self._core.client.register_node_handler(paths.topic(topic), NodeHandler(data_changed=changed))
        found: list[TopicPartition] = []
        for topic, state in (await self._core.kafka_zk.topic_states(wanted, cause)).items():
            if state.topic_id is not None:
                self._core.context.topic_ids[topic] = state.topic_id
            for partition, assignment in sorted(state.assignments.items()):
                tp = TopicPartition(topic, partition)
                self._core.context.put_assignment(tp, assignment)
                found.append(tp)
        return found

    async def process_topic_change(self, cause: int) -> None:
        """List the topics anew, which re-arms the watch; create the partitions of new ones, forget those that are gone."""
        context = self._core.context
        listed = set(await self._core.kafka_zk.all_topics(register_watch=True, cause=cause))
        new, gone = listed - context.topics, context.topics - listed
        context.topics = listed
        partitions = await self.read_topics(new, cause)
        for topic in sorted(gone):
            context.remove_topic(topic)
        changed = self._core.sink.emit(
            EventKind.TOPIC_CHANGE,
            cause,
            count=len(partitions),
            detail=f"new topics {sorted(new)}, gone {sorted(gone)}",
        )
        await self._on_new_partition_creation(partitions, changed)

    async def process_partition_modifications(self, topic: str, cause: int) -> None:
        """Re-read one topic's znode, which re-arms the watch; only partitions not known before are taken up."""
        context = self._core.context
        read = (await self._core.kafka_zk.topic_states([topic], cause)).get(topic, TopicState({}))
        listed = {TopicPartition(topic, p): assignment for p, assignment in sorted(read.assignments.items())}
        added = {tp: assignment for tp, assignment in listed.items() if not context.assignment(tp).replicas}
        changed = self._core.sink.emit(
            EventKind.TOPIC_CHANGE, cause, topic=topic, count=len(added), detail=f"{len(added)} partitions added"
        )
        if not added:
            return
        if context.is_queued_for_deletion(topic):
            await self._restore(topic, listed, changed)
            return
        for tp, assignment in added.items():
            context.put_assignment(tp, assignment)
        await self._on_new_partition_creation(list(added), changed)

    async def _restore(self, topic: str, listed: Mapping[TopicPartition, ReplicaAssignment], cause: int) -> None:
        """A topic that is being deleted gets no new partitions: write back those that exist, as they are in memory."""
        context, zk = self._core.context, self._core.kafka_zk
        existing = set(await zk.get_children(paths.topic_partitions(topic), cause=cause))
        kept = {tp.partition: context.assignment(tp) for tp in listed if str(tp.partition) in existing}
        state = TopicState(kept, context.topic_ids.get(topic))
        await zk.set_topic_assignment(topic, state, context.epoch_zk_version, cause)

    async def _on_new_partition_creation(self, partitions: Sequence[TopicPartition], cause: int) -> None:
        if not partitions:
            return
        replicas = self._core.context.replicas_of(partitions)
        await self._partitions.handle_state_changes(partitions, PartitionMachineState.NEW, cause)
        await self._replicas.handle_state_changes(replicas, ReplicaMachineState.NEW, cause)
        await self._partitions.handle_state_changes(partitions, PartitionMachineState.ONLINE, cause, Strategy.OFFLINE)
        await self._replicas.handle_state_changes(replicas, ReplicaMachineState.ONLINE, cause)
