"""The facts of a run that its story is made of: a pure fold over the event log.

Beside the cluster's state at the end, these are what failed, who worked as the controller, what was not served or consumed
and for how long, and what became of the writes of former controllers. The clean-up after the end of a run is left out.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.controller_intervals import ControllerInterval, ControllerIntervalTracker
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.outage_view import OutageView
from kcsim.eventlog.outages import Outage, OutageTracker
from kcsim.eventlog.state_changes import PartitionChanged, TopicChanged
from kcsim.scenarios.views.narration.run_incidents import BROKER_PREFIX, Incident, Incidents
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import paths

FENCE = "controller-epoch-fence"
"""The name of the protection (controller/protections.py)."""
CONTROLLERS_PATHS = (f"{paths.BROKER_TOPICS}/", "/admin/")
FENCE_ERROR = "BADVERSION"
STALE_EPOCH = "STALE_CONTROLLER_EPOCH"
LONG_WAIT_MS = 200
"""A new partition that waits longer for its first leader is worth a word."""


@dataclass(frozen=True, slots=True)
class LateWrite:
    """The fate of the writes of a broker that was the controller, or of one whose fence was no longer valid.

    Attributes:
        node, epoch: the broker, and the controller epoch under which it wrote.
        fate: fenced, expired (its session ended before they were applied), refused or applied.
        count: how many writes.
        is_in_office: whether /controller still named the broker.
    """

    node: str
    epoch: int
    fate: str
    count: int
    is_in_office: bool


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a story is made of.

    Attributes:
        incidents, preparations: as Incidents describes them.
        faults: how many faults were injected or armed; a fault without an effect is no incident.
        controllers: the intervals with and without a working controller.
        first_elected: the event of the first election that a broker won; None if there was none.
        last_elected: the event of the last one.
        elections: how many elections were won.
        has_failovers: whether the log has the steps of failovers; a log of ZooKeeper has not.
        outages: intervals in which a partition had no working leader, in the clients' view.
        first_leader_waits: new partitions that waited long for their first leader, or never got one -> for how many ms.
        never_led: of these, the ones that never got one.
        rebalances: group -> when its rebalances began.
        is_fenced: whether the writes of controllers are fenced, as they are unless that protection is off.
        late_writes: the fate of the writes of former controllers.
        unanswered: brokers that were the controller and had begun a write that ZooKeeper neither applied nor answered.
        stale_requests: node -> how many of its requests brokers refused because its controller epoch was too low.
        failed_events: controller events whose processing failed: (event, error) -> how often.
        records: the sums of the counts of all ledgers; None if no records were counted.
        acknowledged: number of records that producers know to be acknowledged.
        leaders_before: partition -> its leader when the first incident happened.
        replicas_before: partition -> its replicas at that moment.
        deleted, ever_deleted: topics that do not exist any more, and all that were deleted at some time.
        state: the cluster at the end.
        end_ms: the time of the last event.
        first_seq: the seq of the first event.
    """

    incidents: tuple[Incident, ...]
    preparations: tuple[Incident, ...]
    faults: int
    controllers: tuple[ControllerInterval, ...]
    first_elected: Event | None
    last_elected: Event | None
    elections: int
    has_failovers: bool
    outages: tuple[Outage, ...]
    first_leader_waits: dict[TopicPartition, int]
    never_led: frozenset[TopicPartition]
    rebalances: dict[str, list[int]]
    is_fenced: bool
    late_writes: tuple[LateWrite, ...]
    unanswered: tuple[str, ...]
    stale_requests: dict[str, int]
    failed_events: dict[tuple[str, str], int]
    records: dict[str, int] | None
    acknowledged: int
    leaders_before: dict[TopicPartition, int | None]
    replicas_before: dict[TopicPartition, tuple[int, ...]]
    deleted: tuple[str, ...]
    ever_deleted: frozenset[str]
    state: ClusterState
    end_ms: int
    first_seq: int


@dataclass
class FactCollector:
    """Collects the facts of one run. Pass every event to `see`, in order."""

    _state: ClusterState = field(default_factory=ClusterState)
    _is_over: bool = False
    _is_fenced: bool = True
    _first: Event | None = None
    _last: Event | None = None
    _first_elected: Event | None = None
    _last_elected: Event | None = None
    _elections: int = 0
    _has_failovers: bool = False
    _late: Counter[tuple[str, int, str, bool]] = field(default_factory=Counter)
    _writes: dict[int, tuple[str, int]] = field(default_factory=dict)  # seq of a ZkWrite or a lost answer -> writer, epoch
    _reached: set[int] = field(default_factory=set)  # of these, the writes that ZooKeeper has applied
    _stale: Counter[str] = field(default_factory=Counter)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    _records: Counter[str] = field(default_factory=Counter)
    _has_ledger: bool = False
    _acknowledged: int = 0
    _leaders_before: dict[TopicPartition, int | None] | None = None
    _replicas_before: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    _deleted: dict[str, None] = field(default_factory=dict)
    _unled_since: dict[TopicPartition, int] = field(default_factory=dict)  # new partitions without a first leader
    _waits: dict[TopicPartition, int] = field(default_factory=dict)
    _rebalances: dict[str, list[int]] = field(default_factory=dict)
    _begins_ms: int = 0

    def __post_init__(self) -> None:
        self._incidents = Incidents(self._state)
        self._controllers = ControllerIntervalTracker(self._state)
        self._outages = OutageTracker(self._state)

    def see(self, event: Event) -> None:
        """Apply one event."""
        if self._is_over:
            return
        if self._first is None:
            self._first = event
        self._last = event
        self._is_over = event.kind is EventKind.RUN_ENDED
        self._incidents.see(event)
        if self._incidents.found and self._leaders_before is None:
            self._leaders_before, self._replicas_before = self._present_leaders()
        self._outages.advance_to(event.t_ms)
        self._state.apply(event)
        self._outages.follow_changes()
        self._controllers.look(event)
        self._see_topics(event.t_ms)
        self._count(event)

    def begin_here(self) -> None:
        """Leave out what has happened so far: it has brought the cluster into the state in which the story begins."""
        self._incidents = Incidents(self._state)
        self._leaders_before, self._replicas_before = None, {}
        self._first, self._first_elected, self._last_elected, self._elections = None, None, None, 0
        self._waits.clear()
        self._begins_ms = self._last.t_ms if self._last else 0

    def _present_leaders(self) -> tuple[dict[TopicPartition, int | None], dict[TopicPartition, tuple[int, ...]]]:
        """Return the leader and the replicas of each partition."""
        topics = self._state.of_topics
        assignments = {partition: topics.assignment(partition) for partition in topics.partitions()}
        replicas: dict[TopicPartition, tuple[int, ...]] = {
            partition: of.replicas if of else () for partition, of in assignments.items()
        }
        return {partition: topics.leader(partition) for partition in assignments}, replicas

    def _see_topics(self, t_ms: int) -> None:
        for change in self._state.changes:
            match change:
                case TopicChanged(topic, before, after):
                    if after is None and before is not None:
                        self._deleted[topic] = None
                    old, new = (set(known.assignments) if known else set() for known in (before, after))
                    for number in sorted(new - old):
                        self._unled_since[TopicPartition(topic, number)] = t_ms
                    for number in old - new:
                        self._unled_since.pop(TopicPartition(topic, number), None)
                case PartitionChanged(partition, _, after, is_new) if after is not None:
                    leader = after.leader_and_isr.leader
                    if is_new and self._leaders_before is not None:
                        self._leaders_before.setdefault(partition, leader)
                    since = self._unled_since.pop(partition, None) if leader is not None else None
                    if since is not None and t_ms - since >= LONG_WAIT_MS:
                        self._waits[partition] = t_ms - since
                case _:
                    pass

    def _count(self, event: Event) -> None:
        match event.kind:
            case EventKind.PROTECTION_OFF if event.rule == FENCE:
                self._is_fenced = False
            case EventKind.ELECTION_WON:
                self._elections += 1
                self._first_elected = self._first_elected or event
                self._last_elected = event
            case EventKind.CONTROLLER_FAILOVER:
                self._has_failovers = True
            case EventKind.ZNODE_CREATED | EventKind.ZNODE_CHANGED | EventKind.ZNODE_DELETED if event.cause in self._writes:
                self._reached.add(event.cause or -1)
            case EventKind.ZK_WRITE | EventKind.ZK_WRITE_APPLIED | EventKind.ZK_WRITE_REFUSED:
                self._see_write(event)
            case EventKind.REQUEST_REFUSED if event.error == STALE_EPOCH and event.controller_id is not None:
                self._stale[f"{BROKER_PREFIX}{event.controller_id}"] += 1
            case EventKind.CONTROLLER_EVENT_FAILED if event.error not in (None, "ZooKeeperClientExpiredError"):
                self._failed[event.event or "an election or failover", event.error or ""] += 1
            case EventKind.GROUP_REBALANCE:
                self._rebalances.setdefault(event.group or "", []).append(event.t_ms)
            case EventKind.LEDGER:
                self._has_ledger = True
                self._records.update(json.loads(event.data or "{}"))
            case EventKind.RECORDS_ACKNOWLEDGED:
                self._acknowledged += event.count or 0
            case _:
                pass

    def _see_write(self, event: Event) -> None:
        """Follow a controller's write to its outcome; an attempt without an answer may be followed by another."""
        if event.kind is EventKind.ZK_WRITE:
            if event.node in self._state.roles and self._is_of_controller(event):
                self._writes[event.seq] = event.node, self._state.roles[event.node]
            return
        self._reached.discard(event.cause or -1)
        writer = self._writes.pop(event.cause or -1, None)
        if writer is None:
            return
        node, epoch = writer
        if event.kind is EventKind.ZK_WRITE_REFUSED and event.outcome == "unknown" and event.error == "CONNECTIONLOSS":
            self._writes[event.seq] = writer
            return
        is_in_office = f"{BROKER_PREFIX}{self._state.controller_id}" == node
        if event.kind is EventKind.ZK_WRITE_APPLIED:
            if not is_in_office and self._state.controller_id is not None:
                self._late[node, epoch, "applied", False] += 1
        elif event.error == FENCE_ERROR and event.op == "check":
            self._late[node, epoch, "fenced", is_in_office] += 1
        elif event.error == "SESSIONEXPIRED":
            self._late[node, epoch, "expired", is_in_office] += 1
        elif not is_in_office and self._state.controller_id is not None:
            self._late[node, epoch, "refused", False] += 1

    def _is_of_controller(self, write: Event) -> bool:
        """Return whether a broker that has the role writes as the controller.

        Without the fence, a controller's write to a partition's state looks like one of the leader, and does not count.
        """
        if self._is_fenced:
            return write.controller_epoch_zk_version is not None
        path = write.path or ""
        return path.startswith(CONTROLLERS_PATHS) and not (write.op == "set" and path.endswith("/state"))

    def _unanswered(self) -> tuple[str, ...]:
        """Return the former controllers with a write that was neither applied nor answered."""
        pending = {node for seq, (node, _) in self._writes.items() if seq not in self._reached}
        return tuple(sorted(pending - self._state.roles.keys()))

    def facts(self) -> RunFacts:
        """Return the facts of all events so far; more events may follow."""
        topics = self._state.of_topics
        leaders_before, replicas_before = self._leaders_before, self._replicas_before
        if leaders_before is None:
            leaders_before, replicas_before = self._present_leaders()
        end_ms = self._last.t_ms if self._last else 0
        never_led = {p: end_ms - since for p, since in self._unled_since.items() if end_ms - since >= LONG_WAIT_MS}
        return RunFacts(
            incidents=tuple(self._incidents.found),
            preparations=tuple(self._incidents.preparations),
            faults=self._incidents.faults,
            controllers=tuple(interval for interval in self._controllers.so_far() if interval.until_ms > self._begins_ms),
            first_elected=self._first_elected,
            last_elected=self._last_elected,
            elections=self._elections,
            has_failovers=self._has_failovers,
            outages=tuple(
                outage
                for outage in self._outages.so_far().outages
                if outage.view == OutageView.CLIENTS and outage.until_ms > self._begins_ms
            ),
            first_leader_waits=self._waits | never_led,
            never_led=frozenset(never_led),
            rebalances=self._rebalances,
            is_fenced=self._is_fenced,
            late_writes=tuple(LateWrite(*key[:3], count, key[3]) for key, count in self._late.items()),
            unanswered=self._unanswered(),
            stale_requests=dict(self._stale),
            failed_events=dict(self._failed),
            records=dict(self._records) if self._has_ledger else None,
            acknowledged=self._acknowledged,
            leaders_before=leaders_before,
            replicas_before=replicas_before,
            deleted=tuple(topic for topic in self._deleted if topic not in topics.topics),
            ever_deleted=frozenset(self._deleted),
            state=self._state,
            end_ms=end_ms,
            first_seq=self._first.seq if self._first else 0,
        )


def facts_of(events: Iterable[Event]) -> RunFacts:
    """Return the facts of a whole run."""
    collector = FactCollector()
    for event in events:
        collector.see(event)
    return collector.facts()
