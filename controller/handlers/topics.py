"""Topics that are created and deleted, and partitions that are added: /brokers/topics and the znode of each topic.

Source: Kafka 2.8, KafkaController.processTopicChange, processPartitionModifications, onNewPartitionCreation;
docs/kafka/controller.md 7.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.faulty_assignments import usable_assignment, wrong_replicas
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.placement import RandomNumbers
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.decisions.topic_ids import new_topic_id
from kcsim.controller.events import PartitionModifications, TopicChange
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.controller.watches import ControllerWatches
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import ReplicaAssignment, TopicPartition, TopicState
from kcsim.zk.kafka.topics import TopicZnodes
from kcsim.znodes import paths


class TopicHandlers:
    """The handlers of TopicChange and PartitionModifications, and the watches that these events need.

    Args:
        numbers: the source of random numbers for the ids of topics.
    """

    def __init__(
        self,
        scope: ControllerScope,
        watches: ControllerWatches,
        znodes: TopicZnodes,
        machines: StateMachines,
        numbers: RandomNumbers,
    ) -> None:
        self._context = scope.context
        self._quarantine = scope.quarantine
        self._gives_ids = scope.config.capabilities.topic_ids
        self._forgets_states = scope.config.hardening.restores_states
        self._numbers = numbers
        self._sink = scope.sink
        self._watches = watches
        self._znodes = znodes
        self._partitions = machines.partitions
        self._replicas = machines.replicas

    def register(self) -> None:
        """Register a handler for /brokers/topics; the next listing arms the watch."""
        self._watches.watch_children(paths.BROKER_TOPICS, TopicChange())

    def unregister(self) -> None:
        self._watches.unwatch_children(paths.BROKER_TOPICS)
        for topic in self._context.topics:
            self._watches.unwatch_node(paths.topic(topic))

    async def read_topics(self, topics: Iterable[str], cause: int) -> list[TopicPartition]:
        """Watch these topics' znodes and read them into the context; return the partitions found."""
        wanted = sorted(topics)
        for topic in wanted:
            self._watches.watch_data(paths.topic(topic), PartitionModifications(topic))
        read = await self._read(wanted, cause)
        if self._gives_ids:
            await self._give_ids(read, cause)
        found: list[TopicPartition] = []
        for topic, state in read.items():
            if state.topic_id is not None:
                self._context.topic_ids[topic] = state.topic_id
            for partition, assignment in sorted(state.assignments.items()):
                tp = TopicPartition(topic, partition)
                self._context.put_assignment(tp, assignment)
                found.append(tp)
        return found

    async def _read(self, topics: Sequence[str], cause: int) -> dict[str, TopicState]:
        """Read these topics' znodes.

        A hardened controller leaves out topics that cannot be read, and partitions whose replicas cannot be right; a replica
        that is named twice counts once.

        Raises: BadZnodeError when any topic cannot be read, unless the controller is hardened.
        """
        reading = self._quarantine.reading("none of its partitions is created, or gets another leader", cause)
        read = await self._znodes.read(topics, cause, reading)
        if reading is None:
            return read
        usable: dict[str, TopicState] = {}
        for topic, state in read.items():
            wrong = {p: why for p, a in state.assignments.items() if (why := wrong_replicas(a.replicas)) is not None}
            if wrong:
                path, listed = paths.topic(topic), "; ".join(f"partition {p}: {why}" for p, why in sorted(wrong.items()))
                reading.bad.add(path)
                self._quarantine.add(path, listed, "these partitions are not created, and get no other leader", cause)
            right = {p: usable_assignment(a) for p, a in state.assignments.items() if p not in wrong}
            for partition in sorted(p for p, a in right.items() if a != state.assignments[p]):
                detail = f"partition {partition}: {state.assignments[partition]}; taken for {right[partition]}"
                self._sink.emit(EventKind.BAD_ZNODE, cause, path=paths.topic(topic), detail=detail)
            usable[topic] = replace(state, assignments=right)
        self._quarantine.release_read(map(paths.topic, topics), reading, set(map(paths.topic, read)))
        return usable

    async def _give_ids(self, topics: dict[str, TopicState], cause: int) -> None:
        """Give an id to each topic that has none, in its znode and in `topics`."""
        given = {
            topic: replace(state, topic_id=new_topic_id(self._numbers))
            for topic, state in topics.items()
            if state.topic_id is None and paths.topic(topic) not in self._quarantine
        }
        await self._znodes.set_ids(given, self._context.epoch_zk_version, cause)
        topics.update(given)

    async def process_topic_change(self, cause: int) -> None:
        """List the topics, which re-arms the watch; create the partitions of new topics, remove the topics that are gone."""
        context = self._context
        listed = set(await self._znodes.names(register_watch=True, cause=cause))
        new, gone = listed - context.topics, context.topics - listed
        context.topics = listed
        partitions = await self.read_topics(new, cause)
        for topic in sorted(gone):
            if self._forgets_states:
                context.forget_states(topic)
            context.remove_topic(topic)
            self._quarantine.release(paths.topic(topic), "it was deleted", cause)
        changed = self._sink.emit(
            EventKind.TOPIC_CHANGE,
            cause,
            count=len(partitions),
            new_topics=sorted(new),
            deleted_topics=sorted(gone),
            detail=f"new topics {sorted(new)}, gone {sorted(gone)}",
        )
        await self._on_new_partition_creation(partitions, changed)

    async def process_partition_modifications(self, topic: str, cause: int) -> None:
        """Re-read one topic's znode, which re-arms the watch; only partitions that were unknown before are created."""
        context = self._context
        was_unread = paths.topic(topic) in self._quarantine and not context.partitions_of(topic)
        read = (await self._read([topic], cause)).get(topic, TopicState({}))
        if was_unread and self._gives_ids and read.topic_id is None and paths.topic(topic) not in self._quarantine:
            ids = {topic: read}
            await self._give_ids(ids, cause)
            read = ids[topic]
        if was_unread and read.topic_id is not None:
            context.topic_ids[topic] = read.topic_id
        listed = {TopicPartition(topic, p): assignment for p, assignment in sorted(read.assignments.items())}
        added = {tp: assignment for tp, assignment in listed.items() if not context.assignment(tp).replicas}
        changed = self._sink.emit(
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
        """Write back the existing partitions of a topic, as they are in the context.

        A topic that is being deleted gets no new partitions.
        """
        context = self._context
        if paths.topic(topic) in self._quarantine:
            return
        existing = set(await self._znodes.partition_names(topic, cause))
        kept = {tp.partition: context.assignment(tp) for tp in listed if str(tp.partition) in existing}
        state = TopicState(kept, context.topic_ids.get(topic))
        await self._znodes.set_assignment(topic, state, context.epoch_zk_version, cause)

    async def _on_new_partition_creation(self, partitions: Sequence[TopicPartition], cause: int) -> None:
        if not partitions:
            return
        replicas = self._context.replicas_of(partitions)
        await self._partitions.handle_state_changes(partitions, PartitionMachineState.NEW, cause)
        await self._replicas.handle_state_changes(replicas, ReplicaMachineState.NEW, cause)
        await self._partitions.handle_state_changes(
            partitions, PartitionMachineState.ONLINE, cause, PartitionLeaderElectionStrategy.OFFLINE
        )
        await self._replicas.handle_state_changes(replicas, ReplicaMachineState.ONLINE, cause)
