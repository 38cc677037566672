"""Random timetables on a replicating cluster: faults of every kind while a producer writes, then recovery, then the count.

Everything is drawn from the seed of the run, so a failing run is reproduced by its number.
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from kcsim.brokers.clients.producer import ProducerSpec
from kcsim.brokers.clients.producer_config import ProducerConfig
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.workload import Workload
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.brokers.invariants import INVARIANTS, InvariantChecker, Violation
from kcsim.brokers.network.link_conditions import Links
from kcsim.controller.admin.topics import NewTopic
from kcsim.errors import TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import ClusterError
from kcsim.vocabulary import BrokerId, TopicPartition
from tests.brokers.cluster.environments import WITHIN_MS, until_found, until_ready

BROKERS = 4
PARTITIONS = 3
ACTION_COUNT = 16
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
    """The guarantee that the producer gets with each acknowledgement."""

    acks: str = "all"
    min_insync_replicas: int = 2

    @property
    def settings(self) -> dict[str, str | int | bool]:
        return {**PRODUCER, "acks": self.acks, "enable.idempotence": self.acks == "all"}


ASSIGNMENT = [tuple(BrokerId((p + j) % BROKERS + 1) for j in range(3)) for p in range(PARTITIONS)]
SAFE, CARELESS = Promise(), Promise("1", 1)


@dataclass
class Played:
    """One run: its event log, and the violated invariants."""

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
        watch = InvariantChecker(INVARIANTS, cluster, cluster.state, found.append)
        cluster.log.subscribe(watch.observe)
        await _begin(cluster, promise)
        producer = ProducerSpec("writer", ("orders",), rate=40, config=ProducerConfig.of(promise.settings))
        workload = Workload(cluster, {"writer": producer})
        await workload.start(["writer"])
        for _ in range(ACTION_COUNT):
            await cluster.runtime.sleep_ms(numbers.randrange(20, 2500))
            await _one_action(cluster, numbers)
        await _peace(cluster)
        await workload.stop(["writer"])
        await cluster.runtime.sleep_ms(PEACE_MS)
        workload.take_ledger()
        watch.at_end(quiescent=True, recovered=True)

    spec = ClusterSpec(tuple(BrokerSpec(n + 1) for n in range(BROKERS)), SETTINGS, tick_time_ms=100)
    log = run_in_environment(ZooKeeperChoice.parse("simulated"), spec, RunInfo("random", seed, "simulated"), script)
    return Played(log, found)


async def _begin(cluster: Cluster, promise: Promise) -> None:
    await cluster.start(cluster.broker_names)
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    topic = NewTopic("orders", assignment=ASSIGNMENT, config={"min.insync.replicas": str(promise.min_insync_replicas)})
    await cluster.topics.create(topic, random.Random(0))
    await cluster.wait_until(until_found(cluster.log, EventKind.BECAME_LEADER, at_least=PARTITIONS), WITHIN_MS)


async def _one_action(cluster: Cluster, numbers: random.Random) -> None:
    """Draw one action and do it; an action that is impossible (on a dead or frozen process) has no effect."""
    name = numbers.choice(cluster.broker_names)
    other = numbers.choice([b for b in cluster.broker_names if b != name])
    cut = Links(frozenset({name}), frozenset({other}), both_ways=numbers.random() < 0.5)
    for_ms = numbers.randrange(100, 5000)
    partitions = [TopicPartition("orders", p) for p in range(PARTITIONS)]
    actions: list[tuple[int, Callable[[], Awaitable[object] | int]]] = [
        (4, lambda: cluster.kill(name)),
        (5, lambda: cluster.start([name])),
        (3, lambda: cluster.pause(name)),
        (4, lambda: cluster.resume(name)),
        (2, lambda: cluster.stop(name)),
        (2, lambda: cluster.expire(name)),
        (2, lambda: cluster.disconnect(name, for_ms)),
        (2, lambda: cluster.znodes.delete("/controller")),
        (3, lambda: cluster.network_faults.partition(cut, for_ms=for_ms)),
        (1, lambda: cluster.topics.elect_preferred(partitions)),
    ]
    (action,) = numbers.choices([d for _, d in actions], [weight for weight, _ in actions])
    with suppress(ClusterError, TimedOutError):
        done = action()
        if not isinstance(done, int):
            await done


async def _peace(cluster: Cluster) -> None:
    """Heal the network, resume and start all processes, and wait."""
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
