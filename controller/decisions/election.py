"""Leader election of a partition: the controller's election strategies.

A strategy considers an assignment, the stored ISR and the live brokers, never offsets. The order of the assignment decides,
the order of the ISR never does. An election that finds no leader changes nothing. Every result carries the rule that decided
and the inputs of the decision, so that the event log can explain it.

Source: Kafka 2.8, PartitionLeaderElectionAlgorithms, Election and PartitionStateMachine; docs/kafka/state_machines.md 2.3,
4.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kcsim.vocabulary import BrokerId, LeaderAndIsr, LeaderEpoch, ZkVersion


class ElectionRule(StrEnum):
    """The rule that decided an election. The values are those of the event log's column `rule`."""

    NEW_PARTITION = "NewPartition"
    ALIVE_AND_IN_ISR = "AliveAndInIsr"
    UNCLEAN = "Unclean"
    REASSIGNMENT_TARGET = "ReassignmentTarget"
    PREFERRED_LEADER = "PreferredLeader"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"


class PartitionLeaderElectionStrategy(StrEnum):
    """The rule by which a leader is elected; Kafka's names."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy"
    OFFLINE_ALLOW_UNCLEAN = "OfflinePartitionLeaderElectionStrategy(allowUnclean)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"


@dataclass(frozen=True, slots=True)
class ElectionWording:
    """The description of a rule's result: one for an elected leader, one for no leader."""

    elected: str
    not_elected: str


WORDINGS = {
    ElectionRule.NEW_PARTITION: ElectionWording(
        "first of the assignment {candidates} that is alive", "no replica of the assignment {candidates} is alive"
    ),
    ElectionRule.ALIVE_AND_IN_ISR: ElectionWording(
        "first of the assignment {candidates} that is alive and in the ISR {isr}",
        "no replica of the assignment {candidates} is alive and in the ISR {isr}, and no unclean election applies",
    ),
    ElectionRule.UNCLEAN: ElectionWording(
        "first of the assignment {candidates} that is alive, as no replica in the ISR {isr} is: unclean,"
        " and what only they have may be lost",
        "no replica of the assignment {candidates} is alive, in the ISR {isr} or not",
    ),
    ElectionRule.REASSIGNMENT_TARGET: ElectionWording(
        "first of the target {candidates} that is alive and in the ISR {isr}",
        "no replica of the target {candidates} is alive and in the ISR {isr}",
    ),
    ElectionRule.PREFERRED_LEADER: ElectionWording(
        "the preferred leader of {candidates}, alive and in the ISR {isr}",
        "the preferred leader of {candidates} is not both alive and in the ISR {isr}",
    ),
    ElectionRule.CONTROLLED_SHUTDOWN: ElectionWording(
        "first of the assignment {candidates} that is alive, in the ISR {isr} and not shutting down {shutting_down}",
        "no replica of the assignment {candidates} is alive, in the ISR {isr} and not shutting down {shutting_down}",
    ),
}


@dataclass(frozen=True, slots=True)
class Election:
    """The result of one election.

    Attributes:
        rule: the rule that decided.
        candidates: the assignment, or the target of a reassignment; in the order that decides.
        isr: the stored ISR; empty for a new partition.
        alive: the candidates and ISR members that counted as alive; sorted.
        shutting_down: the candidates and ISR members that were skipped because they are about to stop; sorted.
        elected: the state to be written, with the version that was read: the write is conditional on it. None when no leader
            could be elected: nothing changes then.
        recipients: the recipients of the LeaderAndIsr request, in the order of the candidates. Some strategies name dead
            brokers too; these receive nothing.
    """

    rule: ElectionRule
    candidates: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    alive: tuple[BrokerId, ...]
    shutting_down: tuple[BrokerId, ...] = ()
    elected: LeaderAndIsr | None = None
    recipients: tuple[BrokerId, ...] = ()

    @property
    def is_unclean(self) -> bool:
        """Whether a replica outside the ISR leads now: records that only the old ISR had are lost."""
        return self.rule is ElectionRule.UNCLEAN and self.elected is not None

    @property
    def inputs(self) -> str:
        """The inputs of the decision, for the event log's column of this name."""
        known = [("candidates", self.candidates), ("ISR", self.isr), ("alive", self.alive)]
        if self.shutting_down:
            known.append(("shutting down", self.shutting_down))
        return ", ".join(f"{what} {list(brokers)}" for what, brokers in known)

    def __str__(self) -> str:
        """Describe the result in a sentence.

        Example: leader 2: first of the assignment [3, 2, 1] that is alive and in the ISR [2, 1].
        """
        wording = WORDINGS[self.rule]
        lists = {"candidates": list(self.candidates), "isr": list(self.isr), "shutting_down": list(self.shutting_down)}
        if self.elected is not None:
            return f"leader {self.elected.leader}: {wording.elected.format(**lists)}"
        return f"no leader: {wording.not_elected.format(**lists)}; alive are {list(self.alive)}"


# --- the choice alone ------------------------------------------------------------------------------------------------------


def first_alive_in_isr(
    candidates: Sequence[BrokerId], isr: Sequence[BrokerId], alive: Collection[BrokerId]
) -> BrokerId | None:
    """Return the choice of every clean strategy: the first candidate that is alive and in the ISR."""
    return _first(candidates, lambda broker: broker in alive and broker in isr)


def offline_choice(
    assignment: Sequence[BrokerId], isr: Sequence[BrokerId], alive: Collection[BrokerId], unclean_enabled: bool
) -> tuple[BrokerId | None, bool]:
    """Choose for a partition whose leader is offline.

    Returns: the leader or None, and whether it is an unclean one.

    Source: Kafka 2.8, offlinePartitionLeaderElection.
    """
    clean = first_alive_in_isr(assignment, isr, alive)
    if clean is not None or not unclean_enabled:
        return clean, False
    unclean = _first(assignment, lambda broker: broker in alive)
    return unclean, unclean is not None


def preferred_choice(
    assignment: Sequence[BrokerId], isr: Sequence[BrokerId], alive: Collection[BrokerId]
) -> BrokerId | None:
    """Return the first replica of the assignment if it is alive and in the ISR, or None."""
    return first_alive_in_isr(assignment[:1], isr, alive)


def controlled_shutdown_choice(
    assignment: Sequence[BrokerId], isr: Sequence[BrokerId], alive: Collection[BrokerId], shutting_down: Collection[BrokerId]
) -> BrokerId | None:
    """Choose for a partition whose leader is about to stop.

    Args:
        alive: includes the brokers that are shutting down.
    """
    return _first(assignment, lambda broker: broker in alive and broker in isr and broker not in shutting_down)


def _first(candidates: Sequence[BrokerId], suits: Callable[[BrokerId], bool]) -> BrokerId | None:
    return next(filter(suits, candidates), None)


# --- the choice, and what follows from it ----------------------------------------------------------------------------------


def elect_for_new_partition(assignment: Sequence[BrokerId], online: Collection[BrokerId]) -> Election:
    """Elect the first leader of a partition: all replicas that are online form the ISR, in the order of the assignment.

    Args:
        online: brokers whose replica of this partition is online, or would be, without those that are shutting down. The
            same holds for the functions below.
    """
    election = _without_leader(ElectionRule.NEW_PARTITION, assignment, (), online)
    isr = _among(assignment, online)
    if not isr:
        return election
    return replace(election, elected=LeaderAndIsr(isr[0], LeaderEpoch(0), isr, ZkVersion(0)), recipients=isr)


def may_be_unclean(isr: Sequence[BrokerId], online: Collection[BrokerId]) -> bool:
    """Return whether the settings on unclean elections matter.

    They do not while any member of the ISR is online, assigned or not.
    """
    return not any(broker in online for broker in isr)


def elect_offline(
    assignment: Sequence[BrokerId],
    stored: LeaderAndIsr,
    online: Collection[BrokerId],
    unclean_allowed: bool,
    marks_recovery: bool = False,
) -> Election:
    """Elect for a partition that has no leader, or an offline one.

    Args:
        unclean_allowed: unclean.leader.election.enable of the topic, or an administrator's request; no effect unless
            may_be_unclean.
        marks_recovery: whether the state tells that its leader is from outside the ISR.
    """
    unclean = unclean_allowed and may_be_unclean(stored.isr, online)
    election = _without_leader(
        ElectionRule.UNCLEAN if unclean else ElectionRule.ALIVE_AND_IN_ISR, assignment, stored.isr, online
    )
    leader, is_unclean = offline_choice(assignment, stored.isr, online, unclean)
    isr = (leader,) if leader is not None and is_unclean else _among(stored.isr, online)
    if is_unclean and marks_recovery:
        stored = replace(stored, is_recovering=True)
    return _answered(election, stored, leader, isr, _among(assignment, online))


def elect_for_reassignment(target: Sequence[BrokerId], stored: LeaderAndIsr, online: Collection[BrokerId]) -> Election:
    """Elect among the replicas of the target. The ISR does not change; it keeps dead members."""
    election = _without_leader(ElectionRule.REASSIGNMENT_TARGET, target, stored.isr, online)
    return _answered(election, stored, first_alive_in_isr(target, stored.isr, online), stored.isr, tuple(target))


def elect_preferred(assignment: Sequence[BrokerId], stored: LeaderAndIsr, online: Collection[BrokerId]) -> Election:
    """Elect the first replica of the assignment. The ISR does not change; it keeps dead members.

    A replica that is the leader already is elected again, with a new leader epoch: callers leave those partitions out.
    """
    election = _without_leader(ElectionRule.PREFERRED_LEADER, assignment, stored.isr, online)
    return _answered(election, stored, preferred_choice(assignment, stored.isr, online), stored.isr, tuple(assignment))


def elect_at_controlled_shutdown(
    assignment: Sequence[BrokerId], stored: LeaderAndIsr, alive: Collection[BrokerId], shutting_down: Collection[BrokerId]
) -> Election:
    """Elect a leader that is not about to stop, and remove the stopping brokers from the ISR; dead members stay in it.

    Args:
        alive: online or shutting down.
    """
    election = _without_leader(ElectionRule.CONTROLLED_SHUTDOWN, assignment, stored.isr, alive, shutting_down)
    leader = controlled_shutdown_choice(assignment, stored.isr, alive, shutting_down)
    isr = tuple(broker for broker in stored.isr if broker not in shutting_down)
    return _answered(election, stored, leader, isr, _among(assignment, alive))


def _without_leader(
    rule: ElectionRule,
    candidates: Sequence[BrokerId],
    isr: tuple[BrokerId, ...],
    alive: Collection[BrokerId],
    shutting_down: Collection[BrokerId] = (),
) -> Election:
    """Return the election before a leader is chosen."""
    concerned = sorted({*candidates, *isr})
    return Election(rule, tuple(candidates), isr, _among(concerned, alive), _among(concerned, shutting_down))


def _answered(
    election: Election,
    stored: LeaderAndIsr,
    leader: BrokerId | None,
    isr: tuple[BrokerId, ...],
    recipients: tuple[BrokerId, ...],
) -> Election:
    if leader is None:
        return election
    return replace(election, elected=replace(stored.led_by(leader), isr=isr), recipients=recipients)


def _among(replicas: Sequence[BrokerId], brokers: Collection[BrokerId]) -> tuple[BrokerId, ...]:
    return tuple(broker for broker in replicas if broker in brokers)
