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
        if not self._is_supported:
            await self._disable(cause)
            return
        epoch = await self._enable(cause)
        if epoch is not None and self._features is not None:
            await self._features.wait_until_epoch(epoch)

    async def _disable(self, cause: int) -> None:
        disabled = FeatureNode(False, {}, self._version)
        found = await self._znodes.read(cause)
        if found is None:
            await self._znodes.create(disabled, cause)
        elif found.node != disabled:
            await self._znodes.set(disabled, cause)

    async def _enable(self, cause: int) -> ZkVersion | None:
        """Return the epoch of the features that were written, the version of the znode's data; None: nothing to write."""
        found = await self._znodes.read(cause)
        if found is None:
            await self._znodes.create(FeatureNode(True, {}, self._version), cause)
            return FIRST_EPOCH
        node = found.node
        kept = node.features if node.is_enabled else {}
        if node.is_enabled and (node.version == self._version or self._version == 1):
            return None
        return await self._znodes.set(FeatureNode(True, kept, self._version), cause)
