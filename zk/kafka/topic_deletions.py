"""The requests to delete topics: /admin/delete_topics.

Source: Kafka 2.8, KafkaZkClient.getTopicDeletions, createDeleteTopicPath, deleteTopicDeletions.
"""

from collections.abc import Iterable

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.znodes import paths


class TopicDeletionZnodes:
    """The gateway to the requests to delete topics."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def topics(self, register_watch: bool = False, cause: Cause = None) -> tuple[str, ...]:
        """Return the topics whose deletion was requested, sorted."""
        return await self._znodes.get_children(paths.DELETE_TOPICS, register_watch, cause)

    async def create(self, topic: str, cause: Cause = None) -> None:
        """Request a topic's deletion. Raises: NodeExistsError when it was requested already."""
        await self._znodes.create_recursively(paths.delete_topic(topic), None, cause)

    async def delete(self, topics: Iterable[str], expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete the znodes that request topic deletions, once these are completed or refused."""
        await self._znodes.delete([paths.delete_topic(topic) for topic in topics], expected, cause)
