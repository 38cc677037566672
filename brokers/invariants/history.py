"""The state that invariants are checked against: one fold over the event log, updated by each event, which they all share.

It holds the cluster as of the latest event, what that event has changed, and the past facts that an invariant needs. If the
brokers of the run can be inspected, it also gives access to them and holds the high watermarks that were observed there.

Left out: requests for so many partitions that the event log describes them in one event; and, if brokers cannot be
inspected, what a broker believes after one of its log directories has failed: that event does not name the partitions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kcsim.brokers.broker import Broker
from kcsim.brokers.invariants.allowed_data_loss import AllowedDataLoss
from kcsim.brokers.invariants.high_watermarks import (
    HIGH_WATERMARK_CHANGES,
    REPORTED_BY_CLIENTS,
    HighWatermarkObservation,
    HighWatermarkTracker,
)
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.eventlog.cluster_state import ENDED, ClusterState
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.eventlog.state_changes import (
    ControllerEpochChanged,
    PartitionChanged,
    ProcessChanged,
    StateChange,
    TopicChanged,
    TopicDeletionChanged,
)
from kcsim.vocabulary import NO_LEADER, BrokerId, PartitionState, TopicPartition, TopicState
from kcsim.znodes import paths

REASONS_TO_ELECT = frozenset(
    {
        EventKind.FAULT,
        EventKind.FAULT_CONFIRMED,
        EventKind.ADMIN_ACT,
        EventKind.PROCESS_STATE,
        EventKind.SESSION_CREATED,
        EventKind.SESSION_CLOSED,
        EventKind.SESSION_STATE,
    }
)
"""An action or a fault is applied to the cluster, or a process or a session changes."""


class InspectableCluster(Protocol):
    """A cluster whose brokers can be inspected."""

    @property
    def broker_names(self) -> tuple[str, ...]: ...
    def broker(self, name: str) -> Broker:
        """Return the running broker of that name. Call this only while the broker runs."""
        ...

    def replica_logs(self, tp: TopicPartition) -> Mapping[BrokerId, ReplicaLog]:
        """Return the logs of a partition, by the broker on whose disk each log is, whether or not that broker runs."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionStateChange:
    """A written state of a partition. `life` counts the creations of its znode; `before` is None at each creation."""

    event: Event
    tp: TopicPartition
    life: int
    before: PartitionState | None
    after: PartitionState

    def __str__(self) -> str:
        of = self.after.leader_and_isr
        leader = NO_LEADER if of.leader is None else of.leader
        return f"{self.tp} has leader {leader}, leader epoch {of.leader_epoch}, ISR {list(of.isr)}"


class AssignedRole(NamedTuple):
    """The role that the controller gave a broker in a partition, in the present life of the broker's process."""

    is_leader: bool
    leader_epoch: int


class RunHistory:
    """The history of a run up to its latest event.

    Args:
        inside: the cluster, of a run whose brokers can be inspected.
        state: a cluster state that its owner updates with each event before this history sees the event; None: this history
            folds the events itself, from the first one on.

    Attributes:
        event: the latest.
        write, epoch_write, high_watermark: what the latest event has written or moved; None if it has not.
        role_before: the previous role of the event's broker in the event's partition, if the event changes that role.
        winners: controller epoch -> the event by which it was won first.
        leaders: partition and leader epoch -> every leader that a state has named so far.
        first_leaders: partition, life of the partition and leader epoch -> the leader that a state named first.
        hosts: partition -> all brokers that have been replicas of it since it was created.
        fences: seq of a started write -> the version of /controller_epoch that the write depends on.
        epoch_version: the present version of /controller_epoch; None while there is no such znode.
        losses: the partitions of which records may be missing.
        roles: broker -> partition -> the role that the controller gave to the broker.
        unsure: brokers of which a log directory has failed: the events do not say what they lead and follow since then.
        registrations: broker -> how often its process has registered.
        was_frozen: processes that were paused and have not ended since.
        elections_in_a_row: controller elections won since the last fault, action, or change of a process or session.
        last_event: the latest event of the cluster itself, as opposed to actions and faults applied to it.
        is_quiescent: whether nothing happens any more; set by the code that ends the run.
    """

    def __init__(self, inside: InspectableCluster | None = None, state: ClusterState | None = None) -> None:
        self.inside = inside
        self.event: Event | None = None
        self.write: PartitionStateChange | None = None
        self.epoch_write: ControllerEpochChanged | None = None
        self.high_watermark: HighWatermarkObservation | None = None
        self.role_before: AssignedRole | None = None
        self.winners: dict[int, Event] = {}
        self.leaders: dict[tuple[TopicPartition, int], set[BrokerId | None]] = {}
        self.first_leaders: dict[tuple[TopicPartition, int, int], BrokerId | None] = {}
        self.hosts: dict[TopicPartition, set[BrokerId]] = {}
        self.fences: dict[int, int] = {}
        self.epoch_version: int | None = None
        self.losses = AllowedDataLoss()
        self.roles: dict[BrokerId, dict[TopicPartition, AssignedRole]] = {}
        self.unsure: set[BrokerId] = set()
        self.registrations: dict[BrokerId, int] = {}
        self.was_frozen: set[str] = set()
        self.elections_in_a_row = 0
        self.last_event: Event | None = None
        self.is_quiescent = True
        self._is_kept_up = state is not None
        self.state = state if state is not None else ClusterState()
        self._lives: dict[TopicPartition, int] = {}
        self._high_watermarks = HighWatermarkTracker()
        self._births: dict[str, int] = {}
        self._take_over()

    def _take_over(self) -> None:
        """Begin with the present contents of ZooKeeper."""
        self.epoch_version = self._version_of_epoch()
        for tp, state in self.state.of_topics.states.items():
            self._remember_leader(tp, 0, state)
        for topic, assigned in self.state.of_topics.topics.items():
            self._remember_hosts(topic, assigned)

    # --- one more event

    def apply(self, event: Event) -> None:
        """Apply one event."""
        if not self._is_kept_up:
            self.state.apply(event)
        self.event = event
        self.write = self.epoch_write = self.high_watermark = self.role_before = None
        if event.node != SCENARIO:
            self.last_event = event
        kind = event.kind
        if kind in REASONS_TO_ELECT:
            self.elections_in_a_row = 0
        for change in self.state.changes:
            self._apply_change(event, change)
        note = _NOTES.get(kind)
        if note is not None:
            note(self, event)
        if kind in HIGH_WATERMARK_CHANGES and self.inside is not None:
            self._observe_high_watermark(event)

    def _apply_change(self, event: Event, change: StateChange) -> None:
        match change:
            case ControllerEpochChanged():
                self.epoch_version = self._version_of_epoch()
                self.epoch_write = change
            case PartitionChanged():
                self._apply_to_partition(event, change)
            case TopicChanged(topic=topic, after=after):
                self._remember_hosts(topic, after)
            case TopicDeletionChanged(topic=topic):
                self.losses.deleted.add(topic)
            case ProcessChanged(node=node, after=state) if event.kind is EventKind.PROCESS_STATE:
                self._apply_to_process(event, node, state)
            case _:
                pass

    def _version_of_epoch(self) -> int | None:
        znode = self.state.znodes.get(paths.CONTROLLER_EPOCH)
        return znode.zk_version if znode else None

    def _apply_to_partition(self, event: Event, change: PartitionChanged) -> None:
        tp, after = change.partition, change.after
        if change.is_new:
            self._lives[tp] = self._lives.get(tp, 0) + 1
            self.losses.created(tp)
        if after is None:
            return
        life = self._lives.get(tp, 0)
        self.write = PartitionStateChange(event, tp, life, change.before, after)
        self._remember_leader(tp, life, after)
        lost = self.losses.disks.get(tp, ()) if self.inside is not None else ()
        self.losses.written(tp, change.before, after, {broker for broker in lost if not self._has_log(tp, broker)})
        self._high_watermarks.written(tp, after.leader_and_isr.isr)

    def _remember_leader(self, tp: TopicPartition, life: int, state: PartitionState) -> None:
        of = state.leader_and_isr
        self.first_leaders.setdefault((tp, life, of.leader_epoch), of.leader)
        self.leaders.setdefault((tp, of.leader_epoch), set()).add(of.leader)

    def _remember_hosts(self, topic: str, assigned: TopicState | None) -> None:
        if assigned is None:
            self.losses.deleted.add(topic)
            for tp in [tp for tp in self.hosts if tp.topic == topic]:
                del self.hosts[tp]
            return
        for number, assignment in assigned.assignments.items():
            self.hosts.setdefault(TopicPartition(topic, number), set()).update(assignment.replicas)

    def _note_fence(self, event: Event) -> None:
        if event.controller_epoch_zk_version is not None:
            self.fences[event.seq] = event.controller_epoch_zk_version

    def _note_winner(self, event: Event) -> None:
        self.elections_in_a_row += 1
        self.winners.setdefault(event.controller_epoch or 0, event)

    def _note_election(self, event: Event) -> None:
        if (tp := partition_of(event)) is not None:
            self.losses.elected(tp, event)

    def _note_registration(self, event: Event) -> None:
        broker = broker_of(event.node)
        self.registrations[broker] = self.registrations.get(broker, 0) + 1

    def _note_role(self, event: Event) -> None:
        tp = partition_of(event)
        if tp is None:
            return
        roles = self.roles.setdefault(broker_of(event.node), {})
        self.role_before = roles.get(tp)
        if event.kind is not EventKind.REPLICA_STOPPED:
            roles[tp] = AssignedRole(event.kind is EventKind.BECAME_LEADER, event.leader_epoch or 0)
        elif event.deleted:
            roles.pop(tp, None)

    def _apply_to_process(self, event: Event, node: str, state: str) -> None:
        if state in ENDED:
            self._births[node] = event.seq
            self.was_frozen.discard(node)
            if node.startswith("broker-"):
                broker = broker_of(node)
                self.roles.pop(broker, None)
                self.registrations.pop(broker, None)
                self.unsure.discard(broker)
        elif state == "paused":
            self.was_frozen.add(node)

    def _note_lost_disk(self, event: Event) -> None:
        if event.path is None:
            return  # the event is the controller's, which was notified of the failure
        broker = broker_of(event.node)
        self.unsure.add(broker)
        for tp, state in self.state.of_topics.states.items():
            if broker in self.hosts.get(tp, ()) and not self._has_log(tp, broker):
                self.losses.lost_disk(tp, broker, state)

    def _has_log(self, tp: TopicPartition, broker: BrokerId) -> bool:
        return self.inside is not None and broker in self.inside.replica_logs(tp)

    def _observe_high_watermark(self, event: Event) -> None:
        tp, leader = partition_of(event), self._leader_meant(event)
        if tp is None or leader is None:
            return
        name = f"broker-{leader}"
        if self.inside is None or self.state.processes.get(name) != "running" or name not in self.inside.broker_names:
            return
        partition = self.inside.broker(name).replicas.hosted.get(tp)
        if partition is not None and partition.is_leader:
            self.high_watermark = self._high_watermarks.observe(
                partition, (self._lives.get(tp, 0), self._births.get(name, 0))
            )

    def _leader_meant(self, event: Event) -> BrokerId | None:
        if event.kind in REPORTED_BY_CLIENTS:
            return BrokerId(event.leader) if event.leader is not None and event.leader >= 0 else None
        return broker_of(event.node)

    # --- queries

    @property
    def latest(self) -> Event:
        """The latest event. There must have been one."""
        assert self.event is not None, "nothing has happened yet"
        return self.event

    def running(self) -> list[BrokerId]:
        """Return the brokers that are registered and running, in order."""
        processes = self.state.processes
        return [BrokerId(b) for b in self.state.registered if processes.get(f"broker-{b}") == "running"]


_NOTES: Mapping[EventKind, Callable[[RunHistory, Event], None]] = {
    EventKind.ZK_WRITE: RunHistory._note_fence,
    EventKind.BECAME_LEADER: RunHistory._note_role,
    EventKind.BECAME_FOLLOWER: RunHistory._note_role,
    EventKind.REPLICA_STOPPED: RunHistory._note_role,
    EventKind.ELECTION_WON: RunHistory._note_winner,
    EventKind.LEADER_ELECTION: RunHistory._note_election,
    EventKind.LOG_DIR_FAILED: RunHistory._note_lost_disk,
    EventKind.BROKER_REGISTERED: RunHistory._note_registration,
}
"""What the history keeps of an event of a kind beside the changes of the state."""


def state_writes(events: Sequence[Event]) -> Iterator[PartitionStateChange]:
    """Yield every state that a partition's znode ever held, in order. A state that cannot be read is skipped."""
    history = RunHistory()
    for event in events:
        history.apply(event)
        if history.write is not None:
            yield history.write


def partition_of(event: Event) -> TopicPartition | None:
    """Return the partition that an event is about, or None."""
    if event.topic is None or event.partition is None:
        return None
    return TopicPartition(event.topic, event.partition)


def broker_of(node: str) -> BrokerId:
    """Return the id of the broker whose node name is broker-N."""
    return BrokerId(int(node.removeprefix("broker-")))
