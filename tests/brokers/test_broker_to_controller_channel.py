"""A broker's requests to the controller, wherever that is. Source: Kafka 2.8, BrokerToControllerRequestThread."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kcsim.brokers.broker_to_controller_channel import RETRY_BACKOFF_MS, BrokerToControllerChannel, ControllerAnswer
from kcsim.brokers.config import BrokerConfig
from kcsim.brokers.metadata_cache import MetadataCache
from kcsim.brokers.network.network import SIMULATED_DELAY_MS, MemoryNetwork
from kcsim.brokers.ports import BrokerPorts
from kcsim.controller.requests import AlterIsrRequest, AlterIsrResponse, ErrorCode, UpdateMetadataRequest
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventKind
from kcsim.runtime.ports import Promise
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import BrokerId, ControllerEpoch, LeaderAndIsr, LeaderEpoch, ZkVersion
from tests.brokers.broker_bench import B1, B2, B3, EPOCH_MS, ORDERS_0, OWN_EPOCH, registered
from tests.brokers.scripted_controller import ScriptedController, written

SOCKET_TIMEOUT_MS = 3_000
LONG_MS = 100 * SOCKET_TIMEOUT_MS
REQUEST = AlterIsrRequest(B1, OWN_EPOCH, {ORDERS_0: LeaderAndIsr(B1, LeaderEpoch(0), (B1,), ZkVersion(0))})
DONE = AlterIsrResponse(partitions=written(REQUEST))


class ChannelBench:
    """Broker 1 with a request for the controller, and two brokers that may be it. In virtual time."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.cause = self.log.append("scenario", EventKind.RUN_STARTED, None, {})
        self.network = MemoryNetwork(self.runtime, SIMULATED_DELAY_MS)
        self.metadata = MetadataCache()
        ports = BrokerPorts(self.runtime, self.network.interface("broker-1"), self.log.sink("broker-1"), EPOCH_MS)
        config = BrokerConfig.of({"controller.socket.timeout.ms": SOCKET_TIMEOUT_MS})
        self.channel = BrokerToControllerChannel(config, ports, self.metadata)

    def listening(self, broker: BrokerId) -> ScriptedController:
        return ScriptedController(self.runtime, self.network, broker)

    def learn(self, controller: BrokerId, *alive: BrokerId) -> None:
        """Apply an UpdateMetadata of this controller."""
        brokers = tuple(map(registered, alive or (B1, B2, B3)))
        self.metadata.update(UpdateMetadataRequest(controller, ControllerEpoch(1), OWN_EPOCH, {}, brokers))

    def ask(self) -> "Promise[ControllerAnswer]":
        answer: Promise[ControllerAnswer] = self.runtime.promise()

        async def run() -> None:
            answer.resolve(await self.channel.ask(REQUEST, self.cause))

        self.runtime.spawn("ask", run())
        return answer

    async def wait(self, ms: int) -> None:
        await self.runtime.sleep_ms(ms)

    @property
    def logged(self) -> list[tuple[EventKind, int | None, str | None]]:
        """The events of the channel: kind, controller, error."""
        return [(event.kind, event.broker_id, event.error) for event in self.events()]

    def events(self) -> list[Event]:
        return [event for event in self.log.events if event.node == "broker-1"]


Script = Callable[[ChannelBench], Coroutine[Any, Any, None]]


def play(script: Script) -> ChannelBench:
    bench = ChannelBench()
    bench.runtime.run(script(bench))
    return bench


def test_the_controller_is_asked_and_answers() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        asked = bench.ask()
        await controller.answer()
        answered = await asked.wait()
        assert answered.response == DONE
        assert bench.log.events[answered.cause].kind is EventKind.RESPONSE_RECEIVED
        assert [request for request, _ in controller.received] == [REQUEST]

    bench = play(script)
    assert bench.logged == [(EventKind.REQUEST_SENT, 2, None), (EventKind.RESPONSE_RECEIVED, 2, "NONE")]
    sent, received = bench.events()
    assert (sent.cause, received.cause) == (bench.cause, sent.seq)


def test_one_connection_carries_all_requests() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        for _ in range(3):
            asked = bench.ask()
            await controller.answer()
            await asked.wait()
        assert controller.connections == 1

    play(script)


def test_the_request_waits_until_a_controller_is_known() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        asked = bench.ask()
        await bench.wait(LONG_MS)
        assert bench.events() == []
        bench.learn(B2)
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_a_controller_that_is_not_among_the_live_brokers_is_not_asked() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2, B1, B3)
        asked = bench.ask()
        await bench.wait(LONG_MS)
        assert controller.received == []
        bench.learn(B2)
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_a_broker_that_is_not_the_controller_is_asked_until_another_one_is_known() -> None:
    async def script(bench: ChannelBench) -> None:
        former, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        asked = bench.ask()
        for _ in range(3):
            await former.answer(ErrorCode.NOT_CONTROLLER)
        (_, first_ms), (_, second_ms), _ = former.received
        assert second_ms - first_ms >= RETRY_BACKOFF_MS
        assert not asked.is_settled
        bench.learn(B3)
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_another_controller_is_asked_as_soon_as_it_is_known() -> None:
    async def script(bench: ChannelBench) -> None:
        former, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        bench.ask()
        await former.answer(ErrorCode.NOT_CONTROLLER)
        await bench.wait(5)
        known_ms = bench.runtime.now_ms()
        bench.learn(B3)
        await controller.answer()
        ((_, asked_ms),) = controller.received
        assert asked_ms - known_ms < RETRY_BACKOFF_MS / 2

    play(script)


@pytest.mark.parametrize("is_asked_before", [True, False])
def test_a_former_controller_is_asked_until_it_is_none(is_asked_before: bool) -> None:
    """A broker keeps to the first controller that it learned of, even if it had nothing to ask then.

    Source: Kafka 3.2.3, where a leader kept asking a former controller that could not reach ZooKeeper (seen in a run of the
    scenario leader-asks-a-former-controller).
    """

    async def script(bench: ChannelBench) -> None:
        former, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        if is_asked_before:
            asked = bench.ask()
            await former.answer()
            await asked.wait()
        bench.learn(B3)
        asked = bench.ask()
        await former.answer(ErrorCode.NOT_CONTROLLER)
        known_ms = bench.runtime.now_ms()
        await controller.answer()
        assert (await asked.wait()).response == DONE
        assert bench.runtime.now_ms() - known_ms < RETRY_BACKOFF_MS / 2
        asked = bench.ask()
        await controller.answer()
        await asked.wait()
        assert (former.connections, len(former.received)) == (0, 1 + is_asked_before)

    assert EventKind.REQUEST_FAILED not in [event.kind for event in play(script).events()]


def test_a_former_controller_that_is_frozen_is_waited_for() -> None:
    """Recorded from Kafka 2.8.2 and 3.9.1: isr-change-with-a-frozen-controller-cached."""

    async def script(bench: ChannelBench) -> None:
        former, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        bench.learn(B3)
        asked = bench.ask()
        await bench.wait(SOCKET_TIMEOUT_MS - 1)
        assert (len(former.received), controller.received) == (1, [])
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_a_controller_that_knows_an_older_state_of_a_partition_is_none() -> None:
    """It answers NOT_CONTROLLER for the partition. Source: KAFKA-14154; Kafka 3.3, AlterPartitionResponse.errorCounts."""

    async def script(bench: ChannelBench) -> None:
        former, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        bench.learn(B3)
        asked = bench.ask()
        await former.answer(refused={ORDERS_0: ErrorCode.NOT_CONTROLLER})
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_any_other_answer_is_that_of_the_controller() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        asked = bench.ask()
        await controller.answer(ErrorCode.STALE_BROKER_EPOCH)
        assert (await asked.wait()).response == AlterIsrResponse(ErrorCode.STALE_BROKER_EPOCH)

    play(script)


def test_a_frozen_controller_is_given_up_after_the_socket_time_out() -> None:
    async def script(bench: ChannelBench) -> None:
        frozen, controller = bench.listening(B2), bench.listening(B3)
        bench.learn(B2)
        asked = bench.ask()
        await bench.wait(10)
        assert len(frozen.received) == 1
        bench.learn(B3)
        await bench.wait(SOCKET_TIMEOUT_MS - 100)
        assert controller.received == []
        await controller.answer()
        assert (await asked.wait()).response == DONE
        assert SOCKET_TIMEOUT_MS <= bench.runtime.now_ms() <= SOCKET_TIMEOUT_MS + 2 * RETRY_BACKOFF_MS

    bench = play(script)
    assert bench.logged == [
        (EventKind.REQUEST_SENT, 2, None),
        (EventKind.REQUEST_FAILED, 2, "TimedOutError"),
        (EventKind.REQUEST_SENT, 3, None),
        (EventKind.RESPONSE_RECEIVED, 3, "NONE"),
    ]


def test_an_answer_after_the_time_out_is_not_taken_for_that_to_the_next_request() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        asked = bench.ask()
        await bench.wait(SOCKET_TIMEOUT_MS + 2 * RETRY_BACKOFF_MS)
        assert len(controller.received) == 2
        await controller.answer(ErrorCode.STALE_BROKER_EPOCH)
        await bench.wait(10)
        assert not asked.is_settled
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_a_controller_that_refuses_connections_is_tried_again() -> None:
    async def script(bench: ChannelBench) -> None:
        bench.listening(B2).die()
        bench.learn(B2)
        asked = bench.ask()
        await bench.wait(LONG_MS)
        assert not asked.is_settled
        controller = bench.listening(B2)
        await controller.answer()
        assert (await asked.wait()).response == DONE

    bench = play(script)
    assert bench.logged == [
        (EventKind.REQUEST_SENT, 2, None),
        (EventKind.REQUEST_FAILED, 2, "BrokerConnectionError"),
        (EventKind.RESPONSE_RECEIVED, 2, "NONE"),
    ]


def test_a_request_is_sent_again_when_its_connection_breaks() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        asked = bench.ask()
        await bench.wait(10)
        assert len(controller.received) == 1
        controller.die()
        controller = bench.listening(B2)
        await controller.answer()
        assert (await asked.wait()).response == DONE

    play(script)


def test_a_connection_that_broke_between_two_requests_is_opened_again() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        asked = bench.ask()
        await controller.answer()
        await asked.wait()
        controller.die()
        await bench.wait(10)
        controller = bench.listening(B2)
        asked = bench.ask()
        await controller.answer()
        assert (await asked.wait()).response == DONE

    assert EventKind.REQUEST_FAILED not in [event.kind for event in play(script).events()]


def test_retries_of_the_same_failure_are_logged_once() -> None:
    async def script(bench: ChannelBench) -> None:
        controller = bench.listening(B2)
        bench.learn(B2)
        bench.ask()
        for _ in range(20):
            await controller.answer(ErrorCode.NOT_CONTROLLER)
        await bench.wait(10)
        controller.die()
        await bench.wait(LONG_MS)
        controller = bench.listening(B2)
        await bench.wait(LONG_MS)
        assert len(controller.received) > 20

    assert play(script).logged == [
        (EventKind.REQUEST_SENT, 2, None),
        (EventKind.RESPONSE_RECEIVED, 2, "NOT_CONTROLLER"),
        (EventKind.REQUEST_FAILED, 2, "BrokerConnectionError"),
        (EventKind.REQUEST_FAILED, 2, "TimedOutError"),
    ]
