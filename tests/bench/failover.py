"""Time that a controller needs on a real server for a failover, the loss and return of a broker, and creation of a topic.

The cluster has ten brokers that only acknowledge, and replication factor 3. A failover is compared with the raw batch read
of the same state znodes in the same run. Apache Kafka 2.8.2's own controller, warm, on a machine like ours and with brokers
that only acknowledge, took 1.3 s, 7.0 s and 14.5 s for the failover of 10,000, 50,000 and 100,000 partitions until the last
request was out, 6.2 s for the loss of a broker that hosted 30 % of the 100,000 (30,000 state writes), 1.4 s for its return.
"""

import gc
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from kcsim.controller.config import ControllerConfig
from kcsim.controller.kafka_controller import KafkaController
from kcsim.controller.ports import ControllerPorts
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.sink import Cause
from kcsim.runtime.ports import Promise
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.vocabulary import BrokerId, BrokerInfo, Endpoint, ReplicaAssignment, TopicPartition, TopicState
from kcsim.zk.kafka.kafka_zk import gateways_on
from kcsim.zk.kafka.zookeeper_client import ZooKeeperClient
from kcsim.zk.live import LiveZooKeeper
from kcsim.zk.operations import Delete
from kcsim.zk.servers.configuration import ServerSettings
from kcsim.zk.servers.embedded import EmbeddedZooKeeper
from kcsim.znodes import paths
from tests.controller.stub_brokers import FIRST_PORT, StubBrokers

BROKERS, REPLICATION_FACTOR = 10, 3
PARTITIONS_PER_TOPIC = 1000
SIZES = (10_000, 50_000, 100_000)
NEW_TOPIC_PARTITIONS = 10_000
SESSION_TIMEOUT_MS = 40_000
QUIET_S = 0.3
KAFKA_S = {10_000: 1.3, 50_000: 7.0, 100_000: 14.5}
KAFKA_LOSS_S, KAFKA_RETURN_S = 6.2, 1.4

_UNDER_WAY = {
    EventKind.CONTROLLER_EVENT_QUEUED: 1,
    EventKind.CONTROLLER_EVENT_DONE: -1,
    EventKind.REQUEST_SENT: 1,
    EventKind.RESPONSE_RECEIVED: -1,
}
"""Events that begin (1) and end (-1) work.

Only a controller that resigns pre-empts events or abandons requests, and by then its requests were answered.
"""


def main() -> None:
    """Print the times for each number of partitions.

    Each runs in its own process, so that its memory is measured separately.
    """
    for size in SIZES:
        subprocess.run([sys.executable, "-m", __name__, str(size)], check=True)


def measure(size: int) -> None:
    """Print the times for one number of partitions."""
    with EmbeddedZooKeeper(settings=ServerSettings(heap_mb=2048, tick_time_ms=2000)) as server:
        Bench(server.connect_string, size).run()


class Work:
    """What controllers and brokers have under way, from the events of a log.

    Attributes:
        last_s: when some of it began or ended last, by time.perf_counter().
    """

    def __init__(self, runtime: WallClockRuntime, log: EventLog) -> None:
        self._runtime = runtime
        self.last_s = 0.0
        self._under_way = 0
        log.subscribe(self._note)

    def _note(self, event: Event) -> None:
        change = _UNDER_WAY.get(event.kind)
        if change is not None:
            self._under_way += change
            self.last_s = time.perf_counter()

    async def is_done(self, before_s: float) -> None:
        """Wait until work has begun after before_s, and then until there has been nothing to do for QUIET_S."""
        while self._under_way or self.last_s == before_s or time.perf_counter() - self.last_s < QUIET_S:
            await self._runtime.sleep_ms(20)


class Bench:
    """Ten controllers in one process, each with a session of its own; one of them is elected."""

    def __init__(self, connect_string: str, size: int) -> None:
        self._runtime = WallClockRuntime()
        self._zookeeper = LiveZooKeeper(connect_string)
        self._size = size
        self._log = EventLog(self._runtime.now_ms)
        self._work = Work(self._runtime, self._log)
        self._log.subscribe(self._note)
        self._stubs = StubBrokers(BROKERS)
        self._clients: dict[BrokerId, ZooKeeperClient] = {}
        self._ready: Promise[None] = self._runtime.promise()

    def run(self) -> None:
        self._runtime.run(self._main())

    def _note(self, event: Event) -> None:
        if event.kind is EventKind.CONTROLLER_FAILOVER and (event.step or "").startswith("Ready"):
            self._ready.resolve(None)

    # --- the cluster

    async def _main(self) -> None:
        self._admin = await open_session(self._runtime, self._zookeeper, self._log, "admin")
        self._zk = gateways_on(self._admin)
        await self._zk.cluster.create_top_level_paths()
        for n in range(BROKERS):
            await self._start(BrokerId(n + 1))
        await self._ready.wait()
        before = _resident_mb()
        began_s = self._work.last_s
        for t in range(self._size // PARTITIONS_PER_TOPIC):
            await self._zk.topics.create(f"topic-{t:03}", placed(PARTITIONS_PER_TOPIC, t))
        await self._work.is_done(began_s)
        self._log.forget()
        gc.collect()
        per_partition_kb = (_resident_mb() - before) * 1024 / self._size
        print(f"\n{self._size:,} partitions on {BROKERS} brokers; about {per_partition_kb:.1f} KB of memory per partition")
        raw_s = await self._raw_read()
        await self._failover(raw_s)
        if self._size == max(SIZES):
            await self._loss_and_return()
            await self._creation()
        for client in (*self._clients.values(), self._admin):
            await client.close()

    async def _start(self, broker: BrokerId) -> None:
        client = await open_session(self._runtime, self._zookeeper, self._log, f"broker-{broker}")
        zk = gateways_on(client)
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", FIRST_PORT + broker)

        async def register(cause: Cause) -> None:
            await zk.brokers.register(BrokerInfo(broker, (endpoint,)), cause)

        await register(None)
        config = ControllerConfig(auto_leader_rebalance_enable=False)
        ports = ControllerPorts(self._runtime, self._stubs, self._log.sink(f"broker-{broker}"), random.Random(1))
        KafkaController(broker, config, ports, client, zk, register).startup(None)
        self._clients[broker] = client

    async def _timed(self, act: Callable[[], Coroutine[Any, Any, object]]) -> float:
        """Return the seconds from the act until the last answer to a request has arrived."""
        gc.collect()
        self._log.forget()
        before_s, began_s = self._work.last_s, time.perf_counter()
        await act()
        await self._work.is_done(before_s)
        return self._work.last_s - began_s

    # --- measurements

    async def _raw_read(self) -> float:
        """Return the seconds for reading topics and their partitions' states in batches, decoded: the best of three."""
        topics = await self._zk.topics.names()
        taken = []
        for _ in range(3):
            gc.collect()
            began_s = time.perf_counter()
            states = await self._zk.topics.read(topics)
            partitions = [TopicPartition(topic, p) for topic, state in states.items() for p in state.assignments]
            assert len(await self._zk.partition_states.read(partitions)) == self._size
            taken.append(time.perf_counter() - began_s)
        print(f"  {'raw batch read of topics and states':<44} {min(taken):6.2f} s")
        return min(taken)

    async def _failover(self, raw_s: float) -> None:
        """Measure the second and third failover only: the controller is warm by then, as Kafka's was."""
        times = [await self._timed(self._delete_controller) for _ in range(3)]
        best_s = min(times[1:])
        kafka_s = KAFKA_S[self._size]
        print(
            f"  {'/controller deleted until the last answer':<44} {best_s:6.2f} s   {_against(kafka_s, best_s)},"
            f" {best_s / raw_s:.1f} times the raw read"
        )

    async def _delete_controller(self) -> None:
        await self._admin.request([Delete(paths.CONTROLLER)])

    async def _loss_and_return(self) -> None:
        controller = await self._zk.controller.read_id()
        victim = next(broker for broker in self._clients if broker != controller)
        lost_s = await self._timed(lambda: self._clients[victim].close())
        print(f"  {'loss of a broker that hosts 30 %':<44} {lost_s:6.2f} s   {_against(KAFKA_LOSS_S, lost_s)}")
        returned_s = await self._timed(lambda: self._start(victim))
        print(f"  {'its return':<44} {returned_s:6.2f} s   {_against(KAFKA_RETURN_S, returned_s)}")

    async def _creation(self) -> None:
        state = placed(NEW_TOPIC_PARTITIONS, 0)
        created_s = await self._timed(lambda: self._zk.topics.create("large", state))
        print(f"  {f'creation of a topic of {NEW_TOPIC_PARTITIONS:,} partitions':<44} {created_s:6.2f} s")


async def open_session(runtime: WallClockRuntime, zookeeper: LiveZooKeeper, log: EventLog, node: str) -> ZooKeeperClient:
    """Return a client with a session of its own. Args: node: whose events it emits."""
    client = ZooKeeperClient(runtime, zookeeper, log.sink(node), SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS)
    await client.connect()
    return client


def placed(count: int, shift: int) -> TopicState:
    """Return partitions assigned to the brokers in turn, so that each broker hosts the same share."""
    return TopicState(
        {
            p: ReplicaAssignment(tuple(BrokerId((p + shift + j) % BROKERS + 1) for j in range(REPLICATION_FACTOR)))
            for p in range(count)
        }
    )


def _against(kafka_s: float, ours_s: float) -> str:
    return f"Kafka {kafka_s} s: {kafka_s / ours_s:.1f} times as fast"


def _resident_mb() -> float:
    with open(f"/proc/{os.getpid()}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1024 / 1024


if __name__ == "__main__":
    measure(int(sys.argv[1]))
