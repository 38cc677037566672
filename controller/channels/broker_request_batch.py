"""Gathers the requests to brokers that one change of the cluster causes, and hands them to the channel manager.

decisions/request_batch.py and decisions/request_recipients.py decide what is sent to which broker. This module keeps the
batch between an add and the flush, and queues the responses as controller events. The controller, the partition state
machine and the replica state machine have one batch each. Source: Kafka 2.8, ControllerBrokerRequestBatch;
docs/kafka/requests.md 2.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Concatenate, ParamSpec, assert_never

from kcsim.controller.channels.channel_manager import ControllerChannelManager
from kcsim.controller.decisions import request_recipients as recipients_of
from kcsim.controller.decisions.request_batch import (
    ClusterView,
    EndpointNotAvailableError,
    RequestBatch,
    UnsendableReplicaError,
    add_leader_and_isr,
    add_stop_replica,
    flush,
)
from kcsim.controller.errors import IllegalStateError
from kcsim.controller.events import (
    ControllerEvent,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from kcsim.controller.requests import (
    UNKNOWN_BROKER_EPOCH,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from kcsim.controller.scope import ControllerScope
from kcsim.eventlog.sink import Cause
from kcsim.vocabulary import BrokerId, FailureReason, TopicPartition

P = ParamSpec("P")


class BrokerRequestBatch:
    """One batch at a time: open, add, send.

    A change that failed leaves its unsent requests in the batch, and every later open fails.

    Args:
        put: queues an event for the controller's thread.
    """

    def __init__(
        self,
        scope: ControllerScope,
        channels: ControllerChannelManager,
        put: Callable[[ControllerEvent, Cause], object],
    ) -> None:
        self._broker_id = scope.broker_id
        self._config = scope.config
        self._context = scope.context
        self._channels = channels
        self._put = put
        self._batch = RequestBatch()

    def open(self) -> None:
        """Begin a batch. Raises: IllegalStateError when an earlier batch was never sent.

        A hardened controller sends what such a batch holds together with the new requests.
        """
        if (unsent := self._batch.unsent) is not None and not self._config.hardening.isolates_failures:
            raise IllegalStateError(
                f"the batch of requests to brokers still holds {unsent} changes of an earlier one that failed; "
                "they are lost",
                FailureReason.UNSENT_REQUESTS,
            )

    def clear(self) -> None:
        """Discard the gathered requests."""
        self._batch = RequestBatch()

    def send(self, cause: int) -> None:
        """Queue one request of each kind for each recipient. Raises: IllegalStateError; the batch is kept then."""
        try:
            addressed = flush(self._batch, self._view())
        except EndpointNotAvailableError as error:
            raise IllegalStateError(str(error)) from error
        self._batch = RequestBatch()
        for broker, request in addressed:
            self._channels.send_request(broker, request, self._callback(broker, request), cause)

    # --- adding

    def leader_and_isr(self, recipients: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool = False) -> None:
        self._add(add_leader_and_isr, recipients, is_new)

    def stop_replica(self, broker: BrokerId, partitions: Iterable[TopicPartition], delete: bool) -> None:
        self._add(add_stop_replica, broker, partitions, delete)

    def replicas_to_serve(self, replicas: Mapping[TopicPartition, Iterable[BrokerId]], is_new: bool) -> None:
        self._add(recipients_of.add_replicas_to_serve, replicas, is_new)

    def replicas_gone_offline(self, broker: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        self._add(recipients_of.add_replicas_gone_offline, broker, partitions)

    def epoch_bump(self, tp: TopicPartition) -> None:
        self._add(recipients_of.add_epoch_bump, tp)

    def metadata_for_all(self, partitions: Iterable[TopicPartition] = ()) -> None:
        self._add(recipients_of.add_metadata_for_all, partitions)

    def metadata_for_existing(self, started: Iterable[BrokerId]) -> None:
        self._add(recipients_of.add_metadata_for_existing, started)

    def metadata_for_started(self, started: Iterable[BrokerId]) -> None:
        self._add(recipients_of.add_metadata_for_started, started)

    def _add(
        self, add: Callable[Concatenate[RequestBatch, ClusterView, P], RequestBatch], *a: P.args, **k: P.kwargs
    ) -> None:
        """Add to the batch. Raises: NoBrokerIdError; what was added before stays in the batch."""
        try:
            self._batch = add(self._batch, self._view(), *a, **k)
        except UnsendableReplicaError as error:
            self._batch = error.gathered
            raise

    def _view(self) -> ClusterView:
        """Return the context in the form that decisions on requests take."""
        context = self._context
        epochs = context.broker_epochs
        return ClusterView(
            self._broker_id,
            context.epoch,
            context.live_brokers,
            epochs if self._config.protections.broker_epoch else dict.fromkeys(epochs, UNKNOWN_BROKER_EPOCH),
            context.leadership,
            context.assignments,
            context.topics_to_be_deleted,
            context.shutting_down,
            context.replicas_on_offline_dirs,
            self._config.inter_broker_listener_name,
            context.topic_ids if self._config.capabilities.topic_ids else None,
        )

    # --- responses

    def _callback(self, broker: BrokerId, request: StateChangeRequest) -> Callable[[StateChangeResponse, int], None]:
        """Return the callback for the response to a request. The sender calls it, so it only queues an event."""

        def received(response: StateChangeResponse, cause: int) -> None:
            match response:
                case LeaderAndIsrResponse():
                    self._put(LeaderAndIsrResponseReceived(broker, response), cause)
                case UpdateMetadataResponse():
                    self._put(UpdateMetadataResponseReceived(broker, response), cause)
                case StopReplicaResponse():
                    assert isinstance(request, StopReplicaRequest)
                    self._received_stop_replica(broker, request, response, cause)
                case _:
                    assert_never(response)

        return received

    def _received_stop_replica(
        self, broker: BrokerId, request: StopReplicaRequest, response: StopReplicaResponse, cause: int
    ) -> None:
        deleted, started = set(request.deleted_partitions), self._context.topics_with_deletion_started
        concerned = {tp: error for tp, error in response.partition_errors.items() if tp in deleted and tp.topic in started}
        # A broker that refuses the whole request names no partition. No event follows then, as in Kafka.
        if concerned:
            answer = StopReplicaResponse(response.error, concerned)
            self._put(TopicDeletionStopReplicaResponseReceived(broker, answer), cause)


class KafkaControllerRequestBatch:
    """The batch of the controller itself: requests that it sends outside the state machines.

    Args:
        trigger_controller_move: resigns and deletes /controller. A batch of the controller's own that cannot be sent means
            that the controller's state is inconsistent. Takes the cause.
    """

    def __init__(self, batch: BrokerRequestBatch, trigger_controller_move: Callable[[int], Awaitable[None]]) -> None:
        self._batch = batch
        self._trigger_controller_move = trigger_controller_move

    async def send(self, fill: Callable[[BrokerRequestBatch], None], cause: int) -> None:
        """Open a batch, fill it and send it. Raises: IllegalStateError, after this controller has resigned."""
        try:
            self._batch.open()
            fill(self._batch)
            self._batch.send(cause)
        except IllegalStateError:
            self._batch.clear()
            await self._trigger_controller_move(cause)
            raise

    async def send_update_metadata(self, cause: int, partitions: Iterable[TopicPartition] = ()) -> None:
        """Send the live brokers and the state of these partitions to every broker."""
        await self.send(lambda batch: batch.metadata_for_all(partitions), cause)
