"""Which requests, and which partitions of them, a broker refuses. Pure.

Source: Kafka 2.8, KafkaApis.isBrokerEpochStale, ReplicaManager.becomeLeaderOrFollower and stopReplicas,
Partition.checkCurrentLeaderEpoch; reference requests.md 4.1, 4.3, 4.4, 7.1.
"""

from kcsim.brokers.partition import Partition
from kcsim.brokers.requests import ANY_LEADER_EPOCH, FetchPartition
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    NO_LEADER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
    ErrorCode,
    LeaderAndIsrPartitionState,
    StopReplicaPartitionState,
)
from kcsim.zk.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch


def is_broker_epoch_stale(given: BrokerEpoch, own: BrokerEpoch) -> bool:
    """Whether a request was meant for an earlier life of this broker. A greater epoch is one it will soon know itself."""
    return given != UNKNOWN_BROKER_EPOCH and given < own


def leader_and_isr_error(broker: BrokerId, local: LeaderEpoch, told: LeaderAndIsrPartitionState) -> ErrorCode:
    """What a broker says to one partition of LeaderAndIsr.

    Args:
        local: the leader epoch that it knows; UNKNOWN_LEADER_EPOCH of a partition that is new to it.
    """
    epoch = told.state.leader_and_isr.leader_epoch
    if epoch <= local:
        return ErrorCode.STALE_CONTROLLER_EPOCH  # also for an equal one: whatever else it says is ignored
    if broker not in told.assignment.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def stop_replica_error(local: LeaderEpoch | None, told: StopReplicaPartitionState) -> ErrorCode:
    """What a broker says to one partition of StopReplica.

    Args:
        local: the leader epoch that it knows; None of a partition it does not have: there is nothing to protect.
    """
    if local is None or told.leader_epoch in (EPOCH_DURING_DELETE, NO_LEADER_EPOCH) or told.leader_epoch > local:
        return ErrorCode.NONE
    # An equal epoch is refused too, which leaves the replicas of a cancelled reassignment behind (KAFKA-13972).
    return ErrorCode.FENCED_LEADER_EPOCH


def fetch_error(partition: Partition | None, fetch: FetchPartition) -> ErrorCode:
    """What a broker says to one partition of a fetch by a follower.

    Args:
        partition: None if the broker has no replica of it.
    """
    return leadership_error(partition, fetch.leader_epoch)


def client_error(partition: Partition | None, leader_epoch: LeaderEpoch) -> ErrorCode:
    """What a broker says to a client, which may not know the leader epoch."""
    known = partition.leader_epoch if partition is not None and leader_epoch == ANY_LEADER_EPOCH else leader_epoch
    return leadership_error(partition, known)


def leadership_error(partition: Partition | None, leader_epoch: LeaderEpoch) -> ErrorCode:
    """What a broker says to whoever takes it for the leader in this epoch."""
    if partition is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_epoch > partition.leader_epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if partition.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER
