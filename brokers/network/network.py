"""The network of a run, in memory, simulated or live: connections between processes, with requests and responses.

Messages arrive after a constant time, in order, while the network has no faults (network_faults.py; link_stream.py describes
the effects of a bad link). Connections to an address without a listener are refused. When a process ends, its connections
break, a moment after its last messages have arrived, if they can. Messages are passed by reference. Left out: the time that
a message's size costs.
"""

from collections.abc import Callable, Iterator
from typing import Any

from kcsim.brokers.network.breakpoints import RequestBreakpoints
from kcsim.brokers.network.client_link import ANSWER, CONNECT, ClientEnd, ClientLink, OpenPort, OpensPorts
from kcsim.brokers.network.link_conditions import CLIENTS, LinkConditions, LinkCut, Links
from kcsim.brokers.network.link_stream import OPENING, LinkFaultContext, NetworkMedium, Stream
from kcsim.brokers.ports import AddressInUseError, Incoming, ListenerClosedError, OpensControlPlanes, OpenTransport
from kcsim.controller.capabilities import Release
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Mailbox, Promise, Runtime

SIMULATED_DELAY_MS = 1
"""One-way delay of a message in a simulated run. A live run adds nothing to the time that tasks take anyway."""
NO_NODE = ""
"""The node of an interface without a name, and of an address at which no node has ever listened."""
RESET = "the connection was broken from the other side"

Address = tuple[str, int]


NO_LISTENER = "no listener there"
NEVER_A_LISTENER = "no broker of this run has ever listened there, and others cannot be reached"
"""Of an address that somebody else has registered: simulated brokers reach one another in memory, not over TCP."""


class MemoryNetwork:
    """The listeners of all addresses, and all messages on their way.

    Args:
        delay_ms: the one-way delay of a message.
        faults: what links with faults need; None: this network never has faults.
        open_port: opens a TCP port at each address at which somebody listens; None: nobody outside reaches the brokers.
        open_control_plane: opens the way of the requests between controller and brokers; None: this network is the way.

    Attributes:
        breakpoints: those that have not been triggered.
        sizes_all: requests and responses within the run have no size.
    """

    sizes_all = False

    def __init__(
        self,
        runtime: Runtime,
        delay_ms: int = 0,
        faults: LinkFaultContext | None = None,
        open_port: OpensPorts | None = None,
        open_control_plane: OpensControlPlanes | None = None,
    ) -> None:
        self.runtime = runtime
        self.open_port = open_port
        self.open_control_plane = open_control_plane
        self.listeners: dict[Address, Listener] = {}
        self.has_listened: set[Address] = set()
        self.medium = NetworkMedium(runtime, delay_ms, faults)
        self.breakpoints = RequestBreakpoints(self.medium)
        self._interfaces: dict[Interface, None] = {}  # those of live processes
        self._client_links: dict[ClientLink, None] = {}
        self._nodes: dict[Address, str] = {}  # the node that listened there last

    def interface(self, node: str = NO_NODE) -> "Interface":
        """Return the network access of one more process."""
        interface = Interface(self, node)
        self._interfaces[interface] = None
        return interface

    def carry(self, arrive: Callable[..., None], *args: Any) -> None:
        """Call `arrive` after the delay of a perfect link."""
        self.medium.timetable.at(self.runtime.now_ms() + self.medium.delay_ms, arrive, *args)

    # --- for fault injection

    @property
    def conditions(self) -> LinkConditions:
        return self.medium.conditions

    @property
    def nodes(self) -> list[str]:
        """The nodes with live processes, sorted."""
        return sorted({interface.node for interface in self._interfaces})

    def open_links(self, links: Links) -> "list[Link | ClientLink]":
        """Return the connections, established as far as their client end knows, that use any of these links."""
        there: list[Link | ClientLink] = [link for one in self._interfaces for link in one.links if link.stands]
        there.extend(self._client_links)
        return [link for link in there if link.ends in links or link.ends[::-1] in links]

    # --- for interfaces and connections

    def attach(self, listener: "Listener", address: Address, node: str) -> None:
        """Register a listener. Raises: AddressInUseError."""
        if address in self.listeners:
            raise AddressInUseError(f"{_text(address)} is in use: it has a listener already")
        self.listeners[address] = listener
        self.has_listened.add(address)
        self._nodes[address] = node

    def detach(self, interface: "Interface") -> None:
        self._interfaces.pop(interface, None)

    def node_at(self, address: Address) -> str:
        """Return the node that listens at this address, or that did so last."""
        return self._nodes.get(address, NO_NODE)

    def client_link(self, node: str, end: ClientEnd) -> ClientLink:
        """Return the link of a client from outside the run that has connected to a node."""
        return ClientLink(self.medium, node, end, self._client_links)


class Interface:
    """The network access of one process (the Network port), and all that the process has open.

    Attributes:
        control_plane: the process's access to a control plane that is not this network; None: there is none.
    """

    def __init__(self, network: MemoryNetwork, node: str) -> None:
        self.node = node
        open_control_plane = network.open_control_plane
        self.control_plane: OpenTransport | None = None if open_control_plane is None else open_control_plane(node)
        self._network = network
        self._listeners: dict[Listener, None] = {}  # insertion-ordered, like the links: both are closed in this order
        self._links: dict[Link, None] = {}

    @property
    def links(self) -> "Iterator[Link]":
        """The connections that the process has opened and that are open at its end."""
        return iter(self._links)

    async def connect(self, host: str, port: int, timeout_ms: int) -> "Link":
        link = Link(self._network, self.node, (host, port), self._links)
        try:
            await link.open(timeout_ms)
        except BaseException:
            link.close()
            raise
        return link

    def listen(self, host: str, port: int, release: Release | None = None) -> "Listener":
        address = host, port
        listener = Listener(self._network, address, self.node, self._listeners, release)
        self._network.attach(listener, address, self.node)
        self._listeners[listener] = None
        if self._network.open_port is not None:
            try:
                listener.port = self._network.open_port(host, port, listener)
            except AddressInUseError:
                listener.close()
                raise
        return listener

    def close(self) -> None:
        """Close all that the process had open when it has ended: its listeners are gone, and its connections break."""
        for listener in list(self._listeners):
            listener.close()
        for link in list(self._links):
            link.close()
        if self.control_plane is not None:
            self.control_plane.close()
        self._network.detach(self)


class Listener:
    """The Listening port, and the ClientListener port.

    Args:
        opened: the open listeners of its process.

    Attributes:
        node: the node that listens.
        release: as `listen` has it.
        port: the TCP port at the same address; None: there is none.
    """

    def __init__(
        self,
        network: MemoryNetwork,
        address: Address,
        node: str,
        opened: "dict[Listener, None]",
        release: Release | None = None,
    ) -> None:
        self.node = node
        self.release = release
        self.links: dict[Link, None] = {}
        self._network = network
        self._address = address
        self._opened = opened
        self.port: OpenPort | None = None
        self._requests: Mailbox[Incoming | None] = network.runtime.mailbox()  # None: closed
        self._is_closed = False

    async def accept(self) -> Incoming:
        request = await self._requests.get()
        if request is None:
            self._requests.put(None)  # for all other and later accept calls
            raise ListenerClosedError(f"{_text(self._address)} has no listener any more")
        return request

    def put(self, request: Incoming) -> None:
        """Queue a request that has arrived."""
        self._requests.put(request)

    # --- clients from outside the run

    def client_link(self, end: ClientEnd) -> ClientLink:
        return self._network.client_link(self.node, end)

    def breaks_now(self, link: ClientLink, request: str) -> bool:
        return self._network.breakpoints.breaks_now(link.ends, request)

    @property
    def refuses_clients(self) -> bool:
        cut = self._network.conditions.of(CLIENTS, self.node).cut
        return isinstance(cut, LinkCut) and cut.refuses

    @property
    def condition_watchers(self) -> list[Callable[[], None]]:
        return self._network.conditions.watchers

    # --- its end

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        del self._opened[self], self._network.listeners[self._address]
        if self.port is not None:
            self.port.close()
        for link in list(self.links):
            link.reset()
        self._requests.drain()
        self._requests.put(None)


class Request:
    """The Incoming port: a request that is on its way or has arrived.

    Args:
        back: the stream back to the sender.
        answer: what the sender waits for; if the end of the connection arrives at the sender first, it is failed.

    Attributes:
        name: the request's name in the event log, such as LeaderAndIsr.
    """

    __slots__ = ("_answer", "_back", "_is_answered", "cause", "name", "request")

    def __init__(self, back: Stream, request: Any, cause: int, answer: "Promise[Any]") -> None:
        self.request = request
        self.name = type(request).__name__.removesuffix("Request")
        self.cause = cause
        self._back = back
        self._answer = answer
        self._is_answered = False

    @property
    def sender(self) -> str:
        return self._back.target

    def note_fault(self, cause: int) -> None:
        """The clients within the run do not name causes of errors."""

    def respond(self, response: Any) -> None:
        assert not self._is_answered, f"answered twice: {type(self.request).__name__}"
        self._is_answered = True
        self._back.send(f"{ANSWER}{self.name}", self._answer.resolve, response)


class Link:
    """The BrokerConnection port: both ends of a connection, each of which knows only what has arrived there.

    Args:
        node: the node that opens it.
        opened: the open connections of the process at the client's end.

    Attributes:
        ends: the nodes of the client and of the server.
    """

    __slots__ = (
        "_address",
        "_back",
        "_broken",
        "_established",
        "_listener",
        "_network",
        "_opened",
        "_out",
        "_under_way",
        "ends",
    )

    def __init__(self, network: MemoryNetwork, node: str, address: Address, opened: "dict[Link, None]") -> None:
        self.ends = node, network.node_at(address)
        self._network = network
        self._address = address
        self._opened = opened
        self._established: Promise[None] = network.runtime.promise()
        self._under_way: Promise[Any] | None = None
        self._broken: str | None = None  # at the client's end: why the connection is broken
        self._listener: Listener | None = None  # at the server's end; None until it has arrived, and once it is broken there
        self._out = Stream(network.medium, *self.ends, OPENING, self._break)
        self._back = Stream(network.medium, *self.ends[::-1], OPENING, lambda _: self._hang_up())
        opened[self] = None

    # --- the client's end

    async def open(self, timeout_ms: int) -> None:
        """Open the connection and wait until it is established."""
        self._out.send(CONNECT, self._reach_listener)
        await self._wait(self._established, timeout_ms)

    @property
    def is_open(self) -> bool:
        return self._broken is None

    @property
    def stands(self) -> bool:
        """Whether it was established, and is not known at this end to be broken."""
        return self.is_open and self._established.is_settled

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        if self._broken is not None:
            raise self._error(self._broken)
        # A promise for each request, so that a response that arrives after its time-out is not taken for the next one.
        answer = self._under_way = self._network.runtime.promise()
        message = Request(self._back, request, cause, answer)
        self._out.send(message.name, self._reach_queue, message)
        return await self._wait(answer, timeout_ms)

    def close(self) -> None:
        if self._broken is not None:
            return
        if self._out.is_stalled and not self._established.is_settled:
            self._out.die()  # the server does not know of this connection and never will
        self._break("it was closed at this end")
        self._out.send(None, self._be_left)

    def _stand(self) -> None:
        self._out.stands()
        self._back.stands()
        self._established.resolve(None)

    def _break(self, why: str) -> None:
        if self._broken is not None:
            return
        self._broken = why
        del self._opened[self]
        self._established.fail(self._error(why))
        if self._under_way is not None:
            self._under_way.fail(self._error(why))

    def _hear_of_the_end(self, why: str) -> None:
        """Handle that the other end is gone: what is still on its way there need not arrive."""
        self._out.die()
        self._break(why)

    async def _wait(self, answer: "Promise[Any]", timeout_ms: int) -> Any:
        try:
            return await answer.wait(timeout_ms)
        except TimedOutError:
            raise TimedOutError(f"{_text(self._address)}: no answer within {timeout_ms} ms") from None

    def _error(self, why: str) -> BrokerConnectionError:
        return BrokerConnectionError(f"{_text(self._address)}: {why}")

    # --- the server's end

    def reset(self) -> None:
        """Break the connection at the server's end, whose listener or process is gone."""
        self._hang_up()
        self._back.send(None, self._hear_of_the_end, RESET)

    def _reach_listener(self) -> None:
        listener = self._network.listeners.get(self._address)
        if listener is None:
            refused = NO_LISTENER if self._address in self._network.has_listened else NEVER_A_LISTENER
            # An answer like any other: if the network breaks it off, the client waits for its time-out.
            self._back.send(f"{ANSWER}{CONNECT}", self._hear_of_the_end, f"connection refused, {refused}")
            return
        self._listener = listener
        listener.links[self] = None
        self._back.send(f"{ANSWER}{CONNECT}", self._stand)

    def _reach_queue(self, request: Request) -> None:
        if self._listener is None:
            # The reset may have been given up on the way. The machine of an ended process answers with a reset.
            machine = Stream(self._network.medium, *self.ends[::-1], OPENING, lambda _: None)
            machine.send(None, self._hear_of_the_end, RESET)
            return
        self._listener.put(request)
        if self._network.breakpoints.breaks_now(self.ends, request.name):
            self.reset()

    def _be_left(self) -> None:
        """Handle that the client's end is closed: what is still on its way there need not arrive."""
        self._back.die()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._listener is not None:
            del self._listener.links[self]
            self._listener = None

    # --- both ends

    def sever(self, why: str) -> None:
        """Break the connection in the network: both ends know at once, and nothing that is on its way arrives."""
        self._out.die()
        self._back.die()
        self._break(why)
        self._hang_up()


def _text(address: Address) -> str:
    host, port = address
    return f"{host}:{port}"
