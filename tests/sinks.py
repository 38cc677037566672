"""An event log without a run, for tests of code that appends events."""

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind


def kinds(log: EventLog, *wanted: EventKind) -> list[tuple[EventKind, str | None]]:
    """Return the events of these kinds, in order, each with the controller event that it belongs to."""
    return [(e.kind, e.event) for e in log.events if e.kind in wanted]


def chain(log: EventLog, event: Event) -> list[EventKind]:
    """Return the kinds of events from an event back to its root cause."""
    found = [event.kind]
    while event.cause is not None:
        event = log.events[event.cause]
        found.append(event.kind)
    return found
