"""The checks by which a broker refuses requests, or partitions of them. Pure.

Source: Kafka 2.8, KafkaApis.isBrokerEpochStale, ReplicaManager.becomeLeaderOrFollower and stopReplicas,
Partition.checkCurrentLeaderEpoch; docs/kafka/requests.md 4.1, 4.3, 4.4, 7.1.
"""

from kcsim.brokers.replication.partition import Partition
from kcsim.brokers.requests import ANY_LEADER_EPOCH, FetchPartition
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    NO_LEADER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
    ErrorCode,
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
)
from kcsim.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch


def is_broker_epoch_stale(given: BrokerEpoch, own: BrokerEpoch) -> bool:
    """Return whether a request was meant for an earlier registration of this broker.

    A greater epoch is not stale: this broker will soon know it as its own.
    """
    return given != UNKNOWN_BROKER_EPOCH and given < own


def leader_and_isr_error(broker: BrokerId, local: LeaderEpoch, requested: LeaderAndIsrPartitionState) -> ErrorCode:
    """Return the error for one partition of LeaderAndIsr.

    Args:
        local: the leader epoch that the broker knows; UNKNOWN_LEADER_EPOCH for a partition that is new to it.
    """
    epoch = requested.state.leader_and_isr.leader_epoch
    if epoch <= local:
        return ErrorCode.STALE_CONTROLLER_EPOCH  # for an equal epoch too: its other contents are ignored
    if broker not in requested.assignment.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def stop_replica_error(local: LeaderEpoch | None, requested: StopReplicaPartitionState) -> ErrorCode:
    """Return the error for one partition of StopReplica.

    Args:
        local: the leader epoch that the broker knows; None for a partition that it does not have: nothing needs protection.
    """
    if local is None or requested.leader_epoch in (EPOCH_DURING_DELETE, NO_LEADER_EPOCH) or requested.leader_epoch > local:
        return ErrorCode.NONE
    # An equal epoch is refused too, so the replicas of a cancelled reassignment are not deleted (KAFKA-13972).
    return ErrorCode.FENCED_LEADER_EPOCH


def fetch_error(partition: Partition | None, fetch: FetchPartition) -> ErrorCode:
    """Return the error for one partition of a follower's fetch.

    Args:
        partition: None if the broker has no replica of it.
    """
    return leadership_error(partition, fetch.leader_epoch)


def client_error(partition: Partition | None, leader_epoch: LeaderEpoch) -> ErrorCode:
    """Return the error for a client, which may not know the leader epoch."""
    known = partition.leader_epoch if partition is not None and leader_epoch == ANY_LEADER_EPOCH else leader_epoch
    return leadership_error(partition, known)


def leadership_error(partition: Partition | None, leader_epoch: LeaderEpoch) -> ErrorCode:
    """Return the error for a request to this broker as the leader in this epoch."""
    if partition is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_epoch > partition.leader_epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if partition.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER
