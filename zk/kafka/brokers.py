"""The registrations of live brokers: /brokers/ids.

Source: Kafka 2.8, KafkaZkClient.getAllBrokerAndEpochsInCluster and its neighbours; docs/kafka/znodes.md 5.2.
"""

from collections.abc import Sequence
from functools import partial

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerEpoch, BrokerId, BrokerInfo, SessionId
from kcsim.zk.kafka.broker_registration import BrokerRegistration
from kcsim.zk.kafka.fencing import UNFENCED
from kcsim.zk.kafka.znode_requests import OnBadZnode, ZnodeRequests
from kcsim.zk.operations import DataRead, SetData
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
        self, register_watch: bool = False, cause: Cause = None, on_bad: OnBadZnode | None = None
    ) -> list[tuple[BrokerInfo, BrokerEpoch]]:
        """Return all live brokers, sorted by id. A broker whose registration disappears meanwhile is left out.

        Args:
            on_bad: called for each registration that cannot be read, also because of its name, which is left out then.

        Raises: BadZnodeError if any registration, or the name of one, cannot be read, unless there is `on_bad`: no broker is
            returned then.
        """
        names = await self._znodes.get_children(paths.BROKER_IDS, register_watch, cause)
        if on_bad is not None:
            return await self._read_readable(names, cause, on_bad)
        with self._znodes.decoding(cause):
            ids = sorted(map(_broker_id, names))
            found = {r.path: r for r in await self._znodes.read_existing([paths.broker_id(b) for b in ids], cause)}
            replies = [(b, found[path]) for b in ids if (path := paths.broker_id(b)) in found]
            return [(znodes.decode_broker(r.path, b, r.data), BrokerEpoch(r.stat.czxid)) for b, r in replies]

    async def owners(self, cause: Cause = None) -> set[SessionId]:
        """Return the sessions that own registrations, whatever the content of these is."""
        names = await self._znodes.get_children(paths.BROKER_IDS, cause=cause)
        found = await self._znodes.read_existing([paths.child(paths.BROKER_IDS, name) for name in names], cause)
        return {reply.stat.ephemeral_owner for reply in found}

    async def _read_readable(
        self, names: Sequence[str], cause: Cause, on_bad: OnBadZnode
    ) -> list[tuple[BrokerInfo, BrokerEpoch]]:
        decoded = self._znodes.decoded
        named = [decoded(partial(_id_in, name), cause, on_bad) for name in names]
        ids = sorted(broker for broker in named if broker is not None)
        found = {r.path: r for r in await self._znodes.read_existing([paths.broker_id(b) for b in ids], cause)}
        listed = []
        for broker in ids:
            if (reply := found.get(paths.broker_id(broker))) is not None:
                info = decoded(partial(_info_in, broker, reply), cause, on_bad)
                if info is not None:
                    listed.append((info, BrokerEpoch(reply.stat.czxid)))
        return listed


def _id_in(name: str, report: znodes.Report) -> BrokerId:
    """Return the broker id that a znode's name is. Raises: BadZnodeError; nothing is reported."""
    return _broker_id(name)


def _info_in(broker: BrokerId, reply: DataRead, report: znodes.Report) -> BrokerInfo:
    """Return a broker's registration. Raises: BadZnodeError; nothing is reported."""
    return znodes.decode_broker(reply.path, broker, reply.data)


def _broker_id(name: str) -> BrokerId:
    try:
        return BrokerId(parse_java_int(name))
    except WrongJsonError as error:
        raise BadZnodeError(paths.child(paths.BROKER_IDS, name), f"no broker id: {error}") from None
