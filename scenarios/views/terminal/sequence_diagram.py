"""A part of a run as a Mermaid sequence diagram: the messages between nodes, and the decisions of each.

Messages are writes and their outcomes, watch notifications, requests and their responses. Every other event is a note over
the nodes that it concerns. The diagram is bounded, because neither a reader nor Mermaid copes with a very large one: the
first
events are drawn, and a last note says how many are left out.

Source: the sequence diagrams of mermaid.js.org; in a text only # and ; have a meaning, the rest is escaped for the browser.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kcsim.eventlog.events import Event, EventKind
from kcsim.eventlog.run_actions import SCENARIO
from kcsim.scenarios.views.narration.topic_sentences import METADATA
from kcsim.scenarios.views.terminal.event_filter import targets
from kcsim.scenarios.views.trace.event_importance import ORDINARY, RankedEvent

ZOOKEEPER = "zookeeper"
MOST_EVENTS = 60
LONGEST_TEXT = 120
NO_ANSWER = "CONNECTIONLOSS"
ANSWERED, LOST, NOTIFIES, ASKS = "-->>", "-x", "-)", "->>"
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
"""Drawn although they have no narration, or only if every detail is wanted."""


class DiagramMessage(NamedTuple):
    """A message from one participant to another."""

    source: str
    arrow: str
    target: str
    text: str


class DiagramNote(NamedTuple):
    """A note over some participants."""

    over: tuple[str, ...]
    text: str


def is_drawn(ranked: RankedEvent) -> bool:
    """Return whether an event is drawn when not every event is wanted."""
    if ranked.event.kind in MESSAGES:
        return ranked.event.event != METADATA
    return ranked.rank != ORDINARY


class SequenceDiagram:
    """A sequence diagram. Add the wanted events in order; the first ones are drawn.

    Args:
        most: maximum number of events to draw.

    Attributes:
        left_out: how many events were added beyond that.
    """

    def __init__(self, most: int = MOST_EVENTS) -> None:
        self._most = most
        self._drawn: list[DiagramMessage | DiagramNote] = []
        self._first_left_out: Event | None = None
        self.left_out = 0

    def add(self, ranked: RankedEvent) -> None:
        """Append an event."""
        if len(self._drawn) < self._most:
            self._drawn.append(_drawn(ranked))
            return
        self._first_left_out = self._first_left_out or ranked.event
        self.left_out += 1

    def __len__(self) -> int:
        """Return how many events are drawn."""
        return len(self._drawn)

    @property
    def rest(self) -> str | None:
        """A sentence about the events that are not drawn; None if all are drawn."""
        if self._first_left_out is None:
            return None
        first = self._first_left_out
        events = "1 more event is" if self.left_out == 1 else f"{self.left_out} more events are"
        return f"{events} left out, from #{first.seq} at {first.t_ms / 1000:.3f} s on"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the diagram. Raises: ValueError, if nothing was added."""
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
            yield f"    {_line(DiagramNote(tuple(ends), f'… {self.rest}'))}"


# --- events as messages and notes ------------------------------------------------------------------------------------------


def _drawn(ranked: RankedEvent) -> DiagramMessage | DiagramNote:
    event = ranked.event
    time = f"{event.t_ms / 1000:.3f} s"
    message = _message(event)
    if message is not None:
        return message._replace(text=f"{time} {message.text}")
    return DiagramNote(_over(event), f"{time} {_heading(event)}{ranked.says}")


def _message(event: Event) -> DiagramMessage | None:
    """Return an event as a message, its text without the time; None if the event does not involve two nodes."""
    node, broker = event.node, f"broker-{event.broker_id}"
    match event.kind:
        case EventKind.ZK_WRITE:
            return DiagramMessage(node, ASKS, ZOOKEEPER, f"{event.op} {event.path}{_more(event)}")
        case EventKind.ZK_WRITE_APPLIED:
            return DiagramMessage(ZOOKEEPER, ANSWERED, node, f"applied: {event.op} {event.path}")
        case EventKind.ZK_WRITE_REFUSED if event.error == NO_ANSWER:
            return DiagramMessage(ZOOKEEPER, LOST, node, f"no answer: {event.op} {event.path}")
        case EventKind.ZK_WRITE_REFUSED:
            return DiagramMessage(ZOOKEEPER, ANSWERED, node, f"refused, {event.error}: {event.op} {event.path}")
        case EventKind.WATCH_FIRED:
            return DiagramMessage(ZOOKEEPER, NOTIFIES, node, f"watch on {event.path}: {event.event}")
        case EventKind.REQUEST_SENT:
            return DiagramMessage(node, ASKS, broker, _message_text(event.event, event.detail))
        case EventKind.REQUEST_FAILED:
            return DiagramMessage(node, LOST, broker, _message_text(event.event, event.error))
        case EventKind.RESPONSE_RECEIVED:
            return DiagramMessage(broker, ANSWERED, node, _message_text(event.event, event.error))
        case EventKind.NETWORK_STALLED if event.target is not None:
            return DiagramMessage(node, LOST, event.target, f"{event.event}, {event.rule}")
        case EventKind.RECORDS_ACKNOWLEDGED:
            what = "record" if event.count == 1 else "records"
            return DiagramMessage(
                f"broker-{event.leader}", ANSWERED, node, f"{event.count} {what} of {event.topic}-{event.partition}"
            )
        case _:
            return None


def _more(event: Event) -> str:
    return f" and {event.count - 1} more" if event.count is not None and event.count > 1 else ""


def _message_text(what: str | None, detail: str | None) -> str:
    return ": ".join(word for word in (what, detail) if word)


def _over(event: Event) -> tuple[str, ...]:
    """Return the participants under a note; for an action from outside, its targets."""
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


# --- Mermaid's syntax ------------------------------------------------------------------------------------------------------


def _who(item: DiagramMessage | DiagramNote) -> Iterable[str]:
    return item.over if isinstance(item, DiagramNote) else (item.source, item.target)


def _place(name: str) -> tuple[int, str, int]:
    """Return a sort key for the order from left to right: the scenario, brokers, ZooKeeper, clients."""
    kind, _, number = name.rpartition("-")
    order = 0 if name == SCENARIO else 1 if kind == "broker" else 2 if name == ZOOKEEPER or kind == "member" else 3
    return order, kind, int(number) if number.isdigit() else 0


def _id(name: str) -> str:
    """Return a participant's name without characters that Mermaid takes for an arrow or a keyword."""
    return "p_" + re.sub(r"[^A-Za-z0-9]", "_", name)


def _line(item: DiagramMessage | DiagramNote) -> str:
    text = _escaped(_shortened(" ".join(item.text.split())))
    if isinstance(item, DiagramNote):
        return f"Note over {','.join(map(_id, item.over))}: {text}"
    return f"{_id(item.source)}{item.arrow}{_id(item.target)}: {text}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 2] + " …"


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
