"""An event log without a run, for tests of what emits into it."""

from kcsim.scenarios.history import EventLog
from kcsim.zk.events import Event, EventKind


def kinds(log: EventLog, *wanted: EventKind) -> list[tuple[EventKind, str | None]]:
    """The events of these kinds, in order, each with the controller event it is about."""
    return [(e.kind, e.event) for e in log.events if e.kind in wanted]


def chain(log: EventLog, event: Event) -> list[EventKind]:
    """The kinds from an event back to its root."""
    found = [event.kind]
    while event.cause is not None:
        event = log.events[event.cause]
        found.append(event.kind)
    return found
