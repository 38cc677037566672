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

from kcsim.scenarios.language.yaml_text import yaml_text
from kcsim.scenarios.play.own_address import OwnAddress
from kcsim.scenarios.play.play_page import play_page
from kcsim.scenarios.play.played_cluster import SPEEDS, PlayedCluster
from kcsim.scenarios.play.proposed_expectations import with_held_expectations

TICK_S = 0.05
"""How often time passes and pages are sent what happened."""
LONGEST_MESSAGE = 64 * 1024
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
        self._pages: set[asyncio.Queue[str]] = set()
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
        waiting: asyncio.Queue[str] = asyncio.Queue()
        waiting.put_nowait(self._everything())
        self._pages.add(waiting)
        sending = asyncio.create_task(self._send(socket, waiting))
        try:
            while True:
                wanted = json.loads(await socket.receive_text())
                if wanted == {"save": True}:
                    waiting.put_nowait(json.dumps({"scenario": await self._saved()}))
                else:
                    self._do(wanted)
        except (WebSocketDisconnect, ValueError, KeyError, TypeError):
            pass  # the page is closed, or it is not ours
        finally:
            self._pages.discard(waiting)
            sending.cancel()

    async def _saved(self) -> str:
        """Return the cluster as a scenario file, with expectations that a run of it has met just now."""
        cluster = self._cluster
        cluster.finish_passing()
        self._send_news()
        tree = await asyncio.to_thread(with_held_expectations, cluster.as_tree(), cluster.proposals(), cluster.seed)
        return f"# kcsim run FILE --zookeeper simulated --seed {cluster.seed}\n{yaml_text(tree)}"

    async def _send(self, socket: WebSocket, waiting: "asyncio.Queue[str]") -> None:
        while True:
            await socket.send_text(await waiting.get())

    def _do(self, wanted: dict[str, Any]) -> None:
        """Do what a page asks for. Raises: ValueError, KeyError or TypeError, if no page of ours asks so."""
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
            case {"back": int(to_ms)} if 0 <= to_ms <= cluster.now_ms:
                cluster.go_back(to_ms)
                cluster.take()
                self._send_text_to_all(self._everything())
            case _:
                raise ValueError
        self._send_to_all({"clock": self._clock()})

    async def _pass_time(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self._cluster.pass_time((now - last) * 1000)
            last = now
            self._send_news()
            self._send_to_all({"clock": self._clock()})

    def _send_news(self) -> None:
        """Send all pages what has happened since the last call, and which acts could not be done."""
        part, refused = self._cluster.take()
        if part is not None:
            self._send_to_all({"part": part, "about": self._about()})
        for act, why in refused:
            self._send_to_all({"refused": {"at_ms": act.at_ms, "step": act.step, "why": why}, "acts": self._acts()})

    def _everything(self) -> str:
        stream = self._cluster.stream
        return json.dumps(
            {"all": stream.parts, "about": self._about(), "clock": self._clock(), "acts": self._acts()},
            separators=(",", ":"),
        )

    def _about(self) -> dict[str, Any]:
        return self._cluster.stream.about(self._cluster.scenario.name, self._cluster.seed)

    def _clock(self) -> dict[str, Any]:
        cluster = self._cluster
        return {"now_ms": cluster.now_ms, "speed": cluster.speed, "paused": cluster.is_paused}

    def _acts(self) -> list[list[Any]]:
        return [[act.at_ms, act.step, why] for act, why in self._cluster.acts_with_refusals]

    def _send_to_all(self, message: dict[str, Any]) -> None:
        self._send_text_to_all(json.dumps(message, separators=(",", ":")))

    def _send_text_to_all(self, text: str) -> None:
        for waiting in self._pages:
            waiting.put_nowait(text)


def _mapping(value: object) -> dict[str, Any]:
    """Return a JSON object. Raises: TypeError, if it is none."""
    if not isinstance(value, dict):
        raise TypeError
    return value
