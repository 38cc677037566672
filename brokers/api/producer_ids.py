"""The ids that a broker gives to idempotent producers, from blocks that it takes in ZooKeeper or asks the controller for.

Up to protocol version 2.8 a broker takes its blocks itself: Kafka's takes the first one when it starts, this one when the
first producer asks. From 3.0 on it asks the controller, for the first block when the first producer asks, which has to try
again, and for each further one when nine tenths of the block before are used. Left out: transactions.

Source: Kafka 2.8, ProducerIdManager, TransactionCoordinator.handleInitProducerId; 3.9, RPCProducerIdManager; KIP-730.
"""

from collections.abc import Callable
from typing import Protocol

from kcsim.brokers.broker_to_controller_channel import BrokerToControllerChannel
from kcsim.brokers.replication.isr_writes import UNAVAILABLE
from kcsim.brokers.requests import InitProducerIdRequest, InitProducerIdResponse
from kcsim.controller.requests import AllocateProducerIdsRequest, AllocateProducerIdsResponse, ErrorCode
from kcsim.runtime.lock import Lock
from kcsim.runtime.ports import Runtime, Task
from kcsim.vocabulary import BrokerEpoch, BrokerId
from kcsim.zk.kafka.producer_ids import ProducerIdZnodes
from kcsim.znodes import BadZnodeError
from kcsim.znodes.cluster import ProducerIdBlock

FIRST_EPOCH = 0
ASK_AT = 0.9
"""The part of a block after which the next one is asked for."""
RETRY_MS = 50
"""How long a broker waits after the controller has refused it a block."""


class GivesProducerIds(Protocol):
    """Gives ids to the producers of one broker."""

    async def handle(self, request: InitProducerIdRequest, cause: int) -> InitProducerIdResponse:
        """Give a producer its id. A transactional one is refused: no broker coordinates transactions."""
        ...

    def close(self) -> None:
        """Stop asking for blocks."""
        ...


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

    def close(self) -> None:
        """Do nothing: no block is asked for unless a producer waits for it."""


class RpcProducerIdManager:
    """The producer ids of one broker, from blocks that the controller allocates.

    Args:
        own_epoch: returns the broker's epoch, as of its last registration.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        controller: BrokerToControllerChannel,
        own_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        self._broker_id = broker_id
        self._runtime = runtime
        self._controller = controller
        self._own_epoch = own_epoch
        self._ids = range(0)
        self._next = 0
        self._following: range | None = None
        self._request: Task | None = None

    async def handle(self, request: InitProducerIdRequest, cause: int) -> InitProducerIdResponse:
        """Give a producer its id, or ask it to try again while there is none."""
        if request.transactional_id is not None:
            return InitProducerIdResponse(ErrorCode.NOT_COORDINATOR)
        if self._next == self._ids.stop:
            if self._following is None:
                self._ask(cause)
                return InitProducerIdResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            self._ids, self._next, self._following = self._following, self._following.start, None
        self._next += 1
        if self._next - 1 == self._ids.start + int(len(self._ids) * ASK_AT):
            self._ask(cause)
        return InitProducerIdResponse(ErrorCode.NONE, self._next - 1, FIRST_EPOCH)

    def _ask(self, cause: int) -> None:
        if self._request is None and self._following is None:
            self._request = self._runtime.spawn("allocate-producer-ids", self._allocate(cause))

    async def _allocate(self, cause: int) -> None:
        request = AllocateProducerIdsRequest(self._broker_id, self._own_epoch())
        response = (await self._controller.ask(request, cause)).response
        assert isinstance(response, AllocateProducerIdsResponse)
        if response.error is ErrorCode.NONE:
            self._following = range(response.first, response.first + response.count)
        else:
            await self._runtime.sleep_ms(RETRY_MS)
        self._request = None

    def close(self) -> None:
        """Stop asking for blocks."""
        if self._request is not None:
            self._request.kill()
        self._controller.close()
