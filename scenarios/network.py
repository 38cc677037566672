"""The network of a run, in memory, in either world: connections between processes, and requests and answers on them.

What is sent arrives a constant time later, in order, while nothing is wrong with the network (network_faults.py; stream.py
says what is seen of a bad link). A listener that is gone is refused, and a process that is gone breaks its connections, a
moment after its last words have arrived, if anything can. Messages are passed by reference. Left out: the time that a
message's size costs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kcsim.brokers.ports import AddressInUseError, ListenerClosedError
from kcsim.controller.ports import BrokerConnectionError
from kcsim.scenarios.link_conditions import LinkConditions, Links
from kcsim.scenarios.stream import OPENING, Carrier, Stream, TroubleKit
from kcsim.zk.errors import TimedOutError
from kcsim.zk.events import EventKind
from kcsim.zk.ports import Mailbox, Promise, Runtime

SIMULATED_DELAY_MS = 1
"""How long a message is on its way in the simulated world; in the live world nothing is added to what tasks take anyway."""
NOBODY = ""
"""The node of an interface without a name, and of an address where nobody has ever listened."""
RESET = "the connection was broken from the other side"
CONNECT, ANSWER = "Connect", "answer to "

Address = tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Trap:
    """Breaks the connection on which the next such request is delivered, before it is answered.

    Args:
        request: as the event log names it: LeaderAndIsr.
        act: called with a sentence when it has struck.
    """

    links: Links
    request: str
    act: Callable[[str], None]
    cause: int


class MemoryNetwork:
    """Who listens where, and all that is on its way.

    Args:
        delay_ms: how long a message is on its way, one way.
        trouble: what links in trouble need; None: nothing is ever wrong with this network.

    Attributes:
        traps: those that have not struck.
    """

    def __init__(self, runtime: Runtime, delay_ms: int = 0, trouble: TroubleKit | None = None) -> None:
        self.runtime = runtime
        self.listeners: dict[Address, Listener] = {}
        self.traps: list[Trap] = []
        self.carrier = Carrier(runtime, delay_ms, trouble)
        self._interfaces: dict[Interface, None] = {}  # those of processes that live
        self._nodes: dict[Address, str] = {}  # who listened there last

    def interface(self, node: str = NOBODY) -> "Interface":
        """The network for one more process."""
        interface = Interface(self, node)
        self._interfaces[interface] = None
        return interface

    def carry(self, arrive: Callable[..., None], *args: Any) -> None:
        """Call `arrive` as long from now as a message is on its way on a perfect link."""
        self.carrier.timetable.at(self.runtime.now_ms() + self.carrier.delay_ms, arrive, *args)

    # --- for whoever faults it

    @property
    def conditions(self) -> LinkConditions:
        return self.carrier.conditions

    @property
    def nodes(self) -> list[str]:
        """Whose processes live, sorted."""
        return sorted({interface.node for interface in self._interfaces})

    def open_links(self, links: Links) -> "list[Link]":
        """The connections that stand, as far as the end knows that opened them, and that use any of these links."""
        there = (link for interface in self._interfaces for link in interface.links if link.stands)
        return [link for link in there if link.ends in links or link.ends[::-1] in links]

    # --- for interfaces and connections

    def attach(self, listener: "Listener", address: Address, node: str) -> None:
        """Somebody listens. Raises: AddressInUseError."""
        if address in self.listeners:
            raise AddressInUseError(f"{_text(address)} is in use: somebody listens there already")
        self.listeners[address] = listener
        self._nodes[address] = node

    def detach(self, interface: "Interface") -> None:
        self._interfaces.pop(interface, None)

    def node_at(self, address: Address) -> str:
        """Who listens there, or was the last to do so."""
        return self._nodes.get(address, NOBODY)

    def breaks_now(self, link: "Link", request: "Request") -> bool:
        """Whether the connection breaks, now that this request has been delivered over it; tells that it does."""
        source, target = link.ends
        for trap in self.traps:
            if link.ends in trap.links and trap.request == request.name:
                self.traps.remove(trap)
                self._tell_break(link, request, trap.cause, "armed")
                trap.act(f"the connection of {source} to {target} broke when {request.name} had been delivered")
                return True
        breaking = self.conditions.of(source, target).breaking
        if breaking is None or not self.carrier.trouble.happens(breaking.probability):
            return False
        self._tell_break(link, request, breaking.cause, "breaking link")
        return True

    def _tell_break(self, link: "Link", request: "Request", cause: int, rule: str) -> None:
        source, target = link.ends
        detail = f"{request.name} was delivered to {target}, and no answer to it can be"
        self.carrier.trouble.sink(source).emit(
            EventKind.NETWORK_CONNECTION_BROKEN, cause, target=target, event=request.name, rule=rule, detail=detail
        )


class Interface:
    """The network as one process has it (the Network port), and what the process has open."""

    def __init__(self, network: MemoryNetwork, node: str) -> None:
        self.node = node
        self._network = network
        self._listeners: dict[Listener, None] = {}  # insertion-ordered, as the links: both are closed in this order
        self._links: dict[Link, None] = {}

    @property
    def links(self) -> "Iterator[Link]":
        """The connections that it has opened, and that are open here."""
        return iter(self._links)

    async def connect(self, host: str, port: int, timeout_ms: int) -> "Link":
        link = Link(self._network, self.node, (host, port), self._links)
        try:
            await link.open(timeout_ms)
        except BaseException:
            link.close()
            raise
        return link

    def listen(self, host: str, port: int) -> "Listener":
        address = host, port
        listener = Listener(self._network, address, self._listeners)
        self._network.attach(listener, address, self.node)
        self._listeners[listener] = None
        return listener

    def close(self) -> None:
        """The process is gone: nobody listens where it did, and whoever was connected to it finds the connection broken."""
        for listener in list(self._listeners):
            listener.close()
        for link in list(self._links):
            link.close()
        self._network.detach(self)


class Listener:
    """The Listening port.

    Args:
        opened: the listeners that its process has open.
    """

    def __init__(self, network: MemoryNetwork, address: Address, opened: "dict[Listener, None]") -> None:
        self.links: dict[Link, None] = {}
        self._network = network
        self._address = address
        self._opened = opened
        self._requests: Mailbox[Request | None] = network.runtime.mailbox()  # None: closed
        self._is_closed = False

    async def accept(self) -> "Request":
        request = await self._requests.get()
        if request is None:
            self._requests.put(None)  # for whoever else waits, or will
            raise ListenerClosedError(f"nobody listens at {_text(self._address)} any more")
        return request

    def put(self, request: "Request") -> None:
        """A request has arrived."""
        self._requests.put(request)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        del self._opened[self], self._network.listeners[self._address]
        for link in list(self.links):
            link.reset()
        self._requests.drain()
        self._requests.put(None)


class Request:
    """The Incoming port: a request on its way, or arrived.

    Args:
        back: the way to where its sender waits.
        answer: what the sender waits for; an end of the connection that arrives there first has failed it.
    """

    __slots__ = ("_answer", "_back", "_is_answered", "cause", "request")

    def __init__(self, back: Stream, request: Any, cause: int, answer: "Promise[Any]") -> None:
        self.request = request
        self.cause = cause
        self._back = back
        self._answer = answer
        self._is_answered = False

    @property
    def name(self) -> str:
        """As the event log has it: LeaderAndIsr."""
        return type(self.request).__name__.removesuffix("Request")

    def respond(self, response: Any) -> None:
        assert not self._is_answered, f"answered twice: {type(self.request).__name__}"
        self._is_answered = True
        self._back.send(f"{ANSWER}{self.name}", self._answer.resolve, response)


class Link:
    """The Connection port: both ends of a connection, each of which knows only what has arrived there.

    Args:
        node: who opens it.
        opened: the connections that the process at the client's end has open.

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
        self._broken: str | None = None  # at the client's end: why nothing goes here any more
        self._listener: Listener | None = None  # at the server's end; None before it has come, and once it is broken there
        self._out = Stream(network.carrier, *self.ends, OPENING, self._break)
        self._back = Stream(network.carrier, *self.ends[::-1], OPENING, lambda _: self._hang_up())
        opened[self] = None

    # --- the client's end

    async def open(self, timeout_ms: int) -> None:
        """Ask for the connection and wait until it stands."""
        self._out.send(CONNECT, self._reach_listener)
        await self._wait(self._established, timeout_ms)

    @property
    def is_open(self) -> bool:
        return self._broken is None

    @property
    def stands(self) -> bool:
        """Whether it was opened, and is not known here to have broken."""
        return self.is_open and self._established.is_settled

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        if self._broken is not None:
            raise self._error(self._broken)
        # A promise for each request, so that an answer that comes after its time-out is not taken for the next one's.
        answer = self._under_way = self._network.runtime.promise()
        message = Request(self._back, request, cause, answer)
        self._out.send(message.name, self._reach_queue, message)
        return await self._wait(answer, timeout_ms)

    def close(self) -> None:
        if self._broken is not None:
            return
        if self._out.is_stalled and not self._established.is_settled:
            self._out.die()  # nobody there knows of this connection, and nobody ever will
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
        """There is nobody at the other end: what is still on its way there need not arrive."""
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
        """Nobody is at this end any more."""
        self._hang_up()
        self._back.send(None, self._hear_of_the_end, RESET)

    def _reach_listener(self) -> None:
        listener = self._network.listeners.get(self._address)
        if listener is None:
            self._back.send(None, self._hear_of_the_end, "connection refused, nobody listens there")
            return
        self._listener = listener
        listener.links[self] = None
        self._back.send(f"{ANSWER}{CONNECT}", self._stand)

    def _reach_queue(self, request: Request) -> None:
        if self._listener is None:
            # Word of the end may have been given up on the way. Whoever speaks to the dead is told by their machine.
            machine = Stream(self._network.carrier, *self.ends[::-1], OPENING, lambda _: None)
            machine.send(None, self._hear_of_the_end, RESET)
            return
        self._listener.put(request)
        if self._network.breaks_now(self, request):
            self.reset()

    def _be_left(self) -> None:
        """Nobody is at the client's end any more: what is still on its way there need not arrive."""
        self._back.die()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._listener is not None:
            del self._listener.links[self]
            self._listener = None

    # --- both

    def sever(self, why: str) -> None:
        """The network breaks it: both ends know at once, and nothing that is on its way arrives."""
        self._out.die()
        self._back.die()
        self._break(why)
        self._hang_up()


def _text(address: Address) -> str:
    host, port = address
    return f"{host}:{port}"
