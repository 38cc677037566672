"""Clusters for tests, in either world."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.history import EventLog
from kcsim.scenarios.runs import RunInfo
from kcsim.scenarios.scenario_cluster import BrokerSpec, ClusterSpec
from kcsim.scenarios.worlds import run_in_world
from kcsim.scenarios.zookeeper_choice import ZooKeeperChoice
from kcsim.zk.events import Event, EventKind

Script = Callable[[Cluster], Coroutine[Any, Any, None]]
WITHIN_MS = 20_000
Settings = Mapping[str, str | int | bool]
SETTINGS: Settings = {"zookeeper.session.timeout.ms": 2000}


def play(
    script: Script, *, on: str = "simulated", brokers: int = 3, seed: int = 0, settings: Settings = SETTINGS
) -> EventLog:
    """Run a script on a cluster of brokers 1..n, none started yet, and return the event log."""
    spec = ClusterSpec(tuple(BrokerSpec(n + 1) for n in range(brokers)), settings, tick_time_ms=100)
    return run_in_world(ZooKeeperChoice.parse(on), spec, RunInfo("test", seed, on), script)


def find(log: EventLog, kind: EventKind, **fields: object) -> list[Event]:
    """The events of a kind whose columns have these values, in order."""
    return [e for e in log.events if e.kind is kind and all(getattr(e, name) == value for name, value in fields.items())]


def until_found(log: EventLog, kind: EventKind, at_least: int = 1, **fields: object) -> Callable[[], str | None]:
    """A condition for Cluster.wait_until: so many such events."""

    def condition() -> str | None:
        found = len(find(log, kind, **fields))
        return None if found >= at_least else f"{found} of {at_least} {kind} {fields}"

    return condition


def until_idle(log: EventLog) -> Callable[[], str | None]:
    """A condition for Cluster.wait_until: every controller event that has been queued is done."""

    def condition() -> str | None:
        queued = {event.seq for event in find(log, EventKind.CONTROLLER_EVENT_QUEUED)}
        begun: dict[int | None, int | None] = {
            event.seq: event.cause for event in find(log, EventKind.CONTROLLER_EVENT_BEGUN)
        }
        waiting = queued - {begun.get(event.cause) for event in find(log, EventKind.CONTROLLER_EVENT_DONE)}
        return f"{len(waiting)} controller events are not done, as #{min(waiting)}" if waiting else None

    return condition


async def start_and_elect(cluster: Cluster) -> str:
    """Start every broker, wait until one has taken over as controller, and return its name."""
    await cluster.start(cluster.broker_names)
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    return controller_of(cluster)


def until_ready(cluster: Cluster, controller_epoch: int) -> Callable[[], str | None]:
    """A condition: the controller of that epoch has finished its failover."""
    return until_found(
        cluster.log,
        EventKind.CONTROLLER_FAILOVER,
        step="Starting the controller scheduler",
        controller_epoch=controller_epoch,
    )


def controller_of(cluster: Cluster) -> str:
    """The name of the broker in /controller."""
    assert cluster.state.controller_id is not None
    return f"broker-{cluster.state.controller_id}"
