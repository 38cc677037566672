"""The parts of every run, in all environments: a description, a script, subscribers, and a first event."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.cluster.cluster import Cluster
from kcsim.brokers.cluster.cluster_spec import ClusterSpec
from kcsim.brokers.config import BrokerConfig
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EVENT_SCHEMA_VERSION, Event, EventFields, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.eventlog.run_record import RunRecord, RunSource, encode_run_record
from kcsim.versions import versions

ADMIN_SESSION_TIMEOUT_MS = 30_000
"""Of the session that a run itself uses for its writes and reads."""
ADMIN_CONNECT_TIMEOUT_MS = 15_000

IN_PROCESSES = "simulated, in processes of their own"
"""The implementation of the brokers where each is a process."""

Subscribers = Sequence[Callable[[Event], None]]
Script = Callable[[Cluster], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class RunInfo:
    """The description of a run in its first event."""

    scenario: str
    seed: int
    zookeeper: str
    brokers: str | None = None
    """The implementation of the brokers; None: simulated brokers in the process of the run."""
    source: RunSource | None = None
    """What the run was made from, if that is a scenario with a text."""
    began_ms: int | None = None
    """When it began, in ms since 1970, if it is one process of a cluster."""


def begin_run(log: EventLog, info: RunInfo, spec: ClusterSpec, subscribers: Subscribers) -> int:
    """Append the first event of a run, after subscribing the subscribers, and return its seq."""
    for subscriber in subscribers:
        log.subscribe(subscriber)
    fields = EventFields(
        scenario=info.scenario,
        seed=info.seed,
        zookeeper=info.zookeeper,
        schema_version=EVENT_SCHEMA_VERSION,
        data=encode_run_record(_record(info, spec)),
        detail=f"on ZooKeeper: {info.zookeeper}" + (f"; brokers: {info.brokers}" if info.brokers else ""),
    )
    if info.brokers is not None:
        fields["broker_software"] = info.brokers
    return log.append(SCENARIO, EventKind.RUN_STARTED, None, fields)


def _record(info: RunInfo, spec: ClusterSpec) -> RunRecord:
    return RunRecord(
        versions=versions(),
        settings=spec.settings
        if info.brokers not in (None, IN_PROCESSES)
        else BrokerConfig.of(spec.settings, release=spec.release).named_values(),
        tick_time_ms=spec.tick_time_ms,
        session_timeout_ms=spec.session_timeout_ms,
        protections_off=tuple(protection.name for protection in spec.protections.off),
        source=info.source,
        began_ms=info.began_ms,
        hardening=spec.is_hardened,
    )
