"""The pages of a played cluster: what they are sent of its run, its clock and its futures, and what they ask for."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from kcsim.scenarios.play.connected_pages import ConnectedPages
from kcsim.scenarios.play.fork_comparison import compared
from kcsim.scenarios.play.page_messages import about_text, acts_in_page, as_json, fork_in_page, parts_text, scenario_text
from kcsim.scenarios.play.page_queue import PageQueue
from kcsim.scenarios.play.play_page import play_page
from kcsim.scenarios.play.played_cluster import SPEEDS, Fork, PlayedCluster, TooManyForksError
from kcsim.scenarios.play.proposed_expectations import with_held_expectations
from kcsim.scenarios.play.run_processes import RunFailedError
from kcsim.scenarios.play.served_cluster import NOTHING_BELOW, STORY_EVERY_S, ServedCluster, UnknownRequestError
from kcsim.scenarios.play.shared_play import shared_page
from kcsim.scenarios.play.shown_parts import MOST_WHOLE

NOT_A_SCENARIO = "No scenario file can say how this cluster has begun: in the state of another one."
LONGEST_NAME = 60


class PlayedPages:
    """The pages of one played cluster, as a ServedCluster.

    Args:
        origin: how the cluster has begun, if that has to be said.
        most_whole: of a run with more events than these, a page is sent parts only.
    """

    def __init__(self, cluster: PlayedCluster, origin: str = "", most_whole: int = MOST_WHOLE) -> None:
        self._most_whole = most_whole
        self.pages = ConnectedPages(self._everything)
        self.below: Mapping[str, ServedCluster] = NOTHING_BELOW
        self._cluster = cluster
        self._origin = origin
        self._story_of: tuple[int, int] | None = None  # the fork and the number of its parts when the story was asked for
        self._story_at_s = 0.0

    def page(self, connects_to: str) -> str:
        return play_page(self._cluster.scenario.name, connects_to, origin=self._origin)

    # --- what pages ask for

    async def answer(self, wanted: Mapping[str, Any], page: PageQueue) -> None:
        try:
            await self._answer(wanted, page)
        except (TooManyForksError, RunFailedError) as error:
            self.pages.send({"problem": str(error)})

    async def _answer(self, wanted: Mapping[str, Any], page: PageQueue) -> None:
        """Do what a page asks for. Raises: UnknownRequestError; TooManyForksError; RunFailedError."""
        match wanted:
            case {"save": True} if self._cluster.begins_with_nothing:
                page.put(as_json({"scenario": await self._saved()}))
            case {"save": True}:
                page.put(as_json({"problem": NOT_A_SCENARIO}))
            case {"compare": int(number)} if number in self._cluster.forks:
                one, shown = self._cluster.forks[number], self._cluster.fork
                self._cluster.count_records((one, shown))
                page.put(await asyncio.to_thread(self._compared, one, shown))
            case {"share": True}:
                self._cluster.count_records(self._cluster.forks.values())
                page.put(as_json({"shared": await asyncio.to_thread(shared_page, self._cluster, self._origin)}))
            case {"around": int(seq)}:
                page.begin_anew(seq)
            case _:
                self._do(wanted)

    async def _saved(self) -> str:
        """Return the cluster as a scenario file, with expectations that a run of it has met just now."""
        cluster = self._cluster
        proposals = cluster.proposals()
        self._send_what_happened()
        tree = await asyncio.to_thread(with_held_expectations, cluster.as_tree(), proposals, cluster.seed)
        return scenario_text(tree, cluster.seed)

    def _compared(self, one: Fork, other: Fork) -> str:
        """Return the message with the differences of two futures, and with the events of the one that is not shown."""
        run = one.run
        parts, found = run.segments.shown(list(run.parts), None, self._most_whole), as_json(compared(one, other))
        return f'{{"compared":{found},"other":{parts},"other_about":{about_text(one)}}}'

    def _do(self, wanted: Mapping[str, Any]) -> None:
        """Do what concerns all pages. Raises: see _answer; TooManyForksError; RunFailedError."""
        cluster = self._cluster
        match wanted:
            case {"act": str(step)} if isinstance(declares := wanted.get("declares", {}), dict):
                cluster.act(step, declares)
                self.pages.send({"acts": self._acts()})
            case {"paused": bool(is_paused)}:
                cluster.is_paused = is_paused
            case {"speed": int() | float() as speed} if speed in SPEEDS:
                cluster.speed = speed
            case {"next": True}:
                cluster.next_event()
            case {"until": int(until_ms)} if cluster.now_ms <= until_ms <= self._latest_ms:
                cluster.go_on_to(until_ms)
            case {"back": int(to_ms)} if 0 <= to_ms <= cluster.now_ms:
                cluster.go_back(to_ms)
                cluster.finish_passing()
                self._show_other_future()
            case {"future": int(number)} if number in cluster.forks:
                cluster.switch(number)
                self._show_other_future()
            case {"forget": int(number)} if number in cluster.forks and number != cluster.fork.number:
                cluster.forget(number)
            case {"name": str(name), "of": int(number)} if name.strip() and number in cluster.forks:
                cluster.forks[number].name = name.strip()[:LONGEST_NAME]
            case _:
                raise UnknownRequestError
        self.pages.send_if_changed("forks", self._forks())
        self.pages.send_if_changed("clock", self._clock())

    @property
    def _latest_ms(self) -> int:
        """The latest moment to which any future has come."""
        return max(fork.now_ms for fork in self._cluster.forks.values())

    def _show_other_future(self) -> None:
        self._cluster.take()
        self._story_of = None
        self.pages.begin_anew()

    # --- what pages are sent

    def pass_time(self, real_ms: float) -> None:
        try:
            self._cluster.pass_time(real_ms)
            self._send_what_happened()
        except RunFailedError as error:
            self.pages.send_if_changed("problem", str(error))

    def _send_what_happened(self) -> None:
        cluster = self._cluster
        new, refused = cluster.take()
        if new:
            self.pages.send_text(f'{{"parts":{parts_text(new)}}}')
        for act, why in refused:
            self.pages.send({"refused": {"at_ms": act.at_ms, "step": act.step, "why": why}, "acts": self._acts()})
        self.pages.send_if_changed("clock", self._clock())
        self.pages.send_if_changed("forks", self._forks())
        about = about_text(cluster.fork)
        if about != "null":
            self.pages.send_text_if_changed("about", f'{{"about":{about}}}')
        self._ask_for_story()

    def _ask_for_story(self) -> None:
        """Let the run tell its story if a page watches and something has happened since; at once while time stands still."""
        cluster, now_s = self._cluster, time.monotonic()
        present = cluster.fork.number, cluster.fork.taken
        may_ask = cluster.is_paused or now_s - self._story_at_s >= STORY_EVERY_S
        is_due = present != self._story_of and may_ask
        if self.pages and is_due and cluster.fork.run.has_reached_limit:
            self._story_of, self._story_at_s = present, now_s
            cluster.ask_for_story()

    def _everything(self, around: int | None = None) -> str:
        cluster = self._cluster
        parts = cluster.fork.run.segments.shown(cluster.parts, around, self._most_whole)
        about = about_text(cluster.fork)
        sent = {"around": around, "most_whole": self._most_whole}
        rest = as_json({**sent, "clock": self._clock(), "acts": self._acts(), "forks": self._forks()})
        return f'{{"all":{parts},"about":{about},{rest[1:]}'

    def _clock(self) -> dict[str, Any]:
        cluster = self._cluster
        is_behind = cluster.fork.run.reached_ms < cluster.now_ms
        return {"now_ms": cluster.now_ms, "speed": cluster.speed, "paused": cluster.is_paused, "behind": is_behind}

    def _acts(self) -> list[list[Any]]:
        return acts_in_page(self._cluster.acts_with_refusals)

    def _forks(self) -> dict[str, Any]:
        cluster = self._cluster
        return {"now": cluster.fork.number, "all": [fork_in_page(fork, cluster.fork) for fork in cluster.forks.values()]}
