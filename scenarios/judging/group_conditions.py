"""Judges what is said of consumer groups: who consumes what, what has moved, and for how long nobody consumed.

All on the fold of consumers/consumption.py.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kcsim.scenarios.consumers.consumer_config import node_of
from kcsim.scenarios.consumers.consumption import GroupHistory, by_topic_and_number
from kcsim.scenarios.judging.seen import Finding, Seen, each, last
from kcsim.scenarios.language.words import listed
from kcsim.zk.events import Event, EventKind
from kcsim.zk.vocabulary import TopicPartition

OWNERSHIP = (EventKind.PARTITIONS_ASSIGNED, EventKind.PARTITIONS_REVOKED, EventKind.PARTITIONS_LOST)
IS_SO: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "exactly": lambda found, wanted: found == wanted,
        "at-least": lambda found, wanted: found >= wanted,
        "at-most": lambda found, wanted: found <= wanted,
    }
)


def _named(partitions: Iterable[TopicPartition]) -> list[str]:
    return sorted(map(str, partitions), key=by_topic_and_number)


def _assignment(wanted: Mapping[str, tuple[TopicPartition, ...]], seen: Seen) -> Finding:
    def look(name: str) -> Finding:
        node = node_of(name)
        owned = list(seen.state.of_consumers.owned.get(node, ()))
        told = [e for kind in OWNERSHIP for e in seen.of_kind(kind) if e.node == node]
        latest = last(sorted(told, key=lambda event: event.seq))
        return Finding(owned == _named(wanted[name]), f"{node} consumes {listed(owned) or 'nothing'}", latest)

    return each(wanted, look)


def _groups(wanted: Mapping[str, Mapping[str, str | int]], seen: Seen) -> Finding:
    def look(group: str) -> Finding:
        history = _history(group, seen)
        holds = all(
            {"state": history.state, "generation": history.generation}[key] == is_ for key, is_ in wanted[group].items()
        )
        told = f"group {group} is {history.state} in generation {history.generation}"
        return Finding(holds, told, _event(history.last_event, seen))

    return each(wanted, look)


def _moved(wanted: Mapping[str, tuple[TopicPartition, ...]], seen: Seen) -> Finding:
    def look(group: str) -> Finding:
        history = _history(group, seen)
        moved = sorted({move.partition for move in history.moves}, key=by_topic_and_number)
        whither = (f"{m.partition} from {m.source} to {m.target}" for m in history.moves)
        told = f"of group {group}, {listed(whither) or 'nothing'} has moved"
        evidence = tuple(event for partition in moved for event in _event(history.evidence.get(partition), seen))
        return Finding(moved == _named(wanted[group]), told, evidence)

    return each(wanted, look)


def _unconsumed(wanted: Mapping[str, Mapping[TopicPartition, Mapping[str, int]]], seen: Seen) -> Finding:
    now_ms = seen.events[-1].t_ms if seen.events else 0

    def look(item: tuple[str, TopicPartition]) -> Finding:
        group, tp = item
        history = _history(group, seen)
        if str(tp) not in history.owners:
            return Finding(False, f"nobody in {group} has ever consumed {tp}")
        longest_ms = history.longest_gap_ms(str(tp), now_ms)
        holds = all(IS_SO[bound](longest_ms, limit_ms) for bound, limit_ms in wanted[group][tp].items())
        told = f"nobody in {group} consumed {tp} for {longest_ms} ms"
        return Finding(holds, told, _event(history.evidence.get(str(tp)), seen))

    return each([(group, tp) for group, bounds in wanted.items() for tp in bounds], look)


def _history(group: str, seen: Seen) -> GroupHistory:
    return seen.state.of_consumers.groups.get(group) or GroupHistory()


def _event(seq: int | None, seen: Seen) -> tuple[Event, ...]:
    return () if seq is None else (seen.events[seq],)


GROUP_JUDGES: Mapping[str, Callable[[Any, Seen], Finding]] = MappingProxyType(
    {"assignment": _assignment, "groups": _groups, "moved": _moved, "unconsumed": _unconsumed}
)
"""Field of Condition -> its judge, of those about consumer groups."""
