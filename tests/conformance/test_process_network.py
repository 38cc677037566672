"""The network as processes have it: what the others notice when one of them is paused, killed or stopped. Both runtimes."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcsim.brokers.network.network import MemoryNetwork
from kcsim.brokers.network.process import Process, WriteBreakpoint, WriteMoment
from kcsim.brokers.network.process_states import ProcessState
from kcsim.brokers.ports import AddressInUseError, BrokerConnection, Listening
from kcsim.controller.ports import BrokerConnectionError
from kcsim.errors import Killed, TimedOutError
from kcsim.eventlog.event_log import EventLog
from kcsim.runtime.ports import Promise, Runtime
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.runtime.wallclock import WallClockRuntime
from kcsim.zk.memory.client import MemoryZooKeeper
from kcsim.zk.memory.settings import ModelSettings
from kcsim.zk.operations import Create
from tests.conformance.asking import CAUSE, SOON_MS, answer_all, ask, settle

HOST, PORT = "localhost", 9092


class Cluster:
    """Two processes on one network: broker-1 sends requests, broker-2 serves."""

    def __init__(self, runtime: Runtime, delay_ms: int) -> None:
        self.runtime = runtime
        self.network = MemoryNetwork(runtime, delay_ms)
        sink = EventLog(runtime.now_ms).sink("zookeeper")
        self.zookeeper = MemoryZooKeeper(runtime, sink, random.Random(0), ModelSettings(tick_time_ms=100))
        self.asks = self.process("broker-1")
        self.serves = self.process("broker-2")
        self.handled: list[Any] = []

    def process(self, name: str) -> Process:
        return Process(name, self.runtime, self.zookeeper, self.network)

    def serve(self, process: Process) -> Listening:
        """Answer all requests, inside a process."""
        listening = process.network.listen(HOST, PORT)
        answer_all(process.spawn, listening, self.handled)
        return listening

    async def connect(self) -> BrokerConnection:
        return await self.asks.network.connect(HOST, PORT, SOON_MS)

    def ask(self, connection: BrokerConnection, request: Any, timeout_ms: int = SOON_MS) -> "Promise[Any]":
        """Send a request inside broker-1; return a promise of its answer or error."""
        return ask(self.runtime, self.asks.spawn, connection, request, timeout_ms)

    async def settle(self) -> None:
        await settle(self.runtime, self.network)


Script = Callable[[Cluster], Coroutine[Any, Any, Any]]
ENVIRONMENTS = [(SimulatedRuntime, 0), (SimulatedRuntime, 1), (WallClockRuntime, 0)]


@pytest.fixture(params=ENVIRONMENTS, ids=lambda environment: f"{environment[0].__name__}-{environment[1]}ms")
def run(request: pytest.FixtureRequest) -> Callable[[Script], Any]:
    def run_script(script: Script) -> Any:
        make_runtime, delay_ms = request.param
        runtime = make_runtime()
        return runtime.run(script(Cluster(runtime, delay_ms)))

    return run_script


def test_processes_reach_each_other(run: Callable[[Script], Any]) -> None:
    """The control for the tests below."""

    async def script(cluster: Cluster) -> Any:
        cluster.serve(cluster.serves)
        return await (await cluster.connect()).send("request", SOON_MS, CAUSE)

    assert run(script) == "answer to request"


# --- paused


def test_a_paused_process_is_reached_but_does_not_answer(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> list[Any]:
        cluster.serve(cluster.serves)
        cluster.serves.pause()
        connection = await cluster.connect()
        with pytest.raises(TimedOutError):
            await connection.send("request", 30, CAUSE)
        return cluster.handled

    assert run(script) == []


def test_what_queued_up_at_a_paused_process_is_handled_in_order_when_it_goes_on(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> list[Any]:
        cluster.serve(cluster.serves)
        connections = [await cluster.connect() for _ in range(3)]
        cluster.serves.pause()
        answers = [cluster.ask(connection, number) for number, connection in enumerate(connections)]
        await cluster.settle()
        before = list(cluster.handled)
        cluster.serves.resume()
        return [before, *[await answer.wait(SOON_MS) for answer in answers], cluster.handled]

    assert run(script) == [[], "answer to 0", "answer to 1", "answer to 2", [0, 1, 2]]


def test_a_request_sent_again_meanwhile_is_handled_as_often_as_it_was_sent(run: Callable[[Script], Any]) -> None:
    """Source: docs/kafka/requests.md 3-4: a resend may deliver a request twice."""

    async def script(cluster: Cluster) -> list[Any]:
        cluster.serve(cluster.serves)
        cluster.serves.pause()
        for _ in range(2):
            connection = await cluster.connect()
            with pytest.raises(TimedOutError):
                await connection.send("request", 30, CAUSE)
            connection.close()
        last = cluster.ask(await cluster.connect(), "request")
        await cluster.settle()
        cluster.serves.resume()
        await last.wait(SOON_MS)
        return cluster.handled

    assert run(script) == ["request"] * 3


def test_a_paused_process_sees_its_answer_when_it_goes_on(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> list[Any]:
        listening = cluster.serves.network.listen(HOST, PORT)
        answer = cluster.ask(await cluster.connect(), "request")
        incoming = await listening.accept()
        cluster.asks.pause()
        incoming.respond("answer")
        await cluster.settle()
        was_seen = answer.is_settled
        cluster.asks.resume()
        return [was_seen, await answer.wait(SOON_MS)]

    assert run(script) == [False, "answer"]


def test_a_paused_process_keeps_its_address(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> None:
        cluster.serves.network.listen(HOST, PORT)
        cluster.serves.pause()
        cluster.asks.network.listen(HOST, PORT)

    with pytest.raises(AddressInUseError):
        run(script)


def test_a_process_killed_in_its_pause_has_handled_nothing_of_it(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> list[Any]:
        cluster.serve(cluster.serves)
        connection = await cluster.connect()
        cluster.serves.pause()
        answer = cluster.ask(connection, "request")
        await cluster.settle()
        cluster.serves.kill()
        with pytest.raises(BrokerConnectionError):
            await answer.wait(SOON_MS)
        return cluster.handled

    assert run(script) == []


# --- killed


def test_a_killed_process_breaks_its_connections_and_is_not_reached_again(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> None:
        listening = cluster.serves.network.listen(HOST, PORT)
        idle = await cluster.connect()
        answer = cluster.ask(await cluster.connect(), "request")
        await listening.accept()
        cluster.serves.kill()
        with pytest.raises(BrokerConnectionError, match="localhost:9092: the connection was broken"):
            await answer.wait(SOON_MS)
        assert not idle.is_open
        with pytest.raises(BrokerConnectionError, match="refused"):
            await cluster.connect()

    run(script)


def test_a_killed_process_breaks_the_connections_that_it_had_made(run: Callable[[Script], Any]) -> None:
    """Its request is still executed, but the answer is lost."""

    async def script(cluster: Cluster) -> bool:
        listening = cluster.serves.network.listen(HOST, PORT)
        answer = cluster.ask(await cluster.connect(), "request")
        incoming = await listening.accept()
        cluster.asks.kill()
        await cluster.settle()
        incoming.respond("answer")
        await cluster.settle()
        return answer.is_settled

    assert run(script) is False


def test_the_network_refuses_the_dead(run: Callable[[Script], Any]) -> None:
    """No `finally` block of a killed broker closes, answers or sends anything."""

    async def script(cluster: Cluster) -> None:
        listening = cluster.serves.network.listen(HOST, PORT)
        own = await cluster.serves.network.connect(HOST, PORT, SOON_MS)
        cluster.ask(await cluster.connect(), "request")
        incoming = await listening.accept()
        cluster.serves.kill()
        with pytest.raises(Killed):
            incoming.respond("from the grave")
        with pytest.raises(Killed):
            await own.send("from the grave", SOON_MS, CAUSE)
        with pytest.raises(Killed):
            await listening.accept()
        with pytest.raises(Killed):
            await cluster.serves.network.connect(HOST, PORT, SOON_MS)
        with pytest.raises(Killed):
            cluster.serves.network.listen(HOST, PORT)
        with pytest.raises(Killed):
            listening.close()
        with pytest.raises(Killed):
            own.close()

    run(script)


def test_a_process_may_die_in_the_middle_of_a_request(run: Callable[[Script], Any]) -> None:
    """The process dies at a breakpoint in the write that the request causes: the sender finds the connection broken."""

    async def script(cluster: Cluster) -> ProcessState:
        listening = cluster.serves.network.listen(HOST, PORT)

        async def work() -> None:
            session = await cluster.serves.open_session(1000, lambda _: None, SOON_MS)
            incoming = await listening.accept()
            await session.call([Create("/written")])
            incoming.respond("written")

        cluster.serves.break_at(WriteBreakpoint(WriteMoment.BEFORE, lambda _: True, cluster.serves.kill))
        cluster.serves.spawn("work", work())
        answer = cluster.ask(await cluster.connect(), "write")
        with pytest.raises(BrokerConnectionError, match="broken from the other side"):
            await answer.wait(SOON_MS)
        return cluster.serves.state

    assert run(script) is ProcessState.DEAD


def test_the_next_process_takes_over_the_address_of_a_killed_one(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> Any:
        cluster.serve(cluster.serves)
        before = await cluster.connect()
        cluster.serves.kill()
        cluster.serve(cluster.process("broker-2"))
        with pytest.raises(BrokerConnectionError):
            await before.send("to the last one", SOON_MS, CAUSE)
        return await (await cluster.connect()).send("to this one", SOON_MS, CAUSE)

    assert run(script) == "answer to to this one"


# --- stopped


def test_a_process_that_stops_in_order_closes_its_listener_and_goes_on(run: Callable[[Script], Any]) -> None:
    """It still has to resign and to close its session. Source: docs/kafka/requests.md 10-4."""

    async def script(cluster: Cluster) -> list[Any]:
        listening = cluster.serve(cluster.serves)
        connection = await cluster.connect()
        first = await connection.send("first", SOON_MS, CAUSE)
        listening.close()
        await cluster.settle()
        with pytest.raises(BrokerConnectionError, match="broken"):
            await connection.send("second", SOON_MS, CAUSE)
        with pytest.raises(BrokerConnectionError, match="refused"):
            await cluster.connect()
        return [first, *cluster.handled, cluster.serves.state]

    assert run(script) == ["answer to first", "first", "closed", ProcessState.RUNNING]


def test_a_run_that_is_over_leaves_no_address_taken(run: Callable[[Script], Any]) -> None:
    async def script(cluster: Cluster) -> int:
        cluster.serves.network.listen(HOST, PORT)
        for process in (cluster.asks, cluster.serves):
            process.retire()
        return len(cluster.network.listeners)

    assert run(script) == 0
