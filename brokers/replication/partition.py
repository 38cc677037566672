"""One partition on a broker that has a replica: its role, its epochs, its log and, on the leader, its followers.

Source: Kafka 2.8, Partition and Replica; docs/kafka/requests.md 4.3, 5, 6.2, 6.3.
"""

from collections.abc import Container
from dataclasses import dataclass, field
from enum import Enum

from kcsim.brokers.log.producer_states import ProducerStateManager
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.replication.high_watermark import next_high_watermark
from kcsim.controller.requests import LeaderAndIsrPartitionState
from kcsim.jvm_hash_order import set_order
from kcsim.runtime.ports import Promise
from kcsim.vocabulary import (
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
"""Leader epoch before the first accepted LeaderAndIsr since the process started: any epoch is greater."""
UNKNOWN_OFFSET = -1
NEVER_MS = -(2**62)
"""last_caught_up_ms of a follower that never was. Not 0: that is the start of the run, which may be only a moment ago."""
NEVER_READ = ZkVersion(0)
NO_CONTROLLER_EPOCH = ControllerEpoch(0)
NO_REPLICAS = ReplicaAssignment(())


class ReplicaRole(Enum):
    """A replica's role by the last accepted LeaderAndIsr."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(slots=True)
class FollowerState:
    """A follower's state on its leader. Times in ms of the run.

    Attributes:
        log_end_offset: the offset of its last fetch; UNKNOWN_OFFSET before its first fetch from this leader.
        last_caught_up_ms: when it was last at the leader's log end; NEVER_MS if it never was.
        last_fetch_ms, leader_end_at_last_fetch: when it last fetched, and the leader's log end offset then.
        log_start_offset: as of its last fetch; UNKNOWN_OFFSET before its first fetch from this leader.
    """

    log_end_offset: int
    last_caught_up_ms: int
    last_fetch_ms: int
    leader_end_at_last_fetch: int
    log_start_offset: int = UNKNOWN_OFFSET

    def record_fetch(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Record a fetch at `offset`, now, while the leader's log end offset is `leader_end`."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.leader_end_at_last_fetch:
            # The follower has all records that existed at its last fetch: so it was caught up at the time of that fetch.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset, self.leader_end_at_last_fetch, self.last_fetch_ms = offset, leader_end, now_ms


@dataclass(slots=True)
class Partition:
    """A partition of which this broker has a replica.

    Attributes:
        controller_epoch: of the controller that made the last accepted decision; an ISR write carries it.
        isr: while leader; empty on a follower.
        log: None until the first LeaderAndIsr for the partition since the process started.
        followers: while leader: every other replica of the assignment.
        known_producers: while leader, and once a producer has written: the producers' state.
        isr_write: an ISR write under way; everything else that would change the partition waits for it.
        pending_isr: the ISR that is being written, or could not be written: then no change is tried before the controller's
            next decision.
    """

    tp: TopicPartition
    broker_id: BrokerId
    role: ReplicaRole = ReplicaRole.NONE
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    zk_version: ZkVersion = NEVER_READ
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    assignment: ReplicaAssignment = NO_REPLICAS
    isr: tuple[BrokerId, ...] = ()
    log: ReplicaLog | None = None
    leader_epoch_start_offset: int | None = None
    followers: dict[BrokerId, FollowerState] = field(default_factory=dict)
    known_producers: ProducerStateManager | None = None
    isr_write: "Promise[None] | None" = None
    pending_isr: tuple[BrokerId, ...] | None = None

    @property
    def is_leader(self) -> bool:
        return self.role is ReplicaRole.LEADER

    @property
    def is_isr_change_pending(self) -> bool:
        return self.pending_isr is not None

    @property
    def wanted_isr(self) -> tuple[BrokerId, ...]:
        """The ISR once no change is pending."""
        return self.isr if self.pending_isr is None else self.pending_isr

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
    def producers(self) -> ProducerStateManager:
        """The state of the producers, while this broker is the leader."""
        if self.known_producers is None:
            self.known_producers = ProducerStateManager()
        return self.known_producers

    def become_leader(self, requested: LeaderAndIsrPartitionState, now_ms: int) -> bool:
        """Become leader. Return True if this replica was not the leader before. The log must exist; it is not truncated."""
        was_leader = self.is_leader
        self._take(requested)
        self.role, self.leader = ReplicaRole.LEADER, self.broker_id
        self.isr = set_order(requested.state.leader_and_isr.isr)
        self.leader_epoch_start_offset = self.log_end_offset
        self.written_log.epochs.assign(self.leader_epoch, self.log_end_offset)
        others = [b for b in dict.fromkeys(requested.assignment.replicas) if b != self.broker_id]
        known = self.followers if was_leader else {}
        self.followers = {
            b: FollowerState(
                log_end_offset=known[b].log_end_offset if b in known else UNKNOWN_OFFSET,
                last_caught_up_ms=now_ms if b in self.isr else NEVER_MS,
                last_fetch_ms=now_ms,
                leader_end_at_last_fetch=self.log_end_offset,
                log_start_offset=known[b].log_start_offset if b in known else UNKNOWN_OFFSET,
            )
            for b in others
        }
        return not was_leader

    def become_follower(self, requested: LeaderAndIsrPartitionState) -> None:
        """Become follower. A follower does not keep the leader's ISR."""
        self._take(requested)
        self.role, self.leader = ReplicaRole.FOLLOWER, requested.state.leader_and_isr.leader
        self.isr, self.leader_epoch_start_offset = (), None
        self.followers = {}

    def _take(self, requested: LeaderAndIsrPartitionState) -> None:
        self.assignment = requested.assignment
        self.controller_epoch = requested.state.controller_epoch
        self.leader_epoch = requested.state.leader_and_isr.leader_epoch
        self.zk_version = requested.state.leader_and_isr.zk_version
        self.pending_isr = None
        self.known_producers = None  # as a follower it may have lost or received records

    def is_caught_up(self, follower: BrokerId) -> bool:
        """Return whether a follower has reached the high watermark and the start of this leader epoch.

        A member of the ISR must have reached both.
        """
        end = self.followers[follower].log_end_offset
        return end >= self.high_watermark and end >= (self.leader_epoch_start_offset or 0)

    def may_join_isr(self, follower: BrokerId) -> bool:
        """Return whether the leader is to add a follower to the ISR now."""
        return self.is_missing_in_isr(follower) and not self.is_isr_change_pending

    def is_missing_in_isr(self, follower: BrokerId) -> bool:
        """Return whether the leader is to add a follower to the ISR, now or once no other change is pending."""
        return (
            self.is_leader and follower in self.followers and follower not in self.wanted_isr and self.is_caught_up(follower)
        )

    def advance_high_watermark(self, now_ms: int, max_lag_ms: int) -> bool:
        """Advance the high watermark. Return whether it has changed."""
        log = self.written_log
        maximal_isr = {*self.isr, *(self.pending_isr or ())}
        new = next_high_watermark(log.high_watermark, log.log_end_offset, maximal_isr, self.followers, now_ms, max_lag_ms)
        has_moved = new != log.high_watermark
        log.high_watermark = new
        return has_moved

    def low_watermark(self, live_brokers: Container[BrokerId]) -> int:
        """Return the smallest log start offset of the leader and of the followers that are alive."""
        starts = (state.log_start_offset for broker, state in self.followers.items() if broker in live_brokers)
        return min([self.written_log.log_start_offset, *starts])

    def state_with_isr(self, isr: tuple[BrokerId, ...]) -> PartitionState:
        """Return the state that the leader writes with a new ISR: all other fields stay as the controller decided them."""
        assert self.is_leader
        decided = LeaderAndIsr(self.broker_id, self.leader_epoch, isr, self.zk_version)
        return PartitionState(decided, self.controller_epoch)
