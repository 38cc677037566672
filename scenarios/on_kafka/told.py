"""What is told of real brokers, and what can be done to them: a scenario that needs more is refused before it begins.

Real brokers tell what ZooKeeper's transaction log and their own logs show. Nobody stands between two of them, and the
records in their logs are not counted. What only some versions of Kafka log is counted as told.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from kcsim.scenarios.language.claims import Condition
from kcsim.scenarios.language.consumer_steps import CONSUMER_VERBS
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.model import hyphenated
from kcsim.scenarios.language.model_file import Problem
from kcsim.scenarios.language.network_steps import NETWORK_VERBS
from kcsim.scenarios.language.scenario_file import LoadedScenario
from kcsim.scenarios.language.steps import AnyStep, SlowFollower, Wait, verb_of_step
from kcsim.scenarios.language.topic_steps import FailLogDir
from kcsim.scenarios.language.topic_words import ALL_PARTITIONS
from kcsim.scenarios.language.workload_steps import WORKLOAD_VERBS
from kcsim.scenarios.on_kafka.controller_lines import READY, STEPS
from kcsim.zk import paths
from kcsim.zk.events import EventKind

ZNODE = frozenset({"path", "data", "zxid", "zk_version", "ephemeral", "session_id", "node"})
STATE = frozenset({"node", "topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch"})
REPLICA = STATE | {"replicas", "zk_version"}
DEED = frozenset({"op", "fault", "target", "detail", "topic", "partition", "path", "count", "node"})

TOLD: Mapping[EventKind, frozenset[str]] = MappingProxyType(
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
        EventKind.BROKER_CHANGE: frozenset({"node", "brokers", "detail"}),
        EventKind.TOPIC_CHANGE: frozenset({"node", "topic", "count", "detail"}),
        EventKind.TOPIC_DELETION: frozenset({"node", "topic", "step"}),
        EventKind.LEADER_REBALANCE: frozenset({"node", "broker_id", "count"}),
        EventKind.CONTROLLED_SHUTDOWN: frozenset({"node", "step", "broker_id", "error", "count"}),
        EventKind.STATE_CHANGE_FAILED: frozenset({"node", "topic", "partition", "broker_id", "state", "error"}),
        EventKind.REQUEST_SENT: frozenset({"node", "broker_id", "event", "controller_epoch", "count", "detail"}),
        EventKind.REQUEST_FAILED: frozenset({"node", "broker_id"}),
        EventKind.RESPONSE_RECEIVED: frozenset({"node", "broker_id", "event", "error", "count", "detail"}),
        # by the logs of each broker
        EventKind.SESSION_STATE: frozenset({"node", "state", "session_id"}),
        EventKind.BECAME_LEADER: REPLICA,
        EventKind.BECAME_FOLLOWER: REPLICA,
        EventKind.REPLICA_STOPPED: frozenset({"node", "topic", "partition", "detail"}),
        EventKind.LOG_DIR_FAILED: frozenset({"node", "broker_id", "count"}),
        EventKind.RECORDS_TRUNCATED: frozenset({"node", "topic", "partition", "offset"}),
        # by ourselves
        EventKind.FAULT: DEED,
        EventKind.FAULT_CONFIRMED: DEED,
        EventKind.ADMIN_ACT: DEED,
        EventKind.PROCESS_STATE: frozenset({"node", "state"}),
        EventKind.BROKER_START_FAILED: frozenset({"node", "broker_id"}),
    }
)
"""Kind of event -> the columns that are told of it on real brokers."""


def _one_of(*words: str) -> "re.Pattern[str]":
    return re.compile("|".join(map(re.escape, words)))


FENCE = {"path": paths.CONTROLLER_EPOCH, "error": "BADVERSION"}
"""The only refusal of a write that is told: of a controller that others have followed."""

TOLD_IN_PART: Mapping[tuple[EventKind, str], "re.Pattern[str]"] = MappingProxyType(
    {
        (EventKind.CONTROLLER_FAILOVER, "step"): _one_of(READY, *STEPS.values()),
        (EventKind.CONTROLLED_SHUTDOWN, "step"): _one_of("answered", "proceeding with an unclean shutdown"),
        (EventKind.TOPIC_DELETION, "step"): _one_of("started", "ineligible", "refused", "completing", "completed"),
        (EventKind.BROKER_CHANGE, "detail"): re.compile(r"(?:started|stopped|bounced) \[[\d, ]*\]"),
        (EventKind.TOPIC_CHANGE, "detail"): re.compile(r"(?:new topics|gone) \[.*\]|\d+ partitions added"),
        (EventKind.REQUEST_SENT, "event"): _one_of("LeaderAndIsr", "UpdateMetadata", "StopReplica"),
        (EventKind.REPLICA_STOPPED, "detail"): _one_of("deleted", "no longer fetched"),
    }
)
"""Columns of which only some values are ever told: what may be asked for."""

OF_CLIENTS = frozenset(
    {
        *("acknowledged", "given_up", "lost", "lost_everywhere", "incomplete", "unacknowledged", "duplicated", "divergent"),
        *("groups", "assignment", "moved", "unconsumed"),
    }
)
"""Fields of Condition about records and consumers."""
METRICS = "metrics"


def refusals(loaded: LoadedScenario) -> list[Problem]:
    """What a scenario asks for that no real broker can be made to do or tell, each with its line. None: it can be run."""
    found = [
        Problem(loaded.file, line, why)
        for step, line in zip(loaded.scenario.timetable, loaded.step_lines, strict=True)
        if (why := _refusal(step)) is not None
    ]
    if off := loaded.scenario.protections.without(()).off:
        names = ", ".join(protection.name for protection in off)
        found.append(Problem(loaded.file, None, f"{names}: what Kafka protects itself with cannot be taken from a real one"))
    return found


def untold(condition: Condition) -> str | None:
    """Why a condition cannot be judged on real brokers; None if it can."""
    for part, _ in condition.parts():
        if part in OF_CLIENTS:
            return f"{hyphenated(part)}: the records and the consumers of real brokers are not counted"
        if part == METRICS:
            return f"{part}: those of real brokers are not read"
    for pattern in condition.patterns():
        if (missing := _untold(pattern)) is not None:
            return f"{pattern}: real brokers do not tell {missing}"
    return None


def _refusal(step: AnyStep) -> str | None:
    verb = verb_of_step(step)
    if verb in NETWORK_VERBS:
        return f"{verb}: nobody stands between two real brokers; disconnect cuts one off from ZooKeeper"
    if verb in (*WORKLOAD_VERBS, *CONSUMER_VERBS):
        return f"{verb}: the producers and consumers of a scenario speak to simulated brokers only"
    if isinstance(step, SlowFollower):
        return f"{verb}: how fast a real broker replicates cannot be set by the record"
    if isinstance(step, FailLogDir) and step.partitions != ALL_PARTITIONS:
        return f"{verb}: partitions cannot be moved apart in a real broker's log directory; leave partitions out"
    awaited = step.wait if isinstance(step, Wait) else step.when
    if awaited is not None and (why := untold(awaited)) is not None:
        return f"{verb}: {why}"
    return None


def _untold(pattern: EventPattern) -> str | None:
    """Of several kinds in one pattern, all have to be told: their number may count."""
    for kind in pattern.kinds:
        if kind not in TOLD:
            return kind.value
        if kind is EventKind.ZK_WRITE_REFUSED and not FENCE.items() <= pattern.fields.items():
            return f"{kind.value} but for {FENCE['error']} of {FENCE['path']}"
        if unknown := sorted(set(pattern.fields) - TOLD[kind]):
            return f"{hyphenated(unknown[0])} of {kind.value}"
        for column, wanted in pattern.fields.items():
            if not _may_be_told(kind, column, wanted, pattern):
                return f"{hyphenated(column)} {wanted!r} of {kind.value}"
    return None


def _may_be_told(kind: EventKind, column: str, wanted: object, pattern: EventPattern) -> bool:
    if (kind, column) == (EventKind.REQUEST_SENT, "detail") and pattern.fields.get("event") != "LeaderAndIsr":
        return re.fullmatch(r"\d+ brokers are alive|leader epoch .*", str(wanted)) is not None
    known = TOLD_IN_PART.get((kind, column))
    return known is None or known.fullmatch(str(wanted)) is not None
