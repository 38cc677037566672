"""A run of a cluster as text: its timeline, and its event log."""

import io
from collections.abc import Iterable
from pathlib import Path

from kcsim.scenarios.history import JsonlTrace
from kcsim.scenarios.telling.timeline import Timeline, console_on
from kcsim.zk.events import Event


def timeline_of(events: Iterable[Event], brokers: tuple[str, ...], clients: tuple[str, ...] = ()) -> str:
    """A run, one line for each event worth one, as `kcsim run` shows it."""
    text = io.StringIO()
    timeline = Timeline(console_on(text), brokers, clients=clients)
    for event in events:
        timeline(event)
    return text.getvalue()


def write_trace(events: Iterable[Event], path: Path) -> None:
    """The event log as JSON lines, for `kcsim why` and friends. Raises: OSError."""
    trace = JsonlTrace(path.open("wb"))
    try:
        for event in events:
            trace.write(event)
    finally:
        trace.close()
