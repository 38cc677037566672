"""The partitions of a snapshot that a what-if cannot change: they need not be simulated.

The controller decides for each partition from its own assignment and state, and the brokers that are alive. So the loss of
brokers leaves a partition as it is that is complete and has no replica on them. What concerns all partitions, a rolling
restart or the balancing of leaders, leaves none out.

Pure.
"""

from collections.abc import Collection, Mapping

import msgspec

from kcsim.brokers.config import Value
from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotPartition
from kcsim.vocabulary import TopicPartition

BALANCING = "auto.leader.rebalance.enable"


def untouched_partitions(
    snapshot: ControlPlaneSnapshot, lost: Collection[int], settings: Mapping[str, Value]
) -> dict[TopicPartition, SnapshotPartition]:
    """Return the partitions that stay as they are when brokers are lost, and when they return."""
    if settings.get(BALANCING):
        return {}
    requested = {TopicPartition(one.topic, one.partition) for one in snapshot.reassignment_requests}
    requested.update(TopicPartition(one.topic, one.partition) for one in snapshot.election_requests)
    alive = set(snapshot.registered_ids).difference(lost)
    return {
        tp: partition
        for tp, partition in snapshot.partitions()
        if _is_complete(partition, alive) and tp not in requested and tp.topic not in snapshot.topic_deletions
    }


def _is_complete(partition: SnapshotPartition, alive: Collection[int]) -> bool:
    """Return whether all replicas are in sync on brokers that stay alive, one of them leads, and none is moved."""
    is_led = partition.has_state and partition.leader in partition.isr and not partition.is_recovering
    is_moved = bool(partition.adding or partition.removing)
    return is_led and not is_moved and set(partition.isr) == set(partition.replicas) <= set(alive)


def without_partitions(snapshot: ControlPlaneSnapshot, left_out: Collection[TopicPartition]) -> ControlPlaneSnapshot:
    """Return a snapshot without some partitions, and without the topics that have no others."""
    topics = []
    for topic in snapshot.topics:
        kept = tuple(one for one in topic.partitions if TopicPartition(topic.name, one.partition) not in left_out)
        if kept or not topic.partitions:
            topics.append(msgspec.structs.replace(topic, partitions=kept))
    return msgspec.structs.replace(snapshot, topics=tuple(topics))
