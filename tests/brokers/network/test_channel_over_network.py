"""The controller's channel manager on the network of a run, each side in its own process. In virtual time."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import structs

from kcsim.brokers.network.network import SIMULATED_DELAY_MS, MemoryNetwork
from kcsim.brokers.network.process import Process
from kcsim.controller.channels.channel_manager import ControllerChannelManager
from kcsim.controller.config import ControllerConfig
from kcsim.controller.requests import UpdateMetadataRequest, UpdateMetadataResponse
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import BrokerEpoch, BrokerId, ControllerEpoch
from kcsim.zk.memory.client import MemoryZooKeeper
from tests.controller.synthetic_cluster import registered

B2 = BrokerId(2)
INFO = registered(B2)
UM = UpdateMetadataRequest(BrokerId(1), ControllerEpoch(5), BrokerEpoch(102), {}, ())
CONFIG = ControllerConfig(request_timeout_ms=30_000)


class Bench:
    """A controller in the process broker-1; broker-2 acknowledges every request."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.network = MemoryNetwork(self.runtime, SIMULATED_DELAY_MS)
        self.zookeeper = MemoryZooKeeper(self.runtime, self.log.sink("zookeeper"), random.Random(0))
        self.controller = self.process("broker-1")
        self.broker = self.process("broker-2")
        self.handled: list[tuple[int, int]] = []
        sink = self.log.sink("broker-1")
        self.manager = ControllerChannelManager(self.controller, self.controller.network, sink, CONFIG)
        self.root = sink.emit(EventKind.CONTROLLER_EVENT_BEGUN, event="BrokerChange")
        self.manager.startup([INFO], self.root)

    def process(self, name: str) -> Process:
        return Process(name, self.runtime, self.zookeeper, self.network)

    def acknowledge(self, process: Process) -> None:
        (endpoint,) = INFO.endpoints
        listening = process.network.listen(endpoint.host, endpoint.port)

        async def work() -> None:
            while True:
                incoming = await listening.accept()
                self.handled.append((process.now_ms(), incoming.request.controller_epoch))
                incoming.respond(UpdateMetadataResponse())

        process.spawn("broker", work())

    def send(self, controller_epoch: int) -> None:
        request = structs.replace(UM, controller_epoch=ControllerEpoch(controller_epoch))
        self.manager.send_request(B2, request, None, self.root)

    def play(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.runtime.run(script())

    def events_of(self, *kinds: EventKind) -> list[tuple[int, EventKind]]:
        return [(event.t_ms, event.kind) for event in self.log.events if event.kind in kinds]


def test_a_request_costs_the_way_there_and_the_answer_the_way_back() -> None:
    bench = Bench()

    async def script() -> None:
        bench.acknowledge(bench.broker)
        bench.send(5)
        bench.send(6)
        await bench.runtime.sleep_ms(100)

    bench.play(script)
    assert bench.handled == [(3, 5), (5, 6)]  # 2 ms for the connection, which is made once
    assert bench.events_of(EventKind.REQUEST_SENT, EventKind.RESPONSE_RECEIVED) == [
        (2, EventKind.REQUEST_SENT),
        (4, EventKind.RESPONSE_RECEIVED),
        (4, EventKind.REQUEST_SENT),
        (6, EventKind.RESPONSE_RECEIVED),
    ]


def test_a_broker_that_is_back_at_its_address_gets_what_was_refused_meanwhile() -> None:
    """This holds until the controller learns of the broker's death. Source: docs/kafka/requests.md 3-2."""
    bench = Bench()

    async def script() -> None:
        bench.acknowledge(bench.broker)
        bench.send(5)
        await bench.runtime.sleep_ms(50)
        bench.broker.kill()
        bench.send(6)
        await bench.runtime.sleep_ms(1000)
        bench.acknowledge(bench.process("broker-2"))
        await bench.runtime.sleep_ms(1000)

    bench.play(script)
    assert [epoch for _, epoch in bench.handled] == [5, 6]
    refused = [event for event in bench.log.events if event.kind is EventKind.REQUEST_FAILED]
    assert [event.count for event in refused] == list(range(1, len(refused) + 1))
    assert len(refused) == 10  # one for each 102 ms: 100 of pause, 2 until the refusal is here
    assert {event.detail for event in refused[1:]} == {
        "broker 2, no connection: localhost:9094: connection refused, no listener there; tried again in 100 ms"
    }


def test_a_broker_that_was_paused_handles_a_request_as_often_as_it_was_sent() -> None:
    """Source: docs/kafka/requests.md 3-4."""
    bench = Bench()

    async def script() -> None:
        bench.acknowledge(bench.broker)
        await bench.runtime.sleep_ms(1)
        bench.broker.pause()
        bench.send(5)
        bench.send(6)
        await bench.runtime.sleep_ms(70_000)
        bench.broker.resume()
        await bench.runtime.sleep_ms(100)

    bench.play(script)
    assert [epoch for _, epoch in bench.handled] == [5, 5, 5, 6]
    assert len(bench.events_of(EventKind.REQUEST_SENT)) == 2
    assert len(bench.events_of(EventKind.REQUEST_FAILED)) == 2


def test_a_paused_controller_hears_its_answer_when_it_goes_on_and_does_not_send_again() -> None:
    bench = Bench()

    async def script() -> None:
        bench.acknowledge(bench.broker)
        bench.send(5)
        await bench.runtime.sleep_ms(3)
        bench.controller.pause()
        await bench.runtime.sleep_ms(70_000)
        bench.controller.resume()
        await bench.runtime.sleep_ms(100)

    bench.play(script)
    assert bench.handled == [(3, 5)]
    assert bench.events_of(EventKind.RESPONSE_RECEIVED, EventKind.REQUEST_FAILED) == [(70_003, EventKind.RESPONSE_RECEIVED)]


def test_a_killed_controller_sends_nothing_more_and_reports_nothing_more() -> None:
    bench = Bench()

    async def script() -> None:
        bench.send(5)
        await bench.runtime.sleep_ms(250)
        bench.controller.kill()
        bench.acknowledge(bench.broker)
        await bench.runtime.sleep_ms(70_000)

    bench.play(script)
    assert bench.handled == []
    assert [at_ms for at_ms, _ in bench.events_of(EventKind.REQUEST_FAILED)] == [2, 104, 206]
