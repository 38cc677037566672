"""The present controller and its epoch: /controller and /controller_epoch.

Source: Kafka 2.8, KafkaZkClient.getControllerId, getControllerEpoch, deleteController; docs/kafka/znodes.md 4.2.
"""

from dataclasses import dataclass
from functools import partial

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ControllerEpoch, ControllerEpochZkVersion, ControllerNode, SessionId, ZkVersion
from kcsim.zk.errors import BadVersionError, NoNodeError
from kcsim.zk.kafka.controller_election import ControllerElection, Elected
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests, raise_if_error
from kcsim.zk.operations import DataRead, Delete
from kcsim.znodes import BadZnodeError, paths


@dataclass(frozen=True, slots=True)
class OwnedController:
    """The content of /controller, the session that created it, and the version of its data.

    `broker_id` is None if the content cannot be read; `owner` is 0 if no session owns the znode.
    """

    broker_id: BrokerId | None
    owner: SessionId
    version: ZkVersion


class ControllerZnodes:
    """The gateway to /controller and /controller_epoch.

    Args:
        epoch_ms: wall-clock time of the run's beginning, in ms since 1970, for the timestamp in /controller.
    """

    def __init__(self, znodes: ZnodeRequests, epoch_ms: int) -> None:
        self._znodes = znodes
        self._epoch_ms = epoch_ms
        self._runtime = znodes.client.runtime
        self._election = ControllerElection(znodes.client, self.read_id, self.read_epoch)

    async def read_id(self, cause: Cause = None) -> BrokerId | None:
        """Return the broker id in /controller; None if the znode does not exist or is not JSON."""
        found = await self._znodes.get_data(paths.CONTROLLER, cause)
        if found is None:
            return None
        with self._znodes.decoding(cause) as report:
            node = znodes.decode_controller(found.path, found.data, report)
        return node.broker_id if node else None

    async def read_owned(self, cause: Cause = None, on_bad: OnBadZnode | None = None) -> OwnedController | None:
        """Return /controller with the session that created it; None if the znode does not exist.

        Args:
            on_bad: called if the content cannot be read.

        Raises: BadZnodeError for JSON of another form, unless there is `on_bad`.
        """
        found = await self._znodes.get_data(paths.CONTROLLER, cause)
        if found is None:
            return None
        decode = partial(znodes.decode_controller, found.path, found.data)
        node = self._znodes.decoded(decode, cause, on_bad or _fail)
        return OwnedController(node.broker_id if node else None, found.stat.ephemeral_owner, found.stat.version)

    async def read_kraft_controller(self, cause: Cause = None) -> BrokerId | None:
        """Return the id of the KRaft controller to which the cluster is in migration; None if it is in none."""
        found = [await self._znodes.get_data(path, cause) for path in (paths.CONTROLLER, paths.MIGRATION)]
        return znodes.kraft_controller_in(*(None if read is None else read.data for read in found))

    async def read_epoch(self, cause: Cause = None, on_bad: OnBadZnode | None = None) -> Elected | None:
        """Return the controller epoch and the data version of its znode; None if the znode does not exist yet.

        Args:
            on_bad: called if the epoch cannot be read; it counts as 0 then.

        Raises: BadZnodeError if the epoch cannot be read, unless there is `on_bad`.
        """
        found = await self._znodes.get_data(paths.CONTROLLER_EPOCH, cause)
        if found is None:
            return None
        if on_bad is not None:
            known = self._znodes.decoded(partial(_epoch_in, found), cause, on_bad)
            return known or ControllerEpoch(0), ControllerEpochZkVersion(found.stat.version)
        with self._znodes.decoding(cause):
            epoch = znodes.decode_controller_epoch(found.path, found.data)
        return epoch, ControllerEpochZkVersion(found.stat.version)

    async def register_and_increment_epoch(
        self,
        broker_id: BrokerId,
        cause: Cause = None,
        kraft_controller_epoch: int | None = None,
        at_least: Elected | None = None,
    ) -> Elected:
        """Try to become controller: create /controller and raise /controller_epoch in one transaction.

        Args:
            kraft_controller_epoch: as in ControllerNode.
            at_least: as in ControllerElection.run.

        Returns: the new epoch, and the version of /controller_epoch that fenced writes must expect.
        Raises: ControllerMovedError when another broker was faster; NoNodeError when /controller_epoch is deleted meanwhile.
        """
        candidate = ControllerNode(broker_id, self._epoch_ms + self._runtime.now_ms(), kraft_controller_epoch)
        return await self._election.run(candidate, cause, at_least)

    async def delete_version(self, version: ZkVersion, cause: Cause = None) -> None:
        """Delete /controller if its data still have this version; no effect otherwise."""
        reply = (await self._znodes.client.request([Delete(paths.CONTROLLER, version)], cause))[0]
        if not isinstance(reply, NoNodeError | BadVersionError):
            raise_if_error(reply)

    async def delete(self, expected: ControllerEpochZkVersion, cause: Cause = None) -> None:
        """Delete /controller, which gives up the role and starts an election; no effect if the znode does not exist."""
        await self._znodes.delete([paths.CONTROLLER], expected, cause)


def _epoch_in(found: DataRead, report: znodes.Report) -> ControllerEpoch:
    """Return the epoch in the data of /controller_epoch. Raises: BadZnodeError; nothing is reported."""
    return znodes.decode_controller_epoch(found.path, found.data)


def _fail(error: BadZnodeError) -> None:
    raise error
