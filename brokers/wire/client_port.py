"""A TCP port on which Kafka's clients reach a broker, on asyncio. While the network refuses all clients, it is closed."""

import asyncio
import errno
import socket

from kcsim.brokers.network.client_link import ClientListener
from kcsim.brokers.ports import AddressInUseError
from kcsim.brokers.wire.client_connection import (
    DEFAULT_LIMITS,
    ConnectionContext,
    ConnectionLimits,
    KafkaClientConnection,
    PortObserver,
)
from kcsim.brokers.wire.fetch_sessions import FetchSessions
from kcsim.brokers.wire.request_causes import RequestCauses
from kcsim.runtime.ports import Runtime

BACKLOG = 50
RETRY_S = 0.1


class ClientPort:
    """Listens on a TCP port, and passes on the requests that arrive there.

    Args:
        address: host and port; port 0: any free one.
        listener: receives the requests.
        observer: receives what happens to clients.
        causes: those of requests from brokers of the run.

    Raises: AddressInUseError.
    """

    def __init__(
        self,
        runtime: Runtime,
        address: tuple[str, int],
        listener: ClientListener,
        observer: PortObserver,
        causes: RequestCauses,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        self._listener = listener
        self._connections: set[KafkaClientConnection] = set()
        sessions = FetchSessions(runtime.now_ms)
        self._context = ConnectionContext(runtime, listener, observer, causes, limits, sessions, self._connections)
        self._is_closed = False
        self._socket: socket.socket | None = _listening_socket(address)
        self._address: tuple[str, int] = self._socket.getsockname()[:2]
        self._server: asyncio.Server | None = None
        self._opening = self._open()
        listener.condition_watchers.append(self._conditions_changed)
        self._conditions_changed()

    @property
    def port(self) -> int:
        return self._address[1]

    def close(self) -> None:
        """Refuse connections from now on, and break the open ones. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        self._listener.condition_watchers.remove(self._conditions_changed)
        self._refuse()
        for connection in list(self._connections):
            connection.close()

    # --- accepting and refusing connections

    def _conditions_changed(self) -> None:
        if self._listener.refuses_clients:
            self._refuse()
        elif self._socket is None and self._opening.done():
            self._opening = self._open()

    def _refuse(self) -> None:
        """Close the socket, so that the kernel refuses connections."""
        self._opening.cancel()
        if self._server is not None:
            self._server.close()
        if self._socket is not None:
            self._socket.close()
        self._server = self._socket = None

    def _open(self) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(self._accept())

    async def _accept(self) -> None:
        while self._socket is None:
            try:
                self._socket = _listening_socket(self._address)
            except AddressInUseError:  # by a process that has taken the port while it was closed
                await asyncio.sleep(RETRY_S)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: KafkaClientConnection(self._context), sock=self._socket)


def _listening_socket(address: tuple[str, int]) -> socket.socket:
    """Return a socket that listens. Raises: AddressInUseError."""
    try:
        return socket.create_server(address, backlog=BACKLOG)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise AddressInUseError("{}:{} is in use".format(*address)) from error
