"""The features that are finalized for the cluster: /feature.

Source: Kafka 2.8, KafkaZkClient.createFeatureZNode, updateFeatureZNode; docs/kafka/znodes.md 9.
"""

from typing import NamedTuple

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import ZkVersion
from kcsim.zk.kafka.znode_requests import ZnodeRequests, raise_if_error
from kcsim.zk.operations import DataSet, SetData
from kcsim.znodes import paths
from kcsim.znodes.cluster import FeatureNode


class FoundFeatures(NamedTuple):
    """What /feature holds, and the version of its data, which is the epoch of the finalized features."""

    node: FeatureNode
    epoch: ZkVersion


class FeatureZnodes:
    """The gateway to the finalized features."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def read(self, cause: Cause = None) -> FoundFeatures | None:
        """Return what /feature holds; None if there is no such znode. Arms a watch if a handler is registered."""
        found = await self._znodes.get_data(paths.FEATURE, cause)
        if found is None:
            return None
        with self._znodes.decoding(cause):
            node = znodes.decode_feature(found.path, found.data)
        return FoundFeatures(node, ZkVersion(found.stat.version))

    async def create(self, node: FeatureNode, cause: Cause = None) -> None:
        """Create the znode. Raises: NodeExistsError."""
        await self._znodes.create_recursively(paths.FEATURE, znodes.encode_feature(node), cause)

    async def set(self, node: FeatureNode, cause: Cause = None) -> ZkVersion:
        """Replace what the znode holds, whatever its version. Return its new version. Raises: NoNodeError."""
        reply = (await self._znodes.client.request([SetData(paths.FEATURE, znodes.encode_feature(node))], cause))[0]
        raise_if_error(reply)
        assert isinstance(reply, DataSet)
        return reply.stat.version
