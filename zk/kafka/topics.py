"""The topics and their assignments: /brokers/topics.

Source: Kafka 2.8, KafkaZkClient.getAllTopicsInCluster, getReplicaAssignmentAndTopicIdForTopics, setTopicAssignment;
docs/kafka/znodes.md.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, TopicState
from kcsim.zk.kafka.fencing import write_fenced
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests, found_or_none
from kcsim.zk.operations import ChildrenRead, DataRead, GetChildren, GetData, SetData
from kcsim.znodes import paths


class TopicZnodes:
    """The gateway to the znodes of topics."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def names(self, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of all topics, sorted."""
        return await self._znodes.get_children(paths.BROKER_TOPICS, register_watch, cause)

    async def exists(self, topic: str, cause: Cause = None) -> bool:
        """Return whether a topic's znode exists."""
        return await self._znodes.exists(paths.topic(topic), cause)

    async def read(
        self, topics: Iterable[str], cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> dict[str, TopicState]:
        """Return the assignments of topics, in the order given; a topic that does not exist is left out.

        The znodes are read one by one, not in MultiReads: a topic with many partitions has a large znode.

        Args:
            on_bad: called for each topic that cannot be read, which is left out then.

        Raises: BadZnodeError if any topic is JSON of another form, unless there is `on_bad`.
        """
        replies = await self._znodes.client.request([GetData(paths.topic(topic)) for topic in topics], cause)
        found = [r for reply in replies if (r := found_or_none(DataRead, reply)) is not None]
        if on_bad is not None:
            decoded = {
                paths.name(r.path): self._znodes.decoded(partial(znodes.decode_topic, r.path, r.data), cause, on_bad)
                for r in found
            }
            return {topic: state for topic, state in decoded.items() if state is not None}
        with self._znodes.decoding(cause) as report:
            return {paths.name(r.path): znodes.decode_topic(r.path, r.data, report) for r in found}

    async def partition_names(self, topic: str, cause: Cause = None) -> tuple[str, ...]:
        """Return the names of a topic's partition znodes, sorted as text; these exist once a partition had a leader."""
        return await self._znodes.get_children(paths.topic_partitions(topic), cause=cause)

    async def create(self, topic: str, state: TopicState, cause: Cause = None) -> None:
        """Create a topic's znode, as the tools and the API do. Raises: NodeExistsError."""
        await self._znodes.create_recursively(paths.topic(topic), znodes.encode_topic(state), cause)

    async def set_assignment(
        self, topic: str, state: TopicState, expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        """Write a topic's assignment, whatever the znode's version; `expected` is UNFENCED when partitions are added."""
        await self._znodes.write([SetData(paths.topic(topic), znodes.encode_topic(state))], expected, cause)

    async def set_ids(
        self, states: Mapping[str, TopicState], expected: ControllerEpochZkVersion, cause: Cause = None
    ) -> None:
        """Write topics that have got an id, whatever the znodes' versions. Topics that do not exist any more are ignored."""
        writes = [SetData(paths.topic(topic), znodes.encode_topic(state)) for topic, state in states.items()]
        await write_fenced(self._znodes.client, writes, expected, cause)

    async def delete(self, topic: str, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete a topic's znode and all znodes below it, deepest first. Znodes that do not exist any more are ignored."""
        await self._znodes.delete(await self._tree_of_topic(topic, cause), expected, cause)

    async def _tree_of_topic(self, topic: str, cause: Cause) -> list[str]:
        """Return the paths of a topic's znodes, each after those below it: state, partition, …, partitions, the topic."""
        tree: list[str] = []
        level = [paths.topic(topic)]
        while level:
            tree.extend(level)
            replies = await self._znodes.client.request([GetChildren(path, watch=True) for path in level], cause)
            listed = [(path, found_or_none(ChildrenRead, reply)) for path, reply in zip(level, replies, strict=True)]
            level = [paths.child(path, name) for path, found in listed if found for name in found.children]
        return _deepest_first(tree)


def _deepest_first(tree: Iterable[str]) -> list[str]:
    """Return the paths sorted so that each comes after all paths below it."""
    after_all = chr(0x10FFFF)
    return sorted(tree, key=lambda path: [*path.split("/"), after_all])
