"""Consumers on a cluster in virtual time: three brokers that are up, topics, and a script."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from kcsim.brokers.clients.clients import ClusterClient
from kcsim.brokers.clients.consumer_config import ConsumerConfig, ConsumerSpec
from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.simulated_environment import run_simulated
from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.assignors.subscriptions import TopicList, TopicPattern
from kcsim.brokers.requests import ACKS_ALL, ProduceBatch, ProduceRequest, ProduceResponse
from kcsim.controller.admin.topics import NewTopic
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.consumption import Consumption, GroupHistory, consumption
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import BrokerId, TopicPartition

GROUP = "billing"
ORDERS = "orders"
SETTINGS: Mapping[str, str | int | bool] = {"offsets.topic.num.partitions": 1, "auto.leader.rebalance.enable": False}
Script = Callable[["Consuming"], Coroutine[Any, Any, None]]


def consumer(
    name: str,
    *topics: str,
    pattern: str | None = None,
    strategies: tuple[AssignmentStrategy, ...] = (AssignmentStrategy.RANGE,),
    is_static: bool = False,
    **config: Any,
) -> ConsumerSpec:
    subscription = TopicPattern(pattern) if pattern is not None else TopicList(topics or (ORDERS,))
    settings = ConsumerConfig(partition_assignment_strategy=strategies, **config)
    return ConsumerSpec(name, GROUP, subscription, name if is_static else None, settings)


class Consuming:
    """One run of the bench."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._written: dict[TopicPartition, int] = {}

    @property
    def seen(self) -> Consumption:
        return consumption(self.cluster.log.events)

    @property
    def group(self) -> GroupHistory:
        return self.seen.groups[GROUP]

    def owned(self, *names: str) -> list[list[str]]:
        """Return the partitions that each of these consumers owns."""
        return [list(self.seen.owned.get(f"consumer-{name}", ())) for name in names]

    def of_kind(self, kind: EventKind) -> list[Event]:
        return [event for event in self.cluster.log.events if event.kind is kind]

    async def until(self, condition: Callable[[], bool], what: str, within_ms: int = 120_000) -> None:
        await self.cluster.wait_until(lambda: None if condition() else f"not so: {what}", within_ms)

    async def until_stable(self, generation: int, *names: str, within_ms: int = 120_000) -> None:
        """Wait until a generation is assigned and each of these consumers has received it."""

        def is_so() -> bool:
            heard = {e.node for e in self.of_kind(EventKind.PARTITIONS_ASSIGNED) if e.generation == generation}
            return {f"consumer-{name}" for name in names} <= heard

        await self.until(is_so, f"generation {generation} of {', '.join(names)}", within_ms)

    async def create(self, topic: str, partitions: int, replication_factor: int = 3) -> None:
        """Create a topic, and wait until every partition has a leader and a full ISR."""
        await self.cluster.topics.create(NewTopic(topic, partitions, replication_factor), _Zero())
        states = self.cluster.state.of_topics

        def is_up() -> bool:
            mine = [tp for tp in states.partitions() if tp.topic == topic]
            return len(mine) == partitions and all(len(states.isr(tp)) == replication_factor for tp in mine)

        await self.until(is_up, f"{topic} is in sync")

    async def write(self, tp: TopicPartition, count: int) -> None:
        """Append records to a partition with acks=all."""
        client = ClusterClient(self.cluster.client_process("producer-p"), self.cluster.bootstrap)
        batch = ProduceBatch("p", self._written.get(tp, 0), count, 100, -1, False)
        answer: ProduceResponse = await client.send_to_leader(tp, ProduceRequest("p", ACKS_ALL, 10_000, {tp: batch}), 0)
        assert answer.results[tp].error is ErrorCode.NONE, answer
        self._written[tp] = self._written.get(tp, 0) + count

    def consumed(self, name: str) -> int:
        """Return the number of records that a consumer has read."""
        return sum(e.count or 0 for e in self.of_kind(EventKind.RECORDS_CONSUMED) if e.node == f"consumer-{name}")

    def coordinator(self) -> str:
        """Return the name of the broker that leads the only partition of __consumer_offsets."""
        leader = self.cluster.state.of_topics.leader(TopicPartition("__consumer_offsets", 0))
        assert leader is not None
        return f"broker-{leader}"


class _Zero:
    def randrange(self, stop: int, /) -> int:
        return 0


def play(script: Script, *, brokers: int = 3, seed: int = 1, **settings: str | int | bool) -> EventLog:
    """Run a script on running brokers, with a topic `orders` of six partitions."""
    named = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
    spec = ClusterSpec(tuple(BrokerSpec(n) for n in range(1, brokers + 1)), named)

    async def run(cluster: Cluster) -> None:
        consuming = Consuming(cluster)
        await cluster.start(cluster.broker_names)
        await consuming.until(lambda: cluster.state.controller_id is not None, "there is a controller")
        everybody = [BrokerId(n) for n in range(1, brokers + 1)]
        await consuming.until(
            lambda: (
                any(list(e.brokers or ()) == everybody for e in consuming.of_kind(EventKind.BROKER_CHANGE))
                or any(
                    e.step == "Ready to serve as the new controller"
                    for e in consuming.of_kind(EventKind.CONTROLLER_FAILOVER)
                )
            ),
            "the controller serves",
        )
        await consuming.create(ORDERS, 6, min(3, brokers))
        await script(consuming)
        await cluster.close()

    return run_simulated(1, spec, RunInfo("consumers", seed, "simulated"), run, ())
