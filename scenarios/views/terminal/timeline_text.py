"""The timeline of a run as text and as JSON, one event after the other; no event is kept."""

import textwrap
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from kcsim.scenarios.views.trace.event_importance import RankedEvent

NARROW = 70
"""In columns; on a narrower terminal a sentence stands below its time and node."""
FEWEST_COLUMNS = 20
NUMBER_WIDTH, SECONDS_WIDTH, NODE_WIDTH = 6, 9, 9
INDENT = 4


class TimelineText:
    """The lines of a timeline: number, time, optionally the cause, node, sentence.

    Args:
        width: columns to wrap at; None: lines are not wrapped.
        with_causes: whether to name the event that each follows from.
    """

    def __init__(self, width: int | None = None, with_causes: bool = False) -> None:
        self._width = width
        self._with_causes = with_causes
        self._node_width = NODE_WIDTH  # grows with the first longer name: later names are not known yet

    def lines(self, ranked: RankedEvent) -> Iterator[str]:
        """Yield the lines of an event, wrapped."""
        event = ranked.event
        self._node_width = max(self._node_width, len(event.node))
        number = f"#{event.seq}"
        head = f"{number:>{NUMBER_WIDTH}}  {event.t_ms / 1000:{SECONDS_WIDTH}.3f} s  "
        if self._with_causes:
            cause = "" if event.cause is None else f"← #{event.cause}"
            head += f"{cause:<{NUMBER_WIDTH + 2}}  "
        says = " ".join(ranked.says.split())
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


def event_json(ranked: RankedEvent) -> dict[str, Any]:
    """Return the columns that an event has, and its sentence."""
    return {**to_builtins(ranked.event), "says": ranked.says}
