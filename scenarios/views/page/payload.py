"""A run in the page's format: columns of events, and changes of the state.

JSON, deflated, base64. Each text is written once, in `texts`, and referred to by its index. Numbers that mostly grow are
written as differences, those of each part anew from 0. A column that few events have is written as the indices of those
events, in their part, and their values.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs, to_builtins

from kcsim.eventlog.events import Event
from kcsim.scenarios.views.trace.entity_feed import ENTITY_TYPES, EntityChange
from kcsim.scenarios.views.trace.event_importance import RankedEvent

LONGEST_SENTENCE = 400
LONGEST_TEXT = 100_000
PLAIN_COLUMNS = frozenset({"seq", "t_ms", "node", "kind", "cause"})
"""The columns that every event has; the others are written only for events that have them."""
TEXT_COLUMNS = frozenset(field.name for field in structs.fields(Event) if field.type == (str | None))
NO_CAUSE = 0


class DeltaColumn:
    """Numbers, each written as its difference from the one before."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self._last = 0

    def append(self, number: int) -> None:
        self.written.append(number - self._last)
        self._last = number

    def take(self) -> list[int]:
        """Return what was written since the last call."""
        taken, self.written, self._last = self.written, [], 0
        return taken


class TextTable:
    """Texts, each written once and referred to by its index."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._new: list[str] = []

    def place(self, text: str) -> int:
        text = shortened(text, LONGEST_TEXT)
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self._places)
            self._new.append(text)
        return place

    @property
    def taken(self) -> int:
        """The number of texts that were taken."""
        return len(self._places) - len(self._new)

    def take(self) -> list[str]:
        """Return the texts that are new since the last call."""
        taken, self._new = self._new, []
        return taken


def shortened(text: str, longest: int) -> str:
    """Return the text, or its beginning and how much was left out."""
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} more characters)"


class PagePayload:
    """The payload of a page. Add the kept events in order, each with the changes up to it.

    A finished run has one part; one that goes on has further parts, which the page appends to what it has. A part refers to
    its own texts and to those of the parts before.
    """

    def __init__(self) -> None:
        self._count = self._taken = 0
        self._texts = TextTable()
        self._seqs, self._times, self._in_trace = DeltaColumn(), DeltaColumn(), DeltaColumn()
        self._nodes: list[int] = []
        self._kinds: list[int] = []
        self._causes: list[int] = []
        self._says: list[int] = []
        self._ranks: list[int] = []
        self._columns: dict[str, tuple[DeltaColumn, list[Any]]] = {}
        self._changes: dict[str, tuple[DeltaColumn, list[int], list[Any]]] = {
            entity_type: (DeltaColumn(), [], []) for entity_type in ENTITY_TYPES
        }

    def __len__(self) -> int:
        return self._count

    def add(self, ranked: RankedEvent, in_trace: int, changes: Iterable[EntityChange]) -> None:
        """Append an event.

        Args:
            in_trace: its index among all events of the trace.
            changes: the changes since the last added event, made by this event or before it.
        """
        place, event = self._count - self._taken, ranked.event
        self._in_trace.append(in_trace)
        self._seqs.append(event.seq)
        self._times.append(event.t_ms)
        self._nodes.append(self._texts.place(event.node))
        self._kinds.append(self._texts.place(event.kind.value))
        self._causes.append(NO_CAUSE if event.cause is None else event.seq - event.cause)
        self._says.append(self._texts.place(shortened(ranked.says, LONGEST_SENTENCE)))
        self._ranks.append(ranked.rank)
        for name, value in to_builtins(event).items():
            if name not in PLAIN_COLUMNS:
                at, values = self._columns.setdefault(name, (DeltaColumn(), []))
                at.append(place)
                values.append(self._texts.place(value) if isinstance(value, str) else value)
        for change in changes:
            self._add_change(place, change)
        self._count += 1

    def _add_change(self, place: int, change: EntityChange) -> None:
        at, names, values = self._changes[change.entity_type]
        at.append(place)
        names.append(self._texts.place(change.name))
        value = change.value
        if change.entity_type == "znode" and value is not None and value[0] is not None:
            value = [self._texts.place(value[0]), *value[1:]]
        values.append(value)

    def take(self) -> dict[str, Any]:
        """Return the part that was added since the last call."""
        part = {
            "first_text": self._texts.taken,
            "texts": self._texts.take(),
            "seq": self._seqs.take(),
            "t_ms": self._times.take(),
            "place": self._in_trace.take(),
            "node": self._nodes,
            "kind": self._kinds,
            "cause": self._causes,
            "says": self._says,
            "rank": self._ranks,
            "columns": {
                name: {"at": at.take(), "values": values, "are_texts": name in TEXT_COLUMNS}
                for name, (at, values) in self._columns.items()
                if values
            },
            "changes": {
                entity_type: {"at": at.take(), "names": names, "values": values}
                for entity_type, (at, names, values) in self._changes.items()
            },
        }
        self._taken = self._count
        self._nodes, self._kinds, self._causes, self._says, self._ranks = [], [], [], [], []
        self._columns = {name: (at, []) for name, (at, _) in self._columns.items()}
        self._changes = {entity_type: (at, [], []) for entity_type, (at, _, _) in self._changes.items()}
        return part

    def encoded(self, about: Mapping[str, Any]) -> str:
        """Return the whole payload as text. Args: about: facts about the run and the page."""
        text = json.dumps({"about": about, **self.take()}, separators=(",", ":"), ensure_ascii=False)
        return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode()
