"""The cluster as of a moment: everything that was folded up to it, as rows to print.

Each row says what the event log says; what it is silent about is None. An imported trace tells of no processes, for one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.scenarios.consumers.consumption import CONSUMER, by_topic_and_number
from kcsim.scenarios.reading.moments import BadMomentError, Moment, is_over_with
from kcsim.scenarios.reporting.state_changes import BROKER, FAMILIES, MEMBER, StateChanges
from kcsim.scenarios.state import ClusterState
from kcsim.zk.events import Event
from kcsim.zk.vocabulary import NO_LEADER


@dataclass(frozen=True, slots=True)
class BrokerAt:
    """One broker.

    Attributes:
        process: running, paused, stopped or dead.
        broker_epoch: of its registration; None: it is not registered.
        session_id, session_seen: its last session, and what it takes that for: connected, suspended, expired.
        session: open or closed, as the server has it.
        controller_epoch: under which it holds itself for the controller; None: it does not.
    """

    name: str
    process: str | None
    broker_epoch: int | None
    rack: str | None
    session_id: str | None
    session_seen: str | None
    session: str | None
    controller_epoch: int | None

    @property
    def id(self) -> int:
        return int(self.name.removeprefix(BROKER))


@dataclass(frozen=True, slots=True)
class PartitionAt:
    """One partition, as its znodes have it; `leader` and `leader_epoch` are None where nobody leads or no state is."""

    topic: str
    partition: int
    leader: int | None
    leader_epoch: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    is_offline: bool
    is_under_replicated: bool
    is_marked_for_deletion: bool

    @property
    def needs_attention(self) -> bool:
        on_its_way = self.adding_replicas or self.removing_replicas or self.is_marked_for_deletion
        return bool(self.is_offline or self.is_under_replicated or on_its_way)


@dataclass(frozen=True, slots=True)
class GroupAt:
    """One consumer group, as its coordinator told last."""

    group: str
    state: str
    generation: int


@dataclass(frozen=True, slots=True)
class ConsumerAt:
    """One consumer: what it consumes, as it sees it."""

    name: str
    process: str | None
    group: str | None
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterAt:
    """A cluster at a moment.

    Attributes:
        event: the last one that was taken in.
        state: the fold, for whatever the rows do not say.
        controller: who is named in /controller.
        members: servers of ZooKeeper that something was done to: name -> running, paused, stopped or dead.
        metrics: the controller's, summed up; those that are 0 left out.
    """

    event: Event
    state: ClusterState
    controller: int | None
    controller_epoch: int | None
    brokers: tuple[BrokerAt, ...]
    members: Mapping[str, str]
    partitions: tuple[PartitionAt, ...]
    groups: tuple[GroupAt, ...]
    consumers: tuple[ConsumerAt, ...]
    metrics: Mapping[str, int]


def cluster_at(events: Iterable[Event], moment: Moment) -> ClusterAt:
    """Fold a run up to a moment, whose own events belong to it. The end is the end of the run, before it is cleared away.

    Raises: BadMomentError, if the run, as far as it is told, has no such moment.
    """
    changes, first, last = StateChanges(), None, None
    for event in events:
        first = first or event
        if moment.is_before(event):
            break
        changes.apply(event)
        last = event
        if moment.is_the_last(event) or (moment.is_the_end and is_over_with(event)):
            break
    else:
        if last is not None and not moment.is_reached_by(last):
            raise BadMomentError(f"{moment.text} is after the run, whose last event is {_named(last)}")
    if last is None:
        told = f", whose first event is {_named(first)}" if first else ": it has no events"
        raise BadMomentError(f"{moment.text} is before the run{told}")
    return _rows(last, changes)


def _named(event: Event) -> str:
    return f"#{event.seq} at {event.t_ms / 1000:.3f}s"


def _rows(last: Event, changes: StateChanges) -> ClusterAt:
    found: dict[str, dict[str, Any]] = {family: {} for family in FAMILIES}
    for family, name, value in changes.take():
        if value is not None:
            found[family][name] = value
    state, processes = changes.state, found["process"]
    return ClusterAt(
        event=last,
        state=state,
        controller=state.controller_id,
        controller_epoch=state.controller_epoch,
        brokers=_brokers(found),
        members={name: processes[name] for name in sorted(processes) if name.startswith(MEMBER)},
        partitions=tuple(_partition(name, found["partition"][name]) for name in _in_order(found["partition"])),
        groups=tuple(GroupAt(name, *value) for name, value in sorted(found["group"].items())),
        consumers=_consumers(found),
        metrics={name: value for name, value in sorted(found["metric"].items()) if value},
    )


def _brokers(found: Mapping[str, Mapping[str, Any]]) -> tuple[BrokerAt, ...]:
    names = {name for family in ("process", "link", "registered", "role") for name in found[family]}
    brokers = sorted((name for name in names if name.removeprefix(BROKER).isdigit()), key=lambda name: (len(name), name))
    return tuple(_broker(name, found) for name in brokers)


def _broker(name: str, found: Mapping[str, Mapping[str, Any]]) -> BrokerAt:
    broker_epoch, rack = found["registered"].get(name, (None, None))
    session_id, seen, session = found["link"].get(name, (None, None, None))
    process, role = found["process"].get(name), found["role"].get(name)
    return BrokerAt(name, process, broker_epoch, rack, session_id, seen, session, role)


def _in_order(partitions: Iterable[str]) -> list[str]:
    return sorted(partitions, key=by_topic_and_number)


def _partition(name: str, value: list[Any]) -> PartitionAt:
    replicas, leader, epoch, isr, flags, adding, removing = value
    topic, number = by_topic_and_number(name)
    return PartitionAt(
        topic=topic,
        partition=number,
        leader=None if leader == NO_LEADER else leader,
        leader_epoch=epoch,
        isr=tuple(isr),
        replicas=tuple(replicas),
        adding_replicas=tuple(adding),
        removing_replicas=tuple(removing),
        is_offline="o" in flags,
        is_under_replicated="u" in flags,
        is_marked_for_deletion="d" in flags,
    )


def _consumers(found: Mapping[str, Mapping[str, Any]]) -> tuple[ConsumerAt, ...]:
    names = sorted({*found["owned"], *(name for name in found["process"] if name.startswith(CONSUMER))})
    rows = []
    for name in names:
        owned, group = found["owned"].get(name, ((), None))
        rows.append(ConsumerAt(name, found["process"].get(name), group or None, tuple(owned)))
    return tuple(rows)
