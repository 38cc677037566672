"""Events of runs without the record of what a run was made from: a file, a model, or a generated tree."""

from collections.abc import Iterable

import msgspec

from kcsim.eventlog.events import Event
from kcsim.eventlog.run_record import encode_run_record, run_record


def without_source(events: Iterable[Event]) -> list[Event]:
    """Return the events of a run, the first of them without the scenario's text and command."""
    return [_without_source(event) for event in events]


def _without_source(event: Event) -> Event:
    record = run_record(event)
    if record is None:
        return event
    return msgspec.structs.replace(event, data=encode_run_record(msgspec.structs.replace(record, source=None)))
