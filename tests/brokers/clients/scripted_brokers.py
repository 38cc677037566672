"""Brokers that answer clients by a script, on the network of a run in virtual time."""

from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from kcsim.brokers.clients.clients import ClientConfig, ClusterClient
from kcsim.brokers.clients.ledger import Ledger
from kcsim.brokers.clients.producer import Producer, ProducerSpec
from kcsim.brokers.clients.reports import ProducerReports
from kcsim.brokers.groups.requests import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kcsim.brokers.network.network import SIMULATED_DELAY_MS, Interface, MemoryNetwork
from kcsim.brokers.ports import Incoming, ListenerClosedError, Listening
from kcsim.brokers.requests import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    ProduceBatch,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Alarm, Mailbox, Promise, Runtime, Task
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition

HOST, FIRST_PORT = "localhost", 9092
CAUSE = 0
SILENCE = None
"""Scripted in place of an error: the broker takes the request and does not answer."""
ScriptedError = ErrorCode | None


class ScriptedBroker:
    """A broker that answers by a script, and keeps the batches that it receives.

    Attributes:
        scripted_errors: its answers to the next produce requests; NONE after that.
        scripted_id_errors: its answers to the next requests for a producer id; NONE after that.
        asked_for_id_at_ms: the times at which it was asked for a producer id.
        leaders: the leader of each partition that it reports.
        asked: all batches that it received, with the times; batches that it refused included.
    """

    def __init__(self, broker_id: int, cluster: "ScriptedCluster") -> None:
        self.broker_id = BrokerId(broker_id)
        self.scripted_errors: deque[ScriptedError] = deque()
        self.scripted_id_errors: deque[ScriptedError] = deque()
        self.asked_for_id_at_ms: list[int] = []
        self.leaders: dict[TopicPartition, int | None] = {}
        self.asked: list[tuple[int, TopicPartition, ProduceBatch]] = []
        self.metadata_requests = 0
        self.requests = 0
        self._ends: dict[TopicPartition, int] = {}
        self._cluster = cluster
        self._interface: Interface | None = None
        self._listening: Listening | None = None

    def start(self) -> None:
        self._interface = self._cluster.network.interface()
        self._listening = self._interface.listen(HOST, FIRST_PORT + self.broker_id)
        self._cluster.runtime.spawn(f"broker-{self.broker_id}", self._serve(self._listening))

    def die(self) -> None:
        assert self._interface is not None
        self._interface.close()

    async def _serve(self, listening: Listening) -> None:
        try:
            while True:
                self._answer(await listening.accept())
        except ListenerClosedError:
            return

    def _answer(self, incoming: Incoming) -> None:
        match incoming.request:
            case MetadataRequest():
                self.metadata_requests += 1
                incoming.respond(self._metadata())
            case FindCoordinatorRequest():
                incoming.respond(FindCoordinatorResponse(ErrorCode.NONE, self._cluster.coordinator))
            case OffsetFetchRequest():
                incoming.respond(OffsetFetchResponse(ErrorCode.NONE, self._cluster.committed))
            case InitProducerIdRequest():
                self.asked_for_id_at_ms.append(self._cluster.runtime.now_ms())
                error = self.scripted_id_errors.popleft() if self.scripted_id_errors else ErrorCode.NONE
                if error is not SILENCE:
                    incoming.respond(InitProducerIdResponse(error))
            case ProduceRequest() as request:
                self.requests += 1
                error = self.scripted_errors.popleft() if self.scripted_errors else ErrorCode.NONE
                results = {tp: self._take(tp, batch, error) for tp, batch in request.batches.items()}
                if error is not SILENCE:
                    incoming.respond(ProduceResponse(results))

    def _take(self, tp: TopicPartition, batch: ProduceBatch, error: ScriptedError) -> ProduceResult:
        self.asked.append((self._cluster.runtime.now_ms(), tp, batch))
        if error is not ErrorCode.NONE:
            return ProduceResult(error or ErrorCode.NONE)
        base_offset = self._ends.get(tp, 0)
        self._ends[tp] = base_offset + batch.count
        return ProduceResult(ErrorCode.NONE, base_offset)

    def _metadata(self) -> MetadataResponse:
        known = [broker.broker_id for broker in self._cluster.all if broker.broker_id in self._cluster.reported]
        alive = {broker: Endpoint("PLAINTEXT", "PLAINTEXT", HOST, FIRST_PORT + broker) for broker in known}
        return MetadataResponse(alive, None, {tp: _partition(leader) for tp, leader in self.leaders.items()})


def _partition(leader: int | None) -> PartitionMetadata:
    error = ErrorCode.LEADER_NOT_AVAILABLE if leader is None else ErrorCode.NONE
    return PartitionMetadata(None if leader is None else BrokerId(leader), LeaderEpoch(0), error, (), ())


class ScriptedCluster:
    """Brokers 1 and 2, and a network for clients.

    Attributes:
        reported: the brokers that the metadata reports as alive.
        coordinator: of every group.
        committed: the offsets that the coordinator reports as committed.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.network = MemoryNetwork(runtime, SIMULATED_DELAY_MS)
        self.log = EventLog(runtime.now_ms)
        self.all = [ScriptedBroker(1, self), ScriptedBroker(2, self)]
        self.reported = {broker.broker_id for broker in self.all}
        self.coordinator = BrokerId(2)
        self.committed: dict[TopicPartition, int] = {}
        self.ledger = Ledger()
        for broker in self.all:
            broker.start()

    def say_leaders(self, leaders: dict[TopicPartition, int | None], brokers: Iterable[int] = (1, 2)) -> None:
        """Let these brokers report these leaders."""
        for number in brokers:
            self.all[number - 1].leaders = dict(leaders)

    def client(self, *topics: str, config: ClientConfig | None = None) -> ClusterClient:
        bootstrap = [(HOST, FIRST_PORT + broker.broker_id) for broker in self.all]
        return ClusterClient(ScriptedProcess(self), bootstrap, topics, config)

    def producer(self, spec: ProducerSpec) -> Producer:
        process = ScriptedProcess(self)
        config = ClientConfig(spec.config.request_timeout_ms, spec.config.retry_backoff_ms)
        bootstrap = [(HOST, FIRST_PORT + broker.broker_id) for broker in self.all]
        return Producer(spec, process, ClusterClient(process, bootstrap, spec.topics, config), self.ledger, epoch_ms=0)

    def reports(self) -> ProducerReports:
        return ProducerReports(self.runtime, self.log.sink("producer-w"), CAUSE)


class ScriptedProcess:
    """A client's process that is neither paused nor killed."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self.network = cluster.network.interface()
        self._runtime = cluster.runtime

    def now_ms(self) -> int:
        return self._runtime.now_ms()

    async def sleep_ms(self, delay_ms: int) -> None:
        await self._runtime.sleep_ms(delay_ms)

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> Task:
        return self._runtime.spawn(name, work)

    def promise(self) -> Promise[Any]:
        return self._runtime.promise()

    def mailbox(self) -> Mailbox[Any]:
        return self._runtime.mailbox()

    def alarm(self, name: str, call: Callable[[], None]) -> Alarm:
        return self._runtime.alarm(name, call)


def on_scripted_brokers(script: Callable[[ScriptedCluster], Coroutine[Any, Any, None]]) -> ScriptedCluster:
    """Run a script in virtual time and return the cluster as the script left it."""
    runtime = SimulatedRuntime()
    cluster = ScriptedCluster(runtime)
    runtime.run(script(cluster))
    return cluster
