"""The events of a run that goes on, in the form of the page: in parts, each with what is new."""

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
from kcsim.scenarios.views.trace.entity_feed import EntityFeed
from kcsim.scenarios.views.trace.event_importance import EventRanker, RankedEvent


class EventStream:
    """A growing run in the form of the page, in parts.

    Args:
        most: how many events the page is to have, about; None: all.

    Attributes:
        dropped: how many events at the beginning of the run the page does not have any more.
    """

    def __init__(self, most: int | None = None) -> None:
        self.dropped = 0
        self._most = most
        self._kept: deque[RankedEvent] = deque()  # those that the page has, if their number is limited
        self._before_kept = EntityFeed()
        self._payload, self._ranker, self._changes, self._facts = PagePayload(), EventRanker(), EntityFeed(), FactCollector()
        self._last_ms = 0

    def __len__(self) -> int:
        """Return the number of events that the page has."""
        return len(self._payload)

    def add(self, events: Sequence[Event]) -> bytes:
        """Append events. Returns: the part of the page's payload that they are, as JSON."""
        for event in events:
            self._facts.see(event)
            ranked = self._ranker.rank(event)
            if self._most is not None:
                self._kept.append(ranked)
            self._append(ranked)
        return self._part()

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
        return self._part()

    def _append(self, ranked: RankedEvent) -> None:
        self._changes.apply(ranked.event)
        self._last_ms = ranked.event.t_ms
        self._payload.add(ranked, self.dropped + len(self._payload), list(self._changes.take()))

    def _part(self) -> bytes:
        return json.dumps(self._payload.take(), separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")

    @property
    def state(self) -> ClusterState:
        """The state of the cluster after the events so far."""
        return self._changes.state

    def about(self, name: str, seed: int) -> dict[str, Any]:
        """Return the facts about the run so far, as the page of a finished run has them."""
        return {
            "name": name,
            "seed": seed,
            "detail": None,
            "trace": None,
            "made_by": None,
            "epoch_ms": None,
            "events": len(self._payload),
            "last_ms": self._last_ms,
            "problem": None,
            "stretches": [[0, len(self._payload)]],
            "story": story_in_page(story_from(self._facts.facts())),
        }
