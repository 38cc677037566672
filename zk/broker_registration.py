"""How a broker registers in ZooKeeper, and when it takes a registration that is there for its own.

Source: Kafka 2.8, KafkaZkClient.registerBroker and CheckedEphemeral; reference znodes.md 5.2.
"""

from kcsim.zk import paths
from kcsim.zk.errors import NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.operations import Create, DataRead, DataSet, Delete, GetData, Multi, MultiDone, SetData
from kcsim.zk.ports import Cause
from kcsim.zk.vocabulary import BrokerEpoch, BrokerInfo, SessionId, ZkVersion
from kcsim.zk.znodes import encode_broker
from kcsim.zk.zookeeper_client import ZooKeeperClient


class BrokerRegistration:
    """Registers one process's broker, again and again; remembers the session it last did so with."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._last_session: SessionId | None = None

    async def register(self, info: BrokerInfo, cause: Cause = None) -> BrokerEpoch:
        """Create /brokers/ids/N, bound to the present session.

        Returns: its czxid.
        Raises: NodeExistsError when somebody else's is there; other ZooKeeperErrors; ZooKeeperClientExpiredError.
        """
        path = paths.broker_id(info.broker_id)
        data = encode_broker(info)
        while True:
            reply = await self._create(path, data, cause)
            epoch = reply if not isinstance(reply, NodeExistsError) else await self._own(path, reply, cause)
            if epoch is not None:
                self._last_session = self._client.session_id
                return epoch

    async def _create(self, path: str, data: bytes, cause: Cause) -> BrokerEpoch | NodeExistsError:
        # The data is set apart because the answer to setData carries the stat, and so the epoch; create's does not.
        request = Multi((Create(path, None, ephemeral=True), SetData(path, data, ZkVersion(0))))
        reply = (await self._client.request([request], cause))[0]
        if isinstance(reply, ZooKeeperError):
            raise reply
        assert isinstance(reply, MultiDone)
        if isinstance(reply.error, NodeExistsError):
            return reply.error
        if reply.error is not None:
            raise reply.error
        data_set = reply.results[1]
        assert isinstance(data_set, DataSet)
        return BrokerEpoch(data_set.stat.czxid)

    async def _own(self, path: str, exists: NodeExistsError, cause: Cause) -> BrokerEpoch | None:
        """Epoch of the registration found, if it is the present session's; None: create it anew."""
        found = (await self._client.request([GetData(path)], cause))[0]
        if isinstance(found, NoNodeError):
            return None
        if isinstance(found, ZooKeeperError):
            raise found
        assert isinstance(found, DataRead)
        owner = found.stat.ephemeral_owner
        if owner == self._client.session_id:
            return BrokerEpoch(found.stat.czxid)  # the answer to our own creation was lost
        if owner != self._last_session:
            raise exists
        # Left over by this very process's former session, which should have taken it along (KAFKA-7165, ZOOKEEPER-2985).
        deleted = (await self._client.request([Delete(path)], cause))[0]
        if isinstance(deleted, ZooKeeperError) and not isinstance(deleted, NoNodeError):
            raise deleted
        return None
