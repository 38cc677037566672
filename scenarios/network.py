"""The network of a run, in memory, in either world: connections between processes, and requests and answers on them.

What is sent arrives a constant time later, in order; a listener that is gone is refused, and a process that is gone breaks
its connections, a moment after its last words have arrived. Messages are passed by reference. Everything that travels goes
through MemoryNetwork.carry: that is the place for loss, delay and partition, none of which exist yet. Left out besides: the
time that a message's size costs.
"""

from collections.abc import Callable
from typing import Any

from kcsim.brokers.ports import AddressInUseError, ListenerClosedError
from kcsim.controller.ports import BrokerConnectionError
from kcsim.zk.errors import TimedOutError
from kcsim.zk.memory.timetable import Timetable
from kcsim.zk.ports import Mailbox, Promise, Runtime

SIMULATED_DELAY_MS = 1
"""How long a message is on its way in the simulated world; in the live world nothing is added to what tasks take anyway."""

Address = tuple[str, int]


class MemoryNetwork:
    """Who listens where, and all that is on its way.

    Args:
        delay_ms: how long a message is on its way, one way.
    """

    def __init__(self, runtime: Runtime, delay_ms: int = 0) -> None:
        self.runtime = runtime
        self.listeners: dict[Address, Listener] = {}
        self._delay_ms = delay_ms
        self._timetable = Timetable(runtime, "network")

    def interface(self) -> "Interface":
        """The network for one more process."""
        return Interface(self)

    def carry(self, arrive: Callable[..., None], *args: Any) -> None:
        """Call `arrive` at the other side, when the message is there."""
        self._timetable.at(self.runtime.now_ms() + self._delay_ms, arrive, *args)


class Interface:
    """The network as one process has it (the Network port), and what the process has open."""

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network
        self._listeners: dict[Listener, None] = {}  # insertion-ordered, as the links: both are closed in this order
        self._links: dict[Link, None] = {}

    async def connect(self, host: str, port: int, timeout_ms: int) -> "Link":
        link = Link(self._network, (host, port), self._links)
        try:
            await link.open(timeout_ms)
        except BaseException:
            link.close()
            raise
        return link

    def listen(self, host: str, port: int) -> "Listener":
        address = host, port
        if address in self._network.listeners:
            raise AddressInUseError(f"{host}:{port} is in use: somebody listens there already")
        listener = Listener(self._network, address, self._listeners)
        self._network.listeners[address] = listener
        return listener

    def close(self) -> None:
        """The process is gone: nobody listens where it did, and whoever was connected to it finds the connection broken."""
        for listener in list(self._listeners):
            listener.close()
        for link in list(self._links):
            link.close()


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
        opened[self] = None

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
        answer: where its sender waits; an end of the connection that arrives there first has failed it.
    """

    def __init__(self, network: MemoryNetwork, request: Any, cause: int, answer: "Promise[Any]") -> None:
        self.request = request
        self.cause = cause
        self._network = network
        self._answer = answer
        self._is_answered = False

    def respond(self, response: Any) -> None:
        assert not self._is_answered, f"answered twice: {type(self.request).__name__}"
        self._is_answered = True
        self._network.carry(self._answer.resolve, response)


class Link:
    """The Connection port: both ends of a connection, each of which knows only what has arrived there.

    Args:
        opened: the connections that the process at the client's end has open.
    """

    def __init__(self, network: MemoryNetwork, address: Address, opened: "dict[Link, None]") -> None:
        self._network = network
        self._address = address
        self._opened = opened
        self._established: Promise[None] = network.runtime.promise()
        self._under_way: Promise[Any] | None = None
        self._broken: str | None = None  # at the client's end: why nothing goes here any more
        self._listener: Listener | None = None  # at the server's end; None before it has come, and once it is broken there
        opened[self] = None

    # --- the client's end

    async def open(self, timeout_ms: int) -> None:
        """Ask for the connection and wait until it stands."""
        self._network.carry(self._reach_listener)
        await self._wait(self._established, timeout_ms)

    @property
    def is_open(self) -> bool:
        return self._broken is None

    async def send(self, request: Any, timeout_ms: int, cause: int) -> Any:
        if self._broken is not None:
            raise self._error(self._broken)
        # A promise for each request, so that an answer that comes after its time-out is not taken for the next one's.
        answer = self._under_way = self._network.runtime.promise()
        self._network.carry(self._reach_queue, Request(self._network, request, cause, answer))
        return await self._wait(answer, timeout_ms)

    def close(self) -> None:
        if self._broken is None:
            self._break("it was closed at this end")
            self._network.carry(self._hang_up)

    def _break(self, why: str) -> None:
        if self._broken is not None:
            return
        self._broken = why
        del self._opened[self]
        self._established.fail(self._error(why))
        if self._under_way is not None:
            self._under_way.fail(self._error(why))

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
        self._network.carry(self._break, "the connection was broken from the other side")

    def _reach_listener(self) -> None:
        listener = self._network.listeners.get(self._address)
        if listener is None:
            self._network.carry(self._break, "connection refused, nobody listens there")
            return
        self._listener = listener
        listener.links[self] = None
        self._network.carry(self._established.resolve, None)

    def _reach_queue(self, request: Request) -> None:
        if self._listener is not None:
            self._listener.put(request)

    def _hang_up(self) -> None:
        if self._listener is not None:
            del self._listener.links[self]
            self._listener = None


def _text(address: Address) -> str:
    host, port = address
    return f"{host}:{port}"
