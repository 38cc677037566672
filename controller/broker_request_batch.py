"""Gathers what brokers are to be told over one change of the cluster, and hands it to the channel manager.

What is said to whom is decided in decisions/request_batch.py and request_recipients.py; here it is kept between an add and
the flush, and the answers are led back into the controller's queue. The controller, the partition and the replica state
machine have one each. Source: Kafka 2.8, ControllerBrokerRequestBatch; reference requests.md 2.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from kcsim.controller.core import Core
from kcsim.controller.decisions import request_recipients as recipients_of
from kcsim.controller.decisions.request_batch import (
    EndpointNotAvailableError,
    RequestBatch,
    add_leader_and_isr,
    add_stop_replica,
    flush,
)
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import (
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from kcsim.controller.requests import (
    LeaderAndIsrResponse,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from kcsim.zk.vocabulary import BrokerId, TopicPartition


class BrokerRequestBatch:
    """One batch at a time: open, add, send. What an earlier change left unsent stays, and makes every later open fail."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._batch = RequestBatch()

    def open(self) -> None:
        """Begin a batch. Raises: IllegalStateError when an earlier one was never sent."""
        if (unsent := self._batch.unsent) is not None:
            raise IllegalStateError(
                f"the batch of requests to brokers still holds {unsent} changes of an earlier one that failed; they are lost"
            )

    def clear(self) -> None:
        """Throw away what was gathered."""
        self._batch = RequestBatch()

    def send(self, cause: int) -> None:
        """Queue one request of each kind for each broker concerned. Raises: IllegalStateError; the batch stays then."""
        try:
            addressed = flush(self._batch, self._core.view())
        except EndpointNotAvailableError as error:
            raise IllegalStateError(str(error)) from error
        self._batch = RequestBatch()
        for broker, request in addressed:
            self._core.channel_manager.send_request(broker, request, self._callback(broker, request), cause)

    # --- adding

    def leader_and_isr(self, recipients: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool = False) -> None:
        self._batch = add_leader_and_isr(self._batch, self._core.view(), recipients, is_new)

    def stop_replica(self, broker: BrokerId, partitions: Iterable[TopicPartition], delete: bool) -> None:
        self._batch = add_stop_replica(self._batch, self._core.view(), broker, partitions, delete)

    def replicas_to_serve(self, replicas: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool) -> None:
        self._batch = recipients_of.add_replicas_to_serve(self._batch, self._core.view(), replicas, is_new)

    def replicas_gone_offline(self, broker: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        self._batch = recipients_of.add_replicas_gone_offline(self._batch, self._core.view(), broker, partitions)

    def epoch_bump(self, tp: TopicPartition) -> None:
        self._batch = recipients_of.add_epoch_bump(self._batch, self._core.view(), tp)

    def metadata_for_all(self, partitions: Iterable[TopicPartition] = ()) -> None:
        self._batch = recipients_of.add_metadata_for_all(self._batch, self._core.view(), partitions)

    def metadata_for_existing(self, started: Iterable[BrokerId]) -> None:
        self._batch = recipients_of.add_metadata_for_existing(self._batch, self._core.view(), started)

    def metadata_for_started(self, started: Iterable[BrokerId]) -> None:
        self._batch = recipients_of.add_metadata_for_started(self._batch, self._core.view(), started)

    # --- answers

    def _callback(self, broker: BrokerId, request: StateChangeRequest) -> Callable[[StateChangeResponse, int], None]:
        """What to do with the answer; called by the sender, so it only queues an event."""

        def received(response: StateChangeResponse, cause: int) -> None:
            match response:
                case LeaderAndIsrResponse():
                    self._core.put(LeaderAndIsrResponseReceived(broker, response), cause)
                case UpdateMetadataResponse():
                    self._core.put(UpdateMetadataResponseReceived(broker, response), cause)
                case StopReplicaResponse():
                    assert isinstance(request, StopReplicaRequest)
                    self._received_stop_replica(broker, request, response, cause)

        return received

    def _received_stop_replica(
        self, broker: BrokerId, request: StopReplicaRequest, response: StopReplicaResponse, cause: int
    ) -> None:
        deleted, started = set(request.deleted_partitions), self._core.context.topics_with_deletion_started
        concerned = {tp: error for tp, error in response.partition_errors.items() if tp in deleted and tp.topic in started}
        # A broker that refuses the whole request names no partition: then nobody hears of it, here as in Kafka.
        if concerned:
            answer = StopReplicaResponse(response.error, concerned)
            self._core.put(TopicDeletionStopReplicaResponseReceived(broker, answer), cause)


class ControllersOwnBatch:
    """What the controller itself tells brokers, outside the state machines.

    Args:
        trigger_controller_move: gives the role up: an own batch that cannot be sent means that the controller has lost its
            way. Takes the cause.
    """

    def __init__(self, core: Core, trigger_controller_move: Callable[[int], Awaitable[None]]) -> None:
        self._batch = BrokerRequestBatch(core)
        self._trigger_controller_move = trigger_controller_move

    async def send(self, fill: Callable[[BrokerRequestBatch], None], cause: int) -> None:
        """Open a batch, fill it, send it. Raises: IllegalStateError, when the role has been given up."""
        try:
            self._batch.open()
            fill(self._batch)
            self._batch.send(cause)
        except IllegalStateError:
            self._batch.clear()
            await self._trigger_controller_move(cause)
            raise

    async def send_update_metadata(self, cause: int, partitions: Iterable[TopicPartition] = ()) -> None:
        """Tell every broker who is alive, and of these partitions."""
        await self.send(lambda batch: batch.metadata_for_all(partitions), cause)
