"""A digest of a run for comparison with another run: its settings, its threads of events, its final state and its verdicts.

A run is divided into threads: the decisions about a partition, the contents of a znode, the states of a node. Within a
thread
the order of events is compared; across threads it is accidental. Of an event, only what another run can have in common with
it is compared: no seq, time or cause, no session ids, zxids and offsets. The run is read once, and one entry per event is
kept.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import outage_totals
from kcsim.eventlog.run_record import RunRecord, run_record
from kcsim.scenarios.views.narration.consumer_sentences import MEMBER_ID
from kcsim.scenarios.views.narration.run_facts import FactCollector, RunFacts
from kcsim.scenarios.views.terminal.cluster_snapshot import ClusterSnapshot, cluster_snapshot
from kcsim.scenarios.views.trace.time_point import THE_END
from kcsim.scenarios.views.trace.trace_index import TraceIndex
from kcsim.vocabulary import TopicPartition
from kcsim.zk.capture.write_comparison.content import content

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
"""Decisions of the controller. The node is not compared: the thread of /controller shows which broker is the controller."""
IN_A_THREAD = BY_THE_CONTROLLER | {
    EventKind.ZNODE_CREATED,
    EventKind.ZNODE_CHANGED,
    EventKind.ZNODE_DELETED,
    EventKind.SESSION_CLOSED,
    EventKind.BAD_ZNODE,
    EventKind.ZNODE_QUARANTINED,
    EventKind.ZNODE_RELEASED,
    EventKind.PROCESS_STATE,
    EventKind.BROKER_START_FAILED,
    EventKind.BROKER_REGISTERED,
    EventKind.ELECTION_WON,
    EventKind.CONTROLLER_MOVED,
    EventKind.CONTROLLER_RESIGNED,
    EventKind.CONTROLLER_EVENT_FAILED,
    EventKind.BECAME_LEADER,
    EventKind.BECAME_FOLLOWER,
    EventKind.STAYED_LEADER,
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
"""The kinds of events by which two runs are compared."""
COLUMNS = (
    *("op", "broker_id", "controller_id", "controller_epoch", "leader", "leader_epoch", "isr", "replicas", "brokers"),
    *("generation", "partitions", "state", "step", "fault", "target", "outcome", "error"),
)
"""The columns that are compared, where an event has them."""


class RunOutcome(NamedTuple):
    """Durations and counts of a whole run, by name. Durations are in ms."""

    durations: Mapping[str, int] = MappingProxyType({})
    counts: Mapping[str, int] = MappingProxyType({})


class ThreadEntry(NamedTuple):
    """An event of a thread, reduced to what two runs can have in common; `seq` and `t_ms` identify the event in its run."""

    essence: tuple[object, ...]
    seq: int
    t_ms: int


@dataclass
class RunDigest:
    """The digest of one run.

    Attributes:
        settings: facts from the event of the run's start.
        broker_settings: by Kafka's dotted names.
        names_all_settings: whether `broker_settings` has every setting; of processes of Apache Kafka, and of traces of older
            versions, it has only some or none.
        scenario_text: the text of the scenario; None if the trace does not have it.
        threads: name -> the entries of the thread, in order.
        verdicts: each claim with its outcome, in order.
        outcome: durations and counts of the whole run.
        index: of all events, with their causes.
        end: the cluster at the end of the run.
    """

    settings: dict[str, str] = field(default_factory=dict)
    broker_settings: dict[str, str] = field(default_factory=dict)
    names_all_settings: bool = False
    threads: dict[str, list[ThreadEntry]] = field(default_factory=dict)
    verdicts: list[tuple[str, str]] = field(default_factory=list)
    scenario_text: str | None = None
    outcome: RunOutcome = field(default_factory=RunOutcome)
    index: TraceIndex = field(default_factory=TraceIndex)
    _facts: FactCollector = field(default_factory=FactCollector)
    _end: ClusterSnapshot | None = None
    _owners: dict[str, str] = field(default_factory=dict)  # session id -> node

    @classmethod
    def of(cls, events: Iterable[Event]) -> "RunDigest":
        """Read a run up to its end. Raises: BadTimePointError, if there is no event at all."""
        digest = cls()
        digest._end = cluster_snapshot(digest._watched(events), THE_END)
        digest.outcome = run_outcome(digest._facts.facts())
        return digest

    @property
    def end(self) -> ClusterSnapshot:
        assert self._end is not None
        return self._end

    def chain(self, seq: int) -> list[int]:
        """Return the seqs from the root of an event's causes down to the event."""
        place: int | None = self.index.first_from_seq(seq)
        upwards = []
        while place is not None:
            upwards.append(self.index.seq(place))
            place = self.index.cause(place)
        return upwards[::-1]

    def _watched(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self.index.add(event, 0)
            self._see(event)
            self._facts.see(event)
            yield event

    def _see(self, event: Event) -> None:
        match event.kind:
            case EventKind.RUN_STARTED:
                self._set("scenario", event.scenario)
                self._set("seed", event.seed)
                self._set("zookeeper", event.zookeeper)
                self._set("brokers", event.broker_software)
                self._set_record(run_record(event))
                self.names_all_settings = bool(self.broker_settings) and event.broker_software is None
            case EventKind.PROTECTION_OFF:
                self._set(f"without {event.rule}", "yes")
            case EventKind.EXPECTATION:
                self.verdicts.append((event.rule or "", event.outcome or ""))
            case EventKind.SESSION_STATE:
                self._owners[event.session_id or ""] = event.node
            case kind if kind in IN_A_THREAD:
                thread = self.threads.setdefault(self._thread(event), [])
                thread.append(ThreadEntry(essence(event), event.seq, event.t_ms))
            case _:
                pass

    def _set(self, name: str, value: object) -> None:
        if value is not None:
            self.settings[name] = str(value)

    def _set_record(self, record: RunRecord | None) -> None:
        if record is None:
            return
        for name, value in sorted(record.settings.items()):
            self.broker_settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
        self._set("tickTime of ZooKeeper", f"{record.tick_time_ms} ms")
        self._set("session time-out granted by ZooKeeper", f"{record.session_timeout_ms} ms")
        if record.hardening:
            self._set("hardening", "on")
        for name, version in record.versions.items():
            self._set(f"version of {name}", version)
        if record.source is not None:
            self.scenario_text = record.source.text

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


def run_outcome(facts: RunFacts) -> RunOutcome:
    """Return the durations and counts of a run by which it is compared."""
    durations = {
        "without a working controller": sum(each.length_ms for each in facts.controllers if each.broker is None),
        "with a partition without a working leader": outage_totals(facts.outages, OutageView.CLIENTS).ms,
    }
    counts = {f"records {name}": number for name, number in (facts.records or {}).items()}
    return RunOutcome(durations, {"elections of a controller": facts.elections, **counts})


def essence(event: Event) -> tuple[object, ...]:
    """Return what another run can have in common with an event."""
    who = None if event.kind in BY_THE_CONTROLLER else event.node
    columns = ((name, getattr(event, name)) for name in COLUMNS)
    values = tuple((name, _frozen(value)) for name, value in columns if value is not None)
    return (
        event.kind,
        who,
        event.rule if event.kind is EventKind.LEADER_ELECTION else None,
        None if event.member is None else MEMBER_ID.sub(r"\1", event.member),
        comparable_content(event.path, event.data) if event.data is not None and event.path is not None else None,
        values,
        bool(event.ephemeral) if event.kind is EventKind.ZNODE_CREATED else None,  # other changes do not always have it
    )


def comparable_content(path: str, data: str | None) -> str:
    """Return a znode's content in a form that two runs can have in common."""
    return content(path, data, leave_out=("id",) if path == CLUSTER_ID else ())


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
