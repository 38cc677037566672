"""Finds the event that explains an error which a broker answers to a client.

It is the latest event that made the broker's view what it is: the LeaderAndIsr request by which it follows, the ISR that its
partition has, the loss of its role as controller. Where no such event is known, the start of the broker explains it: it has
not learned anything else since.

A fold over the event log; of requests for so many partitions that one event stands for all, that event is taken.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.brokers.wire.answered_errors import ErrorSubject
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import RUN_STARTED_SEQ
from kcsim.vocabulary import OFFSETS_TOPIC
from kcsim.znodes import paths


class _Scope(Enum):
    """What an event of a kind is about, and whether it concerns the broker at which it happened or all of them."""

    PARTITION_AT_NODE = auto()
    PARTITION = auto()
    TOPIC = auto()
    GROUP_AT_NODE = auto()
    NODE = auto()


_SCOPES: Mapping[EventKind, _Scope] = {
    **dict.fromkeys(
        (
            *(EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.STAYED_LEADER, EventKind.REPLICA_STOPPED),
            *(EventKind.ISR_SHRUNK, EventKind.SEGMENT_DELETED, EventKind.GROUP_COORDINATION),
        ),
        _Scope.PARTITION_AT_NODE,
    ),
    **dict.fromkeys(
        (
            *(EventKind.LEADER_ELECTION, EventKind.LEADER_EPOCH_BUMPED, EventKind.STATE_CHANGE_FAILED),
            EventKind.RECORDS_TRUNCATED,
        ),
        _Scope.PARTITION,
    ),
    **dict.fromkeys((EventKind.ZNODE_CREATED, EventKind.ZNODE_DELETED, EventKind.TOPIC_DELETION), _Scope.TOPIC),
    **dict.fromkeys(
        (EventKind.GROUP_REBALANCE, EventKind.GROUP_GENERATION, EventKind.GROUP_MEMBER_REMOVED), _Scope.GROUP_AT_NODE
    ),
    **dict.fromkeys(
        (
            *(EventKind.CONTROLLER_RESIGNED, EventKind.CONTROLLER_MOVED, EventKind.ELECTION_LOST),
            *(EventKind.LOG_DIR_FAILED, EventKind.PROCESS_STATE),
        ),
        _Scope.NODE,
    ),
}


class _Explanation(NamedTuple):
    """The latest event of some kinds; it explains nothing if an event of `unless` came after it."""

    kinds: Sequence[EventKind]
    unless: EventKind | None = None


_ROLE = _Explanation((EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.STAYED_LEADER))
_NOT_LEADING = (
    _Explanation((EventKind.BECAME_FOLLOWER, EventKind.REPLICA_STOPPED), unless=EventKind.BECAME_LEADER),
    _Explanation((EventKind.LEADER_ELECTION,)),
    _ROLE,
)
_NO_LEADER = (
    _Explanation((EventKind.LEADER_ELECTION, EventKind.STATE_CHANGE_FAILED)),
    _Explanation((EventKind.ZNODE_CREATED,)),
)
_ISR = (_Explanation((EventKind.ISR_SHRUNK, EventKind.BECAME_LEADER, EventKind.STAYED_LEADER)),)
_TRUNCATION = (_Explanation((EventKind.RECORDS_TRUNCATED, EventKind.SEGMENT_DELETED)), _ROLE)
_COORDINATOR = (_Explanation((EventKind.GROUP_COORDINATION, EventKind.BECAME_LEADER)),)

_EXPLANATIONS: Mapping[str, Sequence[_Explanation]] = {
    error.name: explanations
    for error, explanations in {
        ErrorCode.NOT_LEADER_OR_FOLLOWER: _NOT_LEADING,
        ErrorCode.NOT_COORDINATOR: _NOT_LEADING,
        ErrorCode.FENCED_LEADER_EPOCH: (_ROLE,),
        ErrorCode.UNKNOWN_LEADER_EPOCH: (
            # The client knows an epoch that the broker has not learned of yet, or one that never was.
            _Explanation((EventKind.LEADER_ELECTION, EventKind.LEADER_EPOCH_BUMPED, *_ROLE.kinds)),
        ),
        ErrorCode.LEADER_NOT_AVAILABLE: _NO_LEADER,
        ErrorCode.COORDINATOR_NOT_AVAILABLE: _NO_LEADER,
        ErrorCode.NOT_ENOUGH_REPLICAS: _ISR,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _ISR,
        ErrorCode.REQUEST_TIMED_OUT: _ISR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
            # Not yet in the broker's metadata, or no more; a broker that has just started has none.
            _Explanation(
                (EventKind.TOPIC_DELETION, EventKind.ZNODE_CREATED, EventKind.ZNODE_DELETED, EventKind.PROCESS_STATE)
            ),
        ),
        ErrorCode.NOT_CONTROLLER: (
            _Explanation((EventKind.CONTROLLER_RESIGNED, EventKind.CONTROLLER_MOVED, EventKind.ELECTION_LOST)),
        ),
        ErrorCode.KAFKA_STORAGE_ERROR: (_Explanation((EventKind.LOG_DIR_FAILED,)),),
        ErrorCode.OFFSET_OUT_OF_RANGE: _TRUNCATION,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: _TRUNCATION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID: (_Explanation((EventKind.GROUP_MEMBER_REMOVED,)), *_COORDINATOR),
        ErrorCode.ILLEGAL_GENERATION: (_Explanation((EventKind.GROUP_GENERATION,)), *_COORDINATOR),
        ErrorCode.REBALANCE_IN_PROGRESS: (_Explanation((EventKind.GROUP_REBALANCE,)), *_COORDINATOR),
    }.items()
}
"""Error -> what may explain it, the best explanation first."""
_START = _Explanation((EventKind.PROCESS_STATE,))

STOP = "stop"
"""The admin act that stops a broker: what its clients see of it precedes the end of its process."""
_About = tuple[str | None, int | None]
"""Topic and partition; both None: an event that stands for many partitions. A group or a topic has no partition."""
_ALL: _About = None, None
_NOWHERE = ""
"""The node of what concerns all brokers."""


class ErrorCauses:
    """The latest events that may explain errors. It is a subscriber of the event log.

    Args:
        offsets_topic_num_partitions: of __consumer_offsets.
    """

    def __init__(self, offsets_topic_num_partitions: int) -> None:
        self._offsets_topic_num_partitions = offsets_topic_num_partitions
        self._latest: dict[tuple[EventKind, str, _About], int] = {}

    def __call__(self, event: Event) -> None:
        """Process an event."""
        if event.kind is EventKind.ADMIN_ACT and event.op == STOP and event.target is not None:
            self._latest[EventKind.PROCESS_STATE, event.target, _ALL] = event.seq
        match _SCOPES.get(event.kind):
            case _Scope.PARTITION_AT_NODE:
                self._keep(event, event.node, (event.topic, event.partition))
            case _Scope.PARTITION:
                self._keep(event, _NOWHERE, (event.topic, event.partition))
            case _Scope.TOPIC:
                topic = event.topic or _topic_of(event.path)
                if topic is not None:
                    self._keep(event, _NOWHERE, (topic, None))
            case _Scope.GROUP_AT_NODE:
                self._keep(event, event.node, (event.group, None))
            case _Scope.NODE:
                self._keep(event, event.node, _ALL)

    def _keep(self, event: Event, node: str, about: _About) -> None:
        self._latest[event.kind, node, about] = event.seq

    def of(self, node: str, error: str, subject: ErrorSubject) -> int:
        """Return the seq of the event that explains an error of a broker. Args: error: Kafka's name."""
        for explanation in (*_EXPLANATIONS.get(error, ()), _START):
            found = max((self._seq(kind, node, subject) for kind in explanation.kinds), default=-1)
            if found >= 0 and (explanation.unless is None or found > self._own(explanation.unless, node, subject)):
                return found
        return RUN_STARTED_SEQ

    def of_process(self, node: str) -> int:
        """Return the seq of the event by which a broker's process came into its present state."""
        return self._latest.get((EventKind.PROCESS_STATE, node, _ALL), RUN_STARTED_SEQ)

    def _seq(self, kind: EventKind, node: str, subject: ErrorSubject) -> int:
        """Return the seq of the latest event of a kind that concerns a subject; -1 if there is none."""
        match _SCOPES[kind]:
            case _Scope.PARTITION_AT_NODE:
                return max(self._own(kind, node, subject), self._latest.get((kind, node, _ALL), -1))
            case _Scope.PARTITION:
                return self._latest.get((kind, _NOWHERE, self._partition(subject)), -1)
            case _Scope.TOPIC:
                return self._latest.get((kind, _NOWHERE, (subject.topic, None)), -1)
            case _Scope.GROUP_AT_NODE:
                return self._latest.get((kind, node, (subject.group, None)), -1)
            case _Scope.NODE:
                return self._latest.get((kind, node, _ALL), -1)

    def _own(self, kind: EventKind, node: str, subject: ErrorSubject) -> int:
        """Return the seq of the latest event at a node about the subject's partition alone; -1 if there is none."""
        return self._latest.get((kind, node, self._partition(subject)), -1)

    def _partition(self, subject: ErrorSubject) -> _About:
        if subject.topic is None and subject.group is not None:
            return OFFSETS_TOPIC, partition_for(subject.group, self._offsets_topic_num_partitions)
        return subject.topic, subject.partition


def _topic_of(path: str | None) -> str | None:
    """Return the topic whose znode in /brokers/topics this is."""
    parent, _, name = (path or "").rpartition("/")
    return name if parent == paths.BROKER_TOPICS else None
