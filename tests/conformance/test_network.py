"""The network: one suite for both runtimes, with and without latency."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.ports import AddressInUseError, BrokerConnection, ListenerClosedError, Listening
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import TimedOutError
from kcsim.runtime.ports import Promise, Runtime
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime
from tests.conformance.asking import CAUSE, SOON_MS, answer_all, ask, settle

HOST, PORT = "localhost", 9092


class Place:
    """A network with two processes on it: one serves, the other sends requests."""

    def __init__(self, runtime: Runtime, delay_ms: int) -> None:
        self.runtime = runtime
        self.network = MemoryNetwork(runtime, delay_ms)
        self.server = self.network.interface()
        self.client = self.network.interface()
        self.handled: list[Any] = []

    def listen(self) -> Listening:
        return self.server.listen(HOST, PORT)

    async def connect(self) -> BrokerConnection:
        return await self.client.connect(HOST, PORT, SOON_MS)

    def serve(self) -> Listening:
        """Listen, and answer requests one after the other, until the listener is closed."""
        listening = self.listen()
        answer_all(self.runtime.spawn, listening, self.handled)
        return listening

    def ask(self, connection: BrokerConnection, request: Any, timeout_ms: int = SOON_MS) -> "Promise[Any]":
        """Send a request from a task of its own; return a promise of its answer or error."""
        return ask(self.runtime, self.runtime.spawn, connection, request, timeout_ms)

    async def settle(self) -> None:
        await settle(self.runtime, self.network)


Script = Callable[[Place], Coroutine[Any, Any, Any]]
ENVIRONMENTS = [(SimulatedRuntime, 0), (SimulatedRuntime, 1), (WallClockRuntime, 0), (WallClockRuntime, 2)]


@pytest.fixture(params=ENVIRONMENTS, ids=lambda environment: f"{environment[0].__name__}-{environment[1]}ms")
def run(request: pytest.FixtureRequest) -> Callable[[Script], Any]:
    def run_script(script: Script) -> Any:
        make_runtime, delay_ms = request.param
        runtime = make_runtime()
        return runtime.run(script(Place(runtime, delay_ms)))

    return run_script


# --- requests and answers


def test_a_request_is_answered(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        place.serve()
        connection = await place.connect()
        return await connection.send("request", SOON_MS, CAUSE)

    assert run(script) == "answer to request"


def test_a_request_arrives_as_it_is_and_with_its_cause(run: Callable[[Script], Any]) -> None:
    sent = object()

    async def script(place: Place) -> tuple[Any, int]:
        listening = place.listen()
        place.ask(await place.connect(), sent)
        incoming = await listening.accept()
        return incoming.request, incoming.cause

    arrived, cause = run(script)
    assert arrived is sent
    assert cause == CAUSE


def test_a_connection_stands_before_anybody_accepts_requests_on_it(run: Callable[[Script], Any]) -> None:
    """A kernel completes the handshake by itself; a request waits until the server accepts it."""

    async def script(place: Place) -> str:
        listening = place.listen()
        answer = place.ask(await place.connect(), "early")
        await place.settle()
        (await listening.accept()).respond("late")
        return str(await answer.wait(SOON_MS))

    assert run(script) == "late"


def test_requests_of_several_connections_come_in_the_order_of_their_sending(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> list[Any]:
        listening = place.listen()
        connections = [await place.connect() for _ in range(5)]
        for number in (3, 1, 4, 0, 2):
            place.ask(connections[number], number)
        return [(await listening.accept()).request for _ in connections]

    assert run(script) == [3, 1, 4, 0, 2]


def test_each_answer_goes_to_its_request_in_whatever_order_they_are_given(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> list[str]:
        listening = place.listen()
        answers = [place.ask(await place.connect(), name) for name in ("a", "b", "c")]
        came_in = [await listening.accept() for _ in answers]
        for incoming in reversed(came_in):
            incoming.respond(f"to {incoming.request}")
        return [await answer.wait(SOON_MS) for answer in answers]

    assert run(script) == ["to a", "to b", "to c"]


def test_a_process_may_connect_to_itself(run: Callable[[Script], Any]) -> None:
    """The controller talks to its own broker over the network. Source: docs/kafka/controller.md 1."""

    async def script(place: Place) -> Any:
        place.serve()
        connection = await place.server.connect(HOST, PORT, SOON_MS)
        return await connection.send("to myself", SOON_MS, CAUSE)

    assert run(script) == "answer to to myself"


def test_a_request_is_answered_only_once(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        listening = place.listen()
        place.ask(await place.connect(), "request")
        incoming = await listening.accept()
        incoming.respond("once")
        incoming.respond("twice")

    with pytest.raises(AssertionError, match="answered twice"):
        run(script)


# --- time-outs


def test_without_an_answer_in_time_the_sender_learns_who_kept_silent(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        place.listen()
        connection = await place.connect()
        await connection.send("request", 20, CAUSE)

    with pytest.raises(TimedOutError, match="localhost:9092: no answer within 20 ms"):
        run(script)


def test_an_answer_that_comes_too_late_is_not_taken_for_that_of_the_next_request(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        listening = place.listen()
        connection = await place.connect()
        with pytest.raises(TimedOutError):
            await connection.send("first", 20, CAUSE)
        second = place.ask(connection, "second")
        for answer in ("to the first", "to the second"):
            (await listening.accept()).respond(answer)
        return await second.wait(SOON_MS)

    assert run(script) == "to the second"


# --- no listener


def test_a_connection_is_refused_where_nobody_listens(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        await place.connect()

    with pytest.raises(BrokerConnectionError, match="localhost:9092: connection refused, no broker of this run"):
        run(script)


def test_a_connection_is_refused_where_nobody_listens_any_more(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        place.listen().close()
        await place.connect()

    with pytest.raises(BrokerConnectionError, match="refused"):
        run(script)


def test_an_address_belongs_to_one_listener_until_it_is_closed(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> Any:
        first = place.listen()
        with pytest.raises(AddressInUseError, match="localhost:9092 is in use"):
            place.client.listen(HOST, PORT)
        first.close()
        place.serve()
        return await (await place.connect()).send("request", SOON_MS, CAUSE)

    assert run(script) == "answer to request"


# --- the end of a listener


def test_closing_a_listener_breaks_its_connections_under_a_request(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        listening = place.listen()
        answer = place.ask(await place.connect(), "request")
        await listening.accept()
        listening.close()
        await answer.wait(SOON_MS)

    with pytest.raises(BrokerConnectionError, match="localhost:9092: the connection was broken from the other side"):
        run(script)


def test_closing_a_listener_breaks_idle_connections_and_their_owners_know(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> tuple[bool, bool]:
        listening = place.listen()
        connection = await place.connect()
        was_open = connection.is_open
        listening.close()
        await place.settle()
        with pytest.raises(BrokerConnectionError):
            await connection.send("request", SOON_MS, CAUSE)
        return was_open, connection.is_open

    assert run(script) == (True, False)


def test_a_request_on_its_way_to_a_listener_that_closes_is_lost_and_not_met_by_its_successor(
    run: Callable[[Script], Any],
) -> None:
    async def script(place: Place) -> list[Any]:
        listening = place.listen()
        lost = place.ask(await place.connect(), "lost")
        listening.close()
        place.serve()
        with pytest.raises(BrokerConnectionError):
            await lost.wait(SOON_MS)
        await (await place.connect()).send("next", SOON_MS, CAUSE)
        return place.handled

    assert run(script) == ["next"]


def test_those_who_wait_at_a_listener_are_let_go_when_it_closes(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> int:
        listening = place.listen()
        let_go: list[Promise[None]] = [place.runtime.promise() for _ in range(3)]

        async def acceptor(gone: "Promise[None]") -> None:
            with pytest.raises(ListenerClosedError, match="localhost:9092"):
                await listening.accept()
            gone.resolve(None)

        for gone in let_go:
            place.runtime.spawn("acceptor", acceptor(gone))
        await place.settle()
        listening.close()
        listening.close()
        for gone in let_go:
            await gone.wait(SOON_MS)
        return len(let_go)

    assert run(script) == 3


def test_requests_that_nobody_has_accepted_are_forgotten_when_the_listener_closes(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        listening = place.listen()
        place.ask(await place.connect(), "too late")
        await place.settle()
        listening.close()
        await listening.accept()

    with pytest.raises(ListenerClosedError):
        run(script)


def test_an_answer_given_before_the_listener_closes_still_arrives(run: Callable[[Script], Any]) -> None:
    """Messages in transit arrive in order: the answer first, then the end of the connection."""

    async def script(place: Place) -> Any:
        listening = place.listen()
        answer = place.ask(await place.connect(), "request")
        (await listening.accept()).respond("last words")
        listening.close()
        return await answer.wait(SOON_MS)

    assert run(script) == "last words"


def test_an_answer_given_after_the_listener_closed_is_heard_by_nobody(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> None:
        listening = place.listen()
        answer = place.ask(await place.connect(), "request")
        incoming = await listening.accept()
        listening.close()
        incoming.respond("too late")
        await answer.wait(SOON_MS)

    with pytest.raises(BrokerConnectionError):
        run(script)


# --- the end of a connection


def test_what_was_under_way_when_its_sender_hung_up_is_handled_unheard(run: Callable[[Script], Any]) -> None:
    """A request whose sender timed out has still arrived: this is how a request comes to be processed twice."""

    async def script(place: Place) -> list[Any]:
        listening = place.listen()
        connection = await place.connect()
        answer = place.ask(connection, "first")
        await place.settle()
        connection.close()
        connection.close()
        with pytest.raises(BrokerConnectionError, match="closed at this end"):
            await answer.wait(SOON_MS)
        again = place.ask(await place.connect(), "again")
        for _ in range(2):
            incoming = await listening.accept()
            place.handled.append(incoming.request)
            incoming.respond("done")
        return [*place.handled, await again.wait(SOON_MS)]

    assert run(script) == ["first", "again", "done"]


def test_a_task_killed_while_it_connects_leaves_no_connection(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> int:
        listener = place.server.listen(HOST, PORT)

        async def connect() -> None:
            await place.connect()
            raise AssertionError("a killed task must not go on")

        task = place.runtime.spawn("connect", connect())
        other = await place.connect()
        task.kill()
        await task.join()
        await place.settle()
        assert other.is_open
        return len(listener.links)

    async def bystander_only(place: Place) -> int:
        listener = place.server.listen(HOST, PORT)
        await place.connect()
        return len(listener.links)

    assert run(bystander_only) == 1
    assert run(script) == 1


# --- the end of a process


def test_a_process_that_is_gone_leaves_no_listener_and_breaks_all_its_connections(run: Callable[[Script], Any]) -> None:
    async def script(place: Place) -> bool:
        place.listen()
        place.client.listen(HOST, PORT + 1)
        to_it, from_it = await place.connect(), await place.server.connect(HOST, PORT + 1, SOON_MS)
        answer = place.ask(to_it, "request")
        place.server.close()
        with pytest.raises(BrokerConnectionError, match="broken from the other side"):
            await answer.wait(SOON_MS)
        with pytest.raises(BrokerConnectionError, match="refused"):
            await place.connect()
        return from_it.is_open

    assert run(script) is False


# --- time on the way


@pytest.mark.parametrize("delay_ms", [0, 1, 250])
def test_a_connection_costs_a_way_there_and_back_and_so_does_a_request(delay_ms: int) -> None:
    async def script(place: Place) -> tuple[int, int]:
        place.serve()
        connection = await place.connect()
        connected_ms = place.runtime.now_ms()
        await connection.send("request", SOON_MS, CAUSE)
        return connected_ms, place.runtime.now_ms()

    runtime = SimulatedRuntime()
    assert runtime.run(script(Place(runtime, delay_ms))) == (2 * delay_ms, 4 * delay_ms)


def test_connecting_times_out_when_the_way_is_too_long() -> None:
    async def script(place: Place) -> None:
        place.listen()
        await place.client.connect(HOST, PORT, 150)

    runtime = SimulatedRuntime()
    with pytest.raises(TimedOutError, match="localhost:9092: no answer within 150 ms"):
        runtime.run(script(Place(runtime, 100)))
