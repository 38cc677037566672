"""A broker's state of a partition. Source: docs/kafka/requests.md 4.3, 5, 6.2."""

import pytest
from msgspec.structs import replace

from kcsim.brokers.log.producer_states import AppendDecision
from kcsim.brokers.log.replica_log import ReplicaLog
from kcsim.brokers.records import Run
from kcsim.brokers.replication.partition import NEVER_MS, UNKNOWN_OFFSET, FollowerState, Partition, ReplicaRole
from kcsim.brokers.requests import ProduceBatch
from kcsim.vocabulary import BrokerId, LeaderEpoch
from tests.brokers.broker_bench import B1, B2, B3, B4, B5, ORDERS_0, requested_state


def leading(isr: tuple[BrokerId, ...] = (B1, B2), now_ms: int = 100) -> Partition:
    partition = Partition(ORDERS_0, B1, log=ReplicaLog(ORDERS_0))
    partition.become_leader(requested_state(B1, 3, isr, zk_version=7, controller_epoch=2), now_ms)
    return partition


def test_a_leader_knows_who_decided_and_what_it_may_write_over() -> None:
    """An ISR write carries the deciding controller's epoch, and expects the version in the LeaderAndIsr.

    Source: docs/kafka/znodes.md 6.2.
    """
    written = leading().state_with_isr((B1, B2, B3))
    assert (written.controller_epoch, written.leader_and_isr.zk_version) == (2, 7)
    assert (written.leader_and_isr.leader, written.leader_and_isr.leader_epoch) == (B1, 3)
    assert written.leader_and_isr.isr == (B1, B2, B3)


def test_a_new_leader_takes_the_isr_for_caught_up_and_knows_nobodys_position() -> None:
    """4.3, makeLeader 3 and 4."""
    partition = leading(isr=(B1, B2), now_ms=100)
    assert partition.followers == {
        B2: FollowerState(UNKNOWN_OFFSET, last_caught_up_ms=100, last_fetch_ms=100, leader_end_at_last_fetch=0),
        B3: FollowerState(UNKNOWN_OFFSET, last_caught_up_ms=NEVER_MS, last_fetch_ms=100, leader_end_at_last_fetch=0),
    }


def test_a_leader_that_stays_leader_keeps_its_followers_positions() -> None:
    """4.3, makeLeader 4: only the leader epoch was raised.

    Replicas that left the assignment are dropped, added ones are new.
    """
    partition = leading()
    partition.followers[B2].log_end_offset = 5
    is_new = partition.become_leader(requested_state(B1, 4, (B1, B2), (B1, B2, B4)), now_ms=200)
    assert not is_new
    assert {b: f.log_end_offset for b, f in partition.followers.items()} == {B2: 5, B4: UNKNOWN_OFFSET}


def test_a_follower_that_becomes_leader_starts_afresh() -> None:
    partition = leading()
    partition.followers[B2].log_end_offset = 5
    partition.become_follower(requested_state(B2, 4))
    assert (partition.role, partition.leader, partition.isr, partition.followers) == (ReplicaRole.FOLLOWER, B2, (), {})
    assert partition.become_leader(requested_state(B1, 5), now_ms=300)
    assert partition.followers[B2].log_end_offset == UNKNOWN_OFFSET


def test_a_replica_that_leads_again_knows_what_writers_wrote_meanwhile() -> None:
    """A writer's next batch is accepted, and one that the other leader appended is a duplicate."""
    partition = leading()
    written = partition.written_log
    sent = ProduceBatch("a", 0, 5, 100, 0, is_idempotent=True)
    written.append_as_leader([Run(0, 5, partition.leader_epoch, "a", 0, 0, 100)], partition.leader_epoch, 0)
    partition.producers.appended(sent)
    partition.become_follower(requested_state(B2, 4))
    written.append_as_follower([Run(5, 5, LeaderEpoch(4), "a", 5, 0, 100)], 0)
    partition.become_leader(requested_state(B1, 5), now_ms=300)
    again = [replace(sent, first_sequence=first) for first in (0, 5, 10)]
    assert [partition.producers.admit(batch, lambda: written.runs) for batch in again] == [
        AppendDecision(duplicate_of=0),
        AppendDecision(duplicate_of=5),
        AppendDecision(),
    ]


@pytest.mark.parametrize(
    ("isr", "held"),
    [((B1, B1, B2), (B1, B2)), ((B3, B1, B2), (B3, B1, B2)), ((B1, B2, B3, B4, B5), (B5, B1, B2, B3, B4))],
)
def test_a_leader_holds_the_isr_as_a_set(isr: tuple[BrokerId, ...], held: tuple[BrokerId, ...]) -> None:
    """4.3, makeLeader 1: duplicates vanish; five and more come in the order of a hash set."""
    assert leading(isr).isr == held


def test_a_decision_ends_a_pending_change() -> None:
    """6.4-3, Kafka 2.8: nothing is attempted until the controller's next decision is accepted."""
    partition = leading()
    partition.followers[B3].record_fetch(0, 0, 200)
    partition.pending_isr = (B1, B2, B3)
    assert not partition.may_join_isr(B3)
    partition.become_leader(requested_state(B1, 4, (B1, B2)), now_ms=300)
    assert partition.may_join_isr(B3)


@pytest.mark.parametrize(
    ("offset", "high_watermark", "epoch_start", "joins"),
    [(10, 10, 10, True), (10, 8, 8, True), (9, 10, 0, False), (9, 5, 10, False)],
)
def test_a_follower_joins_past_the_high_watermark_and_into_the_leaders_epoch(
    offset: int, high_watermark: int, epoch_start: int, joins: bool
) -> None:
    """6.2."""
    partition = leading()
    partition.written_log.high_watermark, partition.leader_epoch_start_offset = high_watermark, epoch_start
    partition.followers[B3].record_fetch(offset, 12, 200)
    assert partition.may_join_isr(B3) is joins


def test_only_replicas_that_are_not_members_join_and_only_at_the_leader() -> None:
    partition = leading()
    for follower in (B2, B3):
        partition.followers[follower].record_fetch(0, 0, 200)
    assert [b for b in (B1, B2, B3, B4) if partition.may_join_isr(b)] == [B3]
    partition.become_follower(requested_state(B2, 4))
    assert not partition.may_join_isr(B3)


def test_a_fetch_at_the_leaders_end_is_caught_up_now() -> None:
    """5-1."""
    state = FollowerState(0, last_caught_up_ms=0, last_fetch_ms=50, leader_end_at_last_fetch=0)
    state.record_fetch(offset=10, leader_end=10, now_ms=100)
    assert state == FollowerState(10, last_caught_up_ms=100, last_fetch_ms=100, leader_end_at_last_fetch=10)


def test_a_fetch_that_reaches_the_leaders_end_of_the_last_one_is_caught_up_as_of_then() -> None:
    """5-1 and 13.4: a steady follower that is always one fetch behind stays in sync for ever."""
    state = FollowerState(0, last_caught_up_ms=0, last_fetch_ms=50, leader_end_at_last_fetch=8)
    state.record_fetch(offset=8, leader_end=10, now_ms=100)
    assert state.last_caught_up_ms == 50


def test_a_fetch_short_of_that_is_not_caught_up() -> None:
    state = FollowerState(0, last_caught_up_ms=7, last_fetch_ms=50, leader_end_at_last_fetch=8)
    state.record_fetch(offset=7, leader_end=10, now_ms=100)
    assert state.last_caught_up_ms == 7


@pytest.mark.parametrize(("pending", "committed"), [(None, 9), ((B1, B2, B3), 7), ((B1,), 9)])
def test_a_replica_that_is_being_added_counts_and_one_that_is_being_removed_still_does(
    pending: tuple[BrokerId, ...] | None, committed: int
) -> None:
    """6.3, maximal ISR: nothing is committed that the ISR might not have, whichever write succeeds."""
    partition = leading(isr=(B1, B2))
    partition.written_log.append_as_leader([Run(0, 10, partition.leader_epoch, "a", 0, 0, 100)], partition.leader_epoch, 0)
    partition.followers[B2].log_end_offset = 9
    partition.followers[B3].log_end_offset = 7
    partition.pending_isr = pending
    assert partition.advance_high_watermark(now_ms=200, max_lag_ms=1_000)
    assert partition.high_watermark == committed
    assert not partition.advance_high_watermark(now_ms=200, max_lag_ms=1_000)
