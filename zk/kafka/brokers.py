"""The registrations of live brokers: /brokers/ids.

Source: Kafka 2.8, KafkaZkClient.getAllBrokerAndEpochsInCluster and its neighbours; docs/kafka/znodes.md 5.2.
"""

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo
from kcsim.zk.kafka.broker_registration import BrokerRegistration
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.znode_requests import ZnodeRequests
from kcsim.zk.operations import SetData
from kcsim.znodes import BadZnodeError, paths
from kcsim.znodes.kafka_json import WrongJsonError, parse_java_int


class BrokerZnodes:
    """The gateway to the registrations of brokers."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes
        self._registration = BrokerRegistration(znodes.client)

    async def register(self, info: BrokerInfo, cause: Cause = None) -> BrokerEpoch:
        """Create /brokers/ids/N as an ephemeral znode of the present session.

        A registration left over from this process's previous session is replaced; one of the present session is accepted.

        Returns: the broker epoch. Raises: NodeExistsError when another session has registered the id.
        """
        return await self._registration.register(info, cause)

    async def update(self, info: BrokerInfo, cause: Cause = None) -> None:
        """Rewrite a broker's registration, whatever the znode's version."""
        await self._znodes.write([SetData(paths.broker_id(info.broker_id), znodes.encode_broker(info))], UNFENCED, cause)

    async def read(self, broker_id: BrokerId, cause: Cause = None) -> BrokerInfo | None:
        """Return a live broker's registration; None if the broker is not registered."""
        found = await self._znodes.get_data(paths.broker_id(broker_id), cause)
        if found is None:
            return None
        with self._znodes.decoding(cause):
            return znodes.decode_broker(found.path, broker_id, found.data)

    async def read_all_with_epochs(
        self, register_watch: bool = False, cause: Cause = None
    ) -> list[tuple[BrokerInfo, BrokerEpoch]]:
        """Return all live brokers, sorted by id. A broker whose registration disappears meanwhile is left out.

        Raises: BadZnodeError if any registration, or the name of one, cannot be read: no broker is returned then.
        """
        names = await self._znodes.get_children(paths.BROKER_IDS, register_watch, cause)
        with self._znodes.decoding(cause):
            ids = sorted(map(_broker_id, names))
            found = {r.path: r for r in await self._znodes.read_existing([paths.broker_id(b) for b in ids], cause)}
            replies = [(b, found[path]) for b in ids if (path := paths.broker_id(b)) in found]
            return [(znodes.decode_broker(r.path, b, r.data), BrokerEpoch(r.stat.czxid)) for b, r in replies]


def _broker_id(name: str) -> BrokerId:
    try:
        return BrokerId(parse_java_int(name))
    except WrongJsonError as error:
        raise BadZnodeError(paths.child(paths.BROKER_IDS, name), f"no broker id: {error}") from None
