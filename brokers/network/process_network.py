"""The network as seen by the code in a process: it refuses calls of a dead process and delays what reaches a paused one.

A paused process is still reachable: connections to it are accepted and requests queue up, as a kernel does for a stopped
process. The code inside sees none of it until the process is resumed.
"""

from collections.abc import Coroutine
from typing import Any, Protocol

from kcsim.brokers.ports import BrokerConnection, BrokerTransport, Incoming, Listening, Network
from kcsim.controller.capabilities import Release


class Host(Protocol):
    """The part of a process that the network needs."""

    def check_alive(self) -> None:
        """Raise Killed if the process is dead."""
        ...

    async def after(self, awaited: Coroutine[Any, Any, Any]) -> Any:
        """Await something outside, then wait while the process is paused. Raises: Killed."""
        ...


class ProcessTransport:
    """The BrokerTransport port of a process, over a transport of the environment."""

    def __init__(self, process: Host, inner: BrokerTransport) -> None:
        self._process = process
        self._transport = inner

    async def connect(self, host: str, port: int, timeout_ms: int) -> BrokerConnection:
        inner = await self._process.after(self._transport.connect(host, port, timeout_ms))
        return _ProcessConnection(self._process, inner)


class ProcessNetwork(ProcessTransport):
    """The Network port of a process, over the network of the environment."""

    def __init__(self, process: Host, inner: Network) -> None:
        super().__init__(process, inner)
        self._inner = inner

    def listen(self, host: str, port: int, release: Release | None = None) -> Listening:
        self._process.check_alive()
        return _ProcessListening(self._process, self._inner.listen(host, port, release))


class _ProcessConnection:
    def __init__(self, process: Host, inner: BrokerConnection) -> None:
        self._process = process
        self._inner = inner

    @property
    def is_open(self) -> bool:
        return self._inner.is_open

    def send(self, request: Any, timeout_ms: int, cause: int) -> Coroutine[Any, Any, Any]:
        return self._process.after(self._inner.send(request, timeout_ms, cause))

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
    __slots__ = ("_inner", "_process", "cause", "request")

    def __init__(self, process: Host, inner: Incoming) -> None:
        self._process = process
        self._inner = inner
        self.request = inner.request
        self.cause = inner.cause

    @property
    def sender(self) -> str:
        return self._inner.sender

    def note_fault(self, cause: int) -> None:
        self._inner.note_fault(cause)

    def respond(self, response: Any) -> None:
        self._process.check_alive()
        self._inner.respond(response)
