"""The timeline of a run as people and programs read it: one event after the other, none kept."""

import textwrap
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from kcsim.scenarios.reporting.of_note import Told

NARROW = 70
"""Columns; on less than this a sentence stands below its time and node."""
FEWEST_COLUMNS = 20
NUMBER_WIDTH, SECONDS_WIDTH, NODE_WIDTH = 6, 9, 9
INDENT = 4


class TimelineText:
    """Lines of a timeline: number, time, cause if it is wanted, node, what happened.

    Args:
        width: columns to wrap at; None: lines are as long as they are.
        with_causes: whether to name the event that each follows from.
    """

    def __init__(self, width: int | None = None, with_causes: bool = False) -> None:
        self._width = width
        self._with_causes = with_causes
        self._node_width = NODE_WIDTH  # grows with the first longer name: who is to come is not known

    def lines(self, told: Told) -> Iterator[str]:
        """The line of an event, wrapped."""
        event = told.event
        self._node_width = max(self._node_width, len(event.node))
        number = f"#{event.seq}"
        head = f"{number:>{NUMBER_WIDTH}}  {event.t_ms / 1000:{SECONDS_WIDTH}.3f} s  "
        if self._with_causes:
            cause = "" if event.cause is None else f"← #{event.cause}"
            head += f"{cause:<{NUMBER_WIDTH + 2}}  "
        says = " ".join(told.says.split())
        if self._width is not None and self._width < NARROW:
            yield f"{head}{event.node}"
            yield from textwrap.wrap(says, max(self._width, FEWEST_COLUMNS), **_indented(INDENT))
            return
        head += f"{event.node:<{self._node_width}}  "
        if self._width is None:
            yield head + says
            return
        room = max(self._width - len(head), FEWEST_COLUMNS)
        first, *more = textwrap.wrap(says, room, break_on_hyphens=False) or [""]
        yield head + first
        yield from (" " * len(head) + line for line in more)


def _indented(columns: int) -> dict[str, Any]:
    blank = " " * columns
    return {"initial_indent": blank, "subsequent_indent": blank, "break_on_hyphens": False}


def event_json(told: Told) -> dict[str, Any]:
    """An event's columns, those that it has, and what it says."""
    return {**to_builtins(told.event), "says": told.says}
