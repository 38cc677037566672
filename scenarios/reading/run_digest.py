"""What a run comes to when it is held against another: its settings, who did what where, how it ended, and its verdicts.

A run is a bundle of threads: what was decided on a partition, what was in a znode, what became of a node. Within a thread
the order counts; across threads it is chance. Of an event only that counts which another run could have in common with it:
neither seq, time nor cause, no session ids, zxids and offsets. It is read once, and of its events a line each is kept.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kcsim.scenarios.comparing.content import content
from kcsim.scenarios.reading.cluster_at import ClusterAt, cluster_at
from kcsim.scenarios.reading.moments import THE_END
from kcsim.scenarios.reporting.survey import Survey
from kcsim.scenarios.telling.consumer_sentences import MEMBER_ID
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import TopicPartition

THE_CONTROLLER = "the controller"
CLUSTER_ID = "/cluster/id"
SEQUENTIAL = re.compile(r"\d{10}$")

BY_THE_CONTROLLER = frozenset(
    {
        EventKind.BROKER_CHANGE,
        EventKind.TOPIC_CHANGE,
        EventKind.STATE_CHANGE_FAILED,
        EventKind.LEADER_ELECTION,
        EventKind.REPLICA_REMOVED_FROM_ISR,
        EventKind.LEADER_EPOCH_BUMPED,
        EventKind.PARTITION_REASSIGNMENT,
        EventKind.TOPIC_DELETION,
        EventKind.CONTROLLED_SHUTDOWN,
        EventKind.LEADER_REBALANCE,
    }
)
"""Decisions of whoever holds the role: who that is, is told where it is won."""
IN_A_THREAD = BY_THE_CONTROLLER | {
    EventKind.ZNODE_CREATED,
    EventKind.ZNODE_CHANGED,
    EventKind.ZNODE_DELETED,
    EventKind.SESSION_CLOSED,
    EventKind.BAD_ZNODE,
    EventKind.PROCESS_STATE,
    EventKind.BROKER_START_FAILED,
    EventKind.BROKER_REGISTERED,
    EventKind.ELECTION_WON,
    EventKind.CONTROLLER_MOVED,
    EventKind.CONTROLLER_RESIGNED,
    EventKind.CONTROLLER_EVENT_FAILED,
    EventKind.BECAME_LEADER,
    EventKind.BECAME_FOLLOWER,
    EventKind.REPLICA_STOPPED,
    EventKind.ISR_EXPANDED,
    EventKind.ISR_SHRUNK,
    EventKind.ISR_CHANGE_FAILED,
    EventKind.LOG_DIR_FAILED,
    EventKind.RECORDS_TRUNCATED,
    EventKind.GROUP_MEMBER_JOINED,
    EventKind.GROUP_MEMBER_REMOVED,
    EventKind.GROUP_GENERATION,
    EventKind.GROUP_STABLE,
    EventKind.PARTITIONS_ASSIGNED,
    EventKind.PARTITIONS_REVOKED,
    EventKind.PARTITIONS_LOST,
    EventKind.FAULT,
    EventKind.FAULT_CONFIRMED,
    EventKind.ADMIN_ACT,
    EventKind.STEP_SKIPPED,
}
"""What two runs are compared by."""
COLUMNS = (
    *("op", "broker_id", "controller_id", "controller_epoch", "leader", "leader_epoch", "isr", "replicas", "brokers"),
    *("generation", "partitions", "state", "step", "fault", "target", "outcome", "error", "ephemeral"),
)
"""Of these each counts, where an event has it."""


class Deed(NamedTuple):
    """An event of a thread, less what no two runs have in common; `seq` and `t_ms` are where it is to be found."""

    essence: tuple[object, ...]
    seq: int
    t_ms: int


@dataclass
class RunDigest:
    """One run.

    Attributes:
        settings: what was said of it when it began.
        threads: name -> what happened there, in order.
        verdicts: each claim with its outcome, in order.
        places: of all events, with their causes.
        end: the cluster as the run left it.
    """

    settings: dict[str, str] = field(default_factory=dict)
    threads: dict[str, list[Deed]] = field(default_factory=dict)
    verdicts: list[tuple[str, str]] = field(default_factory=list)
    places: Survey = field(default_factory=Survey)
    _end: ClusterAt | None = None
    _owners: dict[str, str] = field(default_factory=dict)  # session id -> node

    @classmethod
    def of(cls, events: Iterable[Event]) -> "RunDigest":
        """Read a run up to its end. Raises: BadMomentError, if there is no event at all."""
        digest = cls()
        digest._end = cluster_at(digest._watched(events), THE_END)
        return digest

    @property
    def end(self) -> ClusterAt:
        assert self._end is not None
        return self._end

    def chain(self, seq: int) -> list[int]:
        """The seqs from the root of an event's causes down to it."""
        place: int | None = self.places.first_from_seq(seq)
        upwards = []
        while place is not None:
            upwards.append(self.places.seq(place))
            place = self.places.cause(place)
        return upwards[::-1]

    def _watched(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self.places.add(event, 0)
            self._see(event)
            yield event

    def _see(self, event: Event) -> None:
        match event.kind:
            case EventKind.RUN_STARTED:
                self._set("scenario", event.scenario)
                self._set("seed", event.seed)
                self._set("details", event.detail)
            case EventKind.PROTECTION_OFF:
                self._set(f"without {event.rule}", "yes")
            case EventKind.EXPECTATION:
                self.verdicts.append((event.rule or "", event.outcome or ""))
            case EventKind.SESSION_STATE:
                self._owners[event.session_id or ""] = event.node
            case kind if kind in IN_A_THREAD:
                deeds = self.threads.setdefault(self._thread(event), [])
                deeds.append(Deed(essence(event), event.seq, event.t_ms))
            case _:
                pass

    def _set(self, name: str, value: object) -> None:
        if value is not None:
            self.settings[name] = str(value)

    def _thread(self, event: Event) -> str:
        if event.topic is not None:
            return event.topic if event.partition is None else str(TopicPartition(event.topic, event.partition))
        if event.kind is EventKind.SESSION_CLOSED:
            return self._owners.get(event.session_id or "", "sessions")
        if event.path is not None:
            return SEQUENTIAL.sub("N", event.path)
        if event.kind in BY_THE_CONTROLLER or event.kind is EventKind.ELECTION_WON:
            return THE_CONTROLLER
        return f"group {event.group}" if event.group is not None and event.node.startswith("broker-") else event.node


def essence(event: Event) -> tuple[object, ...]:
    """What of an event another run could have in common with it."""
    who = None if event.kind in BY_THE_CONTROLLER else event.node
    columns = ((name, getattr(event, name)) for name in COLUMNS)
    told = tuple((name, _frozen(value)) for name, value in columns if value is not None)
    return (
        event.kind,
        who,
        event.rule if event.kind is EventKind.LEADER_ELECTION else None,
        None if event.member is None else MEMBER_ID.sub(r"\1", event.member),
        says(event.path, event.data) if event.data is not None and event.path is not None else None,
        told,
    )


def says(path: str, data: str | None) -> str:
    """A znode's content, as two runs can have it in common."""
    return content(path, data, leave_out=("id",) if path == CLUSTER_ID else ())


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
