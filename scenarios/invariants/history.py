"""What invariants are judged on: a fold over the event log, kept up event by event, that all of them share.

It has the cluster as of the latest event, what that event has changed, and of the past what an invariant has to remember.
Where the brokers of the run can be looked into, it has a way in, and the high watermarks that were seen there.

Left out: requests of so many partitions that the log tells of them in one event; and without a look inside, what a broker
believes after one of its log directories has failed, since its event does not name the partitions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kcsim.brokers.broker import Broker
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.invariants.losses import Losses
from kcsim.scenarios.invariants.marks import MARKS_MOVE, TOLD_BY_CLIENTS, Mark, Marks
from kcsim.scenarios.state import ClusterState
from kcsim.scenarios.topics_state import BELOW_DELETIONS, BELOW_TOPICS
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import NO_LEADER, BrokerId, PartitionState, TopicPartition

TREE_CHANGES = frozenset({EventKind.ZNODE_CREATED, EventKind.ZNODE_CHANGED, EventKind.ZNODE_DELETED})
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
"""Something is done to the cluster, or happens to a process or a session."""
DELETED = "deleted"
"""What ReplicaStopped says of a replica whose log has gone, too."""
ENDED = ("dead", "stopped")


class Inside(Protocol):
    """A cluster whose brokers can be looked into."""

    @property
    def broker_names(self) -> tuple[str, ...]: ...
    def broker(self, name: str) -> Broker:
        """The running broker of that name; to be asked for only while it runs."""
        ...

    def replica_logs(self, tp: TopicPartition) -> Mapping[BrokerId, ReplicaLog]:
        """The logs of a partition, by the broker on whose disk each is, whether or not that broker runs."""
        ...


@dataclass(frozen=True, slots=True)
class StateWrite:
    """A partition's state as it was written. `life` counts the creations of its znode; `before` is None at each of them."""

    event: Event
    tp: TopicPartition
    life: int
    before: PartitionState | None
    after: PartitionState

    def __str__(self) -> str:
        of = self.after.leader_and_isr
        leader = NO_LEADER if of.leader is None else of.leader
        return f"{self.tp} has leader {leader}, leader epoch {of.leader_epoch}, ISR {list(of.isr)}"


class EpochWrite(NamedTuple):
    """/controller_epoch as it was, and as it is; None: gone, or no number."""

    before: int | None
    after: int | None


class RoleHere(NamedTuple):
    """What a broker was told to be in a partition, in the present life of its process."""

    is_leader: bool
    leader_epoch: int


class History:
    """What has happened so far.

    Args:
        inside: of a run whose brokers can be looked into.
        state: kept up by somebody else, who takes each event in first; None: folded here, from the first event on.

    Attributes:
        event: the latest.
        write, epoch_write, mark: what it has written or moved, if it has.
        role_before: what the broker that it is about was in its partition, if it says that this has changed.
        winners: controller epoch -> the event by which it was won first.
        leaders: partition and leader epoch -> who led it by any state so far.
        first_leaders: the same for each life of a partition -> who did so first.
        hosts: partition -> all that have been replicas of it, since it is there.
        fences: seq of a write that was begun -> the version of /controller_epoch that it depends on.
        epoch_version: that version, as it is.
        losses: of which partitions records may be missing.
        roles: broker -> partition -> what it was told to be.
        unsure: brokers of which a log directory has failed: what they lead and follow now is not told.
        registrations: broker -> how often its process has registered.
        was_frozen: processes that were paused, and go on.
        elections_in_a_row: won since anything was last done to the cluster, or has happened to a process or a session.
        last_event: the latest of the cluster itself, and not of whoever does something to it.
        is_at_rest: whether nothing happens any more; said by whoever ends the run.
    """

    def __init__(self, inside: Inside | None = None, state: ClusterState | None = None) -> None:
        self.inside = inside
        self.event: Event | None = None
        self.write: StateWrite | None = None
        self.epoch_write: EpochWrite | None = None
        self.mark: Mark | None = None
        self.role_before: RoleHere | None = None
        self.winners: dict[int, Event] = {}
        self.leaders: dict[tuple[TopicPartition, int], set[BrokerId | None]] = {}
        self.first_leaders: dict[tuple[TopicPartition, int, int], BrokerId | None] = {}
        self.hosts: dict[TopicPartition, set[BrokerId]] = {}
        self.fences: dict[int, int] = {}
        self.epoch_version: int | None = None
        self.losses = Losses()
        self.roles: dict[BrokerId, dict[TopicPartition, RoleHere]] = {}
        self.unsure: set[BrokerId] = set()
        self.registrations: dict[BrokerId, int] = {}
        self.was_frozen: set[str] = set()
        self.elections_in_a_row = 0
        self.last_event: Event | None = None
        self.is_at_rest = True
        self._is_kept_up = state is not None
        self.state = state if state is not None else ClusterState()
        self._states: dict[TopicPartition, PartitionState] = {}
        self._lives: dict[TopicPartition, int] = {}
        self._epoch: int | None = None
        self._marks = Marks()
        self._births: dict[str, int] = {}
        self._take_over()

    def _take_over(self) -> None:
        """Begin with what is in ZooKeeper already."""
        self._epoch = self.state.controller_epoch
        if paths.CONTROLLER_EPOCH in self.state.znodes:
            self.epoch_version = self.state.znodes[paths.CONTROLLER_EPOCH].zk_version
        for tp, state in self.state.of_topics.states.items():
            self._states[tp] = state
            self._remember_leader(tp, 0, state)
        for topic in self.state.of_topics.topics:
            self._remember_hosts(topic)

    # --- one more event

    def apply(self, event: Event) -> None:
        """Take one event in."""
        if not self._is_kept_up:
            self.state.apply(event)
        self.event = event
        self.write = self.epoch_write = self.mark = self.role_before = None
        if event.node != SCENARIO:
            self.last_event = event
        kind = event.kind
        if kind in REASONS_TO_ELECT:
            self.elections_in_a_row = 0
        if kind in TREE_CHANGES:
            self._apply_to_tree(event, event.path or "")
        elif kind is EventKind.ZK_WRITE:
            if event.controller_epoch_zk_version is not None:
                self.fences[event.seq] = event.controller_epoch_zk_version
        elif kind in _ROLE_CHANGES:
            self._apply_to_role(event)
        elif kind is EventKind.PROCESS_STATE:
            self._apply_to_process(event)
        elif kind is EventKind.ELECTION_WON:
            self.elections_in_a_row += 1
            self.winners.setdefault(event.controller_epoch or 0, event)
        elif kind is EventKind.LEADER_ELECTION:
            if (tp := partition_of(event)) is not None:
                self.losses.elected(tp, event)
        elif kind is EventKind.LOG_DIR_FAILED:
            if event.path is not None:  # else it is the controller who has heard of it
                self._apply_lost_disk(broker_of(event.node))
        elif kind is EventKind.BROKER_REGISTERED:
            broker = broker_of(event.node)
            self.registrations[broker] = self.registrations.get(broker, 0) + 1
        if kind in MARKS_MOVE and self.inside is not None:
            self._look_at_mark(event)

    def _apply_to_tree(self, event: Event, path: str) -> None:
        if path == paths.CONTROLLER_EPOCH:
            before, self._epoch = self._epoch, self.state.controller_epoch
            self.epoch_version = event.zk_version if event.kind is EventKind.ZNODE_CHANGED else 0
            self.epoch_write = EpochWrite(before, self._epoch)
        elif path.startswith(BELOW_TOPICS):
            tp = _partition_of_state(path)
            if tp is not None:
                self._apply_to_state(event, tp)
            elif "/" not in path[len(BELOW_TOPICS) :]:
                self._remember_hosts(path[len(BELOW_TOPICS) :])
        elif path.startswith(BELOW_DELETIONS):
            self.losses.deleted.add(path[len(BELOW_DELETIONS) :])

    def _apply_to_state(self, event: Event, tp: TopicPartition) -> None:
        before, after = self._states.pop(tp, None), self.state.of_topics.states.get(tp)
        if event.kind is EventKind.ZNODE_CREATED:
            self._lives[tp] = self._lives.get(tp, 0) + 1
            self.losses.created(tp)
        if after is None:
            return
        self._states[tp] = after
        life = self._lives.get(tp, 0)
        self.write = StateWrite(event, tp, life, before, after)
        self._remember_leader(tp, life, after)
        self.losses.written(tp, after)
        self._marks.written(tp, after.leader_and_isr.isr)

    def _remember_leader(self, tp: TopicPartition, life: int, state: PartitionState) -> None:
        of = state.leader_and_isr
        self.first_leaders.setdefault((tp, life, of.leader_epoch), of.leader)
        self.leaders.setdefault((tp, of.leader_epoch), set()).add(of.leader)

    def _remember_hosts(self, topic: str) -> None:
        found = self.state.of_topics.topics.get(topic)
        if found is None:
            self.losses.deleted.add(topic)
            for tp in [tp for tp in self.hosts if tp.topic == topic]:
                del self.hosts[tp]
            return
        for number, assignment in found.assignments.items():
            self.hosts.setdefault(TopicPartition(topic, number), set()).update(assignment.replicas)

    def _apply_to_role(self, event: Event) -> None:
        tp = partition_of(event)
        if tp is None:
            return
        roles = self.roles.setdefault(broker_of(event.node), {})
        self.role_before = roles.get(tp)
        if event.kind is not EventKind.REPLICA_STOPPED:
            roles[tp] = RoleHere(event.kind is EventKind.BECAME_LEADER, event.leader_epoch or 0)
        elif event.detail == DELETED:
            roles.pop(tp, None)

    def _apply_to_process(self, event: Event) -> None:
        node = event.node
        if event.state in ENDED:
            self._births[node] = event.seq
            self.was_frozen.discard(node)
            if node.startswith("broker-"):
                broker = broker_of(node)
                self.roles.pop(broker, None)
                self.registrations.pop(broker, None)
                self.unsure.discard(broker)
        elif event.state == "paused":
            self.was_frozen.add(node)

    def _apply_lost_disk(self, broker: BrokerId) -> None:
        self.unsure.add(broker)
        for tp, state in self._states.items():
            if not self._has_log(tp, broker):
                self.losses.lost_disk(tp, broker, state)

    def _has_log(self, tp: TopicPartition, broker: BrokerId) -> bool:
        return self.inside is not None and broker in self.inside.replica_logs(tp)

    def _look_at_mark(self, event: Event) -> None:
        tp, leader = partition_of(event), self._leader_meant(event)
        if tp is None or leader is None:
            return
        name = f"broker-{leader}"
        if self.inside is None or self.state.processes.get(name) != "running" or name not in self.inside.broker_names:
            return
        partition = self.inside.broker(name).replicas.hosted.get(tp)
        if partition is not None and partition.is_leader:
            self.mark = self._marks.look(partition, (self._lives.get(tp, 0), self._births.get(name, 0)))

    def _leader_meant(self, event: Event) -> BrokerId | None:
        if event.kind in TOLD_BY_CLIENTS:
            return BrokerId(event.leader) if event.leader is not None and event.leader >= 0 else None
        return broker_of(event.node)

    # --- looks

    @property
    def latest(self) -> Event:
        """The latest event, of which there must have been one."""
        assert self.event is not None, "nothing has happened yet"
        return self.event

    def running(self) -> list[BrokerId]:
        """Brokers that are registered, and run, in order."""
        processes = self.state.processes
        return [BrokerId(b) for b in self.state.registered if processes.get(f"broker-{b}") == "running"]


_ROLE_CHANGES = frozenset({EventKind.BECAME_LEADER, EventKind.BECAME_FOLLOWER, EventKind.REPLICA_STOPPED})


def state_writes(events: Sequence[Event]) -> Iterator[StateWrite]:
    """Every state that a partition's znode ever held, in order; one that cannot be read is passed over."""
    history = History()
    for event in events:
        history.apply(event)
        if history.write is not None:
            yield history.write


def partition_of(event: Event) -> TopicPartition | None:
    """The partition that an event is about."""
    if event.topic is None or event.partition is None:
        return None
    return TopicPartition(event.topic, event.partition)


def broker_of(node: str) -> BrokerId:
    """The id of broker-N."""
    return BrokerId(int(node.removeprefix("broker-")))


def _partition_of_state(path: str) -> TopicPartition | None:
    if not path.endswith("/state"):
        return None
    known = paths.parse(path)
    return known.topic_partition if known else None
