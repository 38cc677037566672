"""Requests that a broker refuses because of an epoch. Source: docs/kafka/requests.md 4.1, 4.3, 4.4, 7.1."""

from dataclasses import replace

import pytest

from kcsim.brokers.api.epoch_checks import fetch_error, is_broker_epoch_stale, leader_and_isr_error, stop_replica_error
from kcsim.brokers.replication.partition import UNKNOWN_LEADER_EPOCH, Partition, ReplicaRole
from kcsim.brokers.requests import FetchPartition
from kcsim.controller.requests import (
    EPOCH_DURING_DELETE,
    NO_LEADER_EPOCH,
    UNKNOWN_BROKER_EPOCH,
    ErrorCode,
    StopReplicaPartitionState,
)
from kcsim.vocabulary import BrokerEpoch, LeaderEpoch
from tests.brokers.broker_bench import B1, B2, B3, ORDERS_0, requested_state


@pytest.mark.parametrize(
    ("given", "is_stale"),
    [(BrokerEpoch(49), True), (BrokerEpoch(50), False), (BrokerEpoch(51), False), (UNKNOWN_BROKER_EPOCH, False)],
)
def test_a_request_for_an_earlier_life_of_the_broker_is_stale(given: BrokerEpoch, is_stale: bool) -> None:
    """4.1-2: a greater epoch is accepted, as the controller may know the new one first; -1 comes from old controllers."""
    assert is_broker_epoch_stale(given, own=BrokerEpoch(50)) is is_stale


@pytest.mark.parametrize(
    ("local", "epoch", "error"),
    [
        (UNKNOWN_LEADER_EPOCH, 0, ErrorCode.NONE),
        (LeaderEpoch(4), 5, ErrorCode.NONE),
        (LeaderEpoch(4), 4, ErrorCode.STALE_CONTROLLER_EPOCH),
        (LeaderEpoch(4), 3, ErrorCode.STALE_CONTROLLER_EPOCH),
    ],
)
def test_leader_and_isr_needs_a_greater_leader_epoch(local: LeaderEpoch, epoch: int, error: ErrorCode) -> None:
    """4.3: with an equal epoch nothing is applied, whatever else has changed."""
    assert leader_and_isr_error(B1, local, requested_state(B2, epoch)) is error


def test_leader_and_isr_for_a_partition_of_others_is_unknown() -> None:
    assert (
        leader_and_isr_error(B1, LeaderEpoch(4), requested_state(B2, 5, replicas=(B2, B3)))
        is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_the_leader_epoch_is_looked_at_before_the_replicas() -> None:
    assert (
        leader_and_isr_error(B1, LeaderEpoch(5), requested_state(B2, 5, replicas=(B2, B3)))
        is ErrorCode.STALE_CONTROLLER_EPOCH
    )


@pytest.mark.parametrize(
    ("local", "epoch", "error"),
    [
        (None, LeaderEpoch(0), ErrorCode.NONE),
        (LeaderEpoch(4), EPOCH_DURING_DELETE, ErrorCode.NONE),
        (LeaderEpoch(4), NO_LEADER_EPOCH, ErrorCode.NONE),
        (LeaderEpoch(4), LeaderEpoch(5), ErrorCode.NONE),
        (LeaderEpoch(4), LeaderEpoch(4), ErrorCode.FENCED_LEADER_EPOCH),
        (LeaderEpoch(4), LeaderEpoch(3), ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
@pytest.mark.parametrize("delete", [False, True])
def test_stop_replica_is_fenced_by_an_equal_leader_epoch_too(
    local: LeaderEpoch | None, epoch: LeaderEpoch, error: ErrorCode, delete: bool
) -> None:
    """4.4, brokers 2.6.0 to 3.4.0 (KAFKA-13972): this is how a cancelled reassignment leaves a replica behind."""
    assert stop_replica_error(local, StopReplicaPartitionState(epoch, delete)) is error


LEADER = Partition(ORDERS_0, B1, role=ReplicaRole.LEADER, leader=B1, leader_epoch=LeaderEpoch(4))


@pytest.mark.parametrize(
    ("partition", "epoch", "error"),
    [
        (None, 4, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (LEADER, 3, ErrorCode.FENCED_LEADER_EPOCH),
        (LEADER, 5, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (LEADER, 4, ErrorCode.NONE),
        (replace(LEADER, role=ReplicaRole.FOLLOWER, leader=B3), 4, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replace(LEADER, role=ReplicaRole.FOLLOWER, leader=B3), 3, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_a_fetch_must_know_the_leaders_epoch(partition: Partition | None, epoch: int, error: ErrorCode) -> None:
    """7.1: the epoch is compared first, on every replica; then the check for leadership follows."""
    assert fetch_error(partition, FetchPartition(LeaderEpoch(epoch), 0, 0)) is error
