"""The values that a column of an event can have, where they form a known set.

A pattern with another value could never match: `no-event` would hold for ever, and a wait would never end. So such a value
is an error. The sets are those of the code that emits the events, and the names that the scenario file declares.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, get_args

from kcsim.brokers.groups.assignors.assignors import AssignmentStrategy
from kcsim.brokers.groups.group_metadata import GroupState
from kcsim.brokers.log.log_retention import RetentionRule
from kcsim.brokers.log.log_segments import RollReason
from kcsim.brokers.ports import ConnectionEnd
from kcsim.controller.decisions.decision_rules import DecisionRule
from kcsim.controller.decisions.election import ElectionRule, PartitionLeaderElectionStrategy
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.controller.decisions.replica_states import ReplicaMachineState
from kcsim.controller.events import ControllerEvent
from kcsim.controller.protections import PROTECTION_NAMES
from kcsim.errors import Outcome
from kcsim.eventlog.cluster_state import NOT_RUNNING, RUNNING
from kcsim.eventlog.events import EventKind
from kcsim.eventlog.step_names import BrokerChangeStep, ControllerFailoverStep, ReassignmentStep, TopicDeletionStep
from kcsim.scenarios.language.network_types import REQUESTS
from kcsim.scenarios.language.value_types import PARTITION, KnownNames, parse_partition, validation_error
from kcsim.text import comma_separated, did_you_mean
from kcsim.vocabulary import NO_LEADER, OFFSETS_TOPIC, FailureReason
from kcsim.zk.operations import SessionState
from kcsim.znodes import paths

NAMED_AT_MOST = 12

_PROCESS = (RUNNING, *NOT_RUNNING)
_PARTITION, _REPLICA = (tuple(state.value for state in states) for states in (PartitionMachineState, ReplicaMachineState))
_GROUP = tuple(state.value for state in GroupState)
_CONTROLLER_EVENTS = tuple(sorted(event.__name__ for event in get_args(ControllerEvent)))
_OUTCOMES = tuple(outcome.value for outcome in Outcome)
_ASSIGNORS = tuple(strategy.value for strategy in AssignmentStrategy)
_DECISIONS = tuple(rule.value for rule in DecisionRule)


def _values(words: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(word.value) for word in words)


VALUES: Mapping[tuple[EventKind, str], tuple[str, ...]] = MappingProxyType(
    {
        (EventKind.PROCESS_STATE, "state"): _PROCESS,
        (EventKind.SESSION_STATE, "state"): _values(SessionState),
        (EventKind.PARTITION_STATE_CHANGE, "state"): _PARTITION,
        (EventKind.REPLICA_STATE_CHANGE, "state"): _REPLICA,
        (EventKind.STATE_CHANGE_FAILED, "state"): (*_PARTITION, *_REPLICA),
        (EventKind.STATE_CHANGE_FAILED, "strategy"): _values(PartitionLeaderElectionStrategy),
        (EventKind.GROUP_MEMBER_JOINED, "state"): _GROUP,
        (EventKind.GROUP_REBALANCE, "state"): _GROUP,
        (EventKind.GROUP_GENERATION, "state"): _GROUP,
        (EventKind.OFFSETS_DELETED, "state"): _GROUP,
        (EventKind.GROUP_COORDINATION, "state"): ("loaded", "unloaded"),
        (EventKind.CONTROLLER_FAILOVER, "step"): _values(ControllerFailoverStep),
        (EventKind.BROKER_CHANGE, "step"): _values(BrokerChangeStep),
        (EventKind.PARTITION_REASSIGNMENT, "step"): _values(ReassignmentStep),
        (EventKind.TOPIC_DELETION, "step"): _values(TopicDeletionStep),
        (EventKind.LEADER_ELECTION, "rule"): _values(ElectionRule),
        (EventKind.BROKER_CHANGE, "rule"): _DECISIONS,
        (EventKind.ELECTION_WON, "rule"): _DECISIONS,
        (EventKind.ELECTION_LOST, "rule"): _DECISIONS,
        (EventKind.LEADER_EPOCH_BUMPED, "rule"): _DECISIONS,
        (EventKind.SEGMENT_ROLLED, "rule"): _values(RollReason),
        (EventKind.SEGMENT_DELETED, "rule"): _values(RetentionRule),
        (EventKind.GROUP_ASSIGNMENT, "rule"): _ASSIGNORS,
        (EventKind.PROTECTION_OFF, "rule"): PROTECTION_NAMES,
        (EventKind.CLIENT_DISCONNECTED, "rule"): _values(ConnectionEnd),
        **{
            (kind, "event"): _CONTROLLER_EVENTS
            for kind in (
                *(EventKind.CONTROLLER_EVENT_QUEUED, EventKind.CONTROLLER_EVENT_BEGUN, EventKind.CONTROLLER_EVENT_DONE),
                *(EventKind.CONTROLLER_EVENT_FAILED, EventKind.CONTROLLER_EVENT_PREEMPTED, EventKind.CONTROLLER_MOVED),
            )
        },
        **{
            (kind, "event"): REQUESTS
            for kind in (
                *(EventKind.REQUEST_SENT, EventKind.REQUEST_FAILED, EventKind.REQUEST_ABANDONED),
                *(EventKind.REQUEST_RECEIVED, EventKind.RESPONSE_RECEIVED, EventKind.REQUEST_REFUSED),
            )
        },
        (EventKind.ZK_WRITE_REFUSED, "outcome"): _OUTCOMES,
        (EventKind.RECORDS_GIVEN_UP, "outcome"): _OUTCOMES,
    }
)
"""(kind of event, column) -> the values that the column can have; a column of texts contains one of them."""
TEXTS_FOR_PEOPLE = frozenset({"detail", "inputs"})
"""Columns that no pattern has: what they say is in other columns, too."""
TOPIC_COLUMNS = ("topic", "new_topics", "deleted_topics")
BROKER_COLUMNS = frozenset(
    {
        *("broker_id", "controller_id", "leader", "isr", "replicas", "previous_isr", "live_replicas", "brokers", "started"),
        *("stopped", "bounced", "adding_replicas", "removing_replicas", "target_replicas"),
    }
)
"""Columns that hold the id of a broker, or a list of ids."""


def check_columns(kinds: Collection[EventKind], columns: Iterable[str]) -> None:
    """Check that events of all of these kinds may have these columns. Raises: PydanticCustomError."""
    for column in columns:
        for kind in kinds:
            if column != "node" and column not in kind.columns:
                key = column.replace("_", "-")
                has = [name.replace("_", "-") for name in ("node", *kind.columns) if name not in TEXTS_FOR_PEOPLE]
                near = did_you_mean(key, has) or f"; it has {comma_separated(has)}"
                raise validation_error(f"{kind.value} has no column {key}{near}", key)


def check_value(kinds: Collection[EventKind], column: str, wanted: Any, known: KnownNames) -> None:
    """Check that events of these kinds can have this value in this column. Raises: PydanticCustomError.

    Args:
        wanted: a value of the column's type; for a column of brokers also a broker's name, which is checked elsewhere.
    """
    key = column.replace("_", "-")
    if column in TOPIC_COLUMNS:
        _check_topics(key, wanted, known)
    elif column == "partitions":
        for partition in wanted:
            _check_partition_name(key, partition, known)
    elif column == "group" and known.groups is not None:
        _require(key, wanted, known.groups)
    elif column == "path":
        _check_path(key, wanted, known)
    elif column == "reason":
        _require(key, wanted, _values(FailureReason))
    elif column in BROKER_COLUMNS:
        _check_ids(key, wanted, known)
    else:
        allowed = [VALUES.get((kind, column)) for kind in kinds]
        if all(allowed):
            _require(key, wanted, [value for values in allowed for value in values or ()], is_part=column == "rule")


def check_partition_number(topic: str, number: int, known: KnownNames) -> None:
    """Check that a topic can have a partition of this number. Raises: PydanticCustomError."""
    numbers = (known.topics or {}).get(topic)
    if numbers is not None and number not in numbers:
        raise validation_error(f"{topic} has no partition {number}; it has 0 to {numbers[-1]}", "partition")


def _require(key: str, wanted: str, allowed: Iterable[str], is_part: bool = False) -> None:
    """Check that a value is allowed, or with `is_part`, that it is or consists of parts of allowed values."""
    values = list(dict.fromkeys(allowed))
    name = wanted.partition("(")[0] if key == "event" else wanted  # PartitionModifications(orders)
    if name in values or (is_part and _is_part(wanted, values)):
        return
    there = comma_separated(values[:NAMED_AT_MOST]) + (", …" if len(values) > NAMED_AT_MOST else "")
    near = did_you_mean(name, values) or (f"; there are {there}" if values else "; there is none")
    raise validation_error(f"no such event has {key} {wanted!r}{near}", key)


def _is_part(wanted: str, values: Collection[str]) -> bool:
    # An event that has several reasons names them all: "size, offset_overflow".
    return all(any(part in value for value in values) for part in wanted.split(", "))


def _check_topics(key: str, wanted: str | list[str], known: KnownNames) -> None:
    if known.topics is None:
        return
    for topic in wanted if isinstance(wanted, list) else [wanted]:
        _require(key, topic, (*known.topics, OFFSETS_TOPIC) if known.groups else known.topics)


def _check_partition_name(key: str, wanted: str, known: KnownNames) -> None:
    if not re.fullmatch(PARTITION, wanted):
        raise validation_error(f"{wanted!r} is no partition; write topic and number, as orders-0", key)
    partition = parse_partition(wanted)
    _check_topics(key, partition.topic, known)
    check_partition_number(partition.topic, partition.partition, known)


def _check_ids(key: str, wanted: Any, known: KnownNames) -> None:
    if not known.brokers or known.znodes:
        return  # a znode written by hand may name any broker
    for broker in wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(broker, int) and broker != NO_LEADER and f"broker-{broker}" not in known.brokers:
            raise validation_error(f"there is no broker {broker}; there are {comma_separated(known.brokers)}", key)


def _check_path(key: str, wanted: str, known: KnownNames) -> None:
    path = wanted.rstrip("/") or "/"
    if any(path == made or path.startswith(f"{made}/") or made.startswith(f"{path}/") for made in known.znodes):
        return
    found = paths.parse(path) or paths.parse(f"{path}{0:010}")  # the write of a sequential znode has no number yet
    if found is None and not path.startswith((f"{paths.CONSUMERS}/", paths.KAFKA_ACL, paths.DELEGATION_TOKEN)):
        forms = {kind.value for kind in paths.PathKind if "<" not in kind.value}
        raise validation_error(f"Kafka has no znode {wanted}{did_you_mean(path, sorted(forms))}", key)
    if found is None:
        return
    if found.topic is not None:
        _check_topics(key, found.topic, known)
    if found.topic is not None and found.partition is not None:
        check_partition_number(found.topic, found.partition, known)
    if found.broker_id is not None:
        _check_ids(key, found.broker_id, known)
