"""A run as the page reads it: columns of events, and what changed when.

JSON, deflated, base64. A text is written once, in `texts`, and named by its place there. Numbers that mostly grow are
written as differences. A column that few events have lists the places of those events and their values.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs, to_builtins

from kcsim.scenarios.reporting.of_note import Told
from kcsim.scenarios.reporting.state_changes import FAMILIES, Change
from kcsim.zk.events import Event

LONGEST_SENTENCE = 400
LONGEST_TEXT = 100_000
PLAIN_COLUMNS = frozenset({"seq", "t_ms", "node", "kind", "cause"})
"""Those that every event has; the others are only written where they are."""
TEXT_COLUMNS = frozenset(field.name for field in structs.fields(Event) if field.type == (str | None))
NO_CAUSE = 0


class Differences:
    """Numbers, each as its difference from the one before."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self._last = 0

    def append(self, number: int) -> None:
        self.written.append(number - self._last)
        self._last = number


class Texts:
    """Each text once, by its place."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(shortened(text, LONGEST_TEXT), len(self._places))

    def all(self) -> list[str]:
        return list(self._places)


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and how much was left out."""
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} more characters)"


class Payload:
    """Add the events that are kept, in order, each with what has changed by then."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._seqs, self._times, self._in_trace = Differences(), Differences(), Differences()
        self._nodes: list[int] = []
        self._kinds: list[int] = []
        self._causes: list[int] = []
        self._says: list[int] = []
        self._ranks: list[int] = []
        self._columns: dict[str, tuple[Differences, list[Any]]] = {}
        self._changes: dict[str, tuple[Differences, list[int], list[Any]]] = {
            family: (Differences(), [], []) for family in FAMILIES
        }

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, told: Told, in_trace: int, changes: Iterable[Change]) -> None:
        """Append an event.

        Args:
            in_trace: its place among all events of the trace.
            changes: made since the last event that was added, by this one or before it.
        """
        place, event = len(self), told.event
        self._in_trace.append(in_trace)
        self._seqs.append(event.seq)
        self._times.append(event.t_ms)
        self._nodes.append(self._texts.place(event.node))
        self._kinds.append(self._texts.place(event.kind.value))
        self._causes.append(NO_CAUSE if event.cause is None else event.seq - event.cause)
        self._says.append(self._texts.place(shortened(told.says, LONGEST_SENTENCE)))
        self._ranks.append(told.rank)
        for name, value in to_builtins(event).items():
            if name not in PLAIN_COLUMNS:
                at, values = self._columns.setdefault(name, (Differences(), []))
                at.append(place)
                values.append(self._texts.place(value) if isinstance(value, str) else value)
        for change in changes:
            self._add_change(place, change)

    def _add_change(self, place: int, change: Change) -> None:
        at, names, values = self._changes[change.family]
        at.append(place)
        names.append(self._texts.place(change.name))
        value = change.value
        if change.family == "znode" and value is not None and value[0] is not None:
            value = [self._texts.place(value[0]), *value[1:]]
        values.append(value)

    def encoded(self, about: Mapping[str, Any]) -> str:
        """The whole of it. Args: about: what the page says of the run and of itself."""
        content = {
            "about": about,
            "texts": self._texts.all(),
            "seq": self._seqs.written,
            "t_ms": self._times.written,
            "place": self._in_trace.written,
            "node": self._nodes,
            "kind": self._kinds,
            "cause": self._causes,
            "says": self._says,
            "rank": self._ranks,
            "columns": {
                name: {"at": at.written, "values": values, "are_texts": name in TEXT_COLUMNS}
                for name, (at, values) in self._columns.items()
            },
            "changes": {
                family: {"at": at.written, "names": names, "values": values}
                for family, (at, names, values) in self._changes.items()
            },
        }
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode()
