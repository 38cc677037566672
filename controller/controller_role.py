"""The role of the controller in ZooKeeper, as one broker reads and takes it: /controller and /controller_epoch.

Kafka's broker believes the content of both znodes. A hardened one knows that /controller belongs to the session that created
it, and that no controller epoch is lower than an earlier one.
"""

from kcsim.controller.config import ControllerConfig
from kcsim.controller.quarantine import Quarantine
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, ControllerEpoch, next_epoch
from kcsim.zk.kafka.brokers import BrokerZnodes
from kcsim.zk.kafka.controller import ControllerZnodes
from kcsim.zk.kafka.controller_election import Elected
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.znodes import BadZnodeError, paths

NO_KRAFT_CONTROLLER = -1
"""kraftControllerEpoch in /controller while the controller is a broker."""


class ControllerRole:
    """One broker's access to the role."""

    def __init__(
        self,
        broker_id: BrokerId,
        config: ControllerConfig,
        client: ZooKeeperClient,
        znodes: ControllerZnodes,
        brokers: BrokerZnodes,
        quarantine: Quarantine,
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._client = client
        self._znodes = znodes
        self._brokers = brokers
        self._quarantine = quarantine
        self._highest_epoch = ControllerEpoch(0)
        self._epochs_of_states: set[ControllerEpoch] = set()

    # --- /controller

    async def read_controller(self, is_elected: bool, cause: Cause) -> BrokerId | None:
        """Return the broker that is the controller; None if there is none, or its znode does not say which.

        Args:
            is_elected: whether this broker has won an election since it last resigned.

        Raises: BadZnodeError for JSON of another form, unless the broker is hardened.
        """
        if not self._config.hardening.owns_role_by_session:
            return await self._znodes.read_id(cause)
        reading = self._quarantine.reading("the broker whose session created it stays the controller", cause)
        assert reading is not None, "a hardened broker quarantines znodes"
        found = await self._znodes.read_owned(cause, reading)
        is_own = found is not None and found.owner == self._client.session_id and is_elected
        if found is not None and found.broker_id is not None and is_own != (found.broker_id == self._broker_id):
            whose = "this broker's" if is_own else "another"
            reading(BadZnodeError(paths.CONTROLLER, f"it names broker {found.broker_id}, and is of {whose} session"))
        self._quarantine.release_read([paths.CONTROLLER], reading, [] if found is None else [paths.CONTROLLER])
        if is_own:
            return self._broker_id
        return None if found is None or found.broker_id == self._broker_id else found.broker_id

    async def delete_left_over(self, cause: Cause) -> None:
        """Delete /controller if it names this broker and no registered broker's session owns it. For a broker not elected.

        It is left over from an earlier session of this broker, which holds its registration with the present one. Kafka's
        broker deletes such a registration, but not such a /controller (KAFKA-13407).
        """
        found = await self._znodes.read_owned(cause, lambda error: None)
        if found is None or found.broker_id != self._broker_id or found.owner == 0:
            return
        if found.owner not in await self._brokers.owners(cause):
            await self._znodes.delete_version(found.version, cause)

    # --- /controller_epoch

    async def register_and_increment_epoch(self, cause: Cause) -> Elected:
        """Try to become controller. Return the new epoch, and the version of its znode.

        A hardened broker raises the highest epoch that it knows where the znode holds a lower one or no number.

        Raises: as ControllerZnodes.register_and_increment_epoch.
        """
        kraft_epoch = NO_KRAFT_CONTROLLER if self._config.capabilities.kraft_controller_epoch else None
        at_least = None
        if self._config.hardening.keeps_controller_epoch and self._highest_epoch:
            stored = await self.read_epoch(cause)
            if stored is not None and self._is_lower(stored[0]):
                at_least = self._highest_epoch, stored[1]
        elected = await self._znodes.register_and_increment_epoch(self._broker_id, cause, kraft_epoch, at_least)
        self.has_seen_epoch(elected[0])
        return elected

    async def read_epoch(self, cause: Cause) -> Elected | None:
        """Return the controller epoch, 0 if it is no number, and the version of its znode; None if that does not exist.

        For a hardened broker, which remembers the highest one.
        """
        reading = self._quarantine.reading("the highest controller epoch that was seen counts instead", cause)
        stored = await self._znodes.read_epoch(cause, reading)
        if reading is not None:
            found = [] if stored is None else [paths.CONTROLLER_EPOCH]
            self._quarantine.release_read([paths.CONTROLLER_EPOCH], reading, found)
        if stored is not None:
            self.has_seen_epoch(stored[0])
        return stored

    def learns_epoch(self, epoch: ControllerEpoch) -> bool:
        """Remember the epoch of a partition's state; return whether no state had this epoch before."""
        is_new = epoch not in self._epochs_of_states
        self._epochs_of_states.add(epoch)
        self.has_seen_epoch(epoch)
        return is_new

    def has_seen_epoch(self, epoch: ControllerEpoch) -> None:
        """Remember a controller epoch, if it is the highest one."""
        if not self._is_lower(epoch):
            self._highest_epoch = epoch

    def _is_lower(self, epoch: ControllerEpoch) -> bool:
        # Java's int overflows: the epoch after the highest one is the next one, though it is a lower number.
        return epoch < self._highest_epoch and epoch != next_epoch(self._highest_epoch)
