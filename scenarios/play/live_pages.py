"""The pages of a cluster in real time: its past can be read, and its present acted on."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from kcsim.eventlog.events import Event
from kcsim.scenarios.language.schema import Scenario
from kcsim.scenarios.play.acts import Act, as_tree
from kcsim.scenarios.play.connected_pages import ConnectedPages
from kcsim.scenarios.play.event_stream import EventStream
from kcsim.scenarios.play.live_cluster import CountedRecords, LiveCluster, RefusedAct
from kcsim.scenarios.play.page_messages import acts_in_page, as_json, scenario_text
from kcsim.scenarios.play.page_queue import PageQueue
from kcsim.scenarios.play.play_page import play_page
from kcsim.scenarios.play.proposed_expectations import proposed_expectations, with_held_expectations
from kcsim.scenarios.play.run_processes import RunFailedError
from kcsim.scenarios.play.served_cluster import STORY_EVERY_S, ServedCluster, UnknownRequestError
from kcsim.scenarios.play.shared_play import saved_page
from kcsim.scenarios.play.simulated_continuation import CannotContinueError, SimulatedContinuation, live_state

ONLY_FORK = 0
MOST_EVENTS = 60_000
"""A cluster can be up for days; a page of more events takes long to open."""
MOST_SIMULATED = 8
"""Each of them has processes of its own."""


class LivePages:
    """The pages of one cluster in real time, as a ServedCluster.

    Args:
        live: has handed over at least one event.
        scenario: declares the cluster; None: it is only watched.
        seed: of the placement of topics.
        most_events: how many the pages have, about: then earlier ones are dropped.
    """

    def __init__(
        self, live: LiveCluster, title: str, scenario: Scenario | None, seed: int, most_events: int = MOST_EVENTS
    ) -> None:
        self.pages = ConnectedPages(self._everything)
        self._live = live
        self._title = title
        self._scenario = scenario
        self._seed = seed
        self._stream = EventStream(most_events)
        self._parts: list[str] = []
        self._acts: list[tuple[Act, str | None]] = []
        self._story_of = 0  # how many events there had been when the pages were sent the story
        self._story_at_s = 0.0
        self._simulated: dict[str, SimulatedContinuation] = {}  # by the last part of the address
        self._begun = 0
        self._is_beginning = False
        self._counted: asyncio.Future[CountedRecords] | None = None
        self._take()  # a page cannot show a run without any event

    @property
    def below(self) -> Mapping[str, ServedCluster]:
        return {name: continuation.pages for name, continuation in self._simulated.items()}

    def close(self) -> None:
        """End the simulated clusters that were begun here."""
        for continuation in self._simulated.values():
            continuation.close()
        self._simulated = {}

    def page(self, connects_to: str) -> str:
        return play_page(self._title, connects_to, is_live=True)

    # --- what pages ask for

    async def answer(self, wanted: Mapping[str, Any], page: PageQueue) -> None:
        match wanted:
            case {"act": str(step)} if isinstance(declares := wanted.get("declares", {}), dict):
                self._act(step, declares)
            case {"save": True}:
                page.put(as_json(await self._saved()))
            case {"share": True}:
                page.put(as_json({"shared": await asyncio.to_thread(self._shared, self._future())}))
            case {"simulate": True}:
                await self._simulate()
            case {"end": str(name)} if name in self._simulated:
                self._simulated.pop(name).close()
                self._send_live_state()
            case _:
                raise UnknownRequestError

    def _act(self, step: str, declares: Mapping[str, Any]) -> None:
        if (why := self._live.watched_only) is None:
            self._live.act(step, declares)
        else:
            self._acts.append((Act(self._live.now_ms, step), why))
            self._send_refusal(len(self._acts) - 1)

    async def _saved(self) -> dict[str, str]:
        """Return the message with the cluster and its acts as a scenario, with expectations that a run of it has met."""
        if self._scenario is None:
            return {"problem": f"There is no scenario to save: {self._live.watched_only}."}
        self._take()
        tree = as_tree(self._scenario, self._done)
        topics = list(tree["cluster"].get("topics", {}))
        at_ms = self._live.now_ms
        counts = (await self._count_records()).counts
        proposals = proposed_expectations(self._stream.state, counts, topics, at_ms)
        tree = await asyncio.to_thread(with_held_expectations, tree, proposals, self._seed)
        return {"scenario": scenario_text(tree, self._seed)}

    async def _simulate(self) -> None:
        """Begin a simulated cluster in the state of this moment, and tell the pages where it is."""
        if self._is_beginning:
            return
        if len(self._simulated) == MOST_SIMULATED:
            self.pages.send({"problem": f"No more than {MOST_SIMULATED} simulated clusters are kept: end one first."})
            return
        self._take()
        self._is_beginning = True
        self._send_live_state()
        try:
            begun = live_state(self._title, self._live.now_ms, self._stream.state, self._scenario, self._done)
            continuation = await asyncio.to_thread(SimulatedContinuation, begun, self._seed)
        except (CannotContinueError, RunFailedError) as error:
            self.pages.send({"problem": f"It cannot be simulated: {error}."})
        else:
            self._begun += 1
            self._simulated[f"simulated-{self._begun}"] = continuation
        finally:
            self._is_beginning = False
            self._send_live_state()

    def _send_live_state(self) -> None:
        self.pages.send_if_changed("live", self._live_state())

    async def _count_records(self) -> CountedRecords:
        if self._counted is None:
            self._counted = asyncio.get_running_loop().create_future()
            self._live.count_records()
        return await self._counted

    def _future(self) -> dict[str, Any]:
        """Return what was seen until now, as a page that needs no server has a future."""
        scenario = None if self._scenario is None else scenario_text(as_tree(self._scenario, self._done), self._seed)
        return {
            "now_ms": self._live.now_ms,
            "scenario": scenario,
            "acts": acts_in_page(self._acts),
            "about": self._about(),
            "parts": list(self._parts),
        }

    def _shared(self, future: dict[str, Any]) -> str:
        future = {**future, "parts": [json.loads(part) for part in future["parts"]]}
        whole = {"forks": self._forks(), "futures": {str(ONLY_FORK): future}, "comparisons": {}}
        dropped = self._stream.dropped
        origin = f"This page begins with the state after the first {dropped} events of the cluster." if dropped else ""
        return saved_page(self._title, whole, origin)

    @property
    def _done(self) -> list[Act]:
        return [act for act, why in self._acts if why is None]

    # --- what pages are sent

    def pass_time(self, real_ms: float) -> None:
        self._take()
        self.pages.send_if_changed("clock", self._clock())
        self.pages.send_if_changed("live", self._live_state())
        now_s = time.monotonic()
        if self.pages and self._happened != self._story_of and now_s - self._story_at_s >= STORY_EVERY_S:
            self._story_of, self._story_at_s = self._happened, now_s
            self.pages.send({"about": self._about()})

    def _take(self) -> None:
        """Take what the cluster has handed over, and send it to the pages."""
        events: list[Event] = []
        for one in self._live.take():
            match one:
                case Event():
                    events.append(one)
                case Act():
                    self._send_events(events)
                    self._acts.append((one, None))
                    self.pages.send({"acts": acts_in_page(self._acts)})
                case RefusedAct(place, why):
                    self._send_events(events)
                    self._acts[place] = self._acts[place][0], why
                    self._send_refusal(place)
                case CountedRecords():
                    if self._counted is not None:
                        self._counted.set_result(one)
                        self._counted = None
        self._send_events(events)

    def _send_events(self, events: list[Event]) -> None:
        """Send the events, and empty their list."""
        if events:
            self._parts.append(self._stream.add(events).decode("utf-8", "replace"))
            self.pages.send_text(f'{{"parts":[{self._parts[-1]}]}}')
            events.clear()
        if self._stream.is_too_long:
            self._parts = [self._stream.shorten().decode("utf-8", "replace")]
            self.pages.begin_anew()

    def _send_refusal(self, place: int) -> None:
        act, why = self._acts[place]
        refused = {"at_ms": act.at_ms, "step": act.step, "why": why}
        self.pages.send({"refused": refused, "acts": acts_in_page(self._acts)})

    def _everything(self, around: int | None = None) -> str:
        """Return the message with all that the pages are to have: always the same, as earlier events are dropped."""
        rest = {"about": self._about(), "clock": self._clock(), "acts": acts_in_page(self._acts), "forks": self._forks()}
        live = {"most_whole": None, "live": self._live_state()}
        return f'{{"all":[{",".join(self._parts)}],{as_json({**rest, **live})[1:]}'

    @property
    def _happened(self) -> int:
        """The number of events so far, with those that the pages do not have any more."""
        return self._stream.dropped + len(self._stream)

    def _about(self) -> dict[str, Any]:
        has_seed = self._live.watched_only is None
        return self._stream.about(self._title, self._seed if has_seed else None)

    def _clock(self) -> dict[str, Any]:
        return {"now_ms": self._live.now_ms, "speed": 1, "paused": False, "behind": False}

    def _forks(self) -> dict[str, Any]:
        """Return the futures: there is only the one that happens."""
        return {"now": ONLY_FORK, "all": []}

    def _live_state(self) -> dict[str, Any]:
        return {
            "dropped": self._stream.dropped,
            "watched_only": self._live.watched_only,
            "gaps": list(self._live.gaps),
            "is_beginning": self._is_beginning,
            "simulated": [[name, continuation.begun_ms] for name, continuation in self._simulated.items()],
        }
