"""Makes a page from a trace. The trace is read twice, first to choose the kept events: it may be larger than memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcsim.eventlog.event_log import read_trace
from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.diagrams import MACHINES, svg
from kcsim.scenarios.views.narration.run_facts import FactCollector
from kcsim.scenarios.views.narration.story import RunStory, story_from
from kcsim.scenarios.views.page.page import page
from kcsim.scenarios.views.page.payload import PagePayload
from kcsim.scenarios.views.page.selection import Selection, select
from kcsim.scenarios.views.trace.entity_feed import ENTITY_TYPES, LANE_ENTITY_TYPES, EntityFeed
from kcsim.scenarios.views.trace.event_importance import EventRanker
from kcsim.scenarios.views.trace.event_range import EventRangeSelector
from kcsim.scenarios.views.trace.trace_index import TraceIndex, index_trace
from kcsim.scenarios.views.trace.trace_reading import TraceReading

MOST_EVENTS = 100_000
MOST_BYTES = 10_000_000
MOST_CHANGES_AN_EVENT = 8
"""With more changes per event on average, fewer events are kept: a range may begin in the middle of a large cluster."""


class EmptyTraceError(Exception):
    """Nothing of the trace can be shown. The message says why."""


@dataclass(frozen=True, slots=True)
class PageReport:
    """A page, and facts about what it was made from.

    Attributes:
        html: the page.
        events, kept: number of events in the trace, and in the page.
        problem: why the trace could not be read to its end, if it could not.
    """

    html: str
    events: int
    kept: int
    problem: str | None


def report(
    trace: Path, made_by: str, select_range: EventRangeSelector | None = None, most_events: int = MOST_EVENTS
) -> PageReport:
    """Make the page of a run.

    Args:
        made_by: name and version of this program, for the page's text.
        select_range: chooses the range of a long trace to show in full; None for all events, or those around the faults.
        most_events: maximum number of events in the page.

    Raises: OSError; EmptyTraceError; what `select_range` raises.
    """
    reading = TraceReading(trace)
    facts = FactCollector()
    index = index_trace(reading, facts.see)
    if reading.nothing_read is not None:
        raise EmptyTraceError(reading.nothing_read)
    story = story_from(facts.facts())
    requested = select_range(index) if select_range else None
    while True:
        selection = select(index, most_events, requested)
        made = _page_of(trace, index, selection, story, made_by)
        if made is not None:
            return PageReport(made, len(index), selection.count, index.problem)
        most_events //= 2


def _page_of(trace: Path, index: TraceIndex, selection: Selection, story: RunStory, made_by: str) -> str | None:
    """Return the page with these events; None if it would be too large."""
    payload, started = _payload_of(trace, index, selection)
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
        "events": len(index),
        "last_ms": index.times_ms[-1],
        "problem": index.problem,
        "stretches": _ranges_in_page(selection),
        "story": story_in_page(story),
    }
    made = page(f"{name}: what happened", payload.encoded(about), {name: svg(name) for name in MACHINES})
    return made if len(made.encode()) <= MOST_BYTES else None


def story_in_page(story: RunStory) -> dict[str, Any]:
    """Return the story, its working controllers for the timeline, and the event at which the page opens."""
    return {
        "sentences": story.sentences,
        "opens_at": story.opens_at,
        "has_failovers": story.has_failovers,
        "controllers": [[i.broker, i.epoch, i.from_seq, i.until_seq, i.is_over] for i in story.controllers],
    }


def _began_at_ms(started: Event | None) -> int | None:
    """Return when an imported run began, in ms since 1970; None if the trace does not say."""
    try:
        found = json.loads((started and started.data) or "{}").get("epoch_ms")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, int) else None


def _payload_of(trace: Path, index: TraceIndex, selection: Selection) -> tuple[PagePayload | None, Event | None]:
    """Return the kept events with their changes, and the event of the run's start. The payload is None if it is too large.

    All changes are kept within the ranges, and those of the lanes elsewhere.
    """
    payload, ranker, changes = PagePayload(), EventRanker(), EntityFeed()
    started: Event | None = None
    ranges = iter(selection.ranges)
    first, end = next(ranges)
    most_changes, count = MOST_CHANGES_AN_EVENT * max(selection.count, 1000), 0
    for place, event in _events_of(trace, len(index)):
        if event.kind is EventKind.RUN_STARTED and started is None:
            started = event
        ranked = ranker.rank(event)
        changes.apply(event)
        if place >= end:
            first, end = next(ranges, (len(index), len(index)))
        if selection.kept[place]:
            changed = list(changes.take(ENTITY_TYPES if first <= place < end else LANE_ENTITY_TYPES))
            count += len(changed)
            if count > most_changes and selection.count > 1:
                return None, started
            payload.add(ranked, place, changed)
    return payload, started


def _events_of(trace: Path, how_many: int) -> Iterator[tuple[int, Event]]:
    """Yield as many events as the first pass found; a trace that is still being written may have more by now."""
    for place, event in enumerate(read_trace(trace)):
        yield place, event
        if place + 1 == how_many:
            return


def _ranges_in_page(selection: Selection) -> list[list[int]]:
    """Return the ranges as indices among the kept events."""
    found = []
    for first, end in selection.ranges:
        before = selection.kept.count(1, 0, first)
        found.append([before, before + selection.kept.count(1, first, end)])
    return found
