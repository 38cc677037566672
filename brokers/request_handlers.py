"""Takes requests from the network and hands each to the part of the broker that it is for.

Every request is handled by a task of its own; what may not happen at once is kept apart where it happens. Source: Kafka 2.8,
KafkaApis; reference requests.md 4.1.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, assert_never

from kcsim.brokers.fences import is_broker_epoch_stale
from kcsim.brokers.fetch_handler import FetchHandler
from kcsim.brokers.ports import Incoming, ListenerClosedError, Listening
from kcsim.brokers.replica_manager import ReplicaManager, all_refused
from kcsim.brokers.requests import FetchRequest, FetchResponse
from kcsim.controller.requests import (
    BrokerRequest,
    BrokerResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ErrorCode,
    LeaderAndIsrRequest,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.zk.events import EventKind
from kcsim.zk.ports import EventSink, Runtime, Task
from kcsim.zk.vocabulary import BrokerEpoch

ControlledShutdown = Callable[[ControlledShutdownRequest, int], Awaitable[ControlledShutdownResponse]]


class RequestHandlers:
    """Serves one listener.

    Args:
        own_epoch: this broker's epoch, as of its last registration.
        controlled_shutdown: asks this broker's controller module.
    """

    def __init__(
        self,
        runtime: Runtime,
        sink: EventSink,
        replicas: ReplicaManager,
        fetches: FetchHandler,
        own_epoch: Callable[[], BrokerEpoch],
        controlled_shutdown: ControlledShutdown,
    ) -> None:
        self._runtime = runtime
        self._sink = sink
        self._replicas = replicas
        self._fetches = fetches
        self._own_epoch = own_epoch
        self._controlled_shutdown = controlled_shutdown
        self._tasks: dict[Task, None] = {}

    def start(self, listening: Listening) -> None:
        """Begin with whatever has come in already."""
        self._run("request-acceptor", self._accept(listening))

    def close(self) -> None:
        """Stop processing; what is being processed comes to no end."""
        for task in list(self._tasks):
            task.kill()

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._tasks = {task: None for task in self._tasks if not task.is_done}
        self._tasks[self._runtime.spawn(name, work)] = None

    async def _accept(self, listening: Listening) -> None:
        while True:
            try:
                incoming = await listening.accept()
            except ListenerClosedError:
                return
            self._run("request-handler", self._serve(incoming))

    async def _serve(self, incoming: Incoming) -> None:
        incoming.respond(await self.handle(incoming.request, incoming.cause))

    async def handle(self, request: BrokerRequest | FetchRequest, cause: int) -> BrokerResponse | FetchResponse:
        """Return the answer to a request."""
        match request:
            case FetchRequest():
                return await self._fetches.handle(request)
            case ControlledShutdownRequest():
                return await self._controlled_shutdown(request, cause)
            case LeaderAndIsrRequest() | UpdateMetadataRequest() | StopReplicaRequest():
                return self._fence(request, cause) or await self._change_state(request, cause)
            case _:
                assert_never(request)

    async def _change_state(self, request: StateChangeRequest, cause: int) -> StateChangeResponse:
        match request:
            case LeaderAndIsrRequest():
                return await self._replicas.become_leader_or_follower(request, cause)
            case UpdateMetadataRequest():
                return await self._replicas.update_metadata(request, cause)
            case StopReplicaRequest():
                return await self._replicas.stop_replicas(request, cause)

    def _fence(self, request: StateChangeRequest, cause: int) -> StateChangeResponse | None:
        """Refuse what was meant for an earlier life of this broker."""
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
