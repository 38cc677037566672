"""What the lines of all files give evidence of, gathered while they are read.

Files come in any order, and many lines tell of the same write. Of those that were told of it only the first in a while is
kept, so that what is held grows with the history and not with the files.
"""

from collections import defaultdict
from enum import IntEnum

import msgspec

from kcsim.scenarios.imported.kafka_logs.entries import Place
from kcsim.scenarios.imported.kafka_logs.messages import (
    BecameFollower,
    BecameLeader,
    BrokerNamed,
    ControllerAtWork,
    ControllerElected,
    IsrChangeTried,
    IsrUpdated,
    IsrUpdatedByController,
    LeaderEpochRaised,
    Message,
    PartitionElected,
    PartitionNew,
    ReplicaRemoved,
    StateSeen,
    owner_of,
)
from kcsim.scenarios.imported.kafka_logs.renderings import Told
from kcsim.zk.vocabulary import BrokerId, ControllerEpoch, TopicPartition

A_WHILE_MS = 60_000
BEING_DELETED = -2
"""Leader of a partition that is being deleted, in the requests that tell brokers to forget it; never a stored state."""


class Kind(IntEnum):
    """How a line knows of a state, from best to worst."""

    ELECTED = 0
    EPOCH_RAISED = 1
    ISR_UPDATED_BY_CONTROLLER = 2
    ISR_UPDATED = 3
    REMOVED = 4  # written just now, or found so
    SEEN = 5


Written = PartitionElected | ReplicaRemoved | LeaderEpochRaised | IsrUpdated | IsrUpdatedByController


WithEpoch = PartitionElected | ReplicaRemoved | PartitionNew | ControllerAtWork | ControllerElected
WITH_EPOCH = (PartitionElected, ReplicaRemoved, PartitionNew, ControllerAtWork, ControllerElected)


class Evidence(msgspec.Struct):
    """That a partition had this state by then. None: the line does not say.

    `speaker` is the controller that decided, or the leader that wrote its ISR; `is_first`: a new partition's first state.
    """

    kind: Kind
    t_ms: int
    place: Place
    speaker: BrokerId
    leader: int | None
    leader_epoch: int | None
    isr: tuple[BrokerId, ...] | None
    controller_epoch: ControllerEpoch | None
    zk_version: int | None
    is_first: bool = False


class At(msgspec.Struct, frozen=True):
    """A message with its time and place."""

    t_ms: int
    place: Place
    says: Message


class Span(msgspec.Struct):
    """When a controller wrote its first and its last line with an epoch, over all files."""

    controller: BrokerId
    first: At
    last: At


class Gathered:
    """All evidence, by what it is about.

    Attributes:
        states: of each partition, in no order.
        others: messages about brokers, topics and reasons, by their type.
        roles: brokers that became leader or follower.
        tried: the last change of an ISR that each leader set out to make.
        spans: by controller epoch.
        owners: file -> the brokers that it names as those it is of, with how many lines.
    """

    def __init__(self) -> None:
        self.states: dict[TopicPartition, list[Evidence]] = defaultdict(list)
        self.others: dict[type[Message], list[At]] = defaultdict(list)
        self.roles: list[At] = []
        self.tried: dict[tuple[TopicPartition, BrokerId], At] = {}
        self.spans: dict[ControllerEpoch, Span] = {}
        self.owners: dict[str, set[BrokerId]] = defaultdict(set)
        self._again: dict[tuple[Kind, TopicPartition, Told], list[Evidence]] = defaultdict(list)

    def take(self, place: Place, t_ms: int, says: Message) -> None:
        """Take in what one line says."""
        owner = owner_of(says)
        if owner is not None:
            self.owners[place.file].add(owner)
        if isinstance(says, WITH_EPOCH):
            self._work(place, t_ms, says)
        match says:
            case ControllerAtWork() | BrokerNamed():
                pass  # that was all
            case StateSeen():
                self._see(place, t_ms, says)
            case PartitionElected() | ReplicaRemoved() | LeaderEpochRaised() | IsrUpdated() | IsrUpdatedByController():
                self._write(place, t_ms, says)
            case IsrChangeTried():
                known = self.tried.get((says.tp, says.broker))
                if known is None or known.t_ms <= t_ms:
                    self.tried[says.tp, says.broker] = At(t_ms, place, says)
            case BecameLeader() | BecameFollower():
                self.roles.append(At(t_ms, place, says))
            case _:
                self.others[type(says)].append(At(t_ms, place, says))

    def _write(self, place: Place, t_ms: int, says: Written) -> None:
        states = self.states[says.tp]
        match says:
            case PartitionElected(controller, epoch, _, before, state):
                is_first = before == "NewPartition"
                states.append(_evidence(Kind.ELECTED, t_ms, place, controller, state, epoch, is_first))
            case ReplicaRemoved(controller, _, tp, _, state):
                self._keep_first(Kind.REMOVED, tp, _evidence(Kind.REMOVED, t_ms, place, controller, state), state)
            case LeaderEpochRaised(controller, _, leader_epoch, version):
                states.append(Evidence(Kind.EPOCH_RAISED, t_ms, place, controller, None, leader_epoch, None, None, version))
            case IsrUpdatedByController(controller, _, state):
                states.append(_evidence(Kind.ISR_UPDATED_BY_CONTROLLER, t_ms, place, controller, state))
            case IsrUpdated(broker, _, isr, version):
                states.append(Evidence(Kind.ISR_UPDATED, t_ms, place, broker, broker, None, isr, None, version))

    def _see(self, place: Place, t_ms: int, says: StateSeen) -> None:
        if says.state.leader != BEING_DELETED:
            found = _evidence(Kind.SEEN, t_ms, place, says.controller, says.state)
            self._keep_first(Kind.SEEN, says.tp, found, says.state)

    def _keep_first(self, kind: Kind, tp: TopicPartition, found: Evidence, state: Told) -> None:
        """Keep evidence that may come again and again; what is within a while of other such counts as one."""
        known = self._again[kind, tp, state]
        for one in reversed(known):
            if abs(one.t_ms - found.t_ms) < A_WHILE_MS:
                if found.t_ms < one.t_ms:
                    one.t_ms, one.place, one.speaker = found.t_ms, found.place, found.speaker
                return
        known.append(found)
        self.states[tp].append(found)

    def _work(self, place: Place, t_ms: int, says: WithEpoch) -> None:
        """Remember when each controller was at work."""
        span = self.spans.get(says.controller_epoch)
        if span is None:
            at = At(t_ms, place, ControllerAtWork(says.controller, says.controller_epoch))
            self.spans[says.controller_epoch] = Span(says.controller, at, at)
        elif t_ms < span.first.t_ms:
            span.first = At(t_ms, place, says)
        elif t_ms > span.last.t_ms:
            span.last = At(t_ms, place, says)


def _evidence(
    kind: Kind,
    t_ms: int,
    place: Place,
    speaker: BrokerId,
    state: Told,
    epoch: ControllerEpoch | None = None,
    is_first: bool = False,
) -> Evidence:
    controller_epoch = state.controller_epoch if epoch is None else epoch
    known = None if controller_epoch is None else ControllerEpoch(controller_epoch)
    return Evidence(
        kind, t_ms, place, speaker, state.leader, state.leader_epoch, state.isr, known, state.zk_version, is_first
    )
