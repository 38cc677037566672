"""Evaluate conditions on a cluster: pure functions from the events so far to whether a condition holds, and why.

Steps wait for the same conditions that expectations are judged by. A result carries the events that decided it, so that an
outcome can be traced back to its fault.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext, each, last
from kcsim.scenarios.engine.expectations.group_conditions import GROUP_EVALUATORS
from kcsim.scenarios.engine.expectations.partition_conditions import PARTITION_EVALUATORS
from kcsim.scenarios.engine.expectations.record_conditions import RECORD_EVALUATORS
from kcsim.scenarios.language.conditions_model import Condition, EventCount, TimeBetween, ZnodeCondition
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.metric_types import MetricExpectation
from kcsim.scenarios.language.value_types import duration_text
from kcsim.text import comma_separated
from kcsim.znodes import paths


def evaluate(condition: Condition, context: EvaluationContext) -> ConditionResult:
    """Evaluate whether all parts of a condition hold now.

    Returns: observations on the parts that do not hold, or on all parts if all hold.
    """
    context = context.taking_records(bool(condition.as_recorded))
    findings = [_EVALUATORS[part](value, context) for part, value in condition.parts()]
    decisive = [finding for finding in findings if not finding.holds] or findings
    evidence = {event.seq: event for finding in decisive for event in finding.evidence}
    return ConditionResult(
        holds=all(finding.holds for finding in findings),
        observed="; ".join(finding.observed for finding in decisive),
        evidence=tuple(evidence[seq] for seq in sorted(evidence)),
    )


# --- who is controller -------------------------------------------------------------------------------------------------


def _controller(wanted: str, context: EvaluationContext) -> ConditionResult:
    evidence = last(context.changes_of(paths.CONTROLLER))
    holder_id = context.state.controller_id
    if holder_id is None:
        return ConditionResult(context.role_matches(None, wanted), "no broker is the controller", evidence)
    holder = f"broker-{holder_id}"
    is_wanted = context.role_matches(holder, wanted)
    if (creator := _other_creator(holder, context)) is not None:
        observed = f"{paths.CONTROLLER} names {context.described(holder)}, but {creator} has created it"
        return ConditionResult(is_wanted and context.as_recorded, observed, evidence)
    described = context.described(holder)
    observed = f"{holder} is the controller" if described == holder else f"{paths.CONTROLLER} names {described}"
    return ConditionResult(is_wanted and context.counts(holder), observed, evidence)


def _other_creator(holder: str, context: EvaluationContext) -> str | None:
    """Return who has created /controller if that is not the broker that it names, as after an edit by hand."""
    znode = context.state.znodes.get(paths.CONTROLLER)
    if znode is None or not znode.session_id:
        return None if znode is None or znode.ephemeral else "no session"
    owner = context.state.session_owners.get(znode.session_id)
    return owner if owner not in (None, holder) else None


def _controller_epoch(wanted: int, context: EvaluationContext) -> ConditionResult:
    epoch = context.state.controller_epoch
    observed = "there is no controller epoch" if epoch is None else f"the controller epoch is {epoch}"
    return ConditionResult(epoch == wanted, observed, last(context.changes_of(paths.CONTROLLER_EPOCH)))


def _controller_epochs(wanted: list[int], context: EvaluationContext) -> ConditionResult:
    won = context.of_kind(EventKind.ELECTION_WON)
    epochs = comma_separated(f"{event.controller_epoch} by {event.node}" for event in won)
    return ConditionResult([e.controller_epoch for e in won] == wanted, f"epochs won: {epochs or 'none'}", tuple(won))


# --- brokers -----------------------------------------------------------------------------------------------------------


def _registration(node: str) -> str:
    return f"{paths.BROKER_IDS}/{node.removeprefix('broker-')}"


def _registration_is(wanted: bool) -> Callable[[Iterable[str], EvaluationContext], ConditionResult]:
    def check_registrations(names: Iterable[str], context: EvaluationContext) -> ConditionResult:
        def look(node: str) -> ConditionResult:
            path = _registration(node)
            is_there = path in context.state.znodes
            observed = f"{context.subject(node)} is registered" if is_there else f"{node} is not registered"
            holds = is_there and context.counts(node) if wanted else not is_there
            return ConditionResult(holds, observed, last(context.changes_of(path)))

        return each(context.nodes(names), look)

    return check_registrations


def _re_registered(names: Iterable[str], context: EvaluationContext) -> ConditionResult:
    def look(node: str) -> ConditionResult:
        path = _registration(node)
        made = [event for event in context.changes_of(path) if event.kind is EventKind.ZNODE_CREATED]
        now = context.state.znodes.get(path)
        if not made or now is None:
            return ConditionResult(False, f"{node} is not registered", last(context.changes_of(path)))
        first = made[0].zxid or 0
        if now.czxid <= first:
            return ConditionResult(False, f"{node} has the broker epoch it had at first, {first}", (made[0],))
        observed = f"{context.subject(node)} has broker epoch {now.czxid}, at first {first}"
        return ConditionResult(context.counts(node), observed, (made[0], made[-1]))

    return each(context.nodes(names), look)


def _process(wanted: str) -> Callable[[Iterable[str], EvaluationContext], ConditionResult]:
    def check_processes(names: Iterable[str], context: EvaluationContext) -> ConditionResult:
        def look(node: str) -> ConditionResult:
            state = context.state.processes.get(node, "not started")
            changes = [event for event in context.of_kind(EventKind.PROCESS_STATE) if event.node == node]
            return ConditionResult(state == wanted, f"{node} is {state}", last(changes))

        return each(context.nodes(names), look)

    return check_processes


def _session_expired(names: Iterable[str], context: EvaluationContext) -> ConditionResult:
    def look(node: str) -> ConditionResult:
        had = {event.session_id for event in context.of_kind(EventKind.SESSION_STATE) if event.node == node}
        expired = [e for e in context.of_kind(EventKind.SESSION_CLOSED) if e.session_id in had and e.error is not None]
        observed = (
            f"session {expired[-1].session_id} of {node} has expired" if expired else f"no session of {node} has expired"
        )
        return ConditionResult(bool(expired), observed, last(expired))

    return each(context.nodes(names), look)


# --- znodes ------------------------------------------------------------------------------------------------------------


def _znode(wanted: ZnodeCondition, context: EvaluationContext) -> ConditionResult:
    evidence = last(context.changes_of(wanted.path))
    znode = context.state.znodes.get(wanted.path)
    if znode is None:
        return ConditionResult(not wanted.exists, f"{wanted.path} does not exist", evidence)
    if not wanted.exists:
        return ConditionResult(False, f"{wanted.path} exists", evidence)
    children = len(context.state.children(wanted.path))
    observed = f"{wanted.path} has {'no data' if znode.data is None else f'data {znode.data}'}"
    if wanted.children is not None:
        observed += f" and {children} children"
    owner = context.state.session_owners.get(znode.session_id or "") if znode.ephemeral else None
    if owner is not None and context.described(owner) != owner:
        observed += f"; it belongs to {context.described(owner)}"
    holds = _is_content(wanted.data, znode.data) and wanted.children in (None, children)
    return ConditionResult(holds, observed, evidence)


def _is_content(wanted: Any, text: str | None) -> bool:
    if wanted is None or wanted == text:
        return True
    try:
        return not isinstance(wanted, str) and _is_part_of(wanted, json.loads(text or ""))
    except ValueError:
        return False


def _is_part_of(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and _is_part_of(item, found[key]) for key, item in wanted.items())
    return bool(wanted == found) and isinstance(wanted, bool) == isinstance(found, bool)


# --- events ------------------------------------------------------------------------------------------------------------


def _event(wanted: EventPattern, context: EvaluationContext) -> ConditionResult:
    found = context.matching(wanted)
    return ConditionResult(bool(found), f"{wanted} {_times(len(found))}", last(found))


def _no_event(wanted: EventPattern, context: EvaluationContext) -> ConditionResult:
    found = context.matching(wanted)
    return ConditionResult(not found, f"{wanted} {_times(len(found))}", tuple(found[:1]))


def _events(wanted: EventCount, context: EvaluationContext) -> ConditionResult:
    found = context.matching(wanted.of)
    holds = (
        wanted.exactly in (None, len(found))
        and len(found) >= (wanted.at_least or 0)
        and (wanted.at_most is None or len(found) <= wanted.at_most)
    )
    return ConditionResult(holds, f"{wanted.of} {_times(len(found))}", tuple(found))


def _order(wanted: Sequence[EventPattern], context: EvaluationContext) -> ConditionResult:
    found: list[Event] = []
    for pattern in wanted:
        after = found[-1].seq if found else -1
        following = next((event for event in context.matching(pattern) if event.seq > after), None)
        if following is None:
            place = f" after #{after}" if found else ""
            return ConditionResult(False, f"no {pattern}{place}", tuple(found))
        found.append(following)
    return ConditionResult(True, f"{comma_separated(pattern.title for pattern in wanted)}, in this order", tuple(found))


def _time_between(wanted: TimeBetween, context: EvaluationContext) -> ConditionResult:
    starts, ends = context.matching(wanted.from_), context.matching(wanted.to)
    if not starts:
        return ConditionResult(False, f"{wanted.from_} has not happened")
    found = []
    for start in starts if wanted.each else starts[:1]:
        end = next((event for event in ends if event.seq > start.seq), None)
        if end is None:
            return ConditionResult(False, f"no {wanted.to} after #{start.seq}", (start,))
        took_ms = end.t_ms - start.t_ms
        holds = took_ms >= (wanted.at_least or 0) and (wanted.at_most is None or took_ms <= wanted.at_most)
        observed = f"{duration_text(took_ms)} from {wanted.from_.title} to {wanted.to.title}"
        found.append(ConditionResult(holds, observed, (start, end)))
    return each(found, lambda finding: finding)


# --- metrics -----------------------------------------------------------------------------------------------------------


COUNTS_OF_PARTITIONS = ("OfflinePartitionsCount", "PreferredReplicaImbalanceCount")
"""Metrics that are 0 also because there is nothing to count."""


def _metrics(wanted: Mapping[str, MetricExpectation], context: EvaluationContext) -> ConditionResult:
    return each(wanted, lambda name: _metric(name, wanted[name], context))


def _metric(name: str, wanted: MetricExpectation, context: EvaluationContext) -> ConditionResult:
    metrics = context.state.of_metrics
    if wanted.is_highest:
        highest, event = metrics.highest.get(name, (0, None))
        return ConditionResult(wanted.amount.holds(highest), f"{name} was {highest} at most", (event,) if event else ())
    now, changed = metrics.now.get(name, 0), metrics.changed.get(name)
    unable = [node for node in metrics.by_node(name) if context.state.not_running(node) is not None]
    observed = f"{name} is {now}" + (f", also of {comma_separated(map(context.described, unable))}" if unable else "")
    topics = context.state.of_topics.topics or metrics.now.get("GlobalTopicCount")
    if name in COUNTS_OF_PARTITIONS and not now and not topics:
        return ConditionResult(False, f"{observed}, and there are no topics")
    holds = wanted.amount.holds(now) and (context.as_recorded or not unable)
    return ConditionResult(holds, observed, (changed,) if changed else ())


def _times(count: int) -> str:
    return {0: "has not happened", 1: "happened once"}.get(count, f"happened {count} times")


_EVALUATORS: Mapping[str, Callable[[Any, EvaluationContext], ConditionResult]] = MappingProxyType(
    {
        "controller": _controller,
        "controller_epoch": _controller_epoch,
        "controller_epochs": _controller_epochs,
        "registered": _registration_is(True),
        "unregistered": _registration_is(False),
        "re_registered": _re_registered,
        "running": _process("running"),
        "paused": _process("paused"),
        "stopped": _process("stopped"),
        "dead": _process("dead"),
        "session_expired": _session_expired,
        **PARTITION_EVALUATORS,
        **RECORD_EVALUATORS,
        **GROUP_EVALUATORS,
        "metrics": _metrics,
        "znode": _znode,
        "event": _event,
        "no_event": _no_event,
        "events": _events,
        "order": _order,
        "time_between": _time_between,
    }
)
"""Field of Condition -> its evaluator."""
