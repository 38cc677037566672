"""What can be observed of real brokers, and what can be done to them: a scenario that needs more is refused at the start.

Real brokers are observed through ZooKeeper's transaction log and their own logs, and the records in their partitions through
their segment files. Links between them are cut by proxies. What only some versions of Kafka log counts as observable.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from kcsim.brokers.apache_kafka.log_feed.controller_lines import READY, STEPS
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.steps.registry import spec_of
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.step import ScenarioStep
from kcsim.scenarios.language.steps import WaitStep
from kcsim.scenarios.language.workload_steps import ProduceStep
from kcsim.scenarios.language.yaml_reader import FileProblem
from kcsim.znodes import paths

ZNODE = frozenset({"path", "data", "zxid", "zk_version", "ephemeral", "session_id", "node"})
_BREAKPOINT = frozenset({"breakpoint", "breakpoint_path"})
STATE = frozenset({"node", "topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch"})
REPLICA = STATE | {"replicas", "zk_version"}
RECORDS = frozenset({"node", "topic", "partition"})
ACTION = frozenset({"op", "fault", "target", "topic", "partition", "path", "count", "node", *_BREAKPOINT})

OBSERVABLE: Mapping[EventKind, frozenset[str]] = MappingProxyType(
    {
        # by ZooKeeper's transaction log
        EventKind.ZNODE_CREATED: ZNODE,
        EventKind.ZNODE_CHANGED: ZNODE,
        EventKind.ZNODE_DELETED: ZNODE,
        EventKind.SESSION_CREATED: frozenset({"session_id", "duration_ms", "node"}),
        EventKind.SESSION_CLOSED: frozenset({"session_id", "error", "node"}),
        EventKind.BROKER_REGISTERED: frozenset({"node", "broker_id", "broker_epoch"}),
        EventKind.ELECTION_WON: frozenset({"node", "controller_id", "controller_epoch", "controller_epoch_zk_version"}),
        EventKind.LEADER_ELECTION: STATE,
        EventKind.LEADER_EPOCH_BUMPED: STATE,
        EventKind.REPLICA_REMOVED_FROM_ISR: STATE | {"broker_id"},
        EventKind.ISR_EXPANDED: STATE | {"broker_id"},
        EventKind.ISR_SHRUNK: STATE,
        # by the controller's logs
        EventKind.ELECTION_LOST: frozenset({"node", "controller_id", "rule"}),
        EventKind.CONTROLLER_FAILOVER: frozenset({"node", "step", "controller_id", "controller_epoch", "brokers", "count"}),
        EventKind.CONTROLLER_RESIGNED: frozenset({"node", "controller_id", "controller_epoch"}),
        EventKind.ZK_WRITE_REFUSED: frozenset({"node", "path", "error"}),
        EventKind.CONTROLLER_MOVED: frozenset({"node", "event"}),
        EventKind.CONTROLLER_EVENT_FAILED: frozenset({"node", "event"}),
        EventKind.BROKER_CHANGE: frozenset({"node", "brokers", "started", "stopped", "bounced"}),
        EventKind.TOPIC_CHANGE: frozenset({"node", "topic", "count", "new_topics", "deleted_topics"}),
        EventKind.TOPIC_DELETION: frozenset({"node", "topic", "step"}),
        EventKind.LEADER_REBALANCE: frozenset({"node", "broker_id", "count"}),
        EventKind.CONTROLLED_SHUTDOWN: frozenset({"node", "step", "broker_id", "error", "count"}),
        EventKind.STATE_CHANGE_FAILED: frozenset({"node", "topic", "partition", "broker_id", "state", "error"}),
        EventKind.REQUEST_SENT: frozenset({"node", "broker_id", "event", "controller_epoch", "count", "live_broker_count"}),
        EventKind.REQUEST_FAILED: frozenset({"node", "broker_id"}),
        EventKind.RESPONSE_RECEIVED: frozenset(
            {"node", "broker_id", "event", "error", "count", "refused_partitions", "errors"}
        ),
        # by the logs of each broker
        EventKind.SESSION_STATE: frozenset({"node", "state", "session_id"}),
        EventKind.BECAME_LEADER: REPLICA,
        EventKind.BECAME_FOLLOWER: REPLICA,
        EventKind.STAYED_LEADER: REPLICA,
        EventKind.REPLICA_STOPPED: frozenset({"node", "topic", "partition", "deleted"}),
        EventKind.LOG_DIR_FAILED: frozenset({"node", "broker_id", "count"}),
        EventKind.RECORDS_TRUNCATED: frozenset({"node", "topic", "partition", "offset"}),
        # by the producers of the run, without the broker that has answered; and by the brokers' segment files at the end
        EventKind.WORKLOAD_STARTED: frozenset({"node", "count"}),
        EventKind.RECORDS_ACKNOWLEDGED: RECORDS,
        EventKind.RECORDS_GIVEN_UP: RECORDS,
        EventKind.WORKLOAD_STOPPED: frozenset({"node", "count"}),
        EventKind.LEDGER: frozenset({"topic", "partition", "leader", "isr", "count"}),
        # by ourselves
        EventKind.FAULT: ACTION,
        EventKind.FAULT_CONFIRMED: ACTION,
        EventKind.ADMIN_ACT: ACTION,
        EventKind.PROCESS_STATE: frozenset({"node", "state", *_BREAKPOINT}),
        EventKind.BROKER_START_FAILED: frozenset({"node", "broker_id"}),
    }
)
"""Kind of event -> the columns that can be observed of it on real brokers."""


def _one_of(*words: str) -> "re.Pattern[str]":
    return re.compile("|".join(map(re.escape, words)))


FENCE = {"path": paths.CONTROLLER_EPOCH, "error": "BADVERSION"}
"""The only refused write that can be observed: the write of a controller that has been succeeded by another."""

PARTLY_OBSERVABLE: Mapping[tuple[EventKind, str], "re.Pattern[str]"] = MappingProxyType(
    {
        (EventKind.CONTROLLER_FAILOVER, "step"): _one_of(READY, *STEPS.values()),
        (EventKind.CONTROLLED_SHUTDOWN, "step"): _one_of("answered", "proceeding with an unclean shutdown"),
        (EventKind.TOPIC_DELETION, "step"): _one_of("started", "ineligible", "refused", "completing", "completed"),
        (EventKind.REQUEST_SENT, "event"): _one_of("LeaderAndIsr", "UpdateMetadata", "StopReplica"),
    }
)
"""Columns of which only some values can be observed: the values that a scenario may ask for."""

UNSEEN = {
    "divergent": "high watermarks of real replicas are not read",
    **dict.fromkeys(("groups", "assignment", "moved", "unconsumed"), "there are no consumers beside real brokers"),
}
"""Field of Condition about records and consumers -> why it cannot be evaluated."""
MAX_RECORDS = 1_000_000
MADE_ONE_BY_ONE = f"a real producer makes them one by one, {MAX_RECORDS} at most"
METRICS = "metrics"


NOT_OF_KAFKA = "a real Kafka has none"
"""Why hardening cannot be switched on for real brokers."""


def refusals(loaded: LoadedScenario) -> list[FileProblem]:
    """Return what a scenario asks of real brokers in vain, each with its line; an empty list if it can be run."""
    found = [
        FileProblem(loaded.file, line, why)
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True)
        if (why := _refusal(step)) is not None
    ]
    found += records_refusals(loaded)
    if loaded.scenario.cluster.hardening:
        found.append(FileProblem(loaded.file, None, f"hardening: {NOT_OF_KAFKA}"))
    if off := loaded.scenario.protections.without(()).off:
        names = ", ".join(protection.name for protection in off)
        found.append(
            FileProblem(loaded.file, None, f"{names}: what Kafka protects itself with cannot be taken from a real one")
        )
    return found


def records_refusals(loaded: LoadedScenario) -> list[FileProblem]:
    """Return the producers, and the steps, with more records than a producer outside the run can make."""
    found = [
        FileProblem(loaded.file, line, f"{step.verb()}: {step.records} records; {MADE_ONE_BY_ONE}")
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True)
        if isinstance(step, ProduceStep) and _is_too_many(step.records)
    ]
    return found + [
        FileProblem(loaded.file, None, f"producer {name}: {producer.records} records; {MADE_ONE_BY_ONE}")
        for name, producer in loaded.scenario.workload.producers.items()
        if _is_too_many(producer.records)
    ]


def why_unobservable(condition: Condition) -> str | None:
    """Return why a condition cannot be evaluated on real brokers, or None if it can."""
    for part, _ in condition.parts():
        if part in UNSEEN:
            return f"{hyphenated(part)}: {UNSEEN[part]}"
        if part == METRICS:
            return f"{part}: those of real brokers are not read"
    for pattern in condition.patterns():
        if (missing := _unobservable_part(pattern)) is not None:
            return f"{pattern}: real brokers do not report {missing}"
    return None


def _refusal(step: ScenarioStep) -> str | None:
    verb = step.verb()
    if (why := spec_of(step).why_not_on_kafka(step)) is not None:
        return f"{verb}: {why}"
    awaited = step.wait if isinstance(step, WaitStep) else step.when
    if awaited is not None and (why := why_unobservable(awaited)) is not None:
        return f"{verb}: {why}"
    return None


def _is_too_many(records: int | None) -> bool:
    return records is not None and records > MAX_RECORDS


def _unobservable_part(pattern: EventPattern) -> str | None:
    """Return the part that is unobservable. If a pattern has several kinds, all must be observable: the count may matter."""
    for kind in pattern.kinds:
        if kind not in OBSERVABLE:
            return kind.value
        if kind is EventKind.ZK_WRITE_REFUSED and not FENCE.items() <= pattern.fields.items():
            return f"{kind.value} but for {FENCE['error']} of {FENCE['path']}"
        if unknown := sorted(set(pattern.fields) - OBSERVABLE[kind]):
            return f"{hyphenated(unknown[0])} of {kind.value}"
        for column, wanted in pattern.fields.items():
            if wanted is None:
                return f"{kind.value} without {hyphenated(column)}"
            if not _is_observable(kind, column, wanted):
                return f"{hyphenated(column)} {wanted!r} of {kind.value}"
    return None


def _is_observable(kind: EventKind, column: str, wanted: object) -> bool:
    known = PARTLY_OBSERVABLE.get((kind, column))
    return known is None or known.fullmatch(str(wanted)) is not None
