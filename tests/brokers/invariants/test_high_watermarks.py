"""Logs for which the high watermark of a leader is valid."""

import pytest

from kcsim.brokers.invariants.high_watermarks import HighWatermarkTracker
from kcsim.brokers.log.disk import Disk
from kcsim.brokers.replication.partition import Partition, ReplicaRole
from kcsim.vocabulary import BrokerId, LeaderEpoch, ReplicaAssignment, TopicPartition

ORDERS_0 = TopicPartition("orders", 0)
B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


def led(*replicas: BrokerId, isr: tuple[BrokerId, ...], epoch: int) -> Partition:
    """Return a partition as its leader, broker 1, sees it, with an empty log."""
    log = Disk(["/disk"]).create(ORDERS_0)
    return Partition(
        ORDERS_0, B1, ReplicaRole.LEADER, B1, LeaderEpoch(epoch), assignment=ReplicaAssignment(replicas), isr=isr, log=log
    )


@pytest.fixture
def marks() -> HighWatermarkTracker:
    return HighWatermarkTracker()


def waited_for(marks: HighWatermarkTracker, partition: Partition) -> list[BrokerId]:
    return sorted(marks.observe(partition, (0, 0)).replicas)


def test_a_leader_waits_for_every_replica_that_it_was_notified_of(marks: HighWatermarkTracker) -> None:
    assert waited_for(marks, led(B1, B2, B3, isr=(B1, B2), epoch=0)) == [B1, B2, B3]


def test_a_member_of_the_isr_that_was_none_once_has_to_leave_it_first(marks: HighWatermarkTracker) -> None:
    """Its leader has committed records without it, whatever ISR a later controller writes.

    Source: docs/kafka/controller.md 12.2.
    """
    assert waited_for(marks, led(B1, isr=(B1, B2), epoch=4)) == [B1]
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=5)) == [B1]
    marks.written(ORDERS_0, (B1, B2))
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=5)) == [B1]
    marks.written(ORDERS_0, (B1,))
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=6)) == [B1, B2]
