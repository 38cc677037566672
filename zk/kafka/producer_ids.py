"""The blocks of producer ids that brokers have taken: /latest_producer_id_block.

Source: Kafka 2.8, ProducerIdManager.getNewProducerIdBlock.
"""

from kcsim import znodes
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId
from kcsim.zk.errors import BadVersionError, NoNodeError
from kcsim.zk.kafka.znode_requests import ZnodeRequests, raise_if_error
from kcsim.zk.operations import SetData
from kcsim.znodes import paths
from kcsim.znodes.cluster import ProducerIdBlock

BLOCK_SIZE = 1_000


class ProducerIdZnodes:
    """The gateway to the latest block of producer ids."""

    def __init__(self, znodes: ZnodeRequests) -> None:
        self._znodes = znodes

    async def take_block(self, broker_id: BrokerId, cause: Cause = None) -> ProducerIdBlock:
        """Take the next block of ids for a broker. Raises: NoNodeError without the znode, which brokers create."""
        path = paths.LATEST_PRODUCER_ID_BLOCK
        while True:
            found = await self._znodes.get_data(path, cause)
            if found is None:
                raise NoNodeError(path)
            first = 0
            if found.data:
                with self._znodes.decoding(cause):
                    first = znodes.decode_producer_id_block(path, found.data).last + 1
            block = ProducerIdBlock(broker_id, first, first + BLOCK_SIZE - 1)
            write = SetData(path, znodes.encode_producer_id_block(block), found.stat.version)
            reply = (await self._znodes.client.request([write], cause))[0]
            if not isinstance(reply, BadVersionError):  # else another broker has taken a block meanwhile
                raise_if_error(reply)
                return block
