"""The controller's knowledge of the cluster. Source: docs/kafka/controller.md (ControllerContext)."""

from kcsim.controller.context import ControllerContext
from kcsim.controller.decisions.partition_states import PartitionMachineState
from kcsim.vocabulary import TopicPartition

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
