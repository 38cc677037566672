"""Clusters for tests, simulated or live."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

import pytest

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import BrokerSpec, ClusterSpec
from kcsim.brokers.cluster.run_in_environment import run_in_environment
from kcsim.brokers.cluster.run_setup import RunInfo
from kcsim.brokers.cluster.scenario_cluster import ScenarioCluster
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperChoice
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind

Script = Callable[[Cluster], Coroutine[Any, Any, None]]
WITHIN_MS = 120_000
"""Far more than a busy machine needs; virtual time on the model."""
Settings = Mapping[str, str | int | bool]
SESSION_TIMEOUT = "zookeeper.session.timeout.ms"
SETTINGS: Settings = {SESSION_TIMEOUT: 2000}
LASTING_MS = 30_000
"""Session time-out on a real ZooKeeper: there, a broker of a busy machine may stand still for seconds."""
SIMULATED = "simulated"
TWINS = [SIMULATED, pytest.param("embedded", marks=[pytest.mark.live, pytest.mark.slow])]
"""The environments of a test that runs on the model in virtual time and, in `make test-all`, on a real ZooKeeper."""
FAST_TWINS = [SIMULATED, pytest.param("embedded", marks=pytest.mark.live)]
"""The same, in `make test` too."""


def play(
    script: Script, *, on: str = "simulated", brokers: int = 3, seed: int = 0, settings: Settings = SETTINGS
) -> EventLog:
    """Run a script on a cluster of brokers 1..n, none started yet, and return the event log."""
    return run_in_environment(
        ZooKeeperChoice.parse(on), spec_of(range(1, brokers + 1), settings, on), RunInfo("test", seed, on), script
    )


def spec_of(broker_ids: Iterable[int], settings: Settings, on: str) -> ClusterSpec:
    """Return the specification of a cluster. On a real ZooKeeper sessions have a long time-out: see kill_and_expire."""
    brokers = tuple(map(BrokerSpec, broker_ids))
    if on == SIMULATED:
        return ClusterSpec(brokers, settings, tick_time_ms=100)
    return ClusterSpec(
        brokers, {**settings, SESSION_TIMEOUT: LASTING_MS}, tick_time_ms=100, max_session_timeout_ms=LASTING_MS
    )


async def kill_and_expire(cluster: ScenarioCluster, name: str) -> None:
    """Kill a broker and make ZooKeeper end its session at once; otherwise the session expires at its time-out."""
    await cluster.pause(name)  # so that it does not open another session
    await cluster.expire(name)
    await cluster.kill(name)


def find(log: EventLog, kind: EventKind, **fields: object) -> list[Event]:
    """Return the events of a kind whose columns have these values, in order."""
    return [e for e in log.events if e.kind is kind and all(getattr(e, name) == value for name, value in fields.items())]


def until_found(log: EventLog, kind: EventKind, at_least: int = 1, **fields: object) -> Callable[[], str | None]:
    """Return a condition for Cluster.wait_until: at least this many such events."""

    def condition() -> str | None:
        found = len(find(log, kind, **fields))
        return None if found >= at_least else f"{found} of {at_least} {kind} {fields}"

    return condition


def until_idle(log: EventLog) -> Callable[[], str | None]:
    """Return a condition for Cluster.wait_until: every controller event that has been queued is done."""

    def condition() -> str | None:
        queued = {event.seq for event in find(log, EventKind.CONTROLLER_EVENT_QUEUED)}
        begun: dict[int | None, int | None] = {
            event.seq: event.cause for event in find(log, EventKind.CONTROLLER_EVENT_BEGUN)
        }
        waiting = queued - {begun.get(event.cause) for event in find(log, EventKind.CONTROLLER_EVENT_DONE)}
        return f"{len(waiting)} controller events are not done, as #{min(waiting)}" if waiting else None

    return condition


async def start_and_elect(cluster: Cluster) -> str:
    """Start every broker, wait until one has taken over as controller, and return its name.

    Where clients reach the brokers, wait until every broker can tell them of all brokers and the controller, too.
    """
    await cluster.start(cluster.broker_names)
    await cluster.wait_until(until_ready(cluster, 1), WITHIN_MS)
    if cluster.bootstrap_servers is not None:
        await cluster.wait_until(cluster.incomplete_metadata, WITHIN_MS)
    return controller_of(cluster)


def until_ready(cluster: Cluster, controller_epoch: int) -> Callable[[], str | None]:
    """Return a condition: the controller of that epoch has finished its failover."""
    return until_found(
        cluster.log,
        EventKind.CONTROLLER_FAILOVER,
        step="Starting the controller scheduler",
        controller_epoch=controller_epoch,
    )


def controller_of(cluster: Cluster) -> str:
    """Return the name of the broker in /controller."""
    assert cluster.state.controller_id is not None
    return f"broker-{cluster.state.controller_id}"
