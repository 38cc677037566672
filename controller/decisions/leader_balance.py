"""The imbalance of leadership: how many partitions are not led by their preferred leaders.

The caller selects the partitions. Kafka leaves out topics queued for deletion everywhere. Source: Kafka 2.8,
ControllerContext, KafkaController.checkAndTriggerAutoLeaderRebalance; docs/kafka/controller.md 3.4, 10.2.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.vocabulary import BrokerId, LeaderAndIsr, ReplicaAssignment


class Leadership(NamedTuple):
    """A partition's assignment and leadership. None: its leadership is unknown (it was never online)."""

    assignment: ReplicaAssignment
    leader_and_isr: LeaderAndIsr | None


@dataclass(frozen=True, slots=True)
class BrokerImbalance:
    """Of the `total` partitions whose preferred leader is one broker, how many have another leader or none."""

    imbalanced: int
    total: int

    def exceeds(self, percentage: int) -> bool:
        """Return whether the imbalance is strictly more than leader.imbalance.per.broker.percentage."""
        return self.imbalanced * 100 > percentage * self.total


def counts_as_imbalanced(leadership: Leadership) -> bool:
    """Return whether the gauge PreferredReplicaImbalanceCount counts this partition: its preferred leader does not lead it.

    A preferred leader that is being added counts once it is in the ISR.
    """
    return _is_imbalanced(leadership) and not _is_awaited(leadership)


def imbalance_by_broker(partitions: Iterable[Leadership]) -> dict[BrokerId, BrokerImbalance]:
    """Return what the automatic rebalance considers for each preferred leader, in ascending order, including dead brokers.

    A partition without replicas has no preferred leader and is left out. (Kafka fails on it, and rebalances nothing then.)
    """
    by_broker: dict[BrokerId, list[bool]] = {}
    for leadership in partitions:
        if leadership.assignment.replicas:
            by_broker.setdefault(leadership.assignment.replicas[0], []).append(_is_imbalanced(leadership))
    return {broker: BrokerImbalance(sum(found), len(found)) for broker, found in sorted(by_broker.items())}


def _is_imbalanced(leadership: Leadership) -> bool:
    assignment, leader_and_isr = leadership
    return bool(assignment.replicas) and leader_and_isr is not None and leader_and_isr.leader != assignment.replicas[0]


def _is_awaited(leadership: Leadership) -> bool:
    """Return whether the preferred leader is being added and not in the ISR yet, so that it could not lead."""
    assignment, leader_and_isr = leadership
    preferred = assignment.replicas[:1]
    isr = () if leader_and_isr is None else leader_and_isr.isr
    return any(broker in assignment.adding_replicas and broker not in isr for broker in preferred)
