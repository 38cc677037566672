"""Losses of a broker on clusters of real Kafka brokers, drawn from seeds, beside what a what-if predicts from a snapshot.

A cluster has three to five brokers and a few topics with drawn assignments. One broker dies and comes back, so that leaders
are not balanced; on every other cluster a second one dies and stays away, so that partitions are under-replicated or
offline. Then a snapshot is taken of its ZooKeeper, and another broker is killed.

    python -m tests.scenarios.what_if.losses_on_kafka 0 19 [.kafka/3.9.1]
"""

import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec, max_session_timeout_ms
from kcsim.brokers.cluster.processes.process_cluster import ProcessCluster
from kcsim.brokers.cluster.run_in_environment import run_with_kafka
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice, ZooKeeperKind
from kcsim.controller.admin.topics import NewTopic
from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import ZNODE_CHANGES
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion, ask_what_if
from kcsim.vocabulary import BrokerId
from tests.scenarios.snapshots.of_processes import snapshot_of_cluster

SETTINGS: Mapping[str, str | int | bool] = {
    "zookeeper.session.timeout.ms": 10_000,
    "auto.leader.rebalance.enable": False,
    "inter.broker.protocol.version": "2.8",
}
TICK_MS = 200
WITHIN_MS = 300_000
STAYS_MS = 3_000
"""For how long the predicted state must last."""
QUIET_MS = 60_000
"""After so long without a change of a znode, what is there is what Kafka did."""
LOOK_EVERY_MS = 200
LARGEST_WITH_SERVER = 4
"""A larger cluster is on the model of ZooKeeper: no more than five Java processes at once."""
Led = Mapping[str, tuple[int | None, tuple[int, ...]]]
"""Partition -> its leader, None if it is offline, and its ISR in the order stored."""


@dataclass(frozen=True)
class DrawnCluster:
    """A cluster and what happens to it. Attributes: stays_away: dies before the snapshot; None: no broker does."""

    brokers: tuple[int, ...]
    topics: Mapping[str, tuple[tuple[BrokerId, ...], ...]]
    bounces: int
    stays_away: int | None
    lost: int


@dataclass(frozen=True)
class ComparedLoss:
    """What was predicted of each partition, and what Kafka did."""

    drawn: DrawnCluster
    snapshot: ControlPlaneSnapshot
    predicted: Led
    observed: Led

    @property
    def differences(self) -> list[str]:
        return [
            f"{name}: predicted {self.predicted.get(name)}, observed {self.observed.get(name)}"
            for name in sorted({*self.predicted, *self.observed})
            if self.predicted.get(name) != self.observed.get(name)
        ]


def drawn_cluster(seed: int) -> DrawnCluster:
    numbers = random.Random(seed)
    brokers = tuple(range(1, numbers.randint(3, 5) + 1))
    topics = {}
    for name in ("clicks", "orders", "payments")[: numbers.randint(2, 3)]:
        factor = numbers.randint(1, 3)
        placed = (tuple(map(BrokerId, numbers.sample(brokers, factor))) for _ in range(numbers.randint(2, 6)))
        topics[name] = tuple(placed)
    bounces, away, lost = numbers.sample(brokers, 3)
    return DrawnCluster(brokers, topics, bounces, away if seed % 2 else None, lost)


def compare_loss(kafka: KafkaInstallation, seed: int) -> ComparedLoss:
    """Run the cluster of a seed. Raises: TimedOutError, ServerError, ClusterError."""
    drawn = drawn_cluster(seed)
    kind = ZooKeeperKind.EMBEDDED if len(drawn.brokers) <= LARGEST_WITH_SERVER else ZooKeeperKind.MODEL
    specs = tuple(BrokerSpec(broker, "ab"[broker % 2]) for broker in drawn.brokers)
    spec = ClusterSpec(specs, SETTINGS, TICK_MS, max_session_timeout_ms=max_session_timeout_ms(SETTINGS, TICK_MS))
    compared: list[ComparedLoss] = []

    async def script(cluster: ProcessCluster) -> None:
        compared.append(await _LossOnKafka(cluster, drawn).run())

    run_with_kafka(kafka, ZooKeeperChoice(kind), spec, RunInfo("loss", seed, kind.value, "Apache Kafka"), script)
    return compared[0]


class _LossOnKafka:
    def __init__(self, cluster: ProcessCluster, drawn: DrawnCluster) -> None:
        self._cluster = cluster
        self._drawn = drawn
        self._changed_ms = 0
        cluster.log.subscribe(lambda event: self._note(event.t_ms) if event.kind in ZNODE_CHANGES else None)

    def _note(self, t_ms: int) -> None:
        self._changed_ms = max(self._changed_ms, self._cluster.runtime.now_ms())

    async def run(self) -> ComparedLoss:
        cluster, drawn = self._cluster, self._drawn
        await cluster.start([f"broker-{broker}" for broker in drawn.brokers])
        for name, assignment in drawn.topics.items():
            await cluster.topics.create(NewTopic(name, assignment=assignment), random.Random(0))
        await self._wait_until_in_sync(drawn.brokers)
        await self._kill(drawn.bounces)
        await cluster.start([f"broker-{drawn.bounces}"])
        await self._wait_until_in_sync(drawn.brokers)
        if drawn.stays_away is not None:
            await self._kill(drawn.stays_away)
            await self._wait_until_settled(None)
        snapshot = await snapshot_of_cluster(self._cluster)
        question = WhatIfQuestion((Loss("it", (drawn.lost,)),), SETTINGS, returns=False)
        health = ask_what_if(snapshot, question).steps[-1].health
        predicted = {name: (partition.leader, partition.isr) for name, partition in health.partitions.items()}
        await self._kill(drawn.lost)
        await self._wait_until_settled(predicted)
        return ComparedLoss(drawn, snapshot, predicted, led(cluster.state))

    async def _kill(self, broker: int) -> None:
        await self._cluster.kill(f"broker-{broker}")
        await self._cluster.wait_until(lambda: "registered" if broker in self._cluster.state.registered else None, WITHIN_MS)

    async def _wait_until_in_sync(self, brokers: tuple[int, ...]) -> None:
        def missing() -> str | None:
            topics, state = self._cluster.state.of_topics, self._cluster.state
            expected = sum(map(len, self._drawn.topics.values()))
            behind = topics.under_replicated() or topics.offline(state.registered)
            return f"behind: {behind}" if behind or len(topics.states) < expected else None

        await self._cluster.wait_until(missing, WITHIN_MS)

    async def _wait_until_settled(self, predicted: Led | None) -> None:
        """Wait until the predicted state has lasted for a while, or until nothing has changed for long.

        Args:
            predicted: None: only the latter, for a third of the time.
        """
        since_ms: int | None = None
        now_ms = self._cluster.runtime.now_ms
        quiet_ms = QUIET_MS if predicted is not None else QUIET_MS // 3
        begun_ms = now_ms()
        while now_ms() - max(self._changed_ms, begun_ms) < quiet_ms:
            await self._cluster.runtime.sleep_ms(LOOK_EVERY_MS)
            if led(self._cluster.state) != predicted:
                since_ms = None
            elif since_ms is None:
                since_ms = now_ms()
            elif now_ms() - since_ms >= STAYS_MS:
                return


def led(state: ClusterState) -> Led:
    topics, registered = state.of_topics, state.registered
    partitions = ((tp, topics.leader(tp)) for tp in topics.partitions())
    return {str(tp): (leader if leader in registered else None, topics.isr(tp)) for tp, leader in partitions}


def main() -> None:
    first, last = map(int, sys.argv[1:3])
    kafka = find_kafka(Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    for seed in range(first, last + 1):
        began_s = time.monotonic()
        compared = compare_loss(kafka, seed)
        drawn, offline = compared.drawn, sum(leader is None for leader, _ in compared.observed.values())
        agreed = "agree" if not compared.differences else "; ".join(compared.differences)
        held = "the controller" if compared.snapshot.controller == drawn.lost else "no controller"
        away = f", broker-{drawn.stays_away} away" if drawn.stays_away else ""
        print(
            f"seed {seed}: {len(drawn.brokers)} brokers{away}, broker-{drawn.lost} lost ({held}): "
            f"{len(compared.observed)} partitions, {offline} offline: {agreed}; {time.monotonic() - began_s:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
