"""One partition as a broker that has a replica of it sees it: its role, the epochs, its log and, if it leads, its followers.

Source: Kafka 2.8, Partition and Replica; reference requests.md 4.3, 5, 6.2, 6.3.
"""

from dataclasses import dataclass, field
from enum import Enum

from kcsim.brokers.high_watermark import next_high_watermark
from kcsim.brokers.replica_log import ReplicaLog
from kcsim.brokers.writer_states import WriterStates
from kcsim.controller.decisions.hash_order import set_order
from kcsim.controller.requests import LeaderAndIsrPartitionState
from kcsim.zk.ports import Promise
from kcsim.zk.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)

UNKNOWN_LEADER_EPOCH = LeaderEpoch(-1)
"""Of a partition about which no LeaderAndIsr was accepted since the process started: any epoch is greater."""
UNKNOWN_OFFSET = -1
NEVER_MS = -(2**62)
"""When a follower last was where it never was. Not 0: that is when the run begins, which may be only a moment ago."""
NEVER_READ = ZkVersion(0)
NOBODY_DECIDED = ControllerEpoch(0)
NO_REPLICAS = ReplicaAssignment(())


class Role(Enum):
    """What a replica was told to be."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(slots=True)
class FollowerState:
    """A follower as its leader knows it. Times in ms of the run.

    Attributes:
        log_end_offset: where its last fetch stood; UNKNOWN_OFFSET before its first to this leader.
        last_caught_up_ms: when it last stood at the leader's log end; NEVER_MS if it never did.
        last_fetch_ms, leader_end_at_last_fetch: when it last fetched, and the leader's log end offset then.
    """

    log_end_offset: int
    last_caught_up_ms: int
    last_fetch_ms: int
    leader_end_at_last_fetch: int

    def record_fetch(self, offset: int, leader_end: int, now_ms: int) -> None:
        """It fetches at `offset`, now, when the leader's log ends at `leader_end`."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.leader_end_at_last_fetch:
            # It has all that there was when it fetched last: then it is as far behind as that fetch is long ago, no more.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset, self.leader_end_at_last_fetch, self.last_fetch_ms = offset, leader_end, now_ms


@dataclass(slots=True)
class Partition:
    """A partition of which this broker has a replica.

    Attributes:
        controller_epoch: of the controller that made the last decision accepted; what an ISR write carries.
        isr: while leader; empty on a follower.
        log: None until the broker was first told to lead or follow, since its process started.
        followers: while leader: every other replica of the assignment.
        known_writers: while leader, and once one has written: what is known of them.
        isr_write: an ISR write under way; everything else that would change the partition waits for it.
        pending_isr: that is being written, or could not be: then none is tried before the controller's next decision.
    """

    tp: TopicPartition
    broker_id: BrokerId
    role: Role = Role.NONE
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    zk_version: ZkVersion = NEVER_READ
    controller_epoch: ControllerEpoch = NOBODY_DECIDED
    assignment: ReplicaAssignment = NO_REPLICAS
    isr: tuple[BrokerId, ...] = ()
    log: ReplicaLog | None = None
    leader_epoch_start_offset: int | None = None
    followers: dict[BrokerId, FollowerState] = field(default_factory=dict)
    known_writers: WriterStates | None = None
    isr_write: "Promise[None] | None" = None
    pending_isr: tuple[BrokerId, ...] | None = None

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    @property
    def is_isr_change_pending(self) -> bool:
        return self.pending_isr is not None

    @property
    def written_log(self) -> ReplicaLog:
        """The log of a partition that leads or follows."""
        assert self.log is not None, f"{self.tp} has no log"
        return self.log

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset if self.log is not None else 0

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark if self.log is not None else 0

    @property
    def writers(self) -> WriterStates:
        """While leader: what is known of those whose records are appended."""
        if self.known_writers is None:
            self.known_writers = WriterStates()
        return self.known_writers

    def become_leader(self, told: LeaderAndIsrPartitionState, now_ms: int) -> bool:
        """Lead, as told; returns whether it led not before. Its log is there by now, and is not cut."""
        was_leader = self.is_leader
        self._take(told)
        self.role, self.leader = Role.LEADER, self.broker_id
        self.isr = set_order(told.state.leader_and_isr.isr)
        self.leader_epoch_start_offset = self.log_end_offset
        self.written_log.epochs.assign(self.leader_epoch, self.log_end_offset)
        others = [b for b in dict.fromkeys(told.assignment.replicas) if b != self.broker_id]
        known = self.followers if was_leader else {}
        self.followers = {
            b: FollowerState(
                log_end_offset=known[b].log_end_offset if b in known else UNKNOWN_OFFSET,
                last_caught_up_ms=now_ms if b in self.isr else NEVER_MS,
                last_fetch_ms=now_ms,
                leader_end_at_last_fetch=self.log_end_offset,
            )
            for b in others
        }
        return not was_leader

    def become_follower(self, told: LeaderAndIsrPartitionState) -> None:
        """Follow, as told. The leader's ISR is not this broker's business."""
        self._take(told)
        self.role, self.leader = Role.FOLLOWER, told.state.leader_and_isr.leader
        self.isr, self.leader_epoch_start_offset = (), None
        self.followers = {}

    def _take(self, told: LeaderAndIsrPartitionState) -> None:
        self.assignment = told.assignment
        self.controller_epoch = told.state.controller_epoch
        self.leader_epoch = told.state.leader_and_isr.leader_epoch
        self.zk_version = told.state.leader_and_isr.zk_version
        self.pending_isr = None
        self.known_writers = None  # as a follower it may have lost records, or got some

    def is_caught_up(self, follower: BrokerId) -> bool:
        """Whether a follower is where a member of the ISR must be: past all that is committed, and into this epoch."""
        end = self.followers[follower].log_end_offset
        return end >= self.high_watermark and end >= (self.leader_epoch_start_offset or 0)

    def may_join_isr(self, follower: BrokerId) -> bool:
        """Whether the leader is to add a follower to the ISR now."""
        return (
            self.is_leader
            and not self.is_isr_change_pending
            and follower in self.followers
            and follower not in self.isr
            and self.is_caught_up(follower)
        )

    def advance_high_watermark(self, now_ms: int, max_lag_ms: int) -> bool:
        """Commit what has come to be replicated enough; returns whether anything has."""
        log = self.written_log
        maximal_isr = {*self.isr, *(self.pending_isr or ())}
        new = next_high_watermark(log.high_watermark, log.log_end_offset, maximal_isr, self.followers, now_ms, max_lag_ms)
        has_moved = new != log.high_watermark
        log.high_watermark = new
        return has_moved

    def state_with_isr(self, isr: tuple[BrokerId, ...]) -> PartitionState:
        """What the leader writes when it changes the ISR: everything else stays as the controller decided it."""
        assert self.is_leader
        decided = LeaderAndIsr(self.broker_id, self.leader_epoch, isr, self.zk_version)
        return PartitionState(decided, self.controller_epoch)
