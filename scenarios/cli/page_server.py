"""Serving pages on 127.0.0.1: until Ctrl-C, or beside a cluster, in a thread of its own."""

import socket
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kcsim.scenarios.cli.command_exit import ExitStatus, fail

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

HOST = "127.0.0.1"


class PageApplication(Protocol):
    """What serves pages, and the address of the first one."""

    @property
    def app(self) -> "Starlette": ...
    @property
    def address(self) -> str: ...


@dataclass(frozen=True)
class PagePlace:
    """Where a page is served.

    Attributes:
        listening: a socket that is bound to a port of 127.0.0.1.
        opens_browser: whether the page is opened as soon as it is served.
    """

    listening: socket.socket
    opens_browser: bool

    @property
    def port(self) -> int:
        port: int = self.listening.getsockname()[1]
        return port

    def open(self, address: str) -> None:
        """Open a page in the browser, unless that is not wanted."""
        if self.opens_browser:
            webbrowser.open(address)

    def serve_until_ctrl_c(self, served: PageApplication) -> None:
        self.open(served.address)
        with suppress(KeyboardInterrupt):
            _server(served).run(sockets=[self.listening])

    @contextmanager
    def serving(self, served: PageApplication) -> Iterator[None]:
        """Serve pages until the context ends."""
        server = _server(served)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self.listening]}, name="pages", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def _server(served: PageApplication) -> "uvicorn.Server":
    import uvicorn

    return uvicorn.Server(uvicorn.Config(served.app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1))


@contextmanager
def page_place(port: int, *, opens_browser: bool, option: str = "--port") -> Iterator[PagePlace]:
    """Take a port of 127.0.0.1 for a page: a browser that connects waits until it is served. A port in use ends the command.

    Args:
        port: 0: a free one.
        option: the name of the option that the port is from.
    """
    with socket.socket() as listening:
        try:
            listening.bind((HOST, port))
        except OSError as error:
            fail(f"{option} {port}: {error.strerror}", ExitStatus.UNDECIDED)
        listening.listen()
        yield PagePlace(listening, opens_browser)
