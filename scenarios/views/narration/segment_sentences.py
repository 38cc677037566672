"""The sentences for log segments that are closed or deleted.

Pure, an event at a time. The node stands before the sentence, as in every line of a run.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.topic_sentences import about


def _rolled(event: Event) -> str:
    return f"closes the segment {_offsets(event)} of {about(event, None)}, by {event.rule}: {event.inputs}"


def _deleted(event: Event) -> str:
    return f"deletes the segment {_offsets(event)} of {about(event, None)}, by {event.rule}: {event.detail}"


def _offsets(event: Event) -> str:
    assert event.offset is not None
    assert event.end_offset is not None
    return f"{event.offset}..{event.end_offset - 1}" if event.end_offset > event.offset else f"{event.offset}, empty,"


SEGMENT_SENTENCES: Mapping[EventKind, Callable[[Event], str]] = MappingProxyType(
    {EventKind.SEGMENT_ROLLED: _rolled, EventKind.SEGMENT_DELETED: _deleted}
)
"""Kind of event -> its sentence."""
