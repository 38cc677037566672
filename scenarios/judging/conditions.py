"""Judges conditions on a cluster: pure functions from what has happened to whether they hold, and why.

The same conditions are waited for by steps and judged as expectations. A finding carries the events that decided it, so that
an outcome can be followed back to its fault.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kcsim.scenarios.judging.group_conditions import GROUP_JUDGES
from kcsim.scenarios.judging.partition_conditions import PARTITION_JUDGES
from kcsim.scenarios.judging.record_conditions import RECORD_JUDGES
from kcsim.scenarios.judging.seen import Finding, Seen, each, last
from kcsim.scenarios.language.claims import Condition, EventCount, TimeBetween, ZnodeIs
from kcsim.scenarios.language.event_pattern import EventPattern
from kcsim.scenarios.language.metric_words import WantedMetric
from kcsim.scenarios.language.words import duration_text, listed
from kcsim.scenarios.metrics_state import MetricsState
from kcsim.zk import paths
from kcsim.zk.events import Event, EventKind


def judge(condition: Condition, seen: Seen) -> Finding:
    """Say whether everything that a condition says holds now.

    Returns: when it does not hold, what is seen of the parts that do not, else of all.
    """
    findings = [_JUDGES[part](value, seen) for part, value in condition.parts()]
    telling = [finding for finding in findings if not finding.holds] or findings
    evidence = {event.seq: event for finding in telling for event in finding.evidence}
    return Finding(
        holds=all(finding.holds for finding in findings),
        seen="; ".join(finding.seen for finding in telling),
        evidence=tuple(evidence[seq] for seq in sorted(evidence)),
    )


# --- who is controller -------------------------------------------------------------------------------------------------


def _controller(wanted: str, seen: Seen) -> Finding:
    holder_id = seen.state.controller_id
    holder = None if holder_id is None else f"broker-{holder_id}"
    holds = seen.is_held_by(holder, wanted)
    told = f"{holder} is the controller" if holder else "nobody is the controller"
    return Finding(holds, told, last(seen.changes_of(paths.CONTROLLER)))


def _controller_epoch(wanted: int, seen: Seen) -> Finding:
    epoch = seen.state.controller_epoch
    told = "there is no controller epoch" if epoch is None else f"the controller epoch is {epoch}"
    return Finding(epoch == wanted, told, last(seen.changes_of(paths.CONTROLLER_EPOCH)))


def _controller_epochs(wanted: list[int], seen: Seen) -> Finding:
    won = seen.of_kind(EventKind.ELECTION_WON)
    told = listed(f"{event.controller_epoch} by {event.node}" for event in won)
    return Finding([e.controller_epoch for e in won] == wanted, f"epochs won: {told or 'none'}", tuple(won))


# --- brokers -----------------------------------------------------------------------------------------------------------


def _registration(node: str) -> str:
    return f"{paths.BROKER_IDS}/{node.removeprefix('broker-')}"


def _registration_is(wanted: bool) -> Callable[[Iterable[str], Seen], Finding]:
    def judge_registrations(names: Iterable[str], seen: Seen) -> Finding:
        def look(node: str) -> Finding:
            path = _registration(node)
            is_there = path in seen.state.znodes
            told = f"{node} is {'' if is_there else 'not '}registered"
            return Finding(is_there is wanted, told, last(seen.changes_of(path)))

        return each(seen.nodes(names), look)

    return judge_registrations


def _re_registered(names: Iterable[str], seen: Seen) -> Finding:
    def look(node: str) -> Finding:
        path = _registration(node)
        made = [event for event in seen.changes_of(path) if event.kind is EventKind.ZNODE_CREATED]
        now = seen.state.znodes.get(path)
        if not made or now is None:
            return Finding(False, f"{node} is not registered", last(seen.changes_of(path)))
        first = made[0].zxid or 0
        if now.czxid <= first:
            return Finding(False, f"{node} has the broker epoch it had at first, {first}", (made[0],))
        return Finding(True, f"{node} has broker epoch {now.czxid}, at first {first}", (made[0], made[-1]))

    return each(seen.nodes(names), look)


def _process(wanted: str) -> Callable[[Iterable[str], Seen], Finding]:
    def judge_processes(names: Iterable[str], seen: Seen) -> Finding:
        def look(node: str) -> Finding:
            state = seen.state.processes.get(node, "not started")
            told = [event for event in seen.of_kind(EventKind.PROCESS_STATE) if event.node == node]
            return Finding(state == wanted, f"{node} is {state}", last(told))

        return each(seen.nodes(names), look)

    return judge_processes


def _session_expired(names: Iterable[str], seen: Seen) -> Finding:
    def look(node: str) -> Finding:
        had = {event.session_id for event in seen.of_kind(EventKind.SESSION_STATE) if event.node == node}
        expired = [e for e in seen.of_kind(EventKind.SESSION_CLOSED) if e.session_id in had and e.error is not None]
        told = f"session {expired[-1].session_id} of {node} has expired" if expired else f"no session of {node} has expired"
        return Finding(bool(expired), told, last(expired))

    return each(seen.nodes(names), look)


# --- znodes ------------------------------------------------------------------------------------------------------------


def _znode(wanted: ZnodeIs, seen: Seen) -> Finding:
    evidence = last(seen.changes_of(wanted.path))
    znode = seen.state.znodes.get(wanted.path)
    if znode is None:
        return Finding(not wanted.exists, f"{wanted.path} does not exist", evidence)
    if not wanted.exists:
        return Finding(False, f"{wanted.path} exists", evidence)
    children = len(seen.state.children(wanted.path))
    told = f"{wanted.path} has {'no data' if znode.data is None else f'data {znode.data}'}"
    if wanted.children is not None:
        told += f" and {children} children"
    holds = _is_content(wanted.data, znode.data) and wanted.children in (None, children)
    return Finding(holds, told, evidence)


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


def _event(wanted: EventPattern, seen: Seen) -> Finding:
    found = seen.matching(wanted)
    return Finding(bool(found), f"{wanted} {_times(len(found))}", last(found))


def _no_event(wanted: EventPattern, seen: Seen) -> Finding:
    found = seen.matching(wanted)
    return Finding(not found, f"{wanted} {_times(len(found))}", tuple(found[:1]))


def _events(wanted: EventCount, seen: Seen) -> Finding:
    found = seen.matching(wanted.of)
    holds = (
        wanted.exactly in (None, len(found))
        and len(found) >= (wanted.at_least or 0)
        and (wanted.at_most is None or len(found) <= wanted.at_most)
    )
    return Finding(holds, f"{wanted.of} {_times(len(found))}", tuple(found))


def _order(wanted: Sequence[EventPattern], seen: Seen) -> Finding:
    found: list[Event] = []
    for pattern in wanted:
        after = found[-1].seq if found else -1
        following = next((event for event in seen.matching(pattern) if event.seq > after), None)
        if following is None:
            place = f" after #{after}" if found else ""
            return Finding(False, f"no {pattern}{place}", tuple(found))
        found.append(following)
    return Finding(True, f"{listed(pattern.title for pattern in wanted)}, in this order", tuple(found))


def _time_between(wanted: TimeBetween, seen: Seen) -> Finding:
    starts, ends = seen.matching(wanted.from_), seen.matching(wanted.to)
    if not starts:
        return Finding(False, f"{wanted.from_} has not happened")
    found = []
    for start in starts if wanted.each else starts[:1]:
        end = next((event for event in ends if event.seq > start.seq), None)
        if end is None:
            return Finding(False, f"no {wanted.to} after #{start.seq}", (start,))
        took_ms = end.t_ms - start.t_ms
        holds = took_ms >= (wanted.at_least or 0) and (wanted.at_most is None or took_ms <= wanted.at_most)
        told = f"{duration_text(took_ms)} from {wanted.from_.title} to {wanted.to.title}"
        found.append(Finding(holds, told, (start, end)))
    return each(found, lambda finding: finding)


# --- metrics -----------------------------------------------------------------------------------------------------------


def _metrics(wanted: Mapping[str, WantedMetric], seen: Seen) -> Finding:
    return each(wanted, lambda name: _metric(name, wanted[name], seen.state.of_metrics))


def _metric(name: str, wanted: WantedMetric, metrics: MetricsState) -> Finding:
    if wanted.is_highest:
        highest, event = metrics.highest.get(name, (0, None))
        return Finding(wanted.amount.holds(highest), f"{name} was {highest} at most", (event,) if event else ())
    now, changed = metrics.now.get(name, 0), metrics.changed.get(name)
    return Finding(wanted.amount.holds(now), f"{name} is {now}", (changed,) if changed else ())


def _times(count: int) -> str:
    return {0: "has not happened", 1: "happened once"}.get(count, f"happened {count} times")


_JUDGES: Mapping[str, Callable[[Any, Seen], Finding]] = MappingProxyType(
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
        **PARTITION_JUDGES,
        **RECORD_JUDGES,
        **GROUP_JUDGES,
        "metrics": _metrics,
        "znode": _znode,
        "event": _event,
        "no_event": _no_event,
        "events": _events,
        "order": _order,
        "time_between": _time_between,
    }
)
"""Field of Condition -> its judge."""
