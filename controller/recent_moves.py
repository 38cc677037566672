"""What a state machine was asked to do lately: the story that goes with a move that makes no sense."""

from collections import deque
from collections.abc import Collection, Hashable
from typing import NamedTuple

REMEMBERED = 50


class Move(NamedTuple):
    t_ms: int
    target: str
    items: Collection[Hashable]
    seq: int  # of the call's event


class RecentMoves:
    """The latest calls of one state machine; only kept, and only looked into when something went wrong."""

    def __init__(self) -> None:
        self._moves: deque[Move] = deque(maxlen=REMEMBERED)

    def remember(self, t_ms: int, target: str, items: Collection[Hashable], seq: int) -> None:
        self._moves.append(Move(t_ms, target, items, seq))

    def story_of(self, item: Hashable) -> str:
        """The latest moves that were asked of an item, oldest first."""
        asked = [f"{move.target} at {move.t_ms} ms (#{move.seq})" for move in self._moves if item in move.items]
        return "asked before: " + ", ".join(asked) if asked else "nothing was asked of it before"
