"""Brokers that only acknowledge: for tests and benchmarks of the controller alone.

A stub registers nothing and replicates nothing. It answers and keeps every request of the controller, and fails where a test
says so.
"""

from dataclasses import dataclass, field

from kcsim.controller.ports import BrokerConnectionError, ControllerChannel
from kcsim.controller.requests import (
    ErrorCode,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StateChangeRequest,
    StateChangeResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kcsim.vocabulary import BrokerId, TopicPartition

FIRST_PORT = 9092


@dataclass
class StubBroker:
    """A broker that only acknowledges.

    Attributes:
        is_up: whether connections to it succeed.
        failed_dirs: partitions whose log directory has failed.
        fails_to_delete: partitions that it cannot delete.
        requests: all that were sent to it, in order.
    """

    is_up: bool = True
    failed_dirs: set[TopicPartition] = field(default_factory=set)
    fails_to_delete: set[TopicPartition] = field(default_factory=set)
    requests: list[StateChangeRequest] = field(default_factory=list)

    def answer(self, request: StateChangeRequest) -> StateChangeResponse:
        self.requests.append(request)
        match request:
            case LeaderAndIsrRequest():
                errors = {tp: self._error(tp, self.failed_dirs) for tp in request.partitions}
                return LeaderAndIsrResponse(ErrorCode.NONE, errors)
            case UpdateMetadataRequest():
                return UpdateMetadataResponse()
            case StopReplicaRequest():
                unable = self.failed_dirs | self.fails_to_delete
                return StopReplicaResponse(ErrorCode.NONE, {tp: self._error(tp, unable) for tp in request.partitions})

    def _error(self, tp: TopicPartition, failing: set[TopicPartition]) -> ErrorCode:
        return ErrorCode.KAFKA_STORAGE_ERROR if tp in failing else ErrorCode.NONE


class StubBrokers:
    """The Transport port over stubs: broker N listens at port 9092 + N."""

    def __init__(self, count: int) -> None:
        self.brokers = {BrokerId(n + 1): StubBroker() for n in range(count)}

    async def connect(self, host: str, port: int, timeout_ms: int) -> ControllerChannel:
        stub = self.brokers[BrokerId(port - FIRST_PORT)]
        if not stub.is_up:
            raise BrokerConnectionError(f"{host}:{port} refuses connections")
        return _StubConnection(stub)


class _StubConnection:
    def __init__(self, stub: StubBroker) -> None:
        self._stub = stub

    @property
    def is_open(self) -> bool:
        return self._stub.is_up

    async def send(self, request: StateChangeRequest, timeout_ms: int, cause: int) -> StateChangeResponse:
        if not self._stub.is_up:
            raise BrokerConnectionError("connection lost")
        return self._stub.answer(request)

    def close(self) -> None:
        return
