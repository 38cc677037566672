"""Three brokers with a topic, simulated or live, and the state of its partitions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.controller.events import ControllerState
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import TopicPartition
from tests.brokers.cluster.environments import SESSION_TIMEOUT, WITHIN_MS, Script, spec_of, until_ready

ORDERS_0, ORDERS_1, ORDERS_2 = (TopicPartition("orders", p) for p in range(3))
ALL_THREE = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
SETTINGS: Mapping[str, str | int | bool] = {
    SESSION_TIMEOUT: 2_000,
    "auto.leader.rebalance.enable": False,
    "controlled.shutdown.retry.backoff.ms": 200,
    "replica.fetch.backoff.ms": 200,
}


def play(script: Script, on: str = "simulated", **settings: str | int | bool) -> EventLog:
    """Run a script on brokers 1, 2 and 3; settings are written with _ for the dots."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return run_in_environment(
        ZooKeeperChoice.parse(on), spec_of((1, 2, 3), {**SETTINGS, **named}, on), RunInfo("test", 0, on), script
    )


async def begin(cluster: Cluster, assignment: Mapping[int, Sequence[int]] = ALL_THREE) -> None:
    """Start all brokers, broker 1 as controller, and create a topic; wait until every replica serves."""
    await cluster.start(["broker-1"])
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    await cluster.start(["broker-2", "broker-3"])
    await create_topic(cluster, assignment)
    await cluster.wait_until(lambda: not_in_sync(cluster, assignment), WITHIN_MS)


async def create_topic(cluster: Cluster, assignment: Mapping[int, Sequence[int]]) -> None:
    lists = {str(p): list(replicas) for p, replicas in assignment.items()}
    content = {"version": 2, "partitions": lists, "adding_replicas": {}, "removing_replicas": {}}
    await cluster.znodes.create("/brokers/topics/orders", json.dumps(content))


def not_in_sync(cluster: Cluster, assignment: Mapping[int, Sequence[int]] = ALL_THREE) -> str | None:
    """Return a condition: every leader has all its replicas in its ISR, and every other replica follows it."""
    for p, replicas in assignment.items():
        for b in replicas:
            partition = cluster.broker(f"broker-{b}").replicas.hosted.get(TopicPartition("orders", p))
            if partition is None or partition.leader is None:
                return f"orders-{p} on broker {b}: {partition}"
            if partition.is_leader and set(partition.isr) != set(replicas):
                return f"orders-{p}: ISR {partition.isr}"
    return None


def busy_with(cluster: Cluster, name: str) -> str | None:
    """Return a condition: the controller module of a broker has processed all its events."""
    events = cluster.broker(name).controller.event_manager
    return None if events.state is ControllerState.IDLE and not len(events) else f"{name} is busy with {events.state}"


def isr_of(log: EventLog, p: int) -> list[int]:
    """Return the ISR as last written to ZooKeeper."""
    isr: list[int] = state_of(log, p)["isr"]
    return isr


def state_of(log: EventLog, p: int) -> dict[str, Any]:
    written = [e.data for e in of_path(log.events, f"/brokers/topics/orders/partitions/{p}/state") if e.data]
    content: dict[str, Any] = json.loads(written[-1])
    return content


def of_path(events: Iterable[Event], path: str) -> list[Event]:
    kinds = (EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED)
    return [e for e in events if e.path == path and e.kind in kinds and e.node == "zookeeper"]
