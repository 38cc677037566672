"""The server of a played cluster's pages: one page, and a websocket for what happens and for what is to be done.

It listens on 127.0.0.1 only. Its address has a token, so that only those who have it can open the page. A browser sends
the names under which it reached the server and the page: requests under another name than 127.0.0.1 or localhost (a name of
somebody else that leads to 127.0.0.1), or from the page of another site, are refused.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from kcsim.scenarios.play.fork_comparison import compared
from kcsim.scenarios.play.own_address import OwnAddress
from kcsim.scenarios.play.page_messages import about_text, acts_in_page, as_json, fork_in_page, parts_text, scenario_text
from kcsim.scenarios.play.page_queue import PageQueue
from kcsim.scenarios.play.play_page import play_page
from kcsim.scenarios.play.played_cluster import SPEEDS, Fork, PlayedCluster, TooManyForksError
from kcsim.scenarios.play.proposed_expectations import with_held_expectations
from kcsim.scenarios.play.run_processes import RunFailedError
from kcsim.scenarios.play.shared_play import shared_page

TICK_S = 0.05
"""How often time passes and pages are sent what happened."""
STORY_EVERY_S = 1.0
LONGEST_MESSAGE = 64 * 1024
LONGEST_NAME = 60
FORBIDDEN = 1008
"""The code with which a websocket is closed that was refused: policy violation."""


class PlayServer:
    """Serves one played cluster.

    Args:
        port: where it listens.
    """

    def __init__(self, cluster: PlayedCluster, port: int) -> None:
        self._cluster = cluster
        self._own = OwnAddress(port)
        self._token = secrets.token_urlsafe(16)
        self._pages: set[PageQueue] = set()
        self._sent: dict[str, str] = {}  # the last message of each kind that is only sent when it changes
        self._story_of: tuple[int, int] | None = None  # the fork and the number of its parts when the story was asked for
        self._story_at_s = 0.0
        self.address = f"http://127.0.0.1:{port}/{self._token}/"
        routes = [Route(f"/{self._token}/", self._page), WebSocketRoute(f"/{self._token}/stream", self._stream)]
        self.app = Starlette(routes=routes, lifespan=self._life)

    @contextlib.asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        passing = asyncio.create_task(self._pass_time())
        try:
            yield
        finally:
            passing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await passing

    async def _page(self, request: Request) -> Response:
        if (refusal := self._own.refusal(request)) is not None:
            return refusal
        html = play_page(self._cluster.scenario.name, f"ws://{request.headers['host']}")
        return HTMLResponse(html, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})

    async def _stream(self, socket: WebSocket) -> None:
        if not self._own.admits(socket):
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        page = PageQueue(self._everything)
        self._pages.add(page)
        sending = asyncio.create_task(self._send(socket, page))
        try:
            while True:
                wanted = json.loads(await socket.receive_text())
                try:
                    await self._answer(wanted, page)
                except (TooManyForksError, RunFailedError) as error:
                    self._send_to_all({"problem": str(error)})
        except (WebSocketDisconnect, ValueError, KeyError, TypeError):
            pass  # the page is closed, or it is not ours
        finally:
            self._pages.discard(page)
            sending.cancel()

    async def _send(self, socket: WebSocket, page: PageQueue) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                await socket.send_text(await page.get())

    # --- what pages ask for

    async def _answer(self, wanted: dict[str, Any], page: PageQueue) -> None:
        """Do what a page asks for.

        Raises: ValueError, KeyError or TypeError, if no page of ours asks so; TooManyForksError; RunFailedError.
        """
        match wanted:
            case {"save": True}:
                page.put(as_json({"scenario": await self._saved()}))
            case {"compare": int(number)}:
                one, shown = self._cluster.forks[number], self._cluster.fork
                self._cluster.count_records((one, shown))
                page.put(await asyncio.to_thread(self._compared, one, shown))
            case {"share": True}:
                self._cluster.count_records(self._cluster.forks.values())
                page.put(as_json({"shared": await asyncio.to_thread(shared_page, self._cluster)}))
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
        parts, found = parts_text(list(one.run.parts)), as_json(compared(one, other))
        return f'{{"compared":{found},"other":{parts},"other_about":{about_text(one)}}}'

    def _do(self, wanted: dict[str, Any]) -> None:
        """Do what concerns all pages. Raises: see _answer; TooManyForksError; RunFailedError."""
        cluster = self._cluster
        match wanted:
            case {"act": str(step)}:
                cluster.act(step, _mapping(wanted.get("declares", {})))
                self._send_to_all({"acts": self._acts()})
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
            case {"future": int(number)}:
                cluster.switch(number)
                self._show_other_future()
            case {"forget": int(number)}:
                cluster.forget(number)
            case {"name": str(name), "of": int(number)} if name.strip():
                cluster.forks[number].name = name.strip()[:LONGEST_NAME]
            case _:
                raise ValueError
        self._send_if_changed("forks", self._forks())
        self._send_if_changed("clock", self._clock())

    @property
    def _latest_ms(self) -> int:
        """The latest moment to which any future has come."""
        return max(fork.now_ms for fork in self._cluster.forks.values())

    def _show_other_future(self) -> None:
        self._cluster.take()
        self._story_of = None
        for page in self._pages:
            page.begin_anew()

    # --- what pages are sent

    async def _pass_time(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            try:
                self._cluster.pass_time((now - last) * 1000)
                self._send_what_happened()
            except RunFailedError as error:
                self._send_if_changed("problem", str(error))
            last = now

    def _send_what_happened(self) -> None:
        cluster = self._cluster
        new, refused = cluster.take()
        if new:
            self._send_text_to_all(f'{{"parts":{parts_text(new)}}}')
        for act, why in refused:
            self._send_to_all({"refused": {"at_ms": act.at_ms, "step": act.step, "why": why}, "acts": self._acts()})
        self._send_if_changed("clock", self._clock())
        self._send_if_changed("forks", self._forks())
        about = about_text(cluster.fork)
        if about != self._sent.get("about") and about != "null":
            self._sent["about"] = about
            self._send_text_to_all(f'{{"about":{about}}}')
        self._ask_for_story()

    def _ask_for_story(self) -> None:
        """Let the run tell its story, if a page watches and something has happened since, but not all the time."""
        cluster, now_s = self._cluster, time.monotonic()
        present = cluster.fork.number, cluster.fork.taken
        is_due = present != self._story_of and now_s - self._story_at_s >= STORY_EVERY_S
        if self._pages and is_due and cluster.fork.run.has_reached_limit:
            self._story_of, self._story_at_s = present, now_s
            cluster.ask_for_story()

    def _everything(self) -> str:
        cluster = self._cluster
        about = about_text(cluster.fork)
        rest = as_json({"clock": self._clock(), "acts": self._acts(), "forks": self._forks()})
        return f'{{"all":{parts_text(cluster.parts)},"about":{about},{rest[1:]}'

    def _clock(self) -> dict[str, Any]:
        cluster = self._cluster
        is_behind = cluster.fork.run.reached_ms < cluster.now_ms
        return {"now_ms": cluster.now_ms, "speed": cluster.speed, "paused": cluster.is_paused, "behind": is_behind}

    def _acts(self) -> list[list[Any]]:
        return acts_in_page(self._cluster.acts_with_refusals)

    def _forks(self) -> dict[str, Any]:
        cluster = self._cluster
        return {"now": cluster.fork.number, "all": [fork_in_page(fork, cluster.fork) for fork in cluster.forks.values()]}

    def _send_if_changed(self, what: str, value: Any) -> None:
        text = as_json({what: value})
        if self._sent.get(what) != text:
            self._sent[what] = text
            self._send_text_to_all(text)

    def _send_to_all(self, message: dict[str, Any]) -> None:
        self._send_text_to_all(as_json(message))

    def _send_text_to_all(self, text: str) -> None:
        for page in self._pages:
            page.put(text)


def _mapping(value: object) -> dict[str, Any]:
    """Return a JSON object. Raises: TypeError, if it is none."""
    if not isinstance(value, dict):
        raise TypeError
    return value
