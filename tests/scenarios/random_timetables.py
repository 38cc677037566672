"""Random timetables on a cluster that replicates: faults of every kind while a producer writes, then peace, then the count.

All is drawn from the seed of the run, so a failing one is played again by its number.
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from kcsim.scenarios.admin.topics import NewTopic
from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import ClusterError
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.invariants import INVARIANTS, Violation, Watch
from kcsim.scenarios.link_conditions import Links
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.workload.producer import ProducerSpec
from kcsim.scenarios.workload.producer_config import ProducerConfig
from kcsim.scenarios.workload.workload import Workload
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import BrokerId, TopicPartition
from tests.worlds import WITHIN_MS, until_found, until_ready

BROKERS = 4
PARTITIONS = 3
DEEDS = 16
PEACE_MS = 20_000
SETTINGS: dict[str, str | int | bool] = {
    "zookeeper.session.timeout.ms": 2000,
    "replica.lag.time.max.ms": 3000,
    "controlled.shutdown.retry.backoff.ms": 300,
    "leader.imbalance.check.interval.seconds": 10,
}
PRODUCER: dict[str, str | int | bool] = {
    "linger.ms": 100,
    "request.timeout.ms": 2000,
    "delivery.timeout.ms": 600_000,
}


@dataclass(frozen=True)
class Promise:
    """What is promised to the producer with each acknowledgement."""

    acks: str = "all"
    min_insync_replicas: int = 2

    @property
    def settings(self) -> dict[str, str | int | bool]:
        return {**PRODUCER, "acks": self.acks, "enable.idempotence": self.acks == "all"}


ASSIGNMENT = [tuple(BrokerId((p + j) % BROKERS + 1) for j in range(3)) for p in range(PARTITIONS)]
SAFE, CARELESS = Promise(), Promise("1", 1)


@dataclass
class Played:
    """One run: its log, and the invariants that did not hold."""

    log: EventLog
    violations: list[Violation]

    @property
    def ledger(self) -> list[Event]:
        return [event for event in self.log.events if event.kind is EventKind.LEDGER]


def play_random(seed: int, promise: Promise = SAFE) -> Played:
    """Play one timetable, in virtual time."""
    numbers = random.Random(f"timetable {seed}")
    found: list[Violation] = []

    async def script(cluster: Cluster) -> None:
        watch = Watch(INVARIANTS, cluster, cluster.state, found.append)
        cluster.log.subscribe(watch.see)
        await _begin(cluster, promise)
        producer = ProducerSpec("writer", ("orders",), rate=40, config=ProducerConfig.of(promise.settings))
        workload = Workload(cluster, {"writer": producer})
        await workload.start(["writer"])
        for _ in range(DEEDS):
            await cluster.runtime.sleep_ms(numbers.randrange(20, 2500))
            await _one_deed(cluster, numbers)
        await _peace(cluster)
        await workload.stop(["writer"])
        await cluster.runtime.sleep_ms(PEACE_MS)
        workload.take_ledger()
        watch.at_end(quiet=True, whole=True)

    spec = ClusterSpec(tuple(BrokerSpec(n + 1) for n in range(BROKERS)), SETTINGS, tick_time_ms=100)
    log = run_in_world(ZooKeeperChoice.parse("simulated"), spec, RunInfo("random", seed, "simulated"), script)
    return Played(log, found)


async def _begin(cluster: Cluster, promise: Promise) -> None:
    await cluster.start(cluster.broker_names)
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    topic = NewTopic("orders", assignment=ASSIGNMENT, config={"min.insync.replicas": str(promise.min_insync_replicas)})
    await cluster.topics.create(topic, random.Random(0))
    await cluster.wait_until(until_found(cluster.log, EventKind.BECAME_LEADER, at_least=PARTITIONS), WITHIN_MS)


async def _one_deed(cluster: Cluster, numbers: random.Random) -> None:
    """Do something to somebody; where it cannot be done (to the dead, the frozen) nothing is."""
    name = numbers.choice(cluster.broker_names)
    other = numbers.choice([b for b in cluster.broker_names if b != name])
    cut = Links(frozenset({name}), frozenset({other}), both_ways=numbers.random() < 0.5)
    for_ms = numbers.randrange(100, 5000)
    partitions = [TopicPartition("orders", p) for p in range(PARTITIONS)]
    deeds: list[tuple[int, Callable[[], Awaitable[object] | int]]] = [
        (4, lambda: cluster.kill(name)),
        (5, lambda: cluster.start([name])),
        (3, lambda: cluster.pause(name)),
        (4, lambda: cluster.resume(name)),
        (2, lambda: cluster.stop(name)),
        (2, lambda: cluster.expire(name)),
        (2, lambda: cluster.disconnect(name, for_ms)),
        (2, lambda: cluster.zk_delete("/controller")),
        (3, lambda: cluster.network_faults.partition(cut, for_ms=for_ms)),
        (1, lambda: cluster.topics.elect_preferred(partitions)),
    ]
    (deed,) = numbers.choices([d for _, d in deeds], [weight for weight, _ in deeds])
    with suppress(ClusterError, TimedOutError):
        done = deed()
        if not isinstance(done, int):
            await done


async def _peace(cluster: Cluster) -> None:
    """Heal the network, let everybody go on, start the dead, and wait."""
    with suppress(ClusterError):  # nothing is cut
        cluster.network_faults.heal()
    for name in cluster.broker_names:
        if cluster.state.processes.get(name) == "paused":
            await cluster.resume(name)
    await cluster.runtime.sleep_ms(5000)
    for name in cluster.broker_names:
        if cluster.state.processes.get(name) in ("dead", "stopped"):
            try:
                await cluster.start([name])
            except ClusterError:
                await cluster.runtime.sleep_ms(3000)
                await cluster.start([name])
    await cluster.runtime.sleep_ms(PEACE_MS)
