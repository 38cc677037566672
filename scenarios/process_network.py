"""The network as what runs in a process has it: it refuses the dead and holds back what comes to the paused.

A paused process is still reachable: connections to it are accepted and requests queue up, as a kernel does for a process
that stands still. Nothing of it is seen inside until the process goes on.
"""

from collections.abc import Coroutine
from typing import Any, Protocol

from kcsim.brokers.ports import Connection, Incoming, Listening, Network


class Host(Protocol):
    """What is needed of the process."""

    def check_alive(self) -> None:
        """Raises: Killed."""
        ...

    async def after(self, awaited: Coroutine[Any, Any, Any]) -> Any:
        """Await something of the world, then go on when the process does. Raises: Killed."""
        ...


class ProcessNetwork:
    """The Network port over that of the world."""

    def __init__(self, process: Host, inner: Network) -> None:
        self._process = process
        self._inner = inner

    async def connect(self, host: str, port: int, timeout_ms: int) -> Connection:
        inner = await self._process.after(self._inner.connect(host, port, timeout_ms))
        return _ProcessConnection(self._process, inner)

    def listen(self, host: str, port: int) -> Listening:
        self._process.check_alive()
        return _ProcessListening(self._process, self._inner.listen(host, port))


class _ProcessConnection:
    def __init__(self, process: Host, inner: Connection) -> None:
        self._process = process
        self._inner = inner

    @property
    def is_open(self) -> bool:
        return self._inner.is_open

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        return await self._process.after(self._inner.send(request, timeout_ms, cause))

    def close(self) -> None:
        self._process.check_alive()
        self._inner.close()


class _ProcessListening:
    def __init__(self, process: Host, inner: Listening) -> None:
        self._process = process
        self._inner = inner

    async def accept(self) -> Incoming:
        return _ProcessIncoming(self._process, await self._process.after(self._inner.accept()))

    def close(self) -> None:
        self._process.check_alive()
        self._inner.close()


class _ProcessIncoming:
    def __init__(self, process: Host, inner: Incoming) -> None:
        self._process = process
        self._inner = inner

    @property
    def request(self) -> Any:
        return self._inner.request

    @property
    def cause(self) -> int:
        return self._inner.cause

    def respond(self, response: Any) -> None:
        self._process.check_alive()
        self._inner.respond(response)
