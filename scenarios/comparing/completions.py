"""Compares the writes of a controller that moves several partitions at once, of which any may be done first.

Each time a partition is done, it leaves the lists of what is under way. The writes agree when they began alike, and then the
same partitions left, one a write, in whichever order.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kcsim.scenarios.comparing.by_design import ORDER_OF_COMPLETION, free
from kcsim.scenarios.comparing.content import content, json_of
from kcsim.scenarios.comparing.writes import Write, Writes

Taken = tuple[str, ...]
"""The partitions that one write took from those under way, and where they went."""


def ended_in_another_order(kafka: Writes, ours: Writes) -> bool:
    """Whether both wrote the same but for the order in which moves ended."""
    if [*map(_manner, kafka)] != [*map(_manner, ours)] or not kafka or not free(ORDER_OF_COMPLETION, kafka[0].path):
        return False
    alike = [_says(theirs) == _says(mine) for theirs, mine in zip(kafka, ours, strict=True)]
    if not alike[0] or not alike[-1]:
        return False
    last_alike = (alike.index(False) if False in alike else len(alike)) - 1
    theirs, mine = _taken(kafka[last_alike:]), _taken(ours[last_alike:])
    return theirs is not None and mine is not None and sorted(theirs) == sorted(mine)


def _taken(writes: Sequence[Write]) -> list[Taken] | None:
    """What each write took from what was there; None if one did anything else."""
    found: list[Taken] = []
    for before, after in pairwise(writes):
        old, new = _under_way(before), {} if after.op == "delete" else _under_way(after)
        if old is None or new is None or not new.items() <= old.items():
            return None
        found.append(tuple(sorted(f"{key} {old[key]}" for key in old.keys() - new.keys())))
    return found


def _under_way(write: Write) -> Mapping[str, str] | None:
    """Partition -> where it is to go, of those that move; None if the data says nothing of that."""
    value = json_of(write.data)
    if not isinstance(value, dict):
        return None
    partitions = value.get("partitions")
    if isinstance(partitions, list):
        entries = [entry for entry in partitions if isinstance(entry, dict)]
        return {f"{entry.get('topic')}-{entry.get('partition')}": str(entry.get("replicas")) for entry in entries}
    moving: dict[str, Any] = {**_map(value, "adding_replicas"), **_map(value, "removing_replicas")}
    return {
        number: f"{_map(value, 'adding_replicas').get(number)} {_map(value, 'removing_replicas').get(number)}"
        for number in moving
    }


def _map(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _manner(write: Write) -> tuple[object, ...]:
    return (write.by, write.op, write.fenced)


def _says(write: Write) -> str:
    return content(write.path, write.data)
