"""Blocks of producer ids that brokers ask the controller for: from protocol version 3.0 on.

The controller writes the znode for them, without a fence.

Source: Kafka 3.9, KafkaController.processAllocateProducerIds; KIP-730.
"""

from kcsim.controller.context import ControllerContext
from kcsim.controller.events import AllocateProducerIds
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    ErrorCode,
)
from kcsim.zk.errors import ZooKeeperError
from kcsim.zk.kafka.producer_ids import ProducerIdZnodes
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClientExpiredError
from kcsim.znodes import BadZnodeError


class ProducerIdHandler:
    """The handler of AllocateProducerIds."""

    def __init__(self, context: ControllerContext, znodes: ProducerIdZnodes) -> None:
        self._context = context
        self._znodes = znodes

    async def process_allocate_producer_ids(self, event: AllocateProducerIds, cause: int) -> None:
        """Take the next block for the broker that asks, and answer."""
        event.answer.resolve(await self._allocated(event.request, cause))

    async def _allocated(self, request: AllocateProducerIdsRequest, cause: int) -> AllocateProducerIdsResponse:
        if request.broker_id not in self._context.live_broker_ids:
            return AllocateProducerIdsResponse(ErrorCode.BROKER_ID_NOT_REGISTERED)
        if request.broker_epoch not in (self._context.broker_epochs[request.broker_id], UNKNOWN_BROKER_EPOCH):
            return AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH)
        try:
            block = await self._znodes.take_block(request.broker_id, cause)
        except (BadZnodeError, ZooKeeperError, ZooKeeperClientExpiredError):
            return AllocateProducerIdsResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
        return AllocateProducerIdsResponse(first=block.first, count=block.last + 1 - block.first)
