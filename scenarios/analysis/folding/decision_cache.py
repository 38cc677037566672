"""The controller's own decisions on one partition, cached: the same question is decided only once.

Every function here calls one of controller/decisions. It leaves out what the answer does not depend on: the leader epoch and
the version before the decision.
"""

from functools import lru_cache
from typing import NamedTuple

from kcsim.controller.decisions.election import (
    Election,
    ElectionRule,
    PartitionLeaderElectionStrategy,
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    may_be_unclean,
)
from kcsim.controller.decisions.isr_removal import without_replica
from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ZkVersion

REMEMBERED = 1 << 16

Ids = tuple[int, ...]


class CachedElection(NamedTuple):
    """The outcome of an election. `leader` None: no leader could be elected, and nothing changes."""

    leader: int | None
    isr: Ids
    rule: str
    is_clean: bool


class CachedIsrRemoval(NamedTuple):
    """The state after a removal from the ISR. `leader` None: there is no leader."""

    leader: int | None
    isr: Ids


NEW_PARTITION = "new"
"""The strategy that `elect` takes for the first election of a partition, for which Kafka has no name: see strategy_of."""

STRATEGY_OF_RULE = {
    ElectionRule.NEW_PARTITION: NEW_PARTITION,
    ElectionRule.ALIVE_AND_IN_ISR: PartitionLeaderElectionStrategy.OFFLINE,
    ElectionRule.UNCLEAN: PartitionLeaderElectionStrategy.OFFLINE,
    ElectionRule.REASSIGNMENT_TARGET: PartitionLeaderElectionStrategy.REASSIGN,
    ElectionRule.PREFERRED_LEADER: PartitionLeaderElectionStrategy.PREFERRED,
    ElectionRule.CONTROLLED_SHUTDOWN: PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN,
}
"""Rule -> the strategy of such an election. Elections of an offline partition have two rules."""


def strategy_of(strategy: str, unclean_by_admin: bool) -> str | None:
    """Return Kafka's name of a strategy, for the table of transitions; None for a new partition."""
    if strategy == NEW_PARTITION:
        return None
    return PartitionLeaderElectionStrategy.OFFLINE_ALLOW_UNCLEAN.value if unclean_by_admin else str(strategy)


@lru_cache(REMEMBERED)
def elect(
    strategy: str, candidates: Ids, leader: int | None, isr: Ids, online: Ids, shutting_down: Ids, unclean_allowed: bool
) -> CachedElection:
    """Hold an election.

    Args:
        candidates: the assignment; for a reassignment, its target.
        leader, isr: as stored.
        online: the brokers of all these whose replica is online; at a controlled shutdown, including those shutting down.
        unclean_allowed: matters only while no member of the ISR is online.
    """
    election = _election(strategy, candidates, _stored(leader, isr), online, shutting_down, unclean_allowed)
    elected = election.elected
    if elected is None:
        return CachedElection(None, isr, election.rule.value, not election.is_unclean)
    return CachedElection(elected.leader, elected.isr, election.rule.value, not election.is_unclean)


@lru_cache(REMEMBERED)
def remove_from_isr(leader: int | None, isr: Ids, replica: int) -> CachedIsrRemoval | None:
    """Remove a replica that goes offline from the ISR. Return None if the ISR does not contain it."""
    left = without_replica(_stored(leader, isr), BrokerId(replica))
    return None if left is None else CachedIsrRemoval(left.leader, left.isr)


@lru_cache(REMEMBERED)
def could_be_unclean(isr: Ids, online: Ids) -> bool:
    """Return whether the settings on unclean elections matter."""
    return may_be_unclean(_brokers(isr), _brokers(online))


def _election(
    strategy: str, candidates: Ids, stored: LeaderAndIsr, online: Ids, shutting_down: Ids, unclean_allowed: bool
) -> Election:
    replicas, alive = _brokers(candidates), _brokers(online)
    match strategy:
        case "new":
            return elect_for_new_partition(replicas, alive)
        case PartitionLeaderElectionStrategy.REASSIGN:
            return elect_for_reassignment(replicas, stored, alive)
        case PartitionLeaderElectionStrategy.PREFERRED:
            return elect_preferred(replicas, stored, alive)
        case PartitionLeaderElectionStrategy.CONTROLLED_SHUTDOWN:
            return elect_at_controlled_shutdown(replicas, stored, alive, _brokers(shutting_down))
        case _:
            return elect_offline(replicas, stored, alive, unclean_allowed)


def _stored(leader: int | None, isr: Ids) -> LeaderAndIsr:
    return LeaderAndIsr(None if leader is None else BrokerId(leader), LeaderEpoch(0), _brokers(isr), ZkVersion(0))


def _brokers(ids: Ids) -> tuple[BrokerId, ...]:
    return ids  # type: ignore[return-value]  # the same at run time, and millions of them
