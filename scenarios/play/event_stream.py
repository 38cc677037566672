"""The events of a run that goes on, in the form of the page: in parts, each with what is new.

A page of a long run is not sent all of it. So the parts make up segments: a part refers to no part of another segment. In
place of a segment, a page can be sent its overview.
"""

import json
from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.run_facts import FactCollector
from kcsim.scenarios.views.narration.story import story_from
from kcsim.scenarios.views.page.payload import PagePayload
from kcsim.scenarios.views.page.report import story_in_page
from kcsim.scenarios.views.trace.entity_feed import LANE_ENTITY_TYPES, EntityChange, EntityFeed
from kcsim.scenarios.views.trace.event_importance import KEY_EVENT, EventRanker, RankedEvent

SEGMENT_EVENTS = 10_000
MOST_IN_OVERVIEW = 100


class EventStream:
    """A growing run in the form of the page, in parts.

    Args:
        most: how many events the page is to have, about; None: all.
        segment_events: how many events a segment has at least, before it can be ended.

    Attributes:
        dropped: how many events at the beginning of the run the page does not have any more.
    """

    def __init__(self, most: int | None = None, segment_events: int = SEGMENT_EVENTS) -> None:
        self.dropped = 0
        self._most = most
        self._segment_events = segment_events
        self._kept: deque[RankedEvent] = deque()  # those that the page has, if their number is limited
        self._before_kept = EntityFeed()
        self._payload, self._ranker, self._changes, self._facts = PagePayload(), EventRanker(), EntityFeed(), FactCollector()
        self._overview = SegmentOverview()
        self._ended = 0
        self._last_ms = 0

    def __len__(self) -> int:
        """Return the number of events that the page has."""
        return self._ended + len(self._payload)

    def add(self, events: Sequence[Event]) -> bytes:
        """Append events. Returns: the part of the page's payload that they are, as JSON."""
        for event in events:
            self._facts.see(event)
            ranked = self._ranker.rank(event)
            if self._most is not None:
                self._kept.append(ranked)
            self._append(ranked)
        return _as_json(self._payload.take())

    def begin_story(self) -> None:
        """Let the story begin with the next event: those so far have brought the cluster into the state of a snapshot."""
        self._facts.begin_here()

    @property
    def is_too_long(self) -> bool:
        """Whether it is time to shorten: not after each event, because the page then begins anew."""
        return self._most is not None and len(self._kept) > self._most

    def shorten(self) -> bytes:
        """Drop earlier events, until half of `most` are left. Returns: these, as the first part of another payload."""
        while self._most is not None and len(self._kept) > self._most // 2:
            self._before_kept.apply(self._kept.popleft().event)
            self.dropped += 1
        self._payload, self._changes = PagePayload(), deepcopy(self._before_kept)
        for ranked in self._kept:
            self._append(ranked)
        return _as_json(self._payload.take())

    def _append(self, ranked: RankedEvent) -> None:
        self._changes.apply(ranked.event)
        self._last_ms = ranked.event.t_ms
        changes, place = list(self._changes.take()), self.dropped + len(self)
        self._payload.add(ranked, place, changes)
        self._overview.add(ranked, place, changes)

    def end_segment(self) -> bytes:
        """End the segment, if it is long enough. Returns: its overview, as a part; empty if the segment goes on."""
        if len(self._payload) < self._segment_events:
            return b""
        self._ended += len(self._payload)
        self._payload = PagePayload()
        return _as_json({"is_overview": True, **self._overview.take()})

    @property
    def state(self) -> ClusterState:
        """The state of the cluster after the events so far."""
        return self._changes.state

    def about(self, name: str, seed: int | None) -> dict[str, Any]:
        """Return the facts about the run so far, as the page of a finished run has them. Args: seed: None: it has none."""
        return {
            "name": name,
            "seed": seed,
            "detail": None,
            "trace": None,
            "made_by": None,
            "epoch_ms": None,
            "events": len(self),
            "last_ms": self._last_ms,
            "problem": None,
            "story": story_in_page(story_from(self._facts.facts())),
        }


class SegmentOverview:
    """The first event of a segment and its first key events, with the changes that the lanes of a page show.

    A change is written with the next event that the overview has; at the latest, with the first one of the next segment.
    """

    def __init__(self) -> None:
        self._payload = PagePayload()
        self._changes: dict[tuple[str, str], EntityChange] = {}

    def add(self, ranked: RankedEvent, place: int, changes: Sequence[EntityChange]) -> None:
        """Take an event of the segment. Args: place: its index in the run; changes: those that it has made."""
        for change in changes:
            if change.entity_type in LANE_ENTITY_TYPES:
                self._changes[change.entity_type, change.name] = change
        count = len(self._payload)
        if count == 0 or (ranked.rank == KEY_EVENT and count < MOST_IN_OVERVIEW):
            self._payload.add(ranked, place, self._changes.values())
            self._changes.clear()

    def take(self) -> dict[str, Any]:
        """Return the overview of the segment, which ends. The next event is the first one of another segment."""
        part = self._payload.take()
        self._payload = PagePayload()
        return part


def _as_json(part: dict[str, Any]) -> bytes:
    return json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
