"""The controller's own decisions on one partition, remembered: what was decided on the same once is not decided again.

Every function here asks one of controller/decisions and leaves out what the answer does not depend on: the epoch and the
version that it goes on from.
"""

from functools import lru_cache
from typing import NamedTuple

from kcsim.controller.decisions.election import (
    Election,
    ElectionRule,
    elect_at_controlled_shutdown,
    elect_for_new_partition,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    may_be_unclean,
)
from kcsim.controller.decisions.isr_removal import without_replica
from kcsim.controller.partition_state_machine import Strategy
from kcsim.zk.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ZkVersion

REMEMBERED = 1 << 16

Ids = tuple[int, ...]


class Chosen(NamedTuple):
    """What an election comes to. `leader` None: nobody could be elected, and nothing changes."""

    leader: int | None
    isr: Ids
    rule: str
    is_clean: bool


class Left(NamedTuple):
    """What a removal leaves. `leader` None: nobody leads."""

    leader: int | None
    isr: Ids


NEW_PARTITION = "new"
"""Stands for a strategy in `choose`: the first election of a partition goes by none of Kafka's names, see strategy_of."""

STRATEGY_OF_RULE = {
    ElectionRule.NEW_PARTITION: NEW_PARTITION,
    ElectionRule.ALIVE_AND_IN_ISR: Strategy.OFFLINE,
    ElectionRule.UNCLEAN: Strategy.OFFLINE,
    ElectionRule.REASSIGNMENT_TARGET: Strategy.REASSIGN,
    ElectionRule.PREFERRED_LEADER: Strategy.PREFERRED,
    ElectionRule.CONTROLLED_SHUTDOWN: Strategy.CONTROLLED_SHUTDOWN,
}
"""Rule -> by which strategy such an election is held; for a partition that is offline there are two."""


def strategy_of(strategy: str, unclean_by_admin: bool) -> str | None:
    """Kafka's name, for the table of transitions; none for a new partition's."""
    if strategy == NEW_PARTITION:
        return None
    return Strategy.OFFLINE_ALLOW_UNCLEAN.value if unclean_by_admin else str(strategy)


@lru_cache(REMEMBERED)
def choose(
    strategy: str, candidates: Ids, leader: int | None, isr: Ids, online: Ids, shutting_down: Ids, unclean_allowed: bool
) -> Chosen:
    """Hold an election.

    Args:
        candidates: the assignment; of a reassignment, its target.
        leader, isr: as stored.
        online: of all these, those whose replica is online; at a controlled shutdown, those shutting down included.
        unclean_allowed: matters while nobody of the ISR is online.
    """
    election = _election(strategy, candidates, _stored(leader, isr), online, shutting_down, unclean_allowed)
    elected = election.elected
    if elected is None:
        return Chosen(None, isr, election.rule.value, not election.is_unclean)
    return Chosen(elected.leader, elected.isr, election.rule.value, not election.is_unclean)


@lru_cache(REMEMBERED)
def remove(leader: int | None, isr: Ids, replica: int) -> Left | None:
    """Take a replica that goes offline out of the ISR; None if it is not in there."""
    left = without_replica(_stored(leader, isr), BrokerId(replica))
    return None if left is None else Left(left.leader, left.isr)


@lru_cache(REMEMBERED)
def could_be_unclean(isr: Ids, online: Ids) -> bool:
    """Whether the settings on unclean elections matter."""
    return may_be_unclean(_brokers(isr), _brokers(online))


def _election(
    strategy: str, candidates: Ids, stored: LeaderAndIsr, online: Ids, shutting_down: Ids, unclean_allowed: bool
) -> Election:
    replicas, alive = _brokers(candidates), _brokers(online)
    match strategy:
        case "new":
            return elect_for_new_partition(replicas, alive)
        case Strategy.REASSIGN:
            return elect_for_reassignment(replicas, stored, alive)
        case Strategy.PREFERRED:
            return elect_preferred(replicas, stored, alive)
        case Strategy.CONTROLLED_SHUTDOWN:
            return elect_at_controlled_shutdown(replicas, stored, alive, _brokers(shutting_down))
        case _:
            return elect_offline(replicas, stored, alive, unclean_allowed)


def _stored(leader: int | None, isr: Ids) -> LeaderAndIsr:
    return LeaderAndIsr(None if leader is None else BrokerId(leader), LeaderEpoch(0), _brokers(isr), ZkVersion(0))


def _brokers(ids: Ids) -> tuple[BrokerId, ...]:
    return ids  # type: ignore[return-value]  # the same at run time, and millions of them
