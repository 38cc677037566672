"""What a page is sent of a long run: enough to know the cluster's state wherever it is sent all events."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from kcsim.eventlog.events import Event
from kcsim.scenarios.play.acts import Act
from kcsim.scenarios.play.event_stream import EventStream
from kcsim.scenarios.play.run_messages import Happened
from kcsim.scenarios.play.shown_parts import RunSegments
from kcsim.scenarios.views.trace.entity_feed import EntityFeed
from tests.scenarios.play.watched_runs import FIRST, Watched

State = dict[tuple[str, str], Any]
PART, SEGMENT = 7, 60


@cache
def events() -> list[Event]:
    acts = [Act(4_000, "kill: controller"), Act(30_000, "start: all"), Act(50_000, "delete-topic: orders")]
    return Watched(70_000, planned=[*FIRST, *acts]).events


@cache
def run() -> tuple[list[Happened], RunSegments]:
    """Return the parts of a run, and their segments."""
    stream, segments, parts = EventStream(segment_events=SEGMENT), RunSegments(), []
    for first in range(0, len(events()), PART):
        some = events()[first : first + PART]
        written = stream.add(some)
        parts.append(Happened(written, b"", some[-1].t_ms, len(some), some[0].seq, stream.end_segment()))
        segments.take(parts[-1])
    return parts, segments


@cache
def states() -> dict[int, State]:
    """Return the state of the cluster after each event, by the event's number."""
    feed, found = EntityFeed(), {}
    state: State = {}
    for event in events():
        feed.apply(event)
        state = state | {(change.entity_type, change.name): change.value for change in feed.take()}
        found[event.seq] = {entity: value for entity, value in state.items() if value is not None}
    return found


def seen(shown: str) -> Iterator[tuple[int, bool, State]]:
    """Read what a page is sent. Yields: the number of each event, whether all around it was sent, and the state after it."""
    texts: list[str] = []
    state: State = {}
    for part in json.loads(shown):
        if "state" in part:
            for family, of in part["state"].items():
                state |= {(family, name): value for name, value in zip(of["names"], of["values"], strict=True)}
            continue
        texts = [*(texts if part["first_text"] else []), *part["texts"]]
        changes = sorted(changes_of(part, texts), key=lambda change: change[0])
        seq = 0
        for place, delta in enumerate(part["seq"]):
            seq += delta
            state = state | {entity: value for at, entity, value in changes if at == place}
            yield seq, "is_overview" not in part, {entity: value for entity, value in state.items() if value is not None}


def changes_of(part: dict[str, Any], texts: list[str]) -> Iterator[tuple[int, tuple[str, str], Any]]:
    for family, of in part["changes"].items():
        place = 0
        for delta, name, value in zip(of["at"], of["names"], of["values"], strict=True):
            place += delta
            known = [texts[value[0]], *value[1:]] if family == "znode" and value and value[0] is not None else value
            yield place, (family, texts[name]), known


@pytest.mark.parametrize("around", [None, 0, 200, 400, 10**9])
def test_the_state_is_known_wherever_all_events_are_sent(around: int | None) -> None:
    parts, segments = run()
    found = list(seen(segments.shown(parts, around, 100)))
    numbers = [event.seq for event in events()]
    whole = [(seq, state) for seq, is_whole, state in found if is_whole]
    assert len(whole) < len(found) < len(numbers)
    assert whole[-1][0] == numbers[-1]
    assert around not in numbers or around in [seq for seq, _ in whole]
    for seq, state in whole:
        assert state == states()[seq]


@pytest.mark.parametrize("most_whole", [None, 10**6])
def test_a_short_run_is_sent_whole_and_a_long_one_if_there_is_no_limit(most_whole: int | None) -> None:
    parts, segments = run()
    found = list(seen(segments.shown(parts, 0, most_whole)))
    assert [seq for seq, _, _ in found] == [event.seq for event in events()]
    assert all(state == states()[seq] for seq, _, state in found)


def test_the_overview_has_the_events_that_mark_the_run() -> None:
    parts, segments = run()
    shown = {seq for seq, _, _ in seen(segments.shown(parts, None, 100))}
    marks = {event.seq for event in events() if event.kind.value in ("Fault", "AdminAct", "ElectionWon")}
    assert marks
    assert marks <= shown


def test_a_run_that_has_begun_with_the_parts_of_another_one_has_its_segments() -> None:
    parts, segments = run()
    past = parts[: len(parts) // 2 + 1]
    other = segments.up_to(past)
    for part in parts[len(past) :]:
        other.take(part)
    assert other.shown(parts, 200, 100) == segments.shown(parts, 200, 100)
    assert segments.up_to(past).shown(past, 0, 100) == segments.shown(past, 0, 100)
