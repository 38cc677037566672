"""Which world a run lives in: virtual time and the model, or the wall clock and a real ZooKeeper. Chosen here only."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from kcsim.scenarios.cluster import SCENARIO, Cluster, ClusterSpec
from kcsim.scenarios.history import EventLog, trace_to
from kcsim.zk.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind

ADMIN_SESSION_TIMEOUT_MS = 30_000
ADMIN_CONNECT_TIMEOUT_MS = 15_000

Subscribers = Sequence[Callable[[Event], None]]
Script = Callable[[Cluster], Coroutine[Any, Any, None]]


class ZooKeeperKind(StrEnum):
    """Whose ZooKeeper: the values are those of --zookeeper."""

    EMBEDDED = "embedded"
    ENSEMBLE = "ensemble"
    DOCKER = "docker"
    SIMULATED = "simulated"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ZooKeeperChoice:
    """`connect` only for EXTERNAL; `members` 1 or 3, for those that we start."""

    kind: ZooKeeperKind
    connect: str | None = None
    members: int = 1

    @classmethod
    def parse(cls, text: str) -> "ZooKeeperChoice":
        """Read --zookeeper: one of the kinds, or a connect string. Raises: BadConnectStringError."""
        if text == ZooKeeperKind.ENSEMBLE:
            return cls(ZooKeeperKind.ENSEMBLE, members=3)
        if text in (ZooKeeperKind.EMBEDDED, ZooKeeperKind.DOCKER, ZooKeeperKind.SIMULATED):
            return cls(ZooKeeperKind(text))
        return cls(ZooKeeperKind.EXTERNAL, connect=text)


@dataclass(frozen=True)
class RunInfo:
    """What the first event of a run says of it."""

    scenario: str
    seed: int
    zookeeper: str


def run_in_world(
    choice: ZooKeeperChoice,
    spec: ClusterSpec,
    info: RunInfo,
    script: Script,
    on_event: Callable[[Event], None] | None = None,
    trace: Path | None = None,
) -> EventLog:
    """Open a world, run the script on a cluster in it, close everything whatever happens, and return the event log.

    Args:
        on_event: called with each event as it happens.
        trace: where to keep the event log; Parquet if the name ends so, else JSONL.

    Raises: what the script raises; a ServerError or ZooKeeperUnavailableError when there is no ZooKeeper to be had;
        KeyboardInterrupt after everything was closed.
    """
    writer = trace_to(trace) if trace else None
    subscribers = [s for s in (writer.write if writer else None, on_event) if s is not None]
    try:
        if choice.kind is ZooKeeperKind.SIMULATED:
            from kcsim.scenarios.simulated_world import run_simulated

            return run_simulated(choice.members, spec, info, script, subscribers)
        from kcsim.scenarios.live_world import run_live

        return run_live(choice, spec, info, script, subscribers)
    finally:
        if writer:
            writer.close()


def begin(log: EventLog, info: RunInfo, subscribers: Subscribers) -> int:
    """Append the first event of a run; the subscribers see it too."""
    for subscriber in subscribers:
        log.subscribe(subscriber)
    fields = EventFields(
        scenario=info.scenario,
        seed=info.seed,
        schema_version=EVENT_SCHEMA_VERSION,
        detail=f"on ZooKeeper: {info.zookeeper}",
    )
    return log.append(SCENARIO, EventKind.RUN_STARTED, None, fields)
