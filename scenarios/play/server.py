"""The server of the pages of clusters: for each cluster one page, and a websocket for what happens and what is to be done.

It listens on 127.0.0.1 only. Its address has a token, so that only those who have it can open the page. A browser sends
the names under which it reached the server and the page: requests under another name than 127.0.0.1 or localhost (a name of
somebody else that leads to 127.0.0.1), or from the page of another site, are refused.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from kcsim.scenarios.play.connected_pages import ConnectedPages
from kcsim.scenarios.play.own_address import OwnAddress
from kcsim.scenarios.play.page_queue import PageQueue

TICK_S = 0.05
"""How often time passes and pages are sent what happened."""
FORBIDDEN = 1008
"""The code with which a websocket is closed that was refused: policy violation."""


class ServedCluster(Protocol):
    """A cluster with its pages."""

    @property
    def pages(self) -> ConnectedPages:
        """The pages that show it now."""
        ...

    def page(self, connects_to: str) -> str:
        """Return the page, as HTML. Args: connects_to: the origin of its websocket: ws://127.0.0.1:8000."""
        ...

    async def answer(self, wanted: Mapping[str, Any], page: PageQueue) -> None:
        """Do what a page asks for. Raises: ValueError, KeyError or TypeError, if no page of ours asks so."""
        ...

    def pass_time(self, real_ms: float) -> None:
        """Be called again and again. Args: real_ms: how much time has passed since the last call."""
        ...


class PlayServer:
    """Serves one cluster.

    Args:
        port: where it listens.
    """

    def __init__(self, cluster: ServedCluster, port: int) -> None:
        self._cluster = cluster
        self._own = OwnAddress(port)
        self._token = secrets.token_urlsafe(16)
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

    async def _pass_time(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self._cluster.pass_time((now - last) * 1000)
            last = now

    async def _page(self, request: Request) -> Response:
        if (refusal := self._own.refusal(request)) is not None:
            return refusal
        html = self._cluster.page(f"ws://{request.headers['host']}")
        return HTMLResponse(html, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})

    async def _stream(self, socket: WebSocket) -> None:
        if not self._own.admits(socket):
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        page = self._cluster.pages.connect()
        sending = asyncio.create_task(_send(socket, page))
        try:
            while True:
                await self._cluster.answer(json.loads(await socket.receive_text()), page)
        except (WebSocketDisconnect, ValueError, KeyError, TypeError):
            pass  # the page is closed, or it is not ours
        finally:
            self._cluster.pages.disconnect(page)
            sending.cancel()


async def _send(socket: WebSocket, page: PageQueue) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await socket.send_text(await page.get())
