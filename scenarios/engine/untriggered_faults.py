"""The armed faults of a run that have not been triggered, and so had no effect. Pure."""

from collections.abc import Iterable

from kcsim.eventlog.events import Event, EventKind


def untriggered_faults(events: Iterable[Event]) -> list[Event]:
    """Return the Faults among the events that were armed and have no confirmation there, in their order."""
    armed: dict[int, Event] = {}
    for event in events:
        if event.kind is EventKind.FAULT and event.breakpoint is not None:
            armed[event.seq] = event
        elif event.kind is EventKind.FAULT_CONFIRMED and event.cause is not None:
            armed.pop(event.cause, None)
    return list(armed.values())


def no_effect_text(fault: Event) -> str:
    """Return a sentence on an untriggered fault, as `kill broker-1 had no effect (armed: before a write)`."""
    target = f" {fault.target}" if fault.target else ""
    return f"{fault.fault}{target} had no effect ({fault.detail})"
