"""A simulated cluster that is watched on pages: its clock, what was done to it, and its events in the form of the page.

There is one run at a time. To go back to a moment and try something else ends the run and begins another one, with the acts
until that moment: the same seed and acts give the same bytes, so its past is the past that was seen.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from kcsim.eventlog.cluster_state import ClusterState
from kcsim.eventlog.events import Event
from kcsim.scenarios.engine.single_steps import DECLARATIONS, with_declarations
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, acts_until, step_at
from kcsim.scenarios.play.paced_run import PacedRun
from kcsim.scenarios.play.proposed_expectations import proposed_expectations
from kcsim.scenarios.views.narration.run_facts import FactCollector
from kcsim.scenarios.views.narration.story import story_from
from kcsim.scenarios.views.page.payload import PagePayload
from kcsim.scenarios.views.page.report import story_in_page
from kcsim.scenarios.views.trace.entity_feed import EntityFeed
from kcsim.scenarios.views.trace.event_importance import EventRanker

SPEEDS = (0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 10.0, 100.0, 1000.0)
"""How much faster than real time the run may go."""
RERUN_WITHIN_S = 60.0


class EventStream:
    """A growing run in the form of the page, in parts."""

    def __init__(self) -> None:
        self._payload, self._ranker, self._changes, self._facts = PagePayload(), EventRanker(), EntityFeed(), FactCollector()
        self._last_ms = 0
        self.parts: list[dict[str, Any]] = []

    def add(self, events: Sequence[Event]) -> dict[str, Any] | None:
        """Append events. Returns: the part of the page's payload that they are; None without events."""
        if not events:
            return None
        for event in events:
            ranked = self._ranker.rank(event)
            self._changes.apply(event)
            self._facts.see(event)
            self._last_ms = event.t_ms
            self._payload.add(ranked, len(self._payload), list(self._changes.take()))
        part = self._payload.take()
        self.parts.append(part)
        return part

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


class PlayedCluster:
    """One cluster. Not for several threads; the run has a thread of its own.

    Args:
        first: what is done from the beginning.
    """

    def __init__(self, scenario: Scenario, seed: int, first: Sequence[Act]) -> None:
        self.scenario = scenario
        self.seed = seed
        self.speed = 1.0
        self.is_paused = False
        self._begin(first, 0)

    def _begin(self, acts: Sequence[Act], until_ms: int) -> None:
        self._events: deque[Event] = deque()
        self._refused: deque[tuple[Act, str]] = deque()
        self._not_done: list[tuple[Act, str]] = []
        self.stream = EventStream()
        self._at_ms = float(until_ms)
        self._run = PacedRun(
            self.scenario, self.seed, acts, self._events.append, lambda act, why: self._refused.append((act, why))
        )
        self._run.start()
        self._run.allow_until(until_ms)
        self._run.wait_until_reached(RERUN_WITHIN_S)

    @property
    def now_ms(self) -> int:
        return int(self._at_ms)

    @property
    def acts(self) -> list[Act]:
        return self._run.acts

    @property
    def acts_with_refusals(self) -> list[tuple[Act, str | None]]:
        """Each act, and why it could not be done; None for those that were done and those that are to be done."""
        refusals = list(self._not_done)
        found: list[tuple[Act, str | None]] = []
        for act in self.acts:
            refusal = next((refusal for refusal in refusals if refusal[0] is act), None)
            found.append((act, None if refusal is None else refusal[1]))
        return found

    def pass_time(self, real_ms: float) -> None:
        """Let so much real time pass, at the speed of the clock."""
        if not self.is_paused:
            self._at_ms += real_ms * self.speed
            self._run.allow_until(self.now_ms)

    def finish_passing(self) -> None:
        """Wait until everything has happened up to the present time of the clock."""
        self._run.wait_until_reached(RERUN_WITHIN_S)

    def next_event(self) -> None:
        """Pause, and let time pass to the next thing that happens."""
        self.is_paused = True
        before = self.stream_length
        while self.stream_length == before and (next_ms := self._run.next_ms) is not None:
            self._at_ms = float(max(next_ms, self.now_ms))
            self._run.allow_until(self.now_ms)
            self._run.wait_until_reached(RERUN_WITHIN_S)

    @property
    def stream_length(self) -> int:
        """The number of events that have not been taken."""
        return len(self._events)

    def act(self, step: str, declares: Mapping[str, Any] | None = None) -> Act:
        return self._run.act(step, declares)

    def go_back(self, to_ms: int) -> None:
        """Begin another run, which has the same past until this moment, and pause there."""
        acts = acts_until(self._run.acts, to_ms)
        self._run.stop()
        self.is_paused = True
        self._begin(acts, to_ms)

    def take(self) -> tuple[dict[str, Any] | None, list[tuple[Act, str]]]:
        """Return the part of the page's payload since the last call, and the acts that could not be done, each with why."""
        events = [self._events.popleft() for _ in range(len(self._events))]
        refused = [self._refused.popleft() for _ in range(len(self._refused))]
        self._not_done += refused
        return self.stream.add(events), refused

    def as_tree(self) -> dict[str, Any]:
        """Return the cluster and all that was done to it as a scenario: run with the same seed, it is the same run."""
        whole = self.scenario.model_dump(by_alias=True, exclude_unset=True)
        declared = {key: whole[key] for key in DECLARATIONS if key in whole}
        done = [act for act, why in self.acts_with_refusals if why is None]
        for act in done:
            declared = with_declarations(declared, act.declares)
        return {**declared, "timetable": [step_at(act) for act in done]}

    def proposals(self) -> list[dict[str, Any]]:
        """Return expectations that the cluster meets now, as a scenario file has them."""
        topics = self.as_tree()["cluster"].get("topics", {})
        return proposed_expectations(self.stream.state, self._run.counts(), list(topics), self.now_ms)

    def close(self) -> None:
        self._run.stop()
