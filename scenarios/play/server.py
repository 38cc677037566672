"""The server of the pages of clusters: for each cluster one page, and a websocket for what happens and what is to be done.

It listens on 127.0.0.1 only. Its address has a token, so that only those who have it can open the page. A browser sends
the names under which it reached the server and the page: requests under another name than 127.0.0.1 or localhost (a name of
somebody else that leads to 127.0.0.1), or from the page of another site, are refused.
"""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from kcsim.scenarios.play.own_address import OwnAddress
from kcsim.scenarios.play.page_queue import PageQueue
from kcsim.scenarios.play.served_cluster import ServedCluster, UnknownRequestError

TICK_S = 0.05
"""How often time passes and pages are sent what happened."""
FORBIDDEN = 1008
"""The code with which a websocket is closed that was refused: policy violation."""


class PlayServer:
    """Serves one cluster, and those that are started from its pages.

    Args:
        port: where it listens.
    """

    def __init__(self, cluster: ServedCluster, port: int) -> None:
        self._cluster = cluster
        self._failed: list[ServedCluster] = []
        self._own = OwnAddress(port)
        self._token = secrets.token_urlsafe(16)
        self.address = f"http://127.0.0.1:{port}/{self._token}/"
        paths = f"/{self._token}/", f"/{self._token}/{{below}}/"
        pages = [Route(path, self._page) for path in paths]
        streams = [WebSocketRoute(f"{path}stream", self._stream) for path in paths]
        self.app = Starlette(routes=[*pages, *streams], lifespan=self._life)

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
            for cluster in (self._cluster, *self._cluster.below.values()):
                self._pass_time_of(cluster, (now - last) * 1000)
            last = now

    def _pass_time_of(self, cluster: ServedCluster, real_ms: float) -> None:
        """Let time pass for a cluster; not any more once that has failed. Other clusters go on."""
        if cluster in self._failed:
            return
        try:
            cluster.pass_time(real_ms)
        except Exception as error:
            self._failed.append(cluster)
            logging.getLogger(__name__).exception("kcsim failed while time passed for the cluster of a page")
            cluster.pages.send({"problem": f"kcsim failed, and the cluster does not go on: {error!r}"})

    async def _page(self, request: Request) -> Response:
        if (refusal := self._own.refusal(request)) is not None:
            return refusal
        cluster = self._shown(request.path_params)
        if cluster is None:
            return PlainTextResponse("There is no such cluster.\n", 404)
        html = cluster.page(f"ws://{request.headers['host']}")
        return HTMLResponse(html, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})

    async def _stream(self, socket: WebSocket) -> None:
        cluster = self._shown(socket.path_params)
        if cluster is None or not self._own.admits(socket):
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        page = cluster.pages.connect()
        sending = asyncio.create_task(_send(socket, page))
        try:
            while True:
                await cluster.answer(_request_in(await socket.receive_text()), page)
        except (WebSocketDisconnect, UnknownRequestError):
            pass  # the page is closed, or it is not ours
        finally:
            cluster.pages.disconnect(page)
            sending.cancel()

    def _shown(self, path: Mapping[str, Any]) -> ServedCluster | None:
        """Return the cluster that a path leads to; None if there is none."""
        return self._cluster.below.get(path["below"]) if "below" in path else self._cluster


def _request_in(text: str) -> dict[str, Any]:
    """Return what a page asks for. Raises: UnknownRequestError, if it is no JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UnknownRequestError
    return found


async def _send(socket: WebSocket, page: PageQueue) -> None:
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await socket.send_text(await page.get())
