"""The server of a lesson's pages: one for its reader or a teacher, and another address for the pupils of a class.

It listens on 127.0.0.1 only. Each address has a token of its own: the one for pupils can answer, and nothing else.
"""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from kcsim.eventlog.events import Event
from kcsim.scenarios.classroom.lesson_page import lesson_page
from kcsim.scenarios.classroom.lesson_session import TEACHER, LessonSession
from kcsim.scenarios.play.event_stream import EventStream
from kcsim.scenarios.play.own_address import OwnAddress

FORBIDDEN = 1008
"""The code with which a websocket is closed that was refused: policy violation."""
LONGEST_NAME = 64


@dataclass(eq=False)
class _OpenPage:
    """A page: who reads it, and what it is still to be sent."""

    who: str
    waiting: "asyncio.Queue[str]"


class LessonServer:
    """Serves one lesson.

    Args:
        events: the lesson's run.
        has_class: whether there is an address for pupils.
        port: where it listens.
    """

    def __init__(self, name: str, session: LessonSession, events: Sequence[Event], has_class: bool, port: int) -> None:
        self._name, self._session, self._events = name, session, events
        self._own = OwnAddress(port)
        self._stream, self._sent = EventStream(), 0
        self._parts: list[dict[str, Any]] = []
        self._pages: list[_OpenPage] = []
        leads, follows = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self.address = f"http://127.0.0.1:{port}/{leads}/"
        self.pupils_address = f"http://127.0.0.1:{port}/{follows}/" if has_class else None
        tokens = [leads, follows] if has_class else [leads]
        self._leading_path = f"/{leads}/stream"
        self.app = Starlette(
            routes=[
                *(Route(f"/{token}/", self._page) for token in tokens),
                *(WebSocketRoute(f"/{token}/stream", self._connect) for token in tokens),
            ]
        )
        self._reveal()

    async def _page(self, request: Request) -> Response:
        if (refusal := self._own.refusal(request)) is not None:
            return refusal
        html = lesson_page(self._name, f"ws://{request.headers['host']}")
        return HTMLResponse(html, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})

    async def _connect(self, socket: WebSocket) -> None:
        if not self._own.admits(socket):
            await socket.close(FORBIDDEN)
            return
        await socket.accept()
        sending: asyncio.Task[None] | None = None
        page: _OpenPage | None = None
        try:
            page = _OpenPage(self._who(socket, json.loads(await socket.receive_text())), asyncio.Queue())
            everything = {"all": self._parts, "about": self._about(), "lesson": self._seen(page)}
            page.waiting.put_nowait(json.dumps(everything, separators=(",", ":")))
            self._pages.append(page)
            self._send_lesson()
            sending = asyncio.create_task(self._send(socket, page.waiting))
            while True:
                self._do(page, json.loads(await socket.receive_text()))
        except (WebSocketDisconnect, ValueError, KeyError, TypeError):
            pass  # the page is closed, or it is not ours
        finally:
            if page is not None and page in self._pages:
                self._pages.remove(page)
                self._send_lesson()
            if sending is not None:
                sending.cancel()

    def _who(self, socket: WebSocket, hello: dict[str, Any]) -> str:
        """Return who reads a page: who leads has no name, a pupil's page has one that it has made up."""
        if socket.url.path == self._leading_path:
            return TEACHER
        match hello:
            case {"pupil": str(name)} if 0 < len(name) <= LONGEST_NAME:
                return name
        raise ValueError

    def _do(self, page: _OpenPage, wanted: dict[str, Any]) -> None:
        """Do what a page asks for. Raises: ValueError, if it may not ask so."""
        match wanted:
            case {"answer": str(choice)}:
                self._session.answer(page.who, choice)
            case {"on": True} if page.who == TEACHER:
                self._session.go_on()
            case _:
                raise ValueError
        self._reveal()
        self._send_lesson()

    def _reveal(self) -> None:
        """Send all pages the part of the run that may be seen from now on."""
        until = self._session.until_seq + 1
        events, self._sent = self._events[self._sent : until], max(self._sent, until)
        if events:
            part = json.loads(self._stream.add(events))
            self._parts.append(part)
            for page in self._pages:
                page.waiting.put_nowait(json.dumps({"part": part, "about": self._about()}, separators=(",", ":")))

    def _send_lesson(self) -> None:
        for page in self._pages:
            page.waiting.put_nowait(json.dumps({"lesson": self._seen(page)}, separators=(",", ":")))

    def _seen(self, page: _OpenPage) -> dict[str, Any]:
        return self._session.seen_by(page.who, len({each.who for each in self._pages if each.who != TEACHER}))

    def _about(self) -> dict[str, Any]:
        return self._stream.about(self._name, self._events[0].seed or 0)

    async def _send(self, socket: WebSocket, waiting: "asyncio.Queue[str]") -> None:
        while True:
            await socket.send_text(await waiting.get())
