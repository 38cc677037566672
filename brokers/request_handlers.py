"""Accepts requests from the network and passes each to the component of the broker that handles it.

Every request is handled by a task of its own; each component serializes what must not run concurrently. Source: Kafka 2.8,
KafkaApis; docs/kafka/requests.md 4.1.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kcsim.brokers.api.epoch_checks import is_broker_epoch_stale
from kcsim.brokers.ports import BrokerPorts, Incoming, ListenerClosedError, Listening
from kcsim.brokers.replica_manager import ReplicaManager, all_refused
from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrRequest,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.eventlog.events import EventKind
from kcsim.runtime.ports import Task
from kcsim.vocabulary import BrokerEpoch

Answer = Callable[[Any, int], Awaitable[Any]]
"""Takes a request, and the event that is its cause, and returns the response."""


class RequestHandlers:
    """The request handlers of one listener.

    Args:
        replicas: what the controller's requests are for.
        answers: by the class of each other request, what answers it.
        own_epoch: returns this broker's epoch, as of its last registration.
    """

    def __init__(
        self,
        ports: BrokerPorts,
        replicas: ReplicaManager,
        answers: Mapping[type, Answer],
        own_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        self._runtime = ports.runtime
        self._sink = ports.sink
        self._replicas = replicas
        self._answers = answers
        self._own_epoch = own_epoch
        self._injected_errors = ports.injected_errors
        self._acceptor: Task | None = None
        self._handling: dict[int, Task] = {}  # by number, in the order in which the requests arrived
        self._handled = 0

    def start(self, listening: Listening) -> None:
        """Start to accept requests, including those that have arrived already."""
        self._acceptor = self._runtime.spawn("request-acceptor", self._accept(listening))

    def close(self) -> None:
        """Stop processing; requests that are being processed are not completed."""
        if self._acceptor is not None:
            self._acceptor.kill()
        for task in list(self._handling.values()):
            task.kill()

    async def _accept(self, listening: Listening) -> None:
        while True:
            try:
                incoming = await listening.accept()
            except ListenerClosedError:
                return
            number = self._handled = self._handled + 1
            self._handling[number] = self._runtime.spawn("request-handler", self._serve(number, incoming))

    async def _serve(self, number: int, incoming: Incoming) -> None:
        injected = self._injected_errors
        if injected is None:
            response = await self.handle(incoming.request, incoming.cause)
        else:
            response = await injected.answer(incoming, self.handle)
        incoming.respond(response)
        del self._handling[number]

    async def handle(self, request: Any, cause: int) -> Any:
        """Return the response to a request."""
        if isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest):
            return self._fence(request, cause) or await self._change_state(request, cause)
        return await self._answers[type(request)](request, cause)

    async def _change_state(self, request: StateChangeRequest, cause: int) -> StateChangeResponse:
        match request:
            case LeaderAndIsrRequest():
                return await self._replicas.become_leader_or_follower(request, cause)
            case UpdateMetadataRequest():
                return await self._replicas.update_metadata(request, cause)
            case StopReplicaRequest():
                return await self._replicas.stop_replicas(request, cause)

    def _fence(self, request: StateChangeRequest, cause: int) -> StateChangeResponse | None:
        """Refuse a request that was meant for an earlier registration of this broker."""
        own = self._own_epoch()
        if not is_broker_epoch_stale(request.broker_epoch, own):
            return None
        error = ErrorCode.STALE_BROKER_EPOCH
        self._sink.emit(
            EventKind.REQUEST_REFUSED,
            cause,
            event=type(request).__name__.removesuffix("Request"),
            error=error.name,
            controller_id=request.controller_id,
            controller_epoch=request.controller_epoch,
            broker_epoch=request.broker_epoch,
            count=len(request.partitions),
            detail=f"meant for an earlier life of this broker, whose epoch is {own}",
        )
        match request:
            case LeaderAndIsrRequest():
                return all_refused(request, error)
            case UpdateMetadataRequest():
                return UpdateMetadataResponse(error)
            case StopReplicaRequest():
                return StopReplicaResponse(error)
