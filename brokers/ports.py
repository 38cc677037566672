"""What a broker needs beyond zk/ports.py: a network on which it accepts and opens connections.

Adapters: brokers/network/network.py; brokers/wire/control_plane.py for the requests between controller and brokers over
TCP. In memory, requests and responses are passed by reference: they must not change once they are sent.
Their types are left open, because a connection carries every kind: the controller's requests, controlled shutdowns, fetches.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from kcsim.controller.capabilities import Release
from kcsim.controller.ports import Transport
from kcsim.eventlog.sink import EventSink
from kcsim.runtime.ports import Runtime


class AddressInUseError(Exception):
    """Another listener uses this host and port."""


class ListenerClosedError(Exception):
    """The listener was closed: no more requests arrive."""


class BrokerConnection(Protocol):
    """A connection to one broker, with at most one request under way."""

    @property
    def is_open(self) -> bool:
        """False once the connection was closed or is known to have broken, also if no request was under way on it."""
        ...

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        """Send a request and wait for its answer.

        Args:
            cause: the request's RequestSent event, or another event, which is the cause of the recipient's own events for
                it.

        Raises: BrokerConnectionError (controller/ports.py) when the connection breaks, or is broken already; TimedOutError
        (zk/errors.py) after timeout_ms without an answer. In both cases the recipient may have processed the request, or may
        still process it.
        """
        ...

    def close(self) -> None:
        """Close the connection. The answer to a request under way does not arrive any more. Idempotent."""
        ...


class Incoming(Protocol):
    """A received request."""

    @property
    def request(self) -> Any: ...
    @property
    def cause(self) -> int:
        """The event that the sender passed as its cause."""
        ...

    @property
    def sender(self) -> str:
        """The node that sent the request."""
        ...

    def note_fault(self, cause: int) -> None:
        """Take note of the fault because of which the answer carries an error."""
        ...

    def respond(self, response: Any) -> None:
        """Answer the request, once. A sender that has closed the connection meanwhile does not receive the answer."""
        ...


class Listening(Protocol):
    """A host and port where connections are accepted."""

    async def accept(self) -> Incoming:
        """Take the oldest request of all connections. If several tasks wait, the first of them gets it.

        Raises: ListenerClosedError once it is closed; Killed.
        """
        ...

    def close(self) -> None:
        """Refuse connections from now on, break the open ones, and drop the requests that were not accepted. Idempotent.

        Accepted requests can still be answered, but the answers do not arrive.
        """
        ...


class ConnectionEnd(StrEnum):
    """Why the connection of a client from outside the run ended, if not because of what came over it."""

    CLOSED_BY_CLIENT = "closed by the client"
    IDLE = "idle for connections.max.idle.ms"
    PORT_CLOSED = "the broker closed its port"
    BROKEN = "broken by a fault of the network"


class InjectsErrors(Protocol):
    """The errors that a broker answers because a fault says so."""

    async def answer(self, incoming: Incoming, handle: Callable[[Any, int], Awaitable[Any]]) -> Any:
        """Return the response to a request: with such an error, or what `handle` returns for request and cause."""
        ...


class BrokerTransport(Transport, Protocol):
    """Opens connections to brokers, on behalf of one process."""

    async def connect(self, host: str, port: int, timeout_ms: int) -> BrokerConnection:
        """Open a connection; a process may connect to itself.

        Raises: BrokerConnectionError when no process listens there; TimedOutError when no answer arrived in time.
        """
        ...


class OpenTransport(BrokerTransport, Protocol):
    """A transport with connections of its own."""

    def close(self) -> None:
        """Break all connections. Idempotent."""
        ...


class OpensControlPlanes(Protocol):
    """Opens the way of the requests between controller and brokers, where they do not go over the network of the run."""

    def __call__(self, node: str) -> OpenTransport:
        """Return the access of one process to it."""
        ...


class BoundsRecords(Protocol):
    """Bounds the memory that records of clients from outside the run take up."""

    def refusal(self, size: int) -> str | None:
        """Return why a batch of this many bytes cannot be appended; None if it can, and will be."""
        ...


class Network(BrokerTransport, Protocol):
    """The network as one process sees it."""

    def listen(self, host: str, port: int, release: Release | None = None) -> Listening:
        """Accept connections there from now on, even before accept is called. Raises: AddressInUseError.

        Args:
            release: the release of Kafka whose versions of requests are served over TCP; None: that of the newest.
        """
        ...


def _cannot_exit(why: str, _: int) -> None:
    raise AssertionError(f"this process cannot end itself: {why}")


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """What one broker reaches outside itself, besides ZooKeeper and its disk.

    Args:
        network: the network as the broker's process sees it.
        epoch_ms: wall-clock time at the start of the run, in ms since 1970.
        injected_errors: None: nobody injects any.
        record_memory: None: nothing bounds it.
        exit_process: shuts the broker down and ends its process, because of this and after this event; returns at once.
        separate_control_plane: the way of the requests between controller and brokers; None: they go over the network.
        separate_replication: the way of followers' requests to their leaders; None: they go over the network.
    """

    runtime: Runtime
    network: Network
    sink: EventSink
    epoch_ms: int
    injected_errors: InjectsErrors | None = None
    separate_control_plane: BrokerTransport | None = None
    record_memory: BoundsRecords | None = None
    exit_process: Callable[[str, int], None] = _cannot_exit
    separate_replication: BrokerTransport | None = None

    @property
    def control_plane(self) -> BrokerTransport:
        return self.network if self.separate_control_plane is None else self.separate_control_plane

    @property
    def replication(self) -> BrokerTransport:
        return self.network if self.separate_replication is None else self.separate_replication

    def wall_clock_ms(self) -> int:
        """Return the wall-clock time, in ms since 1970, as brokers write it into records and znodes."""
        return self.epoch_ms + self.runtime.now_ms()
