"""Whose logs the high watermark of a leader speaks for."""

import pytest

from kcsim.brokers.disk import Disk
from kcsim.brokers.partition import Partition, Role
from kcsim.scenarios.invariants.marks import Marks
from kcsim.zk.vocabulary import BrokerId, LeaderEpoch, ReplicaAssignment, TopicPartition

ORDERS_0 = TopicPartition("orders", 0)
B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


def led(*replicas: BrokerId, isr: tuple[BrokerId, ...], epoch: int) -> Partition:
    """As broker 1 sees it, which leads it with an empty log."""
    log = Disk(["/disk"]).create(ORDERS_0)
    return Partition(
        ORDERS_0, B1, Role.LEADER, B1, LeaderEpoch(epoch), assignment=ReplicaAssignment(replicas), isr=isr, log=log
    )


@pytest.fixture
def marks() -> Marks:
    return Marks()


def waited_for(marks: Marks, partition: Partition) -> list[BrokerId]:
    return sorted(marks.look(partition, (0, 0)).replicas)


def test_a_leader_waits_for_every_replica_that_it_was_told_of(marks: Marks) -> None:
    assert waited_for(marks, led(B1, B2, B3, isr=(B1, B2), epoch=0)) == [B1, B2, B3]


def test_a_member_of_the_isr_that_was_none_once_has_to_leave_it_first(marks: Marks) -> None:
    """Its leader has committed records without it, whatever a later controller says that it is (controller.md 12)."""
    assert waited_for(marks, led(B1, isr=(B1, B2), epoch=4)) == [B1]
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=5)) == [B1]
    marks.written(ORDERS_0, (B1, B2))
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=5)) == [B1]
    marks.written(ORDERS_0, (B1,))
    assert waited_for(marks, led(B1, B2, isr=(B1, B2), epoch=6)) == [B1, B2]
