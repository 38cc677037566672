"""Who may open a page that is served here: those who reach it under its own name, and from no page of another site."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.websockets import WebSocket


class OwnAddress:
    """The names of a server that listens on 127.0.0.1. Args: port: where it listens."""

    def __init__(self, port: int) -> None:
        self._names = {f"127.0.0.1:{port}", f"localhost:{port}"}

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request for a page under another name, which may be one of somebody else; else None."""
        if request.headers.get("host", "") in self._names:
            return None
        return PlainTextResponse("This page is at 127.0.0.1 only.\n", 421)

    def admits(self, socket: WebSocket) -> bool:
        """Return whether a websocket comes from a page of this server, which it reached under its own name."""
        host = socket.headers.get("host", "")
        return host in self._names and socket.headers.get("origin") == f"http://{host}"
