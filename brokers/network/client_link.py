"""Clients from outside the run: their TCP connections as the network's faults see them, and the ports they connect to.

What arrives over TCP, and what is answered, passes a link with the conditions of all links (link_conditions.py): in order,
late, or never. The node of a client is `client ID`, once a request has named its client id, and CLIENTS before. Where
controller and brokers reach each other over TCP, their connections are treated alike, with the broker as the node.

The kernel completes a TCP connection before anything of it is seen here. To a client that is cut off without being refused
a new connection therefore seems established, and remains silent.
"""

from collections.abc import Callable
from typing import Any, Protocol

from kcsim.brokers.network.link_conditions import CLIENTS
from kcsim.brokers.network.link_stream import OPENING, NetworkMedium, Stream
from kcsim.brokers.ports import Incoming
from kcsim.controller.capabilities import Release

CONNECT, ANSWER = "Connect", "answer to "


class ClientEnd(Protocol):
    """The TCP connection of a client, at the broker."""

    def receive(self, frame: Any) -> None:
        """Take what the client has sent."""
        ...

    def hang_up(self) -> None:
        """Take notice that the client has closed the connection."""
        ...

    def reset(self) -> None:
        """Break the connection, so that the client is notified at once."""
        ...


class ClientLink:
    """The way of frames from a client to a broker, and back.

    Args:
        opened: the links of all clients.

    Attributes:
        ends: the nodes of the client and of the broker.
    """

    __slots__ = ("_back", "_end", "_opened", "_out", "ends")

    def __init__(self, medium: NetworkMedium, broker: str, end: ClientEnd, opened: "dict[ClientLink, None]") -> None:
        self.ends = CLIENTS, broker
        self._end = end
        self._opened = opened
        self._out = Stream(medium, *self.ends, OPENING, self.sever)
        self._back = Stream(medium, *self.ends[::-1], OPENING, self.sever)
        opened[self] = None
        self._pass(self._out, CONNECT, 0, self._stand)

    @property
    def is_sender_known(self) -> bool:
        """Whether the sender has named itself."""
        return self.ends[0] != CLIENTS

    def name_sender(self, node: str) -> None:
        """Set the node by which faults can name the sender: `client ID`, or a broker of the run."""
        sender, broker = self.ends = node, self.ends[1]
        self._out.source, self._out.target = self._back.target, self._back.source = sender, broker

    def bring(self, name: str, frame: bytes) -> None:
        """Bring a frame that the client has sent. Args: name: that of the request."""
        self._pass(self._out, name, len(frame), self._end.receive, frame)

    def answer(self, name: str, size_bytes: int, arrive: Callable[..., object], *args: Any) -> None:
        """Bring an answer to the client, where `arrive` is called with these arguments."""
        self._pass(self._back, f"{ANSWER}{name}", size_bytes, arrive, *args)

    def leave(self) -> None:
        """The client has closed the connection: the broker is notified after all that was sent before."""
        self._back.die()
        self._pass(self._out, None, 0, self._end.hang_up)

    def close(self) -> None:
        """Drop what is on its way. Idempotent."""
        self._opened.pop(self, None)
        self._out.die()
        self._back.die()

    def sever(self, _why: str) -> None:
        """Break the connection: both ends know at once."""
        self.close()
        self._end.reset()

    def _stand(self) -> None:
        self._out.stands()
        self._back.stands()

    @staticmethod
    def _pass(stream: Stream, what: str | None, size_bytes: int, arrive: Callable[..., object], *args: Any) -> None:
        if stream.is_clear:  # without a detour over the timetable
            arrive(*args)
        else:
            stream.send(what, arrive, *args, size_bytes=size_bytes)


class OpenPort(Protocol):
    """A TCP port that is open."""

    def close(self) -> None:
        """Refuse connections from now on, and break the open ones. Idempotent."""
        ...


class ClientListener(Protocol):
    """The listener of a broker, as its TCP port sees it.

    Attributes:
        node: the broker.
        release: that of the broker, by which the versions of requests go that it serves; None: the newest.
        condition_watchers: called after each change of the network's faults.
    """

    node: str
    release: Release | None

    @property
    def condition_watchers(self) -> list[Callable[[], None]]: ...
    @property
    def refuses_clients(self) -> bool:
        """Whether no client from outside can connect."""
        ...

    def put(self, request: Incoming) -> None:
        """Queue a request that has arrived."""
        ...

    def client_link(self, end: ClientEnd) -> ClientLink:
        """Return the link of a client that has connected."""
        ...

    def breaks_now(self, link: ClientLink, request: str) -> bool:
        """Return True if the connection breaks now that a request of this name was delivered over it."""
        ...


class OpensPorts(Protocol):
    """Opens TCP ports on which clients from outside the run reach the brokers."""

    def __call__(self, host: str, port: int, listener: ClientListener) -> OpenPort:
        """Open the port of a listener. Raises: AddressInUseError."""
        ...
