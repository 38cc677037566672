"""The imbalance of leaders relative to the preferred leaders. Source: docs/kafka/controller.md 3.4 and 10.2."""

import pytest

from kcsim.controller.decisions.leader_balance import (
    BrokerImbalance,
    Leadership,
    counts_as_imbalanced,
    imbalance_by_broker,
)
from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ReplicaAssignment, ZkVersion


def led(
    leader: int | None, replicas: tuple[int, ...], isr: tuple[int, ...] = (), adding: tuple[int, ...] = ()
) -> Leadership:
    return Leadership(
        ReplicaAssignment(tuple(map(BrokerId, replicas)), tuple(map(BrokerId, adding))),
        LeaderAndIsr(None if leader is None else BrokerId(leader), LeaderEpoch(0), tuple(map(BrokerId, isr)), ZkVersion(0)),
    )


NEVER_ONLINE = Leadership(ReplicaAssignment((BrokerId(1), BrokerId(2))), None)


def test_a_partition_that_somebody_else_leads_counts_and_one_that_nobody_leads_as_well() -> None:
    partitions = [led(1, (1, 2)), led(2, (1, 2)), led(None, (1, 2))]
    assert [counts_as_imbalanced(partition) for partition in partitions] == [False, True, True]


def test_a_partition_that_was_never_online_does_not_count_but_belongs_to_its_broker() -> None:
    assert not counts_as_imbalanced(NEVER_ONLINE)
    assert imbalance_by_broker([NEVER_ONLINE]) == {1: BrokerImbalance(imbalanced=0, total=1)}


def test_a_preferred_leader_that_is_being_added_counts_once_it_is_in_the_isr() -> None:
    """Before that it could not be elected. The automatic rebalance counts it nevertheless."""
    behind, caught_up = led(1, (4, 1), isr=(1,), adding=(4,)), led(1, (4, 1), isr=(1, 4), adding=(4,))
    assert not counts_as_imbalanced(behind)
    assert counts_as_imbalanced(caught_up)
    assert imbalance_by_broker([behind, caught_up]) == {4: BrokerImbalance(imbalanced=2, total=2)}


def test_a_partition_without_replicas_is_nobodys() -> None:
    unassigned = led(None, ())
    assert not counts_as_imbalanced(unassigned)
    assert imbalance_by_broker([unassigned]) == {}


@pytest.mark.parametrize(
    ("imbalanced", "total", "percentage", "exceeds"),
    [(1, 10, 10, False), (2, 10, 10, True), (11, 100, 10, True), (0, 5, 0, False), (1, 5, 0, True), (5, 5, 100, False)],
)
def test_the_limit_itself_triggers_nothing(imbalanced: int, total: int, percentage: int, exceeds: bool) -> None:
    assert BrokerImbalance(imbalanced, total).exceeds(percentage) is exceeds
