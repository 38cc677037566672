"""The form of a recording: the valid values of each key."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

FORM = 1
"""Form of the recordings that this program reads; recordings without a form have this one."""
FORM_KEYS = ("version", "form", "format", "schema_version")
PARTITION = re.compile(r".+-\d+")


class BadShapeError(ValueError):
    """A value does not have the expected form; the message says where, and what is expected there."""


class Shape(NamedTuple):
    """Form of a value: `fits` checks a value; `words` describes a valid one."""

    fits: Callable[[Any], bool]
    words: str


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_map(value: Any, of_key: Callable[[str], bool], of_value: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(of_key(key) and of_value(item) for key, item in value.items())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_partition(value: Any) -> bool:
    return isinstance(value, str) and PARTITION.fullmatch(value) is not None


def _is_replicas(value: Any) -> bool:
    return _is_list(value, _is_id)


def _is_assignment(value: Any) -> bool:
    return _is_map(value, str.isdecimal, _is_replicas)


def _is_znode(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_text(value[0]) and (value[1] is None or _is_text(value[1]))


def _is_growth(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and _is_text(value[0]) and _is_assignment(value[1])
    return _is_text(value) or (len(value) == 1 if _is_map(value, _is_text, _is_assignment) else False)


def _is_wait(value: Any) -> bool:
    wanted: Mapping[str, Callable[[Any], bool]] = {"leader": _is_id, "isr": _is_replicas}
    return isinstance(value, dict) and all(
        key in wanted and _is_map(item, _is_partition, wanted[key]) for key, item in value.items()
    )


BROKER = Shape(_is_id, "the id of a broker")
BROKERS = Shape(lambda value: bool(value) and _is_list(value, _is_id), "a list of ids of brokers")
TEXT = Shape(_is_text, "a text")
PATH = Shape(lambda value: _is_text(value) and value.startswith("/"), "the path of a znode")
ZNODE = Shape(_is_znode, "the path of a znode and its data, a text or null")
PLAN = Shape(lambda value: _is_map(value, _is_partition, _is_replicas), "partitions with their replicas")
FLAG = Shape(lambda value: isinstance(value, bool), "true or false")
ASSIGNMENT = Shape(_is_assignment, "numbers of partitions with their replicas")
MAP = Shape(lambda value: isinstance(value, dict), "an object")

VERBS: Mapping[str, Shape] = {
    "topic": TEXT,
    "start": BROKER,
    "kill": BROKER,
    "kill_together": BROKERS,
    "term": BROKER,
    "term_together": BROKERS,
    "pause": BROKER,
    "resume": BROKER,
    "expire": BROKER,
    "bounce": BROKER,
    "reassign": PLAN,
    "reassign_if_free": PLAN,
    "prefer": Shape(lambda value: _is_list(value, _is_partition), "a list of partitions"),
    "delete": TEXT,
    "grow": Shape(_is_growth, "a topic, and the new partitions with their replicas"),
    "alter": Shape(
        lambda value: _is_map(value, _is_partition, lambda item: item is None or _is_replicas(item)),
        "partitions with their replicas, or null",
    ),
    "zk_create": ZNODE,
    "zk_set": ZNODE,
    "zk_delete": PATH,
    "zk_delete_tree": PATH,
    "zk_touch": PATH,
    "zk_recreate": PATH,
    "tool": Shape(lambda value: bool(value) and _is_list(value, _is_text), "the words of a command"),
    "break_dir": BROKER,
    "produce": Shape(lambda value: _is_text(value) or _is_list(value, _is_text), "a topic"),
}
"""The actions of a step."""
CIRCUMSTANCES: Mapping[str, Shape] = {
    "assignment": ASSIGNMENT,
    "partitions": ASSIGNMENT,
    "config": MAP,
    "files": MAP,
    "settings": MAP,
    "wait_state": FLAG,
    "settle": FLAG,
    "sleep": Shape(lambda value: isinstance(value, int | float) and value >= 0, "a number of seconds"),
    "wait": Shape(_is_wait, "an object with leader, isr or both, by partition"),
}
"""Further keys of a step. Sleeping and waiting also make a step by themselves."""

NEVER_GROWTH = ("wait", "config", "files")

RECORDING: Mapping[str, Shape] = {
    "name": TEXT,
    "brokers": BROKERS,
    "steps": Shape(lambda value: bool(value) and _is_list(value, lambda step: isinstance(step, dict)), "a list of steps"),
    "source": TEXT,
    "racks": Shape(lambda value: _is_map(value, str.isdecimal, _is_text), "racks by ids of brokers"),
    "settings": MAP,
    "alive": Shape(_is_replicas, "a list of ids of brokers"),
    "final": Shape(lambda value: _is_map(value, _is_text, lambda item: item is None or _is_text(item)), "data by znode"),
}
STEP: Mapping[str, Shape] = {
    "do": Shape(lambda value: isinstance(value, dict) and bool(value), "an object that says what was done"),
    "controller": Shape(lambda value: value is None or _is_id(value), "the id of a broker, or null"),
    "writes": Shape(lambda value: _is_list(value, _is_write), "a list of writes, each with by, op and path"),
    "sessions_closed": Shape(lambda value: _is_list(value, _is_text), "a list of brokers"),
    "unsteady": Shape(
        lambda value: _is_map(value, _is_text, lambda others: _is_list(others, lambda other: _is_list(other, _is_write))),
        "lists of lists of writes, by znode",
    ),
    "other_winners": Shape(lambda value: isinstance(value, list), "a list of ids of brokers"),
    "more_writes": Shape(_is_id, "a number of writes"),
    "outcome": Shape(lambda value: value is None or isinstance(value, dict), "an object"),
}
REQUIRED = ("name", "brokers", "steps")


def _is_write(value: Any) -> bool:
    if not isinstance(value, dict) or not all(_is_text(value.get(key)) for key in ("by", "op", "path")):
        return False
    data = value.get("data")
    return (data is None or _is_text(data)) and isinstance(value.get("fenced", False), bool)


def check_recording(value: Any) -> None:
    """Check the form of a recording. Raises: BadShapeError."""
    if not isinstance(value, dict):
        raise BadShapeError("the file holds no JSON object")
    for key in FORM_KEYS:
        if value.get(key, FORM) != FORM:
            raise BadShapeError(f"{key} {value[key]!r}: this program understands form {FORM} only")
    if missing := [key for key in REQUIRED if key not in value]:
        raise BadShapeError(f"without {', '.join(missing)}")
    _check(value, RECORDING, "")
    for number, step in enumerate(value["steps"], 1):
        if "do" not in step:
            raise BadShapeError(f"step {number}: without do")
        _check(step, STEP, f"step {number}: ")
        _check_do(step["do"], f"step {number}: ")


def _check_do(do: Mapping[str, Any], where: str) -> None:
    _check(do, {**CIRCUMSTANCES, **VERBS}, where)
    if "topic" in do and "assignment" not in do:
        raise BadShapeError(f"{where}topic: without assignment")
    if "grow" in do:
        growth(do)


def growth(do: Mapping[str, Any]) -> tuple[str, Mapping[str, list[int]]]:
    """Return topic and new partitions of a `grow`, in one value or the partitions under their own key.

    Raises: BadShapeError.
    """
    given = do["grow"]
    if isinstance(given, list):
        return given[0], given[1]
    if isinstance(given, dict):
        return next(iter(given.items()))
    added = [value for key, value in do.items() if key not in NEVER_GROWTH and value and _is_assignment(value)]
    if len(added) != 1:
        raise BadShapeError("grow: without the new partitions")
    return given, added[0]


def _check(value: Mapping[str, Any], shapes: Mapping[str, Shape], where: str) -> None:
    for key, item in value.items():
        if key in shapes and not shapes[key].fits(item):
            raise BadShapeError(f"{where}{key}: {shapes[key].words} is expected, not {item!r:.80}")
