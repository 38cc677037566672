"""A run of a cluster as text: its timeline, and its event log."""

import io
from collections.abc import Iterable
from pathlib import Path

from kcsim.eventlog.event_log import JsonlTraceWriter
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.timeline import ConsoleTimeline, console_on


def timeline_of(events: Iterable[Event], brokers: tuple[str, ...], clients: tuple[str, ...] = ()) -> str:
    """Return a run as text, one line for each noteworthy event, as `kcsim run` shows it."""
    text = io.StringIO()
    timeline = ConsoleTimeline(console_on(text), brokers, clients=clients)
    for event in events:
        timeline(event)
    return text.getvalue()


def write_trace(events: Iterable[Event], path: Path) -> None:
    """Write the event log as JSON lines, for `kcsim why` and similar commands. Raises: OSError."""
    trace = JsonlTraceWriter(path.open("wb"))
    try:
        for event in events:
            trace.write(event)
    finally:
        trace.close()
