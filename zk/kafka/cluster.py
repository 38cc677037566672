"""What a cluster keeps once in ZooKeeper: the top-level znodes, and the cluster id.

Source: Kafka 2.8, KafkaZkClient.createTopLevelPaths and createOrGetClusterId; docs/kafka/znodes.md.
"""

import hashlib
import uuid
from base64 import urlsafe_b64encode

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import SessionId
from kcsim.zk.errors import NodeExistsError
from kcsim.zk.kafka.znode_requests import ZnodeRequests, found_or_none, raise_if_error
from kcsim.zk.operations import Create, Exists, NodeFound
from kcsim.znodes import paths


class ClusterZnodes:
    """The gateway to the top-level znodes and the cluster id.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970; a new cluster id is derived from it.
    """

    def __init__(self, znodes: ZnodeRequests, epoch_ms: int) -> None:
        self._znodes = znodes
        self._epoch_ms = epoch_ms

    async def create_top_level_paths(self, cause: Cause = None) -> None:
        """Create the missing znodes among those that a broker relies on, as each broker does when it starts.

        This method reads first and then creates the missing znodes in one batch, whereas Kafka tries to create every znode,
        one by one: here a broker that starts in a running cluster writes nothing, in place of 14 refused writes.
        """
        wanted = list(dict.fromkeys(path for top in paths.TOP_LEVEL_PATHS for path in paths.lineage(top)))
        looked = await self._znodes.client.request([Exists(path) for path in wanted], cause)
        missing = [path for path, found in zip(wanted, looked, strict=True) if found_or_none(NodeFound, found) is None]
        for reply in await self._znodes.client.request([Create(path) for path in missing], cause):
            if not isinstance(reply, NodeExistsError):  # another broker starts at the same time
                raise_if_error(reply)

    async def get_or_create_id(self, cause: Cause = None) -> str:
        """Return the cluster id; the first broker that asks for it creates one (22 characters: a UUID in base64)."""
        while True:
            found = await self._znodes.get_data(paths.CLUSTER_ID, cause)
            if found is not None:
                with self._znodes.decoding(cause):
                    return znodes.decode_cluster_id(found.path, found.data)
            try:
                new_id = _cluster_id_of(self._epoch_ms, self._znodes.client.session_id)
                await self._znodes.create_recursively(paths.CLUSTER_ID, znodes.encode_cluster_id(new_id), cause)
            except NodeExistsError:
                continue
            return new_id


def _cluster_id_of(epoch_ms: int, session_id: SessionId) -> str:
    """Return a new cluster id. Kafka's is random; this one is derived from unique values, so that a run can be repeated."""
    digest = hashlib.sha256(f"{epoch_ms} {session_id}".encode()).digest()
    return urlsafe_b64encode(uuid.UUID(bytes=digest[:16], version=4).bytes).decode().rstrip("=")
