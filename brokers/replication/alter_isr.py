"""ISRs that leaders ask the controller for, which writes them: from protocol version 2.7 on.

All changes that wait go in one request, one request at a time. A partition has one change at a time, until it is answered.

Source: Kafka 2.8, DefaultAlterIsrManager, Partition.handleAlterIsrResponse; 3.9, Partition.handleAlterPartitionError.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.brokers.broker_to_controller_channel import BrokerToControllerChannel
from kcsim.brokers.replication.isr_writes import IsrNotSubmittedError, IsrRefusedError, WrittenIsr
from kcsim.controller.requests import AlterIsrRequest, AlterIsrResponse, ErrorCode
from kcsim.runtime.ports import Promise, Runtime, Task
from kcsim.vocabulary import BrokerEpoch, BrokerId, LeaderAndIsr, PartitionState, TopicPartition

RETRY_MS = 50
"""How long the next request waits after the controller has failed at a whole one, or at a partition."""
FINAL_ERRORS = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
)
"""Errors after which the leader does not ask again: it waits for a LeaderAndIsr."""
NOT_ATTEMPTED = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
"""Errors that say that the state is the one that the leader knows: the next fetch of a follower may ask again."""


class Answered(NamedTuple):
    """What the controller has answered about one partition. Attributes: cause: the event of the response."""

    result: LeaderAndIsr | ErrorCode
    cause: int


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that the controller is to be asked for, or is being asked for."""

    proposed: LeaderAndIsr
    cause: int
    answer: Promise[Answered]


class AlterIsrManager:
    """Asks the controller for the ISRs of the partitions that a broker leads.

    Args:
        own_epoch: returns the broker's epoch, as of its last registration.
        retries: whether a change that the controller failed to write is asked for again.
        moves_high_watermark: the capability high_watermark_after_alter_isr.
    """

    is_at_once = False
    tries_again = False

    def __init__(
        self,
        broker_id: BrokerId,
        runtime: Runtime,
        controller: BrokerToControllerChannel,
        own_epoch: Callable[[], BrokerEpoch],
        retries: bool,
        moves_high_watermark: bool,
    ) -> None:
        self.moves_high_watermark = moves_high_watermark
        self._broker_id = broker_id
        self._runtime = runtime
        self._controller = controller
        self._own_epoch = own_epoch
        self._retries = retries
        self._changes: dict[TopicPartition, _Change] = {}
        self._sender: Task | None = None

    async def write(self, tp: TopicPartition, proposed: PartitionState, cause: int) -> WrittenIsr:
        """Ask for a new ISR until the controller has decided. Raises: IsrRefusedError, IsrNotSubmittedError."""
        while True:
            answered = await self._submit(tp, proposed.leader_and_isr, cause)
            if isinstance(answered.result, LeaderAndIsr):
                return WrittenIsr(answered.result.zk_version, answered.cause)
            error, is_not_attempted = answered.result.name, answered.result in NOT_ATTEMPTED
            if is_not_attempted or answered.result in FINAL_ERRORS or not self._retries:
                what = f"the controller has refused ISR {list(proposed.leader_and_isr.isr)}: {error}"
                raise IsrRefusedError(error, what, answered.cause, is_final=not is_not_attempted)
            await self._runtime.sleep_ms(RETRY_MS)

    async def _submit(self, tp: TopicPartition, proposed: LeaderAndIsr, cause: int) -> Answered:
        if tp in self._changes:
            raise IsrNotSubmittedError(self._changes[tp].answer)
        change = self._changes[tp] = _Change(proposed, cause, self._runtime.promise())
        if self._sender is None:
            self._sender = self._runtime.spawn("alter-isr", self._send())
        return await change.answer.wait()

    async def _send(self) -> None:
        while self._changes:
            asked = dict(self._changes)
            wanted = {tp: change.proposed for tp, change in asked.items()}
            request = AlterIsrRequest(self._broker_id, self._own_epoch(), wanted)
            answer = await self._controller.ask(request, max(change.cause for change in asked.values()))
            assert isinstance(answer.response, AlterIsrResponse)
            if answer.response.error is not ErrorCode.NONE:
                await self._runtime.sleep_ms(RETRY_MS)
                continue
            for tp in asked:  # one that the response does not have is asked for again
                if (result := answer.response.partitions.get(tp)) is not None:
                    self._changes.pop(tp).answer.resolve(Answered(result, answer.cause))
        self._sender = None

    def record_change(self, tp: TopicPartition, change: int) -> None:
        """Do nothing: the controller has written the change itself."""

    def close(self) -> None:
        """Stop asking; a request under way is not repeated."""
        if self._sender is not None:
            self._sender.kill()
        self._controller.close()
