"""The ids that a broker gives to idempotent producers, from blocks that it takes in ZooKeeper.

Kafka's broker takes its first block when it starts, this one when the first producer asks. Left out: transactions.

Source: Kafka 2.8, ProducerIdManager, TransactionCoordinator.handleInitProducerId.
"""

from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.brokers.requests import InitProducerIdRequest, InitProducerIdResponse
from kcsim.controller.requests import ErrorCode
from kcsim.runtime.lock import Lock
from kcsim.runtime.ports import Runtime
from kcsim.vocabulary import BrokerId
from kcsim.zk.kafka.producer_ids import ProducerIdZnodes
from kcsim.znodes import BadZnodeError
from kcsim.znodes.cluster import ProducerIdBlock

FIRST_EPOCH = 0


class ProducerIdManager:
    """The producer ids of one broker."""

    def __init__(self, broker_id: BrokerId, runtime: Runtime, blocks: ProducerIdZnodes) -> None:
        self._broker_id = broker_id
        self._blocks = blocks
        self._lock = Lock(runtime)
        self._block: ProducerIdBlock | None = None
        self._next = 0

    async def handle(self, request: InitProducerIdRequest, cause: int) -> InitProducerIdResponse:
        """Give a producer its id. A transactional one is refused: no broker coordinates transactions."""
        if request.transactional_id is not None:
            return InitProducerIdResponse(ErrorCode.NOT_COORDINATOR)
        async with self._lock:
            try:
                return InitProducerIdResponse(ErrorCode.NONE, await self._new_id(cause), FIRST_EPOCH)
            except (BadZnodeError, *UNAVAILABLE):
                return InitProducerIdResponse(ErrorCode.UNKNOWN_SERVER_ERROR)

    async def _new_id(self, cause: int) -> int:
        if self._block is None or self._next > self._block.last:
            self._block = await self._blocks.take_block(self._broker_id, cause)
            self._next = self._block.first
        self._next += 1
        return self._next - 1
