"""How far leadership has drifted away from the preferred leaders.

Left to the caller: which partitions to look at. Topics queued for deletion are left out everywhere.
Source: Kafka 2.8, ControllerContext, KafkaController.checkAndTriggerAutoLeaderRebalance; reference controller.md 3.4, 10.2.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from kcsim.zk.vocabulary import BrokerId, LeaderAndIsr, ReplicaAssignment


class Leadership(NamedTuple):
    """One partition: who hosts it, and who leads it. None: nothing is known of its leadership (it was never online)."""

    assignment: ReplicaAssignment
    leader_and_isr: LeaderAndIsr | None


@dataclass(frozen=True, slots=True)
class BrokerImbalance:
    """Of the `total` partitions whose preferred leader is one broker, how many somebody else (or nobody) leads."""

    imbalanced: int
    total: int

    def exceeds(self, percentage: int) -> bool:
        """Whether it is more than leader.imbalance.per.broker.percentage, strictly."""
        return self.imbalanced * 100 > percentage * self.total


def preferred_imbalance_count(partitions: Iterable[Leadership]) -> int:
    """Count partitions that their preferred leader does not lead: the gauge PreferredReplicaImbalanceCount.

    A preferred leader that is only just being added counts once it is in the ISR.
    """
    return sum(map(counts_as_imbalanced, partitions))


def counts_as_imbalanced(leadership: Leadership) -> bool:
    """Whether the gauge counts this partition."""
    return _is_imbalanced(leadership) and not _is_awaited(leadership)


def imbalance_by_broker(partitions: Iterable[Leadership]) -> dict[BrokerId, BrokerImbalance]:
    """For each preferred leader, in ascending order, what the automatic rebalance looks at; dead brokers have an entry too.

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
    """Whether the preferred leader is being added and does not keep up yet, so that it could not lead."""
    assignment, leader_and_isr = leadership
    preferred = assignment.replicas[:1]
    isr = () if leader_and_isr is None else leader_and_isr.isr
    return any(broker in assignment.adding_replicas and broker not in isr for broker in preferred)
