"""Judges what is said of topics and partitions: pure functions on what their znodes say.

A partition's state is evidence of its leader, epoch and ISR, its topic's znode of its replicas.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcsim.scenarios.judging.seen import Finding, Seen, each, last
from kcsim.scenarios.language.words import ANY, NONE, listed
from kcsim.zk import paths
from kcsim.zk.events import Event
from kcsim.zk.vocabulary import BrokerId, LeaderAndIsr, TopicPartition

MANY = 10
"""More partitions than this are not told one by one."""


def _state_changes(partition: TopicPartition, seen: Seen) -> tuple[Event, ...]:
    return last(seen.changes_of(paths.topic_partition_state(partition)))


def _topic_changes(topic: str, seen: Seen) -> tuple[Event, ...]:
    return last(seen.changes_of(paths.topic(topic)))


def _of_state(
    is_wanted: Callable[[Any, LeaderAndIsr, Seen], bool], told: Callable[[LeaderAndIsr], str], without: Callable[[Any], bool]
) -> Callable[[Mapping[TopicPartition, Any], Seen], Finding]:
    """A judge of something in each partition's state; `without` says whether it holds where there is no state."""

    def judge(wanted: Mapping[TopicPartition, Any], seen: Seen) -> Finding:
        def look(partition: TopicPartition) -> Finding:
            state = seen.state.of_topics.states.get(partition)
            evidence = _state_changes(partition, seen)
            if state is None:
                return Finding(without(wanted[partition]), f"{partition} has no state", evidence)
            of = state.leader_and_isr
            return Finding(is_wanted(wanted[partition], of, seen), f"{partition} {told(of)}", evidence)

        return each(wanted, look)

    return judge


def _is_led(wanted: Sequence[str], of: LeaderAndIsr, seen: Seen) -> bool:
    leader = None if of.leader is None else f"broker-{of.leader}"
    return any(seen.is_held_by(leader, name) for name in wanted)


def _leader_told(of: LeaderAndIsr) -> str:
    who = "has no leader" if of.leader is None else f"is led by broker-{of.leader}"
    return f"{who} (leader epoch {of.leader_epoch}, ISR {_ids(of.isr)})"


def _has_isr(wanted: Sequence[BrokerId], of: LeaderAndIsr, _: Seen) -> bool:
    return sorted(wanted) == sorted(of.isr)


# --- replicas --------------------------------------------------------------------------------------------------------------


def _replicas(wanted: Mapping[TopicPartition, tuple[BrokerId, ...]], seen: Seen) -> Finding:
    def look(partition: TopicPartition) -> Finding:
        assignment = seen.state.of_topics.assignment(partition)
        evidence = _topic_changes(partition.topic, seen)
        if assignment is None:
            return Finding(False, f"{partition} does not exist", evidence)
        told = f"{partition} has replicas {_ids(assignment.replicas)}"
        return Finding(assignment.replicas == wanted[partition], told, evidence)

    return each(wanted, look)


def _topics(wanted: tuple[str, ...], seen: Seen) -> Finding:
    there = sorted(seen.state.children(paths.BROKER_TOPICS))
    told = f"topics are {listed(there)}" if there else "there are no topics"
    either = sorted({*wanted, *there})
    return Finding(there == sorted(wanted), told, tuple(event for topic in either for event in _topic_changes(topic, seen)))


def _reassigning(wanted: tuple[TopicPartition, ...] | str, seen: Seen) -> Finding:
    moving = seen.state.of_topics.reassigning()
    told = f"{listed(moving)} being reassigned" if moving else "nothing is being reassigned"
    holds = {ANY: bool(moving), NONE: not moving}[wanted] if isinstance(wanted, str) else moving == sorted(wanted)
    topics = dict.fromkeys(partition.topic for partition in moving) or seen.state.of_topics.topics
    return Finding(holds, told, tuple(event for topic in topics for event in _topic_changes(topic, seen)))


# --- how many, or every one ------------------------------------------------------------------------------------------------


def _of_each(
    is_fine: Callable[[TopicPartition, Seen], bool], fine: str, not_fine: Callable[[TopicPartition, Seen], str]
) -> Callable[[tuple[TopicPartition, ...], Seen], Finding]:
    """A judge of something that is to be so of the partitions named, or of all; false where there is none."""

    def judge(wanted: tuple[TopicPartition, ...], seen: Seen) -> Finding:
        partitions = wanted or tuple(seen.state.of_topics.partitions())
        amiss = [partition for partition in partitions if not is_fine(partition, seen)]
        evidence = tuple(event for partition in (amiss or partitions) for event in _state_changes(partition, seen))
        if not partitions:
            return Finding(False, "there are no partitions")
        if not amiss:
            return Finding(True, f"{_counted(partitions)} {fine}", evidence)
        return Finding(False, listed(not_fine(partition, seen) for partition in amiss[:MANY]) + _and_more(amiss), evidence)

    return judge


def _is_in_sync(partition: TopicPartition, seen: Seen) -> bool:
    assignment = seen.state.of_topics.assignment(partition)
    return assignment is not None and set(assignment.replicas) <= set(seen.state.of_topics.isr(partition))


def _not_in_sync(partition: TopicPartition, seen: Seen) -> str:
    assignment = seen.state.of_topics.assignment(partition)
    if assignment is None:
        return f"{partition} does not exist"
    return f"{partition} has ISR {_ids(seen.state.of_topics.isr(partition))} of {_ids(assignment.replicas)}"


def _is_preferred(partition: TopicPartition, seen: Seen) -> bool:
    preferred = seen.state.of_topics.broker_in_role("preferred", partition)
    return preferred is not None and seen.state.of_topics.leader(partition) == preferred


def _not_preferred(partition: TopicPartition, seen: Seen) -> str:
    preferred, leader = seen.state.of_topics.broker_in_role("preferred", partition), seen.state.of_topics.leader(partition)
    if preferred is None:
        return f"{partition} does not exist"
    return f"{partition} is led by {'nobody' if leader is None else f'broker-{leader}'}, not by broker-{preferred}"


def _offline_partitions(wanted: int, seen: Seen) -> Finding:
    return _number(wanted, seen.state.of_topics.offline(seen.state.registered), "without a leader that is registered", seen)


def _under_replicated(wanted: int, seen: Seen) -> Finding:
    return _number(wanted, seen.state.of_topics.under_replicated(), "under-replicated", seen)


def _number(wanted: int, found: Sequence[TopicPartition], what: str, seen: Seen) -> Finding:
    named = f": {listed(found[:MANY])}{_and_more(found)}" if found else ""
    evidence = tuple(event for partition in found for event in _state_changes(partition, seen))
    return Finding(len(found) == wanted, f"{_counted(found)} {what}{named}", evidence)


# --- in words --------------------------------------------------------------------------------------------------------------


def _ids(ids: Sequence[int]) -> str:
    return f"[{listed(ids)}]"


def _counted(partitions: Sequence[TopicPartition]) -> str:
    return "1 partition" if len(partitions) == 1 else f"{len(partitions)} partitions"


def _and_more(partitions: Sequence[TopicPartition]) -> str:
    return f" and {len(partitions) - MANY} more" if len(partitions) > MANY else ""


PARTITION_JUDGES: Mapping[str, Callable[[Any, Seen], Finding]] = MappingProxyType(
    {
        "topics": _topics,
        "leader": _of_state(_is_led, _leader_told, without=lambda wanted: NONE in wanted),
        "leader_epoch": _of_state(
            lambda wanted, of, _: wanted == of.leader_epoch,
            lambda of: f"has leader epoch {of.leader_epoch}",
            without=lambda _: False,
        ),
        "isr": _of_state(_has_isr, lambda of: f"has ISR {_ids(of.isr)}", without=lambda _: False),
        "replicas": _replicas,
        "in_sync": _of_each(_is_in_sync, "with every replica in the ISR", _not_in_sync),
        "leaders_preferred": _of_each(_is_preferred, "led by the first of their replicas", _not_preferred),
        "reassigning": _reassigning,
        "offline_partitions": _offline_partitions,
        "under_replicated": _under_replicated,
    }
)
"""Field of Condition -> its judge, of those about topics and partitions."""
