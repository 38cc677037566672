"""Evaluate conditions on topics and partitions: pure functions of the content of their znodes, and of who runs.

The evidence for a leader, epoch or ISR is the partition's state znode; for replicas, the topic's znode.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext, each, last
from kcsim.scenarios.language.value_types import ANY, NONE
from kcsim.text import comma_separated
from kcsim.vocabulary import BrokerId, LeaderAndIsr, TopicPartition
from kcsim.znodes import BadZnodeError, decode_reassignment, paths

MANY = 10
"""If there are more partitions than this, the rest is only counted in the text."""


def _state_changes(partition: TopicPartition, context: EvaluationContext) -> tuple[Event, ...]:
    return last(context.changes_of(paths.topic_partition_state(partition)))


def _topic_changes(topic: str, context: EvaluationContext) -> tuple[Event, ...]:
    return last(context.changes_of(paths.topic(topic)))


def _of_state(
    is_wanted: Callable[[Any, LeaderAndIsr, EvaluationContext], bool],
    describe: Callable[[LeaderAndIsr, EvaluationContext], str],
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
            return ConditionResult(
                is_wanted(wanted[partition], of, context), f"{partition} {describe(of, context)}", evidence
            )

        return each(wanted, look)

    return evaluate


def _is_led(wanted: Sequence[str], of: LeaderAndIsr, context: EvaluationContext) -> bool:
    leader = None if of.leader is None else f"broker-{of.leader}"
    can_lead = leader is None or context.counts(leader)
    return can_lead and any(context.role_matches(leader, name) for name in wanted)


def _leader_text(of: LeaderAndIsr, context: EvaluationContext) -> str:
    who = "has no leader" if of.leader is None else f"is led by {context.described(f'broker-{of.leader}')}"
    return f"{who} (leader epoch {of.leader_epoch}, ISR {_ids(of.isr)})"


def _has_isr(wanted: Sequence[BrokerId], of: LeaderAndIsr, context: EvaluationContext) -> bool:
    return sorted(wanted) == sorted(of.isr) and (context.as_recorded or not _not_running(of.isr, context))


def _isr_text(of: LeaderAndIsr, context: EvaluationContext) -> str:
    return f"has ISR {_ids(of.isr)}{_of_which(of.isr, context)}"


def _not_running(brokers: Sequence[BrokerId], context: EvaluationContext) -> list[str]:
    """Return those brokers that do not run, each with what it is: `broker-2 is dead`."""
    states = ((f"broker-{broker}", context.state.not_running(f"broker-{broker}")) for broker in brokers)
    return [f"{node} is {why}" for node, why in states if why is not None]


def _of_which(brokers: Sequence[BrokerId], context: EvaluationContext) -> str:
    amiss = _not_running(brokers, context)
    return f", of which {comma_separated(amiss)}" if amiss else ""


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
    """Compare the partitions that are being reassigned; `none` is false if there are no topics.

    Those count too whose reassignment is requested in /admin/reassign_partitions, and not begun or not complete: otherwise
    `none` would hold between the request and the moment at which the controller begins.
    """
    if not context.state.of_topics.topics:
        return ConditionResult(False, "there are no topics")
    requested = _requested_reassignments(context)
    moving = sorted({*context.state.of_topics.reassigning(), *requested})
    observed = f"{comma_separated(moving)} being reassigned" if moving else "nothing is being reassigned"
    holds = {ANY: bool(moving), NONE: not moving}[wanted] if isinstance(wanted, str) else moving == sorted(wanted)
    topics = dict.fromkeys(partition.topic for partition in moving) or context.state.of_topics.topics
    of_request = last(context.changes_of(paths.REASSIGN_PARTITIONS)) if requested else ()
    evidence = (*(event for topic in topics for event in _topic_changes(topic, context)), *of_request)
    return ConditionResult(holds, observed, evidence)


def _requested_reassignments(context: EvaluationContext) -> list[TopicPartition]:
    """Return the partitions that /admin/reassign_partitions names and that exist; none if its data cannot be read."""
    requested = context.state.znodes.get(paths.REASSIGN_PARTITIONS)
    if requested is None or requested.data is None:
        return []
    try:
        wanted = decode_reassignment(paths.REASSIGN_PARTITIONS, requested.data.encode(), lambda *_: None)
    except BadZnodeError:
        return []
    there = context.state.of_topics.topics
    return [named for named in wanted if named.topic in there and named.partition in there[named.topic].assignments]


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
    if assignment is None or not set(assignment.replicas) <= set(context.state.of_topics.isr(partition)):
        return False
    return context.as_recorded or not _not_running(assignment.replicas, context)


def _not_in_sync(partition: TopicPartition, context: EvaluationContext) -> str:
    assignment = context.state.of_topics.assignment(partition)
    if assignment is None:
        return f"{partition} does not exist"
    isr = context.state.of_topics.isr(partition)
    return f"{partition} has ISR {_ids(isr)} of {_ids(assignment.replicas)}{_of_which(assignment.replicas, context)}"


def _is_preferred(partition: TopicPartition, context: EvaluationContext) -> bool:
    preferred = context.state.of_topics.broker_in_role("preferred", partition)
    if preferred is None or context.state.of_topics.leader(partition) != preferred:
        return False
    return context.counts(f"broker-{preferred}")


def _not_preferred(partition: TopicPartition, context: EvaluationContext) -> str:
    preferred, leader = (
        context.state.of_topics.broker_in_role("preferred", partition),
        context.state.of_topics.leader(partition),
    )
    if preferred is None:
        return f"{partition} does not exist"
    led = "no broker" if leader is None else context.described(f"broker-{leader}")
    return f"{partition} is led by {led}" + ("" if leader == preferred else f", not by broker-{preferred}")


def _offline_partitions(wanted: int, context: EvaluationContext) -> ConditionResult:
    of_topics = context.state.of_topics
    offline = of_topics.offline(context.state.registered)

    def names_no_running_leader(partition: TopicPartition) -> bool:
        leader = of_topics.leader(partition)
        return leader is not None and bool(_not_running([leader], context))

    misleading = [tp for tp in of_topics.partitions() if tp not in offline and names_no_running_leader(tp)]
    what, but = "without a leader that is registered", "led by a broker that does not run"
    return _number(wanted, _Counted(offline, what), _Counted(misleading, but), context)


def _under_replicated(wanted: int, context: EvaluationContext) -> ConditionResult:
    of_topics = context.state.of_topics
    found = of_topics.under_replicated()
    misleading = [tp for tp in of_topics.partitions() if tp not in found and _not_running(of_topics.isr(tp), context)]
    but = "with a broker in the ISR that does not run"
    return _number(wanted, _Counted(found, "under-replicated"), _Counted(misleading, but), context)


class _Counted(NamedTuple):
    """Partitions, and what they have in common."""

    partitions: Sequence[TopicPartition]
    what: str

    def __str__(self) -> str:
        named = f": {comma_separated(self.partitions[:MANY])}{_and_more(self.partitions)}" if self.partitions else ""
        return f"{_counted(self.partitions)} {self.what}{named}"


def _number(wanted: int, found: _Counted, misleading: _Counted, context: EvaluationContext) -> ConditionResult:
    """Compare the number of partitions on record; false if there are no topics.

    Args:
        misleading: other partitions, whose records name processes that do not run.
    """
    if not context.state.children(paths.BROKER_TOPICS):
        return ConditionResult(False, "there are no topics")
    evidence = tuple(event for tp in (*found.partitions, *misleading.partitions) for event in _state_changes(tp, context))
    observed = f"{found}; {misleading}" if misleading.partitions else str(found)
    holds = len(found.partitions) == wanted and (context.as_recorded or not misleading.partitions)
    return ConditionResult(holds, observed, evidence)


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
            lambda of, _: f"has leader epoch {of.leader_epoch}",
            without=lambda _: False,
        ),
        "isr": _of_state(_has_isr, _isr_text, without=lambda _: False),
        "replicas": _replicas,
        "in_sync": _of_each(_is_in_sync, "with every replica in the ISR", _not_in_sync),
        "leaders_preferred": _of_each(_is_preferred, "led by the first of their replicas", _not_preferred),
        "reassigning": _reassigning,
        "offline_partitions": _offline_partitions,
        "under_replicated": _under_replicated,
    }
)
"""Field of Condition -> its evaluator, for the conditions about topics and partitions."""
