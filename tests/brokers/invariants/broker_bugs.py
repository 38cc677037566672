"""Bugs of a broker: each removes one of our decisions, or makes it wrong, while it is planted."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from kcsim.brokers import replica_manager
from kcsim.brokers.api.produce_handler import ProduceHandler
from kcsim.brokers.replica_manager import ReplicaManager
from kcsim.brokers.replication import follower_logs, partition
from kcsim.brokers.replication.follower_logs import FollowerLogs
from kcsim.brokers.replication.high_watermark import Position
from kcsim.brokers.replication.isr_writes import WrittenIsr
from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.replication.truncation import EpochAndOffset, Truncation
from kcsim.brokers.replication.truncation import truncation_step as truncation_step_rightly
from kcsim.brokers.replication.zk_isr import ZkIsrManager
from kcsim.controller.requests import ErrorCode, LeaderAndIsrPartitionState
from kcsim.vocabulary import BrokerId, ControllerEpoch, LeaderEpoch, PartitionState, TopicPartition, ZkVersion

# --- roles and ISRs --------------------------------------------------------------------------------------------------------


@contextmanager
def leaders_count_their_epochs_themselves() -> Iterator[None]:
    rightly = Partition.become_leader

    def become_leader(self: Partition, requested: LeaderAndIsrPartitionState, now_ms: int) -> bool:
        was_not = rightly(self, requested, now_ms)
        self.leader_epoch = LeaderEpoch(self.leader_epoch + 1)
        return was_not

    with patch.object(Partition, "become_leader", become_leader):
        yield


@contextmanager
def an_old_leader_epoch_is_taken_as_well() -> Iterator[None]:
    with patch.object(replica_manager, "leader_and_isr_error", lambda *_: ErrorCode.NONE):
        yield


@contextmanager
def a_leader_does_not_step_down() -> Iterator[None]:
    rightly = ReplicaManager._make_followers

    async def make_followers(
        self: ReplicaManager, requested: Mapping[TopicPartition, LeaderAndIsrPartitionState], *rest: Any
    ) -> dict[TopicPartition, ErrorCode]:
        others = {tp: state for tp, state in requested.items() if not self.hosted.get_or_add(tp).is_leader}
        return await rightly(self, others, *rest)

    with patch.object(ReplicaManager, "_make_followers", make_followers):
        yield


@contextmanager
def isrs_are_written_for_an_earlier_controller() -> Iterator[None]:
    rightly = Partition.state_with_isr

    def state_with_isr(self: Partition, isr: tuple[BrokerId, ...]) -> PartitionState:
        state = rightly(self, isr)
        return replace(state, controller_epoch=ControllerEpoch(state.controller_epoch - 1))

    with patch.object(Partition, "state_with_isr", state_with_isr):
        yield


@contextmanager
def a_leader_forgets_which_version_it_has_written() -> Iterator[None]:
    rightly = ZkIsrManager.write

    async def write(self: ZkIsrManager, tp: TopicPartition, proposed: PartitionState, cause: int) -> WrittenIsr:
        written = await rightly(self, tp, proposed, cause)
        return written._replace(version=ZkVersion(written.version - 1))

    with patch.object(ZkIsrManager, "write", write):
        yield


@contextmanager
def nobody_is_taken_back_into_an_isr() -> Iterator[None]:
    with patch.object(Partition, "may_join_isr", lambda *_: False):
        yield


# --- records ---------------------------------------------------------------------------------------------------------------


@contextmanager
def all_is_acknowledged_once_the_leader_has_it() -> Iterator[None]:
    async def committed(
        self: ProduceHandler, ends: dict[TopicPartition, int], deadline_ms: int
    ) -> dict[TopicPartition, ErrorCode]:
        return dict.fromkeys(ends, ErrorCode.NONE)

    with patch.object(ProduceHandler, "_committed", committed):
        yield


@contextmanager
def a_follower_cuts_one_record_too_many() -> Iterator[None]:
    def truncation_step(leaders: EpochAndOffset, own: EpochAndOffset, end: int, high_watermark: int) -> Truncation:
        step = truncation_step_rightly(leaders, own, end, high_watermark)
        return step._replace(offset=max(0, step.offset - 1))

    with patch.object(follower_logs, "truncation_step", truncation_step):
        yield


@contextmanager
def a_follower_cuts_nothing() -> Iterator[None]:
    with patch.object(FollowerLogs, "_cut", lambda *_: None):
        yield


@contextmanager
def a_high_watermark_is_what_followers_have_now() -> Iterator[None]:
    """Plant a bug: the high watermark may fall, although a follower that has not fetched yet may have as much as before."""

    def next_high_watermark(
        current: int, end: int, isr: Collection[BrokerId], followers: Mapping[BrokerId, Position], *_: int
    ) -> int:
        return max(0, min((end, *(f.log_end_offset for b, f in followers.items() if b in isr))))

    with patch.object(partition, "next_high_watermark", next_high_watermark):
        yield


@contextmanager
def a_leader_commits_alone() -> Iterator[None]:
    with patch.object(partition, "next_high_watermark", lambda current, end, *_: end):
        yield
