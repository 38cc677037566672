"""Controlled shutdown: the controller moves the leaderships of a broker that is about to stop.

Source: Kafka 2.8, KafkaController.doControlledShutdown; docs/kafka/controller.md 10.3.
"""

from kcsim.controller.channels.broker_request_batch import KafkaControllerRequestBatch
from kcsim.controller.decisions.election import PartitionLeaderElectionStrategy
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.decisions.state_change_requests import UNKNOWN_BROKER_EPOCH
from kcsim.controller.events import ControlledShutdown
from kcsim.controller.failures import EXPECTED_FAILURES, name_of_error
from kcsim.controller.requests import ControlledShutdownResponse, ErrorCode
from kcsim.controller.scope import ControllerScope
from kcsim.controller.state_machines.both_machines import StateMachines
from kcsim.eventlog.events import EventKind
from kcsim.text import summarize
from kcsim.vocabulary import BrokerId, TopicPartition
from kcsim.zk.errors import ControllerMovedError


class ControlledShutdownHandler:
    """The handler of ControlledShutdown."""

    def __init__(self, scope: ControllerScope, machines: StateMachines, own: KafkaControllerRequestBatch) -> None:
        self._context = scope.context
        self._sink = scope.sink
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._own = own

    async def process_controlled_shutdown(self, request: ControlledShutdown, cause: int) -> None:
        """Move the broker's leaderships, remove it from every ISR, and answer with the remaining partitions.

        Raises: ControllerMovedError, after the broker was answered.
        """
        refusal = self._refusal(request)
        if refusal is not None:
            self._answer(request, ControlledShutdownResponse(refusal), cause)
            return
        try:
            remaining = await self._shut_down(request.broker_id, cause)
        except ControllerMovedError:
            self._answer(request, ControlledShutdownResponse(ErrorCode.STALE_CONTROLLER_EPOCH), cause)
            raise
        except EXPECTED_FAILURES as error:
            self._answer(request, ControlledShutdownResponse(ErrorCode.UNKNOWN_SERVER_ERROR), cause, name_of_error(error))
            raise
        self._answer(request, ControlledShutdownResponse(remaining_partitions=tuple(remaining)), cause)

    def _refusal(self, request: ControlledShutdown) -> ErrorCode | None:
        known = self._context.broker_epochs.get(request.broker_id)
        if request.broker_epoch != UNKNOWN_BROKER_EPOCH:
            if known is None:
                return ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka's look-up fails here, before the check of the live brokers
            if request.broker_epoch < known:
                return ErrorCode.STALE_BROKER_EPOCH
        return ErrorCode.BROKER_NOT_AVAILABLE if known is None else None

    async def _shut_down(self, broker: BrokerId, cause: int) -> list[TopicPartition]:
        """Returns: the partitions that the broker still leads although other brokers have a replica of them."""
        context = self._context
        context.shutting_down.add(broker)
        concerned = [tp for tp in context.replicas_on([broker]).get(broker, []) if self._is_concerned(tp)]
        led = [tp for tp in concerned if context.leadership[tp].leader_and_isr.leader == broker]
        followed = [tp for tp in concerned if context.leadership[tp].leader_and_isr.leader != broker]
        await self._partitions.handle_state_changes(
            led, PartitionMachineState.ONLINE, cause, PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN
        )
        await self._own.send(lambda batch: batch.stop_replica(broker, followed, delete=False), cause)
        await self._replicas.handle_state_changes({broker: followed}, ReplicaMachineState.OFFLINE, cause)
        return context.partitions_led_by(broker)

    def _is_concerned(self, tp: TopicPartition) -> bool:
        context = self._context
        return (
            len(context.assignment(tp).replicas) > 1
            and tp in context.leadership
            and not context.is_queued_for_deletion(tp.topic)
        )

    def _answer(
        self, request: ControlledShutdown, response: ControlledShutdownResponse, cause: int, why: str | None = None
    ) -> None:
        remaining = response.remaining_partitions
        self._sink.emit(
            EventKind.CONTROLLED_SHUTDOWN,
            cause,
            step="answered",
            broker_id=request.broker_id,
            error=response.error.name,
            count=len(remaining),
            detail=f"broker {request.broker_id} still leads {summarize(remaining)}"
            if remaining
            else f"broker {request.broker_id} leads nothing that others could lead"
            if response.error is ErrorCode.NONE
            else f"broker {request.broker_id} is refused: {why or response.error.name}",
        )
        request.answer.resolve(response)
