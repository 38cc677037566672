"""The request to reassign partitions: /admin/reassign_partitions.

Source: Kafka 2.8, KafkaZkClient.getPartitionReassignment, setOrCreatePartitionReassignment, deletePartitionReassignment.
"""

from collections.abc import Mapping
from functools import partial

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ControllerEpochZkVersion, TopicPartition
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests
from kcsim.znodes import paths

Reassignments = Mapping[TopicPartition, tuple[BrokerId, ...]]
"""The target replicas of each partition to reassign."""


class ReassignmentZnodes:
    """The gateway to the requested reassignments."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def exists(self, cause: Cause = None) -> bool:
        """Return whether a reassignment is requested."""
        return await self._znodes.exists(paths.REASSIGN_PARTITIONS, cause)

    async def read(
        self, cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """Return the reassignments in /admin/reassign_partitions; empty if it does not exist or is not a valid request.

        Args:
            on_bad: called if it cannot be read; the result is empty then.

        Raises: BadZnodeError for null, and where a field is missing, unless there is `on_bad`.
        """
        found = await self._znodes.get_data(paths.REASSIGN_PARTITIONS, cause)
        if found is None:
            return {}
        if on_bad is not None:
            decode = partial(znodes.decode_reassignment, found.path, found.data)
            return self._znodes.decoded(decode, cause, on_bad) or {}
        with self._znodes.decoding(cause) as report:
            return znodes.decode_reassignment(found.path, found.data, report)

    async def create(self, plans: Reassignments, cause: Cause = None) -> None:
        """Request a reassignment, as the tool does. Raises: NodeExistsError while another is in progress."""
        await self._znodes.create_recursively(paths.REASSIGN_PARTITIONS, znodes.encode_reassignment(plans), cause)

    async def set_or_create(self, plans: Reassignments, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Rewrite /admin/reassign_partitions with the remaining reassignments, whatever the znode's version."""
        data = znodes.encode_reassignment(plans)
        await self._znodes.set_or_create(paths.REASSIGN_PARTITIONS, data, expected, cause)

    async def delete(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete the request; no effect if it does not exist."""
        await self._znodes.delete([paths.REASSIGN_PARTITIONS], expected, cause)
