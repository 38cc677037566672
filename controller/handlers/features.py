"""The znode of finalized features, which a new controller creates, or mends, before all else.

From protocol version 2.7 on it is enabled; before, disabled, and then no broker reads it.

Source: Kafka 2.8, KafkaController.maybeSetupFeatureVersioning, enableFeatureVersioning, disableFeatureVersioning;
docs/kafka/controller.md 5.1.
"""

from kcsim.controller.capabilities import Capabilities
from kcsim.controller.ports import KnowsFeatures
from kcsim.vocabulary import ZkVersion
from kcsim.zk.kafka.features import FeatureZnodes
from kcsim.znodes.cluster import FeatureNode

FIRST_EPOCH = ZkVersion(0)


class FeatureVersioning:
    """Creates, enables or disables /feature at a failover.

    Args:
        features: what the broker of this controller knows of the znode; None: the controller does not wait for it.
    """

    def __init__(self, capabilities: Capabilities, znodes: FeatureZnodes, features: KnowsFeatures | None) -> None:
        self._is_supported = capabilities.finalized_features
        self._version = 2 if capabilities.feature_version_2 else 1
        self._znodes = znodes
        self._features = features

    async def set_up(self, cause: int) -> None:
        """Enable the features that /feature holds, or disable them; those of a disabled znode are dropped.

        After features were enabled, wait until this controller's own broker has read them.

        Raises: NodeExistsError when another controller has created the znode meanwhile; TimedOutError when the broker does
            not see it, as after a deletion by hand.
        """
        found = await self._znodes.read(cause)
        wanted = self._wanted(None if found is None else found.node)
        if found is not None and found.node == wanted:
            return
        if found is None:
            await self._znodes.create(wanted, cause)
            epoch = FIRST_EPOCH
        else:
            epoch = await self._znodes.set(wanted, cause)
        if wanted.is_enabled and self._features is not None:
            await self._features.wait_until_epoch(epoch)

    def _wanted(self, node: FeatureNode | None) -> FeatureNode:
        """Return what the znode is to hold. Args: node: what it holds; None: there is none."""
        if not self._is_supported:
            return FeatureNode(False, {}, self._version)
        if node is None or not node.is_enabled:
            return FeatureNode(True, {}, self._version)
        return node if self._version == 1 else FeatureNode(True, node.features, self._version)
