"""Evaluate conditions on topics and partitions: pure functions of the content of their znodes.

The evidence for a leader, epoch or ISR is the partition's state znode; for replicas, the topic's znode.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext, each, last
from kcsim.scenarios.language.value_types import ANY, NONE
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId, LeaderAndIsr, TopicPartition
from kcsim.znodes import paths

MANY = 10
"""If there are more partitions than this, the rest is only counted in the text."""


def _state_changes(partition: TopicPartition, context: EvaluationContext) -> tuple[Event, ...]:
    return last(context.changes_of(paths.topic_partition_state(partition)))


def _topic_changes(topic: str, context: EvaluationContext) -> tuple[Event, ...]:
    return last(context.changes_of(paths.topic(topic)))


def _of_state(
    is_wanted: Callable[[Any, LeaderAndIsr, EvaluationContext], bool],
    describe: Callable[[LeaderAndIsr], str],
    without: Callable[[Any], bool],
) -> Callable[[Mapping[TopicPartition, Any], EvaluationContext], ConditionResult]:
    """Return an evaluator of each partition's state; `without` says whether the condition holds without a state."""

    def evaluate(wanted: Mapping[TopicPartition, Any], context: EvaluationContext) -> ConditionResult:
        def look(partition: TopicPartition) -> ConditionResult:
            state = context.state.of_topics.states.get(partition)
            evidence = _state_changes(partition, context)
            if state is None:
                return ConditionResult(without(wanted[partition]), f"{partition} has no state", evidence)
            of = state.leader_and_isr
            return ConditionResult(is_wanted(wanted[partition], of, context), f"{partition} {describe(of)}", evidence)

        return each(wanted, look)

    return evaluate


def _is_led(wanted: Sequence[str], of: LeaderAndIsr, context: EvaluationContext) -> bool:
    leader = None if of.leader is None else f"broker-{of.leader}"
    return any(context.role_matches(leader, name) for name in wanted)


def _leader_text(of: LeaderAndIsr) -> str:
    who = "has no leader" if of.leader is None else f"is led by broker-{of.leader}"
    return f"{who} (leader epoch {of.leader_epoch}, ISR {_ids(of.isr)})"


def _has_isr(wanted: Sequence[BrokerId], of: LeaderAndIsr, _: EvaluationContext) -> bool:
    return sorted(wanted) == sorted(of.isr)


# --- replicas --------------------------------------------------------------------------------------------------------------


def _replicas(wanted: Mapping[TopicPartition, tuple[BrokerId, ...]], context: EvaluationContext) -> ConditionResult:
    def look(partition: TopicPartition) -> ConditionResult:
        assignment = context.state.of_topics.assignment(partition)
        evidence = _topic_changes(partition.topic, context)
        if assignment is None:
            return ConditionResult(False, f"{partition} does not exist", evidence)
        observed = f"{partition} has replicas {_ids(assignment.replicas)}"
        return ConditionResult(assignment.replicas == wanted[partition], observed, evidence)

    return each(wanted, look)


def _topics(wanted: tuple[str, ...], context: EvaluationContext) -> ConditionResult:
    there = sorted(context.state.children(paths.BROKER_TOPICS))
    observed = f"topics are {comma_separated(there)}" if there else "there are no topics"
    either = sorted({*wanted, *there})
    return ConditionResult(
        there == sorted(wanted), observed, tuple(event for topic in either for event in _topic_changes(topic, context))
    )


def _reassigning(wanted: tuple[TopicPartition, ...] | str, context: EvaluationContext) -> ConditionResult:
    moving = context.state.of_topics.reassigning()
    observed = f"{comma_separated(moving)} being reassigned" if moving else "nothing is being reassigned"
    holds = {ANY: bool(moving), NONE: not moving}[wanted] if isinstance(wanted, str) else moving == sorted(wanted)
    topics = dict.fromkeys(partition.topic for partition in moving) or context.state.of_topics.topics
    return ConditionResult(holds, observed, tuple(event for topic in topics for event in _topic_changes(topic, context)))


# --- how many, or every one ------------------------------------------------------------------------------------------------


def _of_each(
    is_fine: Callable[[TopicPartition, EvaluationContext], bool],
    fine: str,
    not_fine: Callable[[TopicPartition, EvaluationContext], str],
) -> Callable[[tuple[TopicPartition, ...], EvaluationContext], ConditionResult]:
    """Return an evaluator of a property of the named partitions, or of all; it is false if there are none."""

    def evaluate(wanted: tuple[TopicPartition, ...], context: EvaluationContext) -> ConditionResult:
        partitions = wanted or tuple(context.state.of_topics.partitions())
        amiss = [partition for partition in partitions if not is_fine(partition, context)]
        evidence = tuple(event for partition in (amiss or partitions) for event in _state_changes(partition, context))
        if not partitions:
            return ConditionResult(False, "there are no partitions")
        if not amiss:
            return ConditionResult(True, f"{_counted(partitions)} {fine}", evidence)
        return ConditionResult(
            False, comma_separated(not_fine(partition, context) for partition in amiss[:MANY]) + _and_more(amiss), evidence
        )

    return evaluate


def _is_in_sync(partition: TopicPartition, context: EvaluationContext) -> bool:
    assignment = context.state.of_topics.assignment(partition)
    return assignment is not None and set(assignment.replicas) <= set(context.state.of_topics.isr(partition))


def _not_in_sync(partition: TopicPartition, context: EvaluationContext) -> str:
    assignment = context.state.of_topics.assignment(partition)
    if assignment is None:
        return f"{partition} does not exist"
    return f"{partition} has ISR {_ids(context.state.of_topics.isr(partition))} of {_ids(assignment.replicas)}"


def _is_preferred(partition: TopicPartition, context: EvaluationContext) -> bool:
    preferred = context.state.of_topics.broker_in_role("preferred", partition)
    return preferred is not None and context.state.of_topics.leader(partition) == preferred


def _not_preferred(partition: TopicPartition, context: EvaluationContext) -> str:
    preferred, leader = (
        context.state.of_topics.broker_in_role("preferred", partition),
        context.state.of_topics.leader(partition),
    )
    if preferred is None:
        return f"{partition} does not exist"
    return f"{partition} is led by {'no broker' if leader is None else f'broker-{leader}'}, not by broker-{preferred}"


def _offline_partitions(wanted: int, context: EvaluationContext) -> ConditionResult:
    return _number(
        wanted, context.state.of_topics.offline(context.state.registered), "without a leader that is registered", context
    )


def _under_replicated(wanted: int, context: EvaluationContext) -> ConditionResult:
    return _number(wanted, context.state.of_topics.under_replicated(), "under-replicated", context)


def _number(wanted: int, found: Sequence[TopicPartition], what: str, context: EvaluationContext) -> ConditionResult:
    named = f": {comma_separated(found[:MANY])}{_and_more(found)}" if found else ""
    evidence = tuple(event for partition in found for event in _state_changes(partition, context))
    return ConditionResult(len(found) == wanted, f"{_counted(found)} {what}{named}", evidence)


# --- text ------------------------------------------------------------------------------------------------------------------


def _ids(ids: Sequence[int]) -> str:
    return f"[{comma_separated(ids)}]"


def _counted(partitions: Sequence[TopicPartition]) -> str:
    return "1 partition" if len(partitions) == 1 else f"{len(partitions)} partitions"


def _and_more(partitions: Sequence[TopicPartition]) -> str:
    return f" and {len(partitions) - MANY} more" if len(partitions) > MANY else ""


PARTITION_EVALUATORS: Mapping[str, Callable[[Any, EvaluationContext], ConditionResult]] = MappingProxyType(
    {
        "topics": _topics,
        "leader": _of_state(_is_led, _leader_text, without=lambda wanted: NONE in wanted),
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
"""Field of Condition -> its evaluator, for the conditions about topics and partitions."""
