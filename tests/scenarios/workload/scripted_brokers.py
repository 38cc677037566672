"""Brokers that answer clients as told, on the network of a run in virtual time."""

from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from kcsim.brokers.ports import Incoming, ListenerClosedError, Listening
from kcsim.brokers.requests import (
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    ProduceBatch,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from kcsim.controller.requests import ErrorCode
from kcsim.scenarios.clients import ClientConfig, ClusterClient
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.network import SIMULATED_DELAY_MS, Interface, MemoryNetwork
from kcsim.scenarios.runtimes.simulated import SimulatedRuntime
from kcsim.scenarios.workload.ledger import Ledger
from kcsim.scenarios.workload.producer import Producer, ProducerSpec
from kcsim.scenarios.workload.reports import ProducerReports
from kcsim.zk.ports import Mailbox, Promise, Runtime, Task
from kcsim.zk.vocabulary import BrokerId, Endpoint, LeaderEpoch, TopicPartition

HOST, FIRST_PORT = "localhost", 9092
CAUSE = 0
SILENCE = None
"""Scripted in place of an error: the request is taken, and nobody answers."""
Told = ErrorCode | None


class ScriptedBroker:
    """Keeps the batches that it is sent.

    Attributes:
        told: what it says to the next requests to produce; NONE after that.
        leaders: what it says of who leads.
        appended: the batches that it took, and when; those that it refused are only in `asked`.
    """

    def __init__(self, broker_id: int, cluster: "ScriptedCluster") -> None:
        self.broker_id = BrokerId(broker_id)
        self.told: deque[Told] = deque()
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
            case ProduceRequest() as request:
                self.requests += 1
                told = self.told.popleft() if self.told else ErrorCode.NONE
                results = {tp: self._take(tp, batch, told) for tp, batch in request.batches.items()}
                if told is not SILENCE:
                    incoming.respond(ProduceResponse(results))

    def _take(self, tp: TopicPartition, batch: ProduceBatch, told: Told) -> ProduceResult:
        self.asked.append((self._cluster.runtime.now_ms(), tp, batch))
        if told is not ErrorCode.NONE:
            return ProduceResult(told or ErrorCode.NONE)
        base_offset = self._ends.get(tp, 0)
        self._ends[tp] = base_offset + batch.count
        return ProduceResult(ErrorCode.NONE, base_offset)

    def _metadata(self) -> MetadataResponse:
        alive = {b.broker_id: Endpoint("PLAINTEXT", "PLAINTEXT", HOST, FIRST_PORT + b.broker_id) for b in self._cluster.all}
        return MetadataResponse(alive, None, {tp: _partition(leader) for tp, leader in self.leaders.items()})


def _partition(leader: int | None) -> PartitionMetadata:
    error = ErrorCode.LEADER_NOT_AVAILABLE if leader is None else ErrorCode.NONE
    return PartitionMetadata(None if leader is None else BrokerId(leader), LeaderEpoch(0), error, (), ())


class ScriptedCluster:
    """Brokers 1 and 2, and a place for clients."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.network = MemoryNetwork(runtime, SIMULATED_DELAY_MS)
        self.log = EventLog(runtime.now_ms)
        self.all = [ScriptedBroker(1, self), ScriptedBroker(2, self)]
        self.ledger = Ledger()
        for broker in self.all:
            broker.start()

    def say_leaders(self, leaders: dict[TopicPartition, int | None], brokers: Iterable[int] = (1, 2)) -> None:
        """Let these brokers say that these lead."""
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


def on_scripted_brokers(script: Callable[[ScriptedCluster], Coroutine[Any, Any, None]]) -> ScriptedCluster:
    """Run a script in virtual time and return what is left."""
    runtime = SimulatedRuntime()
    cluster = ScriptedCluster(runtime)
    runtime.run(script(cluster))
    return cluster
