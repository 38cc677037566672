"""The election of a controller in ZooKeeper: one transaction creates /controller and raises /controller_epoch.

Source: Kafka 2.8, KafkaZkClient.registerControllerAndIncrementControllerEpoch; docs/kafka/znodes.md 4.2.
"""

from collections.abc import Awaitable, Callable

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ControllerEpoch, ControllerEpochZkVersion, ControllerNode, ZkVersion, next_epoch
from kcsim.zk.errors import BadVersionError, ControllerMovedError, NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.operations import Create, DataSet, Multi, MultiDone, SetData
from kcsim.znodes import encode_controller, encode_controller_epoch, paths

Elected = tuple[ControllerEpoch, ControllerEpochZkVersion]
"""A controller epoch, and the data version of /controller_epoch at that epoch."""

FIRST_EPOCH = ControllerEpoch(0)
"""The content of /controller_epoch before the first election."""


class ControllerElection:
    """One broker's attempts to become controller.

    Args:
        read_controller: reads the broker id in /controller; None if the znode does not exist or is not JSON.
        read_epoch: reads /controller_epoch; None if the znode does not exist.
    """

    def __init__(
        self,
        client: ZooKeeperClient,
        read_controller: Callable[[Cause], Awaitable[BrokerId | None]],
        read_epoch: Callable[[Cause], Awaitable[Elected | None]],
    ) -> None:
        self._client = client
        self._read_controller = read_controller
        self._read_epoch = read_epoch

    async def run(self, candidate: ControllerNode, cause: Cause = None, at_least: Elected | None = None) -> Elected:
        """Try once to become controller.

        Args:
            at_least: what to raise instead of the content of /controller_epoch, at that version of the znode.

        Returns: the new epoch, and the data version of /controller_epoch at it.
        Raises: ControllerMovedError when another broker was faster; ZooKeeperError; BadZnodeError;
            ZooKeeperClientExpiredError.
        """
        epoch, zk_version = at_least or await self._epoch_to_raise(cause)
        new_epoch = next_epoch(epoch)
        claim = Multi(
            (
                Create(paths.CONTROLLER, encode_controller(candidate), ephemeral=True),
                SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(new_epoch), ZkVersion(zk_version)),
            )
        )
        reply = (await self._client.request([claim], cause))[0]
        if isinstance(reply, ZooKeeperError):
            raise reply
        assert isinstance(reply, MultiDone)
        if reply.error is None:
            raised = reply.results[1]
            assert isinstance(raised, DataSet)
            return new_epoch, ControllerEpochZkVersion(raised.stat.version)
        if isinstance(reply.error, NodeExistsError | BadVersionError):
            return await self._won_unheard(candidate.broker_id, new_epoch, cause)
        raise reply.error

    async def _epoch_to_raise(self, cause: Cause) -> Elected:
        found = await self._read_epoch(cause)
        if found is not None:
            return found
        create = Create(paths.CONTROLLER_EPOCH, encode_controller_epoch(FIRST_EPOCH))
        reply = (await self._client.request([create], cause))[0]
        if isinstance(reply, NodeExistsError):
            return await self._epoch_that_must_be_there(cause)
        if isinstance(reply, ZooKeeperError):
            raise reply
        return FIRST_EPOCH, ControllerEpochZkVersion(0)

    async def _won_unheard(self, candidate: BrokerId, new_epoch: ControllerEpoch, cause: Cause) -> Elected:
        """Return the new epoch if this broker won after all: the transaction may have been applied and its answer lost.

        The client then sent the transaction again, and ZooKeeper refused the repetition.

        Raises: ControllerMovedError when another broker is controller, or none; ZooKeeperError; BadZnodeError;
            ZooKeeperClientExpiredError.
        """
        controller = await self._read_controller(cause)
        if controller is None:
            raise ControllerMovedError(
                f"The ephemeral node at {paths.CONTROLLER} went away while checking whether the controller election "
                "succeeds. Aborting controller startup procedure"
            )
        if controller == candidate:
            epoch, zk_version = await self._epoch_that_must_be_there(cause)
            if epoch == new_epoch:
                return epoch, zk_version
        raise ControllerMovedError("Controller moved to another broker. Aborting controller startup procedure")

    async def _epoch_that_must_be_there(self, cause: Cause) -> Elected:
        found = await self._read_epoch(cause)
        if found is None:
            raise NoNodeError(
                paths.CONTROLLER_EPOCH,
                f"{paths.CONTROLLER_EPOCH} existed before but goes away while trying to read it",
            )
        return found
