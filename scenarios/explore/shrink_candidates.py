"""All simplifications of a scenario.

Each yields trees that may be invalid scenarios: the caller finds out by loading them.
"""

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kcsim.scenarios.explore.generator import Tree
from kcsim.scenarios.language.steps import verb_of

Path = tuple[str | int, ...]
Simplification = Callable[[Tree], Iterator[Tree]]
"""Yields all trees that are one step simpler in one respect; large steps first."""
KEPT = (
    *("name", "description", "cluster", "timetable", "expect", "claim", "kind"),  # every scenario, or every event, has them
    "brokers",  # has its own simplification
    "hardening",  # with it another controller would be examined
    *("invariants", "acks"),  # without them, the scenario would promise something else
    "rate",  # without it, a producer writes as fast as it can, and a run takes ten times as long
)
"""Keys that are not left out."""
ROLE = r"controller|(leader|follower)-of .*"
ALL_START = ("start", "all")
TIMETABLE = "timetable"
FEW_STEPS = 8
ROUND_MS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10)


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _without_a_broker(tree: Tree) -> Iterator[Tree]:
    """Yield the tree with one broker fewer; higher ids decrease by one, so that there is no gap."""
    brokers = tree["cluster"]["brokers"]
    if not isinstance(brokers, int) or brokers == 1:
        return
    for gone in range(brokers, 0, -1):
        fewer: Tree = copy.deepcopy(tree)
        fewer["cluster"]["brokers"] = brokers - 1
        for topic in fewer["cluster"].get("topics", {}).values():
            topic["assignment"] = _without_id(topic.get("assignment", {}), gone)
        fewer["timetable"] = [_step_without(step, gone) for step in fewer["timetable"]]
        fewer["timetable"] = [step for step in fewer["timetable"] if step]
        yield fewer


def _step_without(step: Any, gone: int) -> Any:
    """Return a step without a broker, or None if the broker was the step's only target."""
    verb = verb_of(step)
    if verb is None:
        return step
    if verb in ("reassign", "add-partitions"):
        return step | {verb: {name: _without_id(wanted, gone) for name, wanted in step[verb].items()}}
    if step[verb] == f"broker-{gone}":
        return None
    return _renamed(step, gone)


def _without_id(value: Any, gone: int) -> Any:
    """Return replica lists without this id, and with higher ids decreased by one."""
    if isinstance(value, dict):
        return {key: _without_id(item, gone) for key, item in value.items()}
    if isinstance(value, list):
        return [item - (item > gone) for item in value if item != gone]
    return value


def _renamed(value: Any, gone: int) -> Any:
    """Return the value with the numbers of later brokers decreased by one; lists lose the removed broker."""
    if isinstance(value, dict):
        return {key: _without_id(item, gone) if key == "replicas" else _renamed(item, gone) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, gone) for item in value if item != f"broker-{gone}"]
    if isinstance(value, str) and (found := re.fullmatch(r"broker-(\d+)", value)):
        number = int(found[1])
        return f"broker-{number - (number > gone)}"
    return value


# --- partitions ------------------------------------------------------------------------------------------------------------


def _without_a_partition(tree: Tree) -> Iterator[Tree]:
    """Yield the tree with one partition of a topic fewer; higher partition numbers decrease by one."""
    for name, topic in tree["cluster"].get("topics", {}).items():
        assignment = topic.get("assignment", {})
        for gone in sorted(assignment, reverse=True) if len(assignment) > 1 else ():
            fewer: Tree = copy.deepcopy(tree)
            left = [replicas for number, replicas in sorted(assignment.items()) if number != gone]
            fewer["cluster"]["topics"][name]["assignment"] = dict(enumerate(left))
            moved = [_moved_up(step, name, gone) for step in fewer["timetable"]]
            fewer["timetable"] = [step for step in moved if verb_of(step) is not None]
            yield fewer


def _moved_up(value: Any, topic: str, gone: int) -> Any:
    """Return the value with the topic's higher partition numbers decreased by one, or None if nothing is left."""

    def name(text: str) -> str | None:
        if not (found := re.fullmatch(rf"(.*){re.escape(topic)}-(\d+)", text)):
            return text
        number = int(found[2])
        return None if number == gone else f"{found[1]}{topic}-{number - (number > gone)}"

    if isinstance(value, str):
        return name(value)
    if isinstance(value, list):
        left = [moved for item in value if (moved := _moved_up(item, topic, gone)) is not None]
        return left if left or not value else None
    if isinstance(value, dict):
        changed: dict[Any, Any] = {}
        for key, item in value.items():
            new_key = name(key) if isinstance(key, str) else key
            new_item = _moved_up(item, topic, gone)
            if new_key is None or (new_item is None and item is not None):
                continue
            changed[new_key] = new_item
        return changed if changed or not value else None
    return value


# --- optional entries ------------------------------------------------------------------------------------------------------


def _without_an_entry(tree: Tree) -> Iterator[Tree]:
    """Yield the tree without one key and its value, or one item of a list of several: large parts before small ones."""
    for path in sorted(_paths(tree), key=len):
        if path[-1] in KEPT or path[0] == "expect" or _is_a_step(path):
            continue
        part, parent = _at(tree, path), _at(tree, path[:-1])
        if isinstance(part, dict) and "acks" in part:
            continue
        if len(parent) > 1 or isinstance(path[-1], str):
            yield _changed(tree, path[:-1], partial(_less, path[-1]))


def _less(key: str | int, holder: Any) -> Any:
    if isinstance(holder, dict):
        return {name: item for name, item in holder.items() if name != key}
    return [item for place, item in enumerate(holder) if place != key]


def _is_a_step(path: Path) -> bool:
    """Whether the path leads to a whole step or its verb, which the removal of steps leaves out."""
    return path[0] == TIMETABLE and len(path) == 2


# --- plain names -----------------------------------------------------------------------------------------------------------


def _named_plainly(tree: Tree) -> Iterator[Tree]:
    """Yield the tree with a broker's name instead of a role, one started broker instead of all, or one ZooKeeper server."""
    brokers = tree["cluster"]["brokers"]
    for path in _paths(tree):
        value = _at(tree, path)
        if path[0] == TIMETABLE and isinstance(value, str) and (re.fullmatch(ROLE, value) or (path[-1], value) == ALL_START):
            for number in range(1, brokers + 1 if isinstance(brokers, int) else 1):
                yield _put(tree, path, f"broker-{number}")
        elif path[0] == "zookeeper" and path[-1] == "members" and value > 1:
            yield _put(tree, path, 1)


# --- times -----------------------------------------------------------------------------------------------------------------


def _with_round_times(tree: Tree) -> Iterator[Tree]:
    """Yield the tree with a rounder duration of at most twice the length, the nearest ones first."""
    for path in _paths(tree):
        value = _at(tree, path)
        found = re.fullmatch(r"([\d.]+)(ms|s)", value) if isinstance(value, str) else None
        if path[0] != TIMETABLE or found is None:
            continue
        now_ms = round(float(found[1]) * (1 if found[2] == "ms" else 1_000))
        if now_ms in ROUND_MS:
            continue
        for wanted in sorted((ms for ms in ROUND_MS if ms <= 2 * now_ms), key=lambda ms: abs(ms - now_ms))[:3]:
            text = f"{wanted // 1_000}s" if wanted >= 1_000 else f"{wanted}ms"
            yield _put(tree, path, text)


# --- the tree --------------------------------------------------------------------------------------------------------------


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every part of the value, except the value itself."""
    parts: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    for key, item in parts:
        yield (*path, key)
        yield from _paths(item, (*path, key))


def _at(tree: Any, path: Path) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _put(tree: Any, path: Path, value: Any) -> Any:
    """Return a copy of the tree with another value at one path."""
    return _changed(tree, path, lambda _: value)


def _changed(tree: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Return a copy of the tree with one part changed; parts that are not on the path are shared with the tree."""
    if not path:
        return change(tree)
    copied: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = _changed(tree[path[0]], path[1:], change)
    return copied


# --- two at once -----------------------------------------------------------------------------------------------------------


def _without_a_step(tree: Tree) -> Iterator[Tree]:
    """Yield the tree without one step and with another simplification of the timetable, which only that step prevented."""
    if len(tree[TIMETABLE]) > FEW_STEPS:
        return
    for simplification in (_named_plainly, _without_an_entry):
        for simpler in simplification(tree):
            for place in range(len(tree[TIMETABLE])) if simpler[TIMETABLE] != tree[TIMETABLE] else ():
                if len(simpler[TIMETABLE]) > 1:
                    yield _changed(simpler, (TIMETABLE,), partial(_less, place))


SIMPLIFICATIONS: Sequence[Simplification] = (
    _without_an_entry,
    _without_a_broker,
    _without_a_partition,
    _named_plainly,
    _without_a_step,
    _with_round_times,
)
"""All simplifications; those that make a run cheaper come first."""
