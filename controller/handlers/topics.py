"""Topics that come and go, partitions that are added, deletions that are asked for: /brokers/topics, /admin/delete_topics.

Source: Kafka 2.8, KafkaController.processTopicChange, processPartitionModifications, processTopicDeletion.
"""

from collections.abc import Iterable
from functools import partial

from kcsim.controller.events import PartitionModifications, TopicChange, TopicDeletion
from kcsim.controller.handlers.core import Core
from kcsim.zk import paths
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import TopicPartition
from kcsim.zk.zookeeper_client import NodeHandler


class TopicHandlers:
    """TopicChange, PartitionModifications and TopicDeletion, and the watches they need."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def register(self) -> None:
        """Watch topics and deletions from the next listing on."""
        client, put = self._core.client, self._core.put
        client.register_child_handler(paths.BROKER_TOPICS, lambda cause: put(TopicChange(), cause))
        client.register_child_handler(paths.DELETE_TOPICS, lambda cause: put(TopicDeletion(), cause))

    def unregister(self) -> None:
        for topic in self._core.context.topics:
            self._core.client.unregister_node_handler(paths.topic(topic))
        self._core.client.unregister_child_handler(paths.BROKER_TOPICS)
        self._core.client.unregister_child_handler(paths.DELETE_TOPICS)

    async def read_topics(self, topics: Iterable[str], cause: int) -> list[TopicPartition]:
        """Watch and read these topics' znodes into the context; return the partitions found, sorted."""
        wanted = sorted(topics)
        for topic in wanted:
            changed = partial(self._core.put, PartitionModifications(topic))
            self._core.client.register_node_handler(paths.topic(topic), NodeHandler(data_changed=changed))
        found: list[TopicPartition] = []
        for topic, state in (await self._core.kafka_zk.topic_states(wanted, cause)).items():
            for partition, assignment in sorted(state.assignments.items()):
                self._core.context.assignments[TopicPartition(topic, partition)] = assignment
                found.append(TopicPartition(topic, partition))
        return found

    async def process_topic_change(self, cause: int) -> None:
        """List the topics anew, which re-arms the watch; learn the new ones, forget those that are gone."""
        context = self._core.context
        listed = set(await self._core.kafka_zk.all_topics(register_watch=True, cause=cause))
        new, gone = listed - context.topics, context.topics - listed
        context.topics = listed
        partitions = await self.read_topics(new, cause)
        for topic in sorted(gone):
            context.remove_topic(topic)
        self._core.sink.emit(
            EventKind.TOPIC_CHANGE,
            cause,
            count=len(partitions),
            detail=f"new topics {sorted(new)}, gone {sorted(gone)}",
        )

    async def process_partition_modifications(self, topic: str, cause: int) -> None:
        """Re-read one topic's znode, which re-arms the watch; only partitions not known before are taken up."""
        states = await self._core.kafka_zk.topic_states([topic], cause)
        assignments = self._core.context.assignments
        added = {
            TopicPartition(topic, partition): assignment
            for partition, assignment in sorted(states[topic].assignments.items() if topic in states else ())
            if TopicPartition(topic, partition) not in assignments
        }
        assignments.update(added)
        self._core.sink.emit(
            EventKind.TOPIC_CHANGE, cause, topic=topic, count=len(added), detail=f"{len(added)} partitions added"
        )

    async def process_topic_deletion(self, cause: int) -> None:
        """List the deletions asked for, which re-arms the watch, and remember those of known topics."""
        asked = set(await self._core.kafka_zk.topic_deletions(register_watch=True, cause=cause))
        self._core.context.topics_to_be_deleted |= asked & self._core.context.topics
