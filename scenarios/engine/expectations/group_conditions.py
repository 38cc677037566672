"""Evaluate conditions on consumer groups: ownership of partitions, moved partitions, and gaps in consumption.

All use the state that kcsim/eventlog/consumption.py folds from the event log.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kcsim.eventlog.consumption import GroupHistory, by_topic_and_number
from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.node_names import consumer_node
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext, each, last
from kcsim.text import comma_separated
from kcsim.vocabulary import TopicPartition

OWNERSHIP = (EventKind.PARTITIONS_ASSIGNED, EventKind.PARTITIONS_REVOKED, EventKind.PARTITIONS_LOST)
BOUND_CHECKS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "exactly": lambda found, wanted: found == wanted,
        "at-least": lambda found, wanted: found >= wanted,
        "at-most": lambda found, wanted: found <= wanted,
    }
)


def _named(partitions: Iterable[TopicPartition]) -> list[str]:
    return sorted(map(str, partitions), key=by_topic_and_number)


def _assignment(wanted: Mapping[str, tuple[TopicPartition, ...]], context: EvaluationContext) -> ConditionResult:
    def look(name: str) -> ConditionResult:
        node = consumer_node(name)
        owned = list(context.state.of_consumers.owned.get(node, ()))
        changes = [e for kind in OWNERSHIP for e in context.of_kind(kind) if e.node == node]
        latest = last(sorted(changes, key=lambda event: event.seq))
        observed = f"{context.subject(node)} consumes {comma_separated(owned) or 'nothing'}"
        holds = owned == _named(wanted[name]) and (not owned or context.counts(node))
        return ConditionResult(holds, observed, latest)

    return each(wanted, look)


def _groups(wanted: Mapping[str, Mapping[str, str | int]], context: EvaluationContext) -> ConditionResult:
    def look(group: str) -> ConditionResult:
        history = _history(group, context)
        holds = all(
            {"state": history.state, "generation": history.generation}[key] == is_ for key, is_ in wanted[group].items()
        )
        observed = f"group {group} is {history.state} in generation {history.generation}"
        evidence = _event(history.last_event, context)
        if evidence and not context.counts(coordinator := evidence[0].node):
            return ConditionResult(False, f"{observed}, as reported last by {context.described(coordinator)}", evidence)
        return ConditionResult(holds, observed, evidence)

    return each(wanted, look)


def _moved(wanted: Mapping[str, tuple[TopicPartition, ...]], context: EvaluationContext) -> ConditionResult:
    def look(group: str) -> ConditionResult:
        history = _history(group, context)
        moved = sorted({move.partition for move in history.moves}, key=by_topic_and_number)
        whither = (f"{m.partition} from {m.source} to {m.target}" for m in history.moves)
        observed = f"of group {group}, {comma_separated(whither) or 'nothing'} has moved"
        evidence = tuple(event for partition in moved for event in _event(history.evidence.get(partition), context))
        return ConditionResult(moved == _named(wanted[group]), observed, evidence)

    return each(wanted, look)


def _unconsumed(
    wanted: Mapping[str, Mapping[TopicPartition, Mapping[str, int]]], context: EvaluationContext
) -> ConditionResult:
    now_ms = context.events[-1].t_ms if context.events else 0

    def look(item: tuple[str, TopicPartition]) -> ConditionResult:
        group, tp = item
        history = _history(group, context)
        if str(tp) not in history.owners:
            return ConditionResult(False, f"no member of {group} has ever consumed {tp}")
        longest_ms = history.longest_gap_ms(str(tp), now_ms)
        holds = all(BOUND_CHECKS[bound](longest_ms, limit_ms) for bound, limit_ms in wanted[group][tp].items())
        observed = f"no member of {group} consumed {tp} for {longest_ms} ms"
        return ConditionResult(holds, observed, _event(history.evidence.get(str(tp)), context))

    return each([(group, tp) for group, bounds in wanted.items() for tp in bounds], look)


def _history(group: str, context: EvaluationContext) -> GroupHistory:
    return context.state.of_consumers.groups.get(group) or GroupHistory()


def _event(seq: int | None, context: EvaluationContext) -> tuple[Event, ...]:
    return () if seq is None else (context.events[seq],)


GROUP_EVALUATORS: Mapping[str, Callable[[Any, EvaluationContext], ConditionResult]] = MappingProxyType(
    {"assignment": _assignment, "groups": _groups, "moved": _moved, "unconsumed": _unconsumed}
)
"""Field of Condition -> its evaluator, for the conditions about consumer groups."""
