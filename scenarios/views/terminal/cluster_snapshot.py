"""The cluster as of a point in time, as rows to print.

Each row has what the event log contains; what the log does not contain is None. An imported trace, for example, has no
process states.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.consumption import CONSUMER_PREFIX, by_topic_and_number
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.trace.entity_feed import BROKER, ENTITY_TYPES, MEMBER, EntityFeed
from kcsim.scenarios.views.trace.time_point import BadTimePointError, TimePoint, ends_run
from kcsim.vocabulary import NO_LEADER

NOT_REGISTERED = (None, None)
"""Broker epoch and rack."""


@dataclass(frozen=True, slots=True)
class BrokerSnapshot:
    """One broker.

    Attributes:
        process: running, paused, stopped or dead.
        broker_epoch: of its registration; None: it is not registered.
        session_id, session_seen: its last session, and the session's state as the broker sees it: connected, suspended,
        expired.
        session: open or closed, as the server has it.
        controller_epoch: the epoch under which the broker believes to be the controller; None: it does not.
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
class PartitionSnapshot:
    """One partition, as its znodes have it. `leader` and `leader_epoch` are None if there is no leader or no state znode."""

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
class GroupSnapshot:
    """One consumer group, as last reported by its coordinator."""

    group: str
    state: str
    generation: int


@dataclass(frozen=True, slots=True)
class ConsumerSnapshot:
    """One consumer, with the partitions that it consumes in its own view."""

    name: str
    process: str | None
    group: str | None
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """A cluster at a point in time.

    Attributes:
        event: the last event that was applied.
        state: the cluster state, for facts that the rows do not have.
        controller: the broker named in /controller.
        members: servers of ZooKeeper that were subject to an action: name -> running, paused, stopped or dead.
        metrics: sums of the controller's metrics; those that are 0 are left out.
    """

    event: Event
    state: ClusterState
    controller: int | None
    controller_epoch: int | None
    brokers: tuple[BrokerSnapshot, ...]
    members: Mapping[str, str]
    partitions: tuple[PartitionSnapshot, ...]
    groups: tuple[GroupSnapshot, ...]
    consumers: tuple[ConsumerSnapshot, ...]
    metrics: Mapping[str, int]


class FollowedCluster:
    """A cluster whose events are applied one by one, and whose snapshot can be taken at any time.

    Attributes:
        last: the last event that was applied; None: there was none.
    """

    def __init__(self) -> None:
        self.last: Event | None = None
        self._feed = EntityFeed()
        self._found: dict[str, dict[str, Any]] = {entity_type: {} for entity_type in ENTITY_TYPES}

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self._feed.apply(event)
        self.last = event

    def snapshot(self) -> ClusterSnapshot:
        """Return the cluster as of the last event; there must have been one."""
        assert self.last is not None
        for entity_type, name, value in self._feed.take():
            if value is None and entity_type == "registered":
                self._found[entity_type][name] = NOT_REGISTERED  # it stays in sight
            elif value is None:
                self._found[entity_type].pop(name, None)
            else:
                self._found[entity_type][name] = value
        return _rows(self.last, self._feed.state, self._found)


def cluster_snapshot(events: Iterable[Event], time_point: TimePoint) -> ClusterSnapshot:
    """Compute the cluster's state at a point in time, including events at that time.

    The end is the end of the run, before the clean-up.

    Raises: BadTimePointError, if the run, as far as it is in the log, has no such point in time.
    """
    followed, first = FollowedCluster(), None
    for event in events:
        first = first or event
        if time_point.is_before(event):
            break
        followed.apply(event)
        if time_point.is_the_last(event) or (time_point.is_the_end and ends_run(event)):
            break
    else:
        if followed.last is not None and not time_point.is_reached_by(followed.last):
            raise BadTimePointError(f"{time_point.text} is after the run, whose last event is {_named(followed.last)}")
    if followed.last is None:
        hint = f", whose first event is {_named(first)}" if first else ": it has no events"
        raise BadTimePointError(f"{time_point.text} is before the run{hint}")
    return followed.snapshot()


def _named(event: Event) -> str:
    return f"#{event.seq} at {event.t_ms / 1000:.3f}s"


def _rows(last: Event, state: ClusterState, found: Mapping[str, Mapping[str, Any]]) -> ClusterSnapshot:
    processes = found["process"]
    return ClusterSnapshot(
        event=last,
        state=state,
        controller=state.controller_id,
        controller_epoch=state.controller_epoch,
        brokers=_brokers(found),
        members={name: processes[name] for name in sorted(processes) if name.startswith(MEMBER)},
        partitions=tuple(_partition(name, found["partition"][name]) for name in _in_order(found["partition"])),
        groups=tuple(GroupSnapshot(name, *value) for name, value in sorted(found["group"].items())),
        consumers=_consumers(found),
        metrics={name: value for name, value in sorted(found["metric"].items()) if value},
    )


def _brokers(found: Mapping[str, Mapping[str, Any]]) -> tuple[BrokerSnapshot, ...]:
    names = {name for entity_type in ("process", "link", "registered", "role") for name in found[entity_type]}
    brokers = sorted((name for name in names if name.removeprefix(BROKER).isdigit()), key=lambda name: (len(name), name))
    return tuple(_broker(name, found) for name in brokers)


def _broker(name: str, found: Mapping[str, Mapping[str, Any]]) -> BrokerSnapshot:
    broker_epoch, rack = found["registered"].get(name, NOT_REGISTERED)
    session_id, seen, session = found["link"].get(name, (None, None, None))
    process, role = found["process"].get(name), found["role"].get(name)
    return BrokerSnapshot(name, process, broker_epoch, rack, session_id, seen, session, role)


def _in_order(partitions: Iterable[str]) -> list[str]:
    return sorted(partitions, key=by_topic_and_number)


def _partition(name: str, value: list[Any]) -> PartitionSnapshot:
    replicas, leader, epoch, isr, flags, adding, removing = value
    topic, number = by_topic_and_number(name)
    return PartitionSnapshot(
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


def _consumers(found: Mapping[str, Mapping[str, Any]]) -> tuple[ConsumerSnapshot, ...]:
    names = sorted({*found["owned"], *(name for name in found["process"] if name.startswith(CONSUMER_PREFIX))})
    rows = []
    for name in names:
        owned, group = found["owned"].get(name, ((), None))
        rows.append(ConsumerSnapshot(name, found["process"].get(name), group or None, tuple(owned)))
    return tuple(rows)
