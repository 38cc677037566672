"""The port through which a node appends events, and the type of an event's cause."""

from typing import Protocol, Unpack

from kcsim.eventlog.events import EventFields, EventKind, TransactionRef

Cause = int | TransactionRef | None
"""What an event follows from: the seq of an event, a ZooKeeper transaction (the log looks up its event), or None."""


class EventSink(Protocol):
    """The sink for one node's events. Events are for observers only: no code of the node reads them back to act on them."""

    def emit(self, kind: EventKind, cause: Cause = None, **fields: Unpack[EventFields]) -> int:
        """Append an event and return its seq."""
        ...
