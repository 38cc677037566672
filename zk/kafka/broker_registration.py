"""A broker's registration in ZooKeeper, including when a broker accepts an existing registration as its own.

Source: Kafka 2.8, KafkaZkClient.registerBroker and CheckedEphemeral; docs/kafka/znodes.md 5.2.
"""

from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerEpoch, BrokerInfo, SessionId, ZkVersion
from kcsim.zk.errors import NodeExistsError, NoNodeError, ZooKeeperError
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.operations import Create, DataRead, DataSet, Delete, GetData, Multi, MultiDone, SetData
from kcsim.znodes import encode_broker, paths


class BrokerRegistration:
    """Registers the broker of one process, once per session; remembers the session of the last registration."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._last_session: SessionId | None = None

    async def register(self, info: BrokerInfo, cause: Cause = None) -> BrokerEpoch:
        """Create /brokers/ids/N as an ephemeral znode of the present session.

        Returns: the znode's czxid.
        Raises: NodeExistsError when another process's session has registered the id; other ZooKeeperErrors;
            ZooKeeperClientExpiredError.
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
        # The data is set by a second operation, because the reply to setData has the Stat and so the broker epoch; inside a
        # multi the reply to create does not.
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
        """Return the broker epoch of the existing registration, if it belongs to the present session.

        Returns: None when the registration must be created again.
        Raises: `exists` when the registration belongs to another process's session; other ZooKeeperErrors.
        """
        found = (await self._client.request([GetData(path)], cause))[0]
        if isinstance(found, NoNodeError):
            return None
        if isinstance(found, ZooKeeperError):
            raise found
        assert isinstance(found, DataRead)
        owner = found.stat.ephemeral_owner
        if owner == self._client.session_id:
            return BrokerEpoch(found.stat.czxid)  # this session created the znode, and the answer was lost
        if owner != self._last_session:
            raise exists
        # The registration is left over from this process's previous session, whose end should have deleted it (KAFKA-7165,
        # ZOOKEEPER-2985).
        deleted = (await self._client.request([Delete(path)], cause))[0]
        if isinstance(deleted, ZooKeeperError) and not isinstance(deleted, NoNodeError):
            raise deleted
        return None
