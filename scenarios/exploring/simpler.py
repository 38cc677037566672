"""All the ways in which a scenario can be a little simpler.

Each yields trees that may make no sense: whoever asks for them finds out by loading them.
"""

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kcsim.scenarios.exploring.generator import Tree
from kcsim.scenarios.language.steps import verb_of

Path = tuple[str | int, ...]
Way = Callable[[Tree], Iterator[Tree]]
"""Yields everything that is one step simpler in one respect; large steps first."""
KEPT = (
    *("name", "description", "cluster", "timetable", "expect", "claim", "kind"),  # every scenario, or every event, has them
    "brokers",  # has a way of its own
    *("invariants", "acks"),  # else something else would be promised
    "rate",  # else a producer writes as fast as it can, and a run takes ten times as long
)
"""Keys that are not left out."""
ROLE = r"controller|(leader|follower)-of .*"
ALL_START = ("start", "all")
TIMETABLE = "timetable"
FEW_STEPS = 8
ROUND_MS = (10_000, 5_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10)


# --- brokers ---------------------------------------------------------------------------------------------------------------


def _without_a_broker(tree: Tree) -> Iterator[Tree]:
    """One broker fewer; those after it move up, so that the ids have no gap."""
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
    """A step that does not know a broker; nothing if it was done to this one only."""
    verb = verb_of(step)
    if verb is None:
        return step
    if verb in ("reassign", "add-partitions"):
        return step | {verb: {name: _without_id(wanted, gone) for name, wanted in step[verb].items()}}
    if step[verb] == f"broker-{gone}":
        return None
    return _renamed(step, gone)


def _without_id(value: Any, gone: int) -> Any:
    """Replica lists without this id, and with the later ones one less."""
    if isinstance(value, dict):
        return {key: _without_id(item, gone) for key, item in value.items()}
    if isinstance(value, list):
        return [item - (item > gone) for item in value if item != gone]
    return value


def _renamed(value: Any, gone: int) -> Any:
    """Names of brokers with the later ones one less; in a list, the one that is gone is left out."""
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
    """One partition fewer of a topic; those after it move up."""
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
    """The same with partitions of the topic one less behind the one that is gone; nothing where nothing is left."""

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


# --- whatever can be left out ----------------------------------------------------------------------------------------------


def _without_an_entry(tree: Tree) -> Iterator[Tree]:
    """Any key with what it holds, and any item of a list of several, left out: large parts before small ones."""
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
    """A whole step, or its verb: those are left out by whoever leaves out steps."""
    return path[0] == TIMETABLE and len(path) == 2


# --- plain words -----------------------------------------------------------------------------------------------------------


def _named_plainly(tree: Tree) -> Iterator[Tree]:
    """A broker by its own name instead of by what it is, one that starts instead of all, one server of ZooKeeper."""
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
    """A duration that is a rounder number, not longer than twice as long; shorter ones first."""
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
    """The way to every part of it, the whole excepted."""
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
    """A copy of the tree with something else in one place."""
    return _changed(tree, path, lambda _: value)


def _changed(tree: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """A copy of the tree with one part changed; what is not on the way to it is shared."""
    if not path:
        return change(tree)
    copied: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copied[path[0]] = _changed(tree[path[0]], path[1:], change)
    return copied


# --- two at once -----------------------------------------------------------------------------------------------------------


def _without_a_step(tree: Tree) -> Iterator[Tree]:
    """One step fewer and, besides, something else that is simpler in the timetable: what only the step made necessary."""
    if len(tree[TIMETABLE]) > FEW_STEPS:
        return
    for way in (_named_plainly, _without_an_entry):
        for simpler in way(tree):
            for place in range(len(tree[TIMETABLE])) if simpler[TIMETABLE] != tree[TIMETABLE] else ():
                if len(simpler[TIMETABLE]) > 1:
                    yield _changed(simpler, (TIMETABLE,), partial(_less, place))


WAYS: Sequence[Way] = (
    _without_an_entry,
    _without_a_broker,
    _without_a_partition,
    _named_plainly,
    _without_a_step,
    _with_round_times,
)
"""All of them: those that make a run cheaper come first."""
