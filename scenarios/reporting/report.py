"""A trace made into a page. It is read twice, to know what to keep before keeping it: it may be longer than memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcsim.scenarios.diagrams import MACHINES, svg
from kcsim.scenarios.history import read_trace
from kcsim.scenarios.reading.trace_reading import TraceReading
from kcsim.scenarios.reporting.of_note import Teller
from kcsim.scenarios.reporting.page import page
from kcsim.scenarios.reporting.payload import Payload
from kcsim.scenarios.reporting.selection import Selection, select
from kcsim.scenarios.reporting.state_changes import FAMILIES, FAMILIES_OF_LANES, StateChanges
from kcsim.scenarios.reporting.stretch import Stretch
from kcsim.scenarios.reporting.survey import Survey, survey
from kcsim.zk.events import Event, EventKind

MOST_EVENTS = 100_000
MOST_BYTES = 10_000_000
MOST_CHANGES_AN_EVENT = 8
"""More than this on average, and less is kept: a window may begin in the middle of a large cluster."""


class EmptyTraceError(Exception):
    """Nothing of the trace can be shown. Says why."""


@dataclass(frozen=True, slots=True)
class Report:
    """A page, and what it was made of.

    Attributes:
        html: the page.
        events, kept: how many events the trace has, and the page.
        problem: why the trace could not be read to its end, if it could not.
    """

    html: str
    events: int
    kept: int
    problem: str | None


def report(trace: Path, made_by: str, stretch: Stretch | None = None, most_events: int = MOST_EVENTS) -> Report:
    """Make the page of a run.

    Args:
        made_by: name and version of this program, as the page says them.
        stretch: chooses what to show whole of a long trace; None for all of it, or what is around the faults.
        most_events: the page has no more than these.

    Raises: OSError; EmptyTraceError; whatever `stretch` raises.
    """
    reading = TraceReading(trace)
    found = survey(reading)
    if reading.nothing_read is not None:
        raise EmptyTraceError(reading.nothing_read)
    asked_for = stretch(found) if stretch else None
    while True:
        selection = select(found, most_events, asked_for)
        made = _page_of(trace, found, selection, made_by)
        if made is not None:
            return Report(made, len(found), selection.count, found.problem)
        most_events //= 2


def _page_of(trace: Path, found: Survey, selection: Selection, made_by: str) -> str | None:
    """The page with these events; None if it would be too large."""
    payload, started = _payload_of(trace, found, selection)
    if payload is None:
        return None
    name = (started.scenario if started else None) or trace.name
    about: dict[str, Any] = {
        "name": name,
        "seed": started.seed if started else None,
        "detail": started.detail if started else None,
        "trace": trace.name,
        "made_by": made_by,
        "epoch_ms": _began_at_ms(started),
        "events": len(found),
        "last_ms": found.times_ms[-1],
        "problem": found.problem,
        "stretches": _stretches_in_page(selection),
    }
    made = page(f"{name}: what happened", payload.encoded(about), map(svg, MACHINES))
    return made if len(made.encode()) <= MOST_BYTES else None


def _began_at_ms(started: Event | None) -> int | None:
    """When an imported run began, in ms since 1970; None if it does not say."""
    try:
        found = json.loads((started and started.data) or "{}").get("epoch_ms")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, int) else None


def _payload_of(trace: Path, found: Survey, selection: Selection) -> tuple[Payload | None, Event | None]:
    """The events that are kept, with every change of the lanes, and all changes in the stretches; and how the run began."""
    payload, teller, changes = Payload(), Teller(), StateChanges()
    started: Event | None = None
    stretches = iter(selection.stretches)
    first, end = next(stretches)
    most_changes, count = MOST_CHANGES_AN_EVENT * max(selection.count, 1000), 0
    for place, event in _events_of(trace, len(found)):
        if event.kind is EventKind.RUN_STARTED and started is None:
            started = event
        told = teller.tell(event)
        changes.apply(event)
        if place >= end:
            first, end = next(stretches, (len(found), len(found)))
        if selection.kept[place]:
            changed = list(changes.take(FAMILIES if first <= place < end else FAMILIES_OF_LANES))
            count += len(changed)
            if count > most_changes and selection.count > 1:
                return None, started
            payload.add(told, place, changed)
    return payload, started


def _events_of(trace: Path, how_many: int) -> Iterator[tuple[int, Event]]:
    """As many events as the first reading has found; one that is still being written may have more by now."""
    for place, event in enumerate(read_trace(trace)):
        yield place, event
        if place + 1 == how_many:
            return


def _stretches_in_page(selection: Selection) -> list[list[int]]:
    """The stretches as places among the events that are kept."""
    found = []
    for first, end in selection.stretches:
        before = selection.kept.count(1, 0, first)
        found.append([before, before + selection.kept.count(1, first, end)])
    return found
