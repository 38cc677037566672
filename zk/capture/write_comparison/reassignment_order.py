"""Compares the writes of a controller that reassigns several partitions at once, which may complete in any order.

When a partition's reassignment completes, a write removes the partition from the lists of reassignments in progress. The
writes of two runs match when they begin equally and then remove the same partitions, in any order.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kcsim.zk.capture.write_comparison.allowed_differences import ORDER_OF_COMPLETION, allowed_keys
from kcsim.zk.capture.write_comparison.content import content, json_of
from kcsim.zk.capture.write_comparison.writes import Writes, ZnodeWrite

CompletedMoves = tuple[str, ...]
"""The partitions that one write removed from the reassignments in progress, and their targets."""


def differs_only_in_completion_order(kafka: Writes, ours: Writes) -> bool:
    """Return whether both sides wrote the same except for the order in which reassignments completed."""
    if [*map(_manner, kafka)] != [*map(_manner, ours)] or not kafka or not allowed_keys(ORDER_OF_COMPLETION, kafka[0].path):
        return False
    alike = [_says(theirs) == _says(mine) for theirs, mine in zip(kafka, ours, strict=True)]
    if not alike[0] or not alike[-1]:
        return False
    last_alike = (alike.index(False) if False in alike else len(alike)) - 1
    theirs, mine = _completed_by_write(kafka[last_alike:]), _completed_by_write(ours[last_alike:])
    return theirs is not None and mine is not None and sorted(theirs) == sorted(mine)


def _completed_by_write(writes: Sequence[ZnodeWrite]) -> list[CompletedMoves] | None:
    """Return what each write removed from the reassignments in progress; None if a write did anything else."""
    found: list[CompletedMoves] = []
    for before, after in pairwise(writes):
        old, new = _under_way(before), {} if after.op == "delete" else _under_way(after)
        if old is None or new is None or not new.items() <= old.items():
            return None
        found.append(tuple(sorted(f"{key} {old[key]}" for key in old.keys() - new.keys())))
    return found


def _under_way(write: ZnodeWrite) -> Mapping[str, str] | None:
    """Return the reassignments in progress, partition -> target; None if the data is not a JSON object."""
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


def _manner(write: ZnodeWrite) -> tuple[object, ...]:
    return (write.by, write.op, write.fenced)


def _says(write: ZnodeWrite) -> str:
    return content(write.path, write.data)
