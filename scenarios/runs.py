"""What every run has, whichever world it lives in: what it is of, a script, subscribers, a first event."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from kcsim.scenarios.cluster import Cluster
from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.history import EventLog
from kcsim.zk.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind

ADMIN_SESSION_TIMEOUT_MS = 30_000
"""Of the session in which a run's own writes are made, and its looks."""
ADMIN_CONNECT_TIMEOUT_MS = 15_000

Subscribers = Sequence[Callable[[Event], None]]
Script = Callable[[Cluster], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class RunInfo:
    """What the first event of a run says of it."""

    scenario: str
    seed: int
    zookeeper: str
    brokers: str | None = None
    """Whose brokers they are; None: ours."""


def begin(log: EventLog, info: RunInfo, subscribers: Subscribers) -> int:
    """Append the first event of a run; the subscribers see it too."""
    for subscriber in subscribers:
        log.subscribe(subscriber)
    fields = EventFields(
        scenario=info.scenario,
        seed=info.seed,
        schema_version=EVENT_SCHEMA_VERSION,
        detail=f"on ZooKeeper: {info.zookeeper}" + (f"; brokers: {info.brokers}" if info.brokers else ""),
    )
    return log.append(SCENARIO, EventKind.RUN_STARTED, None, fields)
