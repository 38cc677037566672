"""The controller's knowledge of the cluster. Source: docs/kafka/controller.md (ControllerContext)."""

import pytest

from kcsim.controller.context import ControllerContext
from kcsim.controller.decisions.broker_ids import NoBrokerIdError
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderAndIsr,
    LeaderEpoch,
    NoBrokerId,
    PartitionState,
    ReplicaAssignment,
    TopicPartition,
    ZkVersion,
)

NEW, ONLINE, OFFLINE = PartitionMachineState.NEW, PartitionMachineState.ONLINE, PartitionMachineState.OFFLINE
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_offline_partitions_are_counted_as_they_come_and_go() -> None:
    context = ControllerContext()
    for tp in (A0, A1):
        context.put_partition_state(tp, NEW)
        context.put_partition_state(tp, OFFLINE)
    context.put_partition_state(A0, OFFLINE)
    assert context.offline_partition_count == 2
    context.put_partition_state(A0, ONLINE)
    assert context.offline_partition_count == 1


def test_the_partitions_of_a_topic_under_deletion_do_not_become_offline_ones() -> None:
    """A deletion takes its partitions offline first, which is no outage."""
    context = ControllerContext()
    context.put_partition_state(A0, ONLINE)
    context.put_partition_state(B0, ONLINE)
    context.queue_for_deletion(["a", "b"])
    context.topics_with_deletion_started.add("a")
    context.put_partition_state(A0, OFFLINE)
    context.put_partition_state(B0, OFFLINE)
    assert context.offline_partition_count == 1
    context.put_partition_state(A0, PartitionMachineState.NON_EXISTENT)
    assert context.offline_partition_count == 1


def test_a_preferred_leader_that_is_no_broker_id_fails_where_it_is_looked_for() -> None:
    """Recording reassign-replicas-as-strings: the assignment is stored all the same."""
    context = ControllerContext()
    context.put_assignment(A0, ReplicaAssignment((BrokerId(1),)))
    state = PartitionState(LeaderAndIsr(BrokerId(1), LeaderEpoch(0), (BrokerId(1),), ZkVersion(0)), ControllerEpoch(1))
    context.put_leadership(A0, state)
    by_hand = ReplicaAssignment((BrokerId(NoBrokerId('"2"')), BrokerId(3)))
    with pytest.raises(NoBrokerIdError, match='a replica of a-0 is "2"'):
        context.put_assignment(A0, by_hand)
    assert context.assignment(A0) == by_hand
    with pytest.raises(NoBrokerIdError):
        context.put_leadership(A0, state)
    context.put_assignment(B0, by_hand)  # it never had a leader
