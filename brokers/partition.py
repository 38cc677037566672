"""One partition as a broker that has a replica of it sees it: its role, the epochs, and, if it leads, its followers.

Left out until logs hold records: the high watermark's advance, the leader epoch cache, truncation. Log end offsets are here
already, and are 0.

Source: Kafka 2.8, Partition and Replica; reference requests.md 4.3, 5.
"""

from dataclasses import dataclass, field
from enum import Enum

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
        last_caught_up_ms: when it last stood at the leader's log end; 0 if never.
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
        followers: while leader: every other replica of the assignment.
        isr_write: an ISR write under way; everything else that would change the partition waits for it.
        is_isr_change_pending: an ISR write has failed: none is tried again before the controller's next decision.
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
    log_end_offset: int = 0
    high_watermark: int = 0
    leader_epoch_start_offset: int | None = None
    followers: dict[BrokerId, FollowerState] = field(default_factory=dict)
    isr_write: "Promise[None] | None" = None
    is_isr_change_pending: bool = False

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    def become_leader(self, told: LeaderAndIsrPartitionState, now_ms: int) -> bool:
        """Lead, as told; returns whether it led not before."""
        was_leader = self.is_leader
        self._take(told)
        self.role, self.leader = Role.LEADER, self.broker_id
        self.isr = set_order(told.state.leader_and_isr.isr)
        self.leader_epoch_start_offset = self.log_end_offset
        others = [b for b in dict.fromkeys(told.assignment.replicas) if b != self.broker_id]
        known = self.followers if was_leader else {}
        self.followers = {
            b: FollowerState(
                log_end_offset=known[b].log_end_offset if b in known else UNKNOWN_OFFSET,
                last_caught_up_ms=now_ms if b in self.isr else 0,
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
        self.is_isr_change_pending = False

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

    def state_with_isr(self, isr: tuple[BrokerId, ...]) -> PartitionState:
        """What the leader writes when it changes the ISR: everything else stays as the controller decided it."""
        assert self.is_leader
        decided = LeaderAndIsr(self.broker_id, self.leader_epoch, isr, self.zk_version)
        return PartitionState(decided, self.controller_epoch)
