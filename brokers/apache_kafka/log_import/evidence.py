"""The evidence in the lines of all files, collected while they are read.

Files come in any order, and many lines show the same write. Of the lines that repeat a write, only the first within
A_WHILE_MS is kept, so that memory grows with the history and not with the files.
"""

from collections import defaultdict
from enum import IntEnum

import msgspec

from kcsim.brokers.apache_kafka.log_import.entries import SourceLine
from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import LoggedState
from kcsim.brokers.apache_kafka.log_lines.messages import (
    BecameFollower,
    BecameLeader,
    BrokerNamed,
    ControllerAtWork,
    ControllerElected,
    HistoryMessage,
    IsrChangeTried,
    IsrUpdated,
    IsrUpdatedByController,
    LeaderEpochRaised,
    PartitionElected,
    PartitionNew,
    ReplicaRemoved,
    StateSeen,
    owner_of,
)
from kcsim.vocabulary import BrokerId, ControllerEpoch, TopicPartition

A_WHILE_MS = 60_000
BEING_DELETED = -2
"""Leader of a partition that is being deleted, in the requests by which brokers forget it; never a stored state."""


class EvidenceKind(IntEnum):
    """How a line knows a state, from best to worst."""

    ELECTED = 0
    EPOCH_RAISED = 1
    ISR_UPDATED_BY_CONTROLLER = 2
    ISR_UPDATED = 3
    REMOVED = 4  # written now, or found to be so already
    SEEN = 5


Written = PartitionElected | ReplicaRemoved | LeaderEpochRaised | IsrUpdated | IsrUpdatedByController


WithEpoch = PartitionElected | ReplicaRemoved | PartitionNew | ControllerAtWork | ControllerElected
WITH_EPOCH = (PartitionElected, ReplicaRemoved, PartitionNew, ControllerAtWork, ControllerElected)


class Evidence(msgspec.Struct):
    """Evidence that a partition had this state at or before this time. None: the line does not say.

    `speaker` is the controller that decided, or the leader that wrote its ISR. `is_first`: a new partition's first state.
    """

    kind: EvidenceKind
    t_ms: int
    place: SourceLine
    speaker: BrokerId
    leader: int | None
    leader_epoch: int | None
    isr: tuple[BrokerId, ...] | None
    controller_epoch: ControllerEpoch | None
    zk_version: int | None
    is_first: bool = False
    is_recovering: bool = False


class TimedMessage(msgspec.Struct, frozen=True):
    """A message with its time and place."""

    t_ms: int
    place: SourceLine
    message: HistoryMessage


class ControllerEpochSpan(msgspec.Struct):
    """When a controller wrote its first and its last line with an epoch, over all files."""

    controller: BrokerId
    first: TimedMessage
    last: TimedMessage


class EvidenceIndex:
    """All evidence, by subject.

    Attributes:
        states: of each partition, in no order.
        others: messages about brokers, topics and reasons, by their type.
        roles: brokers that became leader or follower.
        tried: the last ISR change that each leader attempted, per partition.
        spans: by controller epoch.
        owners: file -> the brokers whose own lines it contains.
    """

    def __init__(self) -> None:
        self.states: dict[TopicPartition, list[Evidence]] = defaultdict(list)
        self.others: dict[type[HistoryMessage], list[TimedMessage]] = defaultdict(list)
        self.roles: list[TimedMessage] = []
        self.tried: dict[tuple[TopicPartition, BrokerId], TimedMessage] = {}
        self.spans: dict[ControllerEpoch, ControllerEpochSpan] = {}
        self.owners: dict[str, set[BrokerId]] = defaultdict(set)
        self._again: dict[tuple[EvidenceKind, TopicPartition, LoggedState], list[Evidence]] = defaultdict(list)

    def take(self, place: SourceLine, t_ms: int, message: HistoryMessage) -> None:
        """Add the message of one line."""
        owner = owner_of(message)
        if owner is not None:
            self.owners[place.file].add(owner)
        if isinstance(message, WITH_EPOCH):
            self._work(place, t_ms, message)
        match message:
            case ControllerAtWork() | BrokerNamed():
                pass  # the line shows nothing else
            case StateSeen():
                self._see(place, t_ms, message)
            case PartitionElected() | ReplicaRemoved() | LeaderEpochRaised() | IsrUpdated() | IsrUpdatedByController():
                self._write(place, t_ms, message)
            case IsrChangeTried():
                known = self.tried.get((message.tp, message.broker))
                if known is None or known.t_ms <= t_ms:
                    self.tried[message.tp, message.broker] = TimedMessage(t_ms, place, message)
            case BecameLeader() | BecameFollower():
                self.roles.append(TimedMessage(t_ms, place, message))
            case _:
                self.others[type(message)].append(TimedMessage(t_ms, place, message))

    def _write(self, place: SourceLine, t_ms: int, message: Written) -> None:
        states = self.states[message.tp]
        match message:
            case PartitionElected(controller, epoch, _, before, state):
                is_first = before == "NewPartition"
                states.append(_evidence(EvidenceKind.ELECTED, t_ms, place, controller, state, epoch, is_first))
            case ReplicaRemoved(controller, _, tp, _, state):
                self._keep_first(
                    EvidenceKind.REMOVED, tp, _evidence(EvidenceKind.REMOVED, t_ms, place, controller, state), state
                )
            case LeaderEpochRaised(controller, _, leader_epoch, version):
                states.append(
                    Evidence(EvidenceKind.EPOCH_RAISED, t_ms, place, controller, None, leader_epoch, None, None, version)
                )
            case IsrUpdatedByController(controller, _, state):
                states.append(_evidence(EvidenceKind.ISR_UPDATED_BY_CONTROLLER, t_ms, place, controller, state))
            case IsrUpdated(broker, _, isr, version):
                states.append(Evidence(EvidenceKind.ISR_UPDATED, t_ms, place, broker, broker, None, isr, None, version))

    def _see(self, place: SourceLine, t_ms: int, message: StateSeen) -> None:
        if message.state.leader != BEING_DELETED:
            found = _evidence(EvidenceKind.SEEN, t_ms, place, message.controller, message.state)
            self._keep_first(EvidenceKind.SEEN, message.tp, found, message.state)

    def _keep_first(self, kind: EvidenceKind, tp: TopicPartition, found: Evidence, state: LoggedState) -> None:
        """Keep evidence that may be repeated; repetitions within A_WHILE_MS count as one."""
        known = self._again[kind, tp, state]
        for one in reversed(known):
            if abs(one.t_ms - found.t_ms) < A_WHILE_MS:
                if found.t_ms < one.t_ms:
                    one.t_ms, one.place, one.speaker = found.t_ms, found.place, found.speaker
                return
        known.append(found)
        self.states[tp].append(found)

    def _work(self, place: SourceLine, t_ms: int, message: WithEpoch) -> None:
        """Record when each controller was active."""
        span = self.spans.get(message.controller_epoch)
        if span is None:
            at = TimedMessage(t_ms, place, ControllerAtWork(message.controller, message.controller_epoch))
            self.spans[message.controller_epoch] = ControllerEpochSpan(message.controller, at, at)
        elif t_ms < span.first.t_ms:
            span.first = TimedMessage(t_ms, place, message)
        elif t_ms > span.last.t_ms:
            span.last = TimedMessage(t_ms, place, message)


def _evidence(
    kind: EvidenceKind,
    t_ms: int,
    place: SourceLine,
    speaker: BrokerId,
    state: LoggedState,
    epoch: ControllerEpoch | None = None,
    is_first: bool = False,
) -> Evidence:
    controller_epoch = state.controller_epoch if epoch is None else epoch
    known = None if controller_epoch is None else ControllerEpoch(controller_epoch)
    return Evidence(
        kind,
        t_ms,
        place,
        speaker,
        state.leader,
        state.leader_epoch,
        state.isr,
        known,
        state.zk_version,
        is_first,
        state.is_recovering,
    )
