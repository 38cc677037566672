"""The latest calls of a state machine, for the error message of an invalid state change."""

from collections import deque
from collections.abc import Collection, Hashable
from typing import NamedTuple

REMEMBERED = 50


class StateChangeCall(NamedTuple):
    t_ms: int
    target: str
    items: Collection[Hashable]
    seq: int  # seq of the call's event


class RecentStateChanges:
    """The latest calls of one state machine. They are read only when a state change is refused."""

    def __init__(self) -> None:
        self._calls: deque[StateChangeCall] = deque(maxlen=REMEMBERED)

    def remember(self, t_ms: int, target: str, items: Collection[Hashable], seq: int) -> None:
        self._calls.append(StateChangeCall(t_ms, target, items, seq))

    def describe(self, item: Hashable) -> str:
        """Describe the latest state changes that were requested for an item, oldest first."""
        calls = [f"{move.target} at {move.t_ms} ms (#{move.seq})" for move in self._calls if item in move.items]
        return "asked before: " + ", ".join(calls) if calls else "nothing was asked of it before"
