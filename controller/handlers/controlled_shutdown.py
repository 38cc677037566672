"""A broker asks the controller to take its leaderships before it stops.

Source: Kafka 2.8, KafkaController.doControlledShutdown; reference controller.md 10.3.
"""

from kcsim.controller.broker_request_batch import ControllersOwnBatch
from kcsim.controller.core import EXPECTED_FAILURES, Core, name_of_error
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.decisions.state_change_requests import UNKNOWN_BROKER_EPOCH
from kcsim.controller.events import ControlledShutdown
from kcsim.controller.partition_state_machine import PartitionStateMachine, Strategy
from kcsim.controller.replica_state_machine import ReplicaStateMachine
from kcsim.controller.requests import ControlledShutdownResponse, ErrorCode
from kcsim.zk.errors import ControllerMovedError
from kcsim.zk.events import EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from kcsim.zk.wording import named


class ControlledShutdownHandler:
    """ControlledShutdown."""

    def __init__(
        self, core: Core, partitions: PartitionStateMachine, replicas: ReplicaStateMachine, own: ControllersOwnBatch
    ) -> None:
        self._core = core
        self._partitions = partitions
        self._replicas = replicas
        self._own = own

    async def process_controlled_shutdown(self, asked: ControlledShutdown, cause: int) -> None:
        """Move what the broker leads to others, take it out of every ISR, and tell it what is left.

        Raises: ControllerMovedError, after the broker was answered.
        """
        refusal = self._refusal(asked)
        if refusal is not None:
            self._answer(asked, ControlledShutdownResponse(refusal), cause)
            return
        try:
            remaining = await self._shut_down(asked.broker_id, cause)
        except ControllerMovedError:
            self._answer(asked, ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH), cause)
            raise
        except EXPECTED_FAILURES as error:
            self._answer(asked, ControlledShutdownResponse(ErrorCode.UNKNOWN_SERVER_ERROR), cause, name_of_error(error))
            raise
        self._answer(asked, ControlledShutdownResponse(remaining_partitions=tuple(remaining)), cause)

    def _refusal(self, asked: ControlledShutdown) -> ErrorCode | None:
        known = self._core.context.broker_epochs.get(asked.broker_id)
        if asked.broker_epoch != UNKNOWN_BROKER_EPOCH:
            if known is None:
                return ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka's look-up fails here, before it asks who is alive
            if asked.broker_epoch < known:
                return ErrorCode.STALE_BROKER_EPOCH
        return ErrorCode.BROKER_NOT_AVAILABLE if known is None else None

    async def _shut_down(self, broker: BrokerId, cause: int) -> list[TopicPartition]:
        """Returns: what the broker still leads, though others have a replica of it."""
        context = self._core.context
        context.shutting_down.add(broker)
        concerned = [tp for tp in context.replicas_on([broker]).get(broker, []) if self._is_concerned(tp)]
        led = [tp for tp in concerned if context.leadership[tp].leader_and_isr.leader == broker]
        followed = [tp for tp in concerned if context.leadership[tp].leader_and_isr.leader != broker]
        await self._partitions.handle_state_changes(led, PartitionMachineState.ONLINE, cause, Strategy.CONTROLLED_SHUTDOWN)
        await self._own.send(lambda batch: batch.stop_replica(broker, followed, delete=False), cause)
        await self._replicas.handle_state_changes({broker: followed}, ReplicaMachineState.OFFLINE, cause)
        return context.partitions_led_by(broker)

    def _is_concerned(self, tp: TopicPartition) -> bool:
        context = self._core.context
        return (
            len(context.assignment(tp).replicas) > 1
            and tp in context.leadership
            and not context.is_queued_for_deletion(tp.topic)
        )

    def _answer(
        self, asked: ControlledShutdown, response: ControlledShutdownResponse, cause: int, why: str | None = None
    ) -> None:
        remaining = response.remaining_partitions
        self._core.sink.emit(
            EventKind.CONTROLLED_SHUTDOWN,
            cause,
            step="answered",
            broker_id=asked.broker_id,
            error=response.error.name,
            count=len(remaining),
            detail=f"broker {asked.broker_id} still leads {named(remaining)}"
            if remaining
            else f"broker {asked.broker_id} leads nothing that others could lead"
            if response.error is ErrorCode.NONE
            else f"broker {asked.broker_id} is refused: {why or response.error.name}",
        )
        asked.answer.resolve(response)
