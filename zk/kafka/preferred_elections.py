"""The request to elect preferred leaders: /admin/preferred_replica_election.

Source: Kafka 2.8, KafkaZkClient.getPreferredReplicaElection, createPreferredReplicaElection,
deletePreferredReplicaElection.
"""

from collections.abc import Iterable

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ControllerEpochZkVersion, TopicPartition
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests
from kcsim.znodes import BadZnodeError, paths


class PreferredElectionZnodes:
    """The gateway to the requested election of preferred leaders."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def read(self, cause: Cause = None, on_bad: OnBadZnode | None = None) -> tuple[TopicPartition, ...]:
        """Return the partitions in /admin/preferred_replica_election; empty if it does not exist or is not JSON.

        Args:
            on_bad: called if it is JSON of another form; the result is empty then.

        Raises: BadZnodeError if it is JSON of another form, unless there is `on_bad`.
        """
        found = await self._znodes.get_data(paths.PREFERRED_REPLICA_ELECTION, cause)
        if found is None:
            return ()
        try:
            with self._znodes.decoding(cause) as report:
                return znodes.decode_preferred_election(found.path, found.data, report)
        except BadZnodeError as error:
            if on_bad is None:
                raise
            on_bad(error)
            return ()

    async def create(self, partitions: Iterable[TopicPartition], cause: Cause = None) -> None:
        """Request a preferred leader election, as the tool does. Raises: NodeExistsError while another is requested."""
        await self._znodes.create_recursively(paths.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions(partitions), cause)

    async def delete(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete the request; no effect if it does not exist."""
        await self._znodes.delete([paths.PREFERRED_REPLICA_ELECTION], expected, cause)
