"""The events of a run that goes on, in the form of the page: in parts, each with what is new."""

import json
from collections.abc import Sequence
from typing import Any

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.views.narration.run_facts import FactCollector
from kcsim.scenarios.views.narration.story import story_from
from kcsim.scenarios.views.page.payload import PagePayload
from kcsim.scenarios.views.page.report import story_in_page
from kcsim.scenarios.views.trace.entity_feed import EntityFeed
from kcsim.scenarios.views.trace.event_importance import EventRanker


class EventStream:
    """A growing run in the form of the page, in parts."""

    def __init__(self) -> None:
        self._payload, self._ranker, self._changes, self._facts = PagePayload(), EventRanker(), EntityFeed(), FactCollector()
        self._last_ms = 0

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._payload)

    def add(self, events: Sequence[Event]) -> bytes:
        """Append events. Returns: the part of the page's payload that they are, as JSON."""
        for event in events:
            ranked = self._ranker.rank(event)
            self._changes.apply(event)
            self._facts.see(event)
            self._last_ms = event.t_ms
            self._payload.add(ranked, len(self._payload), list(self._changes.take()))
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
