"""A stretch of a run as a Mermaid sequence diagram: who told whom what, and what was decided where.

Messages are what passes between two: writes and their outcome, what watches tell, requests and their answers. All else is a
note over whom it happens to. Bounded, since what a person cannot take in, Mermaid cannot draw either: the first so many
events are drawn, and a last note says how many are not.
Source: the sequence diagrams of mermaid.js.org; in a text only # and ; mean something, the rest is escaped for the browser.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcsim.scenarios.deeds import SCENARIO
from kcsim.scenarios.reading.event_filter import targets
from kcsim.scenarios.reporting.of_note import ORDINARY, Told
from kcsim.scenarios.telling.topic_sentences import METADATA
from kcsim.zk.events import Event, EventKind

ZOOKEEPER = "zookeeper"
MOST_EVENTS = 60
LONGEST_TEXT = 120
NO_ANSWER = "CONNECTIONLOSS"
ANSWERED, LOST, TELLS, ASKS = "-->>", "-x", "-)", "->>"
SPECIAL = re.compile(r"[#;%<>&${}\\`]")
MESSAGES = frozenset(
    {
        EventKind.ZK_WRITE,
        EventKind.ZK_WRITE_APPLIED,
        EventKind.ZK_WRITE_REFUSED,
        EventKind.WATCH_FIRED,
        EventKind.RESPONSE_RECEIVED,
    }
)
"""Drawn although no narrator has words for them, or tells of them only to who wants every detail."""


class Arrow(NamedTuple):
    """A message from one participant to another."""

    source: str
    arrow: str
    target: str
    text: str


class Note(NamedTuple):
    """Something that happens to some participants."""

    over: tuple[str, ...]
    text: str


def is_drawn(told: Told) -> bool:
    """Whether an event belongs into a diagram unless everything is wanted."""
    if told.event.kind in MESSAGES:
        return told.event.event != METADATA
    return told.rank != ORDINARY


class SequenceDiagram:
    """Add the events that are wanted, in order; the first ones are drawn.

    Args:
        most: events to draw.

    Attributes:
        left_out: how many were added beyond that.
    """

    def __init__(self, most: int = MOST_EVENTS) -> None:
        self._most = most
        self._drawn: list[Arrow | Note] = []
        self._first_left_out: Event | None = None
        self.left_out = 0

    def add(self, told: Told) -> None:
        """Append an event."""
        if len(self._drawn) < self._most:
            self._drawn.append(_drawn(told))
            return
        self._first_left_out = self._first_left_out or told.event
        self.left_out += 1

    def __len__(self) -> int:
        """How many events are drawn."""
        return len(self._drawn)

    @property
    def rest(self) -> str | None:
        """What is not drawn, in a sentence; None if all of it is."""
        if self._first_left_out is None:
            return None
        first = self._first_left_out
        events = "1 more event is" if self.left_out == 1 else f"{self.left_out} more events are"
        return f"{events} left out, from #{first.seq} at {first.t_ms / 1000:.3f} s on"

    def lines(self) -> Iterator[str]:
        """The diagram. Raises: ValueError, if nothing was added."""
        if not self._drawn:
            raise ValueError("a sequence diagram of nothing")
        participants = sorted({who for item in self._drawn for who in _who(item)}, key=_place)
        yield "sequenceDiagram"
        for name in participants:
            yield f"    participant {_id(name)} as {_escaped(name)}"
        for item in self._drawn:
            yield f"    {_line(item)}"
        if self.rest is not None:
            ends = dict.fromkeys((participants[0], participants[-1]))
            yield f"    {_line(Note(tuple(ends), f'… {self.rest}'))}"


# --- what an event is drawn as ---------------------------------------------------------------------------------------------


def _drawn(told: Told) -> Arrow | Note:
    event = told.event
    time = f"{event.t_ms / 1000:.3f} s"
    message = _message(event)
    if message is not None:
        return message._replace(text=f"{time} {message.text}")
    return Note(_over(event), f"{time} {_heading(event)}{told.says}")


def _message(event: Event) -> Arrow | None:
    """A message, its text without the time; None for what passes between no two."""
    node, broker = event.node, f"broker-{event.broker_id}"
    match event.kind:
        case EventKind.ZK_WRITE:
            return Arrow(node, ASKS, ZOOKEEPER, f"{event.op} {event.path}{_more(event)}")
        case EventKind.ZK_WRITE_APPLIED:
            return Arrow(ZOOKEEPER, ANSWERED, node, f"applied: {event.op} {event.path}")
        case EventKind.ZK_WRITE_REFUSED if event.error == NO_ANSWER:
            return Arrow(ZOOKEEPER, LOST, node, f"no answer: {event.op} {event.path}")
        case EventKind.ZK_WRITE_REFUSED:
            return Arrow(ZOOKEEPER, ANSWERED, node, f"refused, {event.error}: {event.op} {event.path}")
        case EventKind.WATCH_FIRED:
            return Arrow(ZOOKEEPER, TELLS, node, f"watch on {event.path}: {event.event}")
        case EventKind.REQUEST_SENT:
            return Arrow(node, ASKS, broker, _told_of(event.event, event.detail))
        case EventKind.REQUEST_FAILED:
            return Arrow(node, LOST, broker, _told_of(event.event, event.error))
        case EventKind.RESPONSE_RECEIVED:
            return Arrow(broker, ANSWERED, node, _told_of(event.event, event.error))
        case EventKind.NETWORK_STALLED if event.target is not None:
            return Arrow(node, LOST, event.target, f"{event.event}, {event.rule}")
        case EventKind.RECORDS_ACKNOWLEDGED:
            what = "record" if event.count == 1 else "records"
            return Arrow(
                f"broker-{event.leader}", ANSWERED, node, f"{event.count} {what} of {event.topic}-{event.partition}"
            )
        case _:
            return None


def _more(event: Event) -> str:
    return f" and {event.count - 1} more" if event.count is not None and event.count > 1 else ""


def _told_of(what: str | None, detail: str | None) -> str:
    return ": ".join(word for word in (what, detail) if word)


def _over(event: Event) -> tuple[str, ...]:
    """To whom it happens: of what somebody outside does, those to whom it is done."""
    if event.kind not in (EventKind.FAULT, EventKind.FAULT_CONFIRMED, EventKind.ADMIN_ACT):
        return (event.node,)
    hit = sorted(targets(event), key=_place)
    return tuple(dict.fromkeys((hit[0], hit[-1]))) if hit else (event.node,)


def _heading(event: Event) -> str:
    match event.kind:
        case EventKind.FAULT:
            return "FAULT: "
        case EventKind.ADMIN_ACT:
            return "ADMIN: "
        case _:
            return ""


# --- as Mermaid has it -----------------------------------------------------------------------------------------------------


def _who(item: Arrow | Note) -> Iterable[str]:
    return item.over if isinstance(item, Note) else (item.source, item.target)


def _place(name: str) -> tuple[int, str, int]:
    """From left to right: who acts from outside, brokers, ZooKeeper, clients."""
    kind, _, number = name.rpartition("-")
    order = 0 if name == SCENARIO else 1 if kind == "broker" else 2 if name == ZOOKEEPER or kind == "member" else 3
    return order, kind, int(number) if number.isdigit() else 0


def _id(name: str) -> str:
    """A participant's name without what Mermaid could take for an arrow, or for a word of its own."""
    return "p_" + re.sub(r"[^A-Za-z0-9]", "_", name)


def _line(item: Arrow | Note) -> str:
    text = _escaped(_shortened(" ".join(item.text.split())))
    if isinstance(item, Note):
        return f"Note over {','.join(map(_id, item.over))}: {text}"
    return f"{_id(item.source)}{item.arrow}{_id(item.target)}: {text}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 2] + " …"


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
