"""What a broker asks of the world beyond zk/ports.py: a network on which it is reached, and reaches others.

Adapter: scenarios/network.py. Requests and responses are passed as they are, by reference: nobody may change one once it is
sent. Their types are left open, because a connection carries every kind: the controller's, controlled shutdowns, fetches.
"""

from typing import Any, Protocol

from kcsim.controller.ports import Transport


class AddressInUseError(Exception):
    """Somebody listens at this host and port already."""


class ListenerClosedError(Exception):
    """The listener was closed: no request comes in any more."""


class Connection(Protocol):
    """A connection to one broker. One request at a time is under way on it."""

    @property
    def is_open(self) -> bool:
        """False once it was closed, or is known to have broken, also while nothing was under way on it."""
        ...

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        """Send a request and wait for its answer.

        Args:
            cause: the request's RequestSent event, or another: what the other side does about it follows from that.

        Raises: BrokerConnectionError (controller/ports.py) when the connection breaks, or is broken already; TimedOutError
            (zk/errors.py) after timeout_ms without an answer. In both cases the other side may have processed the request,
            or be about to.
        """
        ...

    def close(self) -> None:
        """Give the connection up; whatever was under way on it is not heard of again. Idempotent."""
        ...


class Incoming(Protocol):
    """A request that has come in."""

    @property
    def request(self) -> Any: ...
    @property
    def cause(self) -> int:
        """The event that the sender gave with it."""
        ...

    def respond(self, response: Any) -> None:
        """Answer it, once. Whoever has given the connection up meanwhile does not hear it."""
        ...


class Listening(Protocol):
    """A host and port where connections are accepted."""

    async def accept(self) -> Incoming:
        """Take the oldest request that has come in, on whichever connection; several may wait, the longest is served first.

        Raises: ListenerClosedError once it is closed; Killed.
        """
        ...

    def close(self) -> None:
        """Refuse connections from now on, break the open ones, forget the requests that nobody has accepted. Idempotent.

        What has been accepted can still be answered, but nobody hears it.
        """
        ...


class Network(Transport, Protocol):
    """The network as one process has it."""

    async def connect(self, host: str, port: int, timeout_ms: int) -> Connection:
        """Open a connection; to oneself, too.

        Raises: BrokerConnectionError when nobody listens there; TimedOutError when nothing answered in time.
        """
        ...

    def listen(self, host: str, port: int) -> Listening:
        """Accept connections there from now on, also before anybody calls accept. Raises: AddressInUseError."""
        ...
