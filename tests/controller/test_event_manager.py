"""The controller's queue and thread. Source: docs/kafka/controller.md 2 (ControllerEventManager)."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kcsim.controller.errors import NotControllerError
from kcsim.controller.event_manager import ControllerEventManager
from kcsim.controller.events import (
    ApiPartitionReassignment,
    BrokerChange,
    ControlledShutdown,
    ControllerEvent,
    ControllerState,
    Expire,
    ListPartitionReassignments,
    ReplicaLeaderElection,
    Startup,
    TopicChange,
    name_of,
)
from kcsim.controller.metrics import ControllerMetrics
from kcsim.controller.requests import ErrorCode
from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import EventKind
from kcsim.runtime.simulated import SimulatedRuntime
from kcsim.vocabulary import BrokerEpoch, BrokerId
from tests.sinks import kinds

Handle = Callable[[ControllerEvent, int], Awaitable[None]]
LIFE = (
    EventKind.CONTROLLER_EVENT_QUEUED,
    EventKind.CONTROLLER_EVENT_BEGUN,
    EventKind.CONTROLLER_EVENT_DONE,
    EventKind.CONTROLLER_EVENT_PREEMPTED,
)


class Bench:
    """A manager whose handler takes 10 ms for each event and records what it did."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime()
        self.log = EventLog(self.runtime.now_ms)
        self.handled: list[str] = []
        self.states: list[ControllerState] = []
        self.metrics = ControllerMetrics()
        self.manager = ControllerEventManager(self.runtime, self.log.sink("broker-1"), self._handle, self.metrics)

    async def _handle(self, event: ControllerEvent, cause: int) -> None:
        assert self.log.events[cause].kind is EventKind.CONTROLLER_EVENT_BEGUN
        self.states.append(self.manager.state)
        await self.runtime.sleep_ms(10)
        self.handled.append(name_of(event))

    def run(self, script: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.runtime.run(script())


def test_events_are_handled_in_order_without_priorities() -> None:
    bench = Bench()

    async def script() -> None:
        for event in (Startup(), TopicChange(), BrokerChange()):
            bench.manager.put(event, None)
        bench.manager.start()
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert bench.handled == ["Startup", "TopicChange", "BrokerChange"]
    assert bench.states == [ControllerState.CONTROLLER_CHANGE, ControllerState.TOPIC_CHANGE, ControllerState.BROKER_CHANGE]
    assert bench.manager.state is ControllerState.IDLE


def test_duplicates_are_not_merged() -> None:
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        for _ in range(3):
            bench.manager.put(BrokerChange(), None)
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert bench.handled == ["BrokerChange"] * 3


def test_expire_clears_the_queue_but_lets_the_current_event_finish() -> None:
    """Events queued for a role that may be lost are not begun; the event in progress ends by itself."""
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        for event in (Startup(), BrokerChange(), TopicChange()):
            bench.manager.put(event, None)
        await bench.runtime.sleep_ms(5)
        bench.manager.clear_and_put(Expire(), None)
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert bench.handled == ["Startup", "Expire"]
    preempted = kinds(bench.log, EventKind.CONTROLLER_EVENT_PREEMPTED)
    assert [event for _, event in preempted] == ["BrokerChange", "TopicChange"]


def test_a_waiter_for_the_beginning_is_let_go_when_it_begins_not_when_it_ends() -> None:
    """The new session is opened once Expire has begun; waiting for its end could cause a deadlock with its own work."""
    bench = Bench()
    begun_at: list[int] = []

    async def script() -> None:
        bench.manager.start()
        bench.manager.put(Startup(), None)
        await bench.runtime.sleep_ms(1)
        expire = bench.manager.clear_and_put(Expire(), None)
        await expire.wait_until_begun()
        begun_at.append(bench.runtime.now_ms())

    bench.run(script)
    assert begun_at == [10]
    assert bench.handled == ["Startup"]


def test_a_preempted_event_lets_its_waiters_go() -> None:
    bench = Bench()

    async def script() -> None:
        queued = bench.manager.put(BrokerChange(), None)
        bench.manager.clear_and_put(Expire(), None)
        await queued.wait_until_begun()

    bench.run(script)
    assert bench.handled == []


def test_the_callers_of_preempted_requests_learn_that_the_controller_has_moved() -> None:
    """They would wait for ever otherwise: their requests are not processed any more."""
    bench = Bench()
    promise = bench.runtime.promise
    shutdown = ControlledShutdown(BrokerId(1), BrokerEpoch(1), promise())
    failing: list[ApiPartitionReassignment | ListPartitionReassignments | ReplicaLeaderElection] = [
        ApiPartitionReassignment({}, promise()),
        ListPartitionReassignments(None, promise()),
        ReplicaLeaderElection(answer=promise()),
    ]

    async def script() -> None:
        for event in (shutdown, *failing):
            bench.manager.put(event, None)
        bench.manager.clear_and_put(Expire(), None)
        assert (await shutdown.answer.wait(0)).error is ErrorCode.STALE_CONTROLLER_EPOCH
        for event in failing:
            assert event.answer is not None
            with pytest.raises(NotControllerError):
                await event.answer.wait(0)

    bench.run(script)
    assert bench.handled == []


def test_queue_time_is_measured_from_the_put() -> None:
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        bench.manager.put(Startup(), None)
        bench.manager.put(BrokerChange(), None)
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert list(bench.metrics.event_queue_time.latest_ms) == [0, 10]


def test_closing_lets_the_current_event_finish_and_drops_the_rest() -> None:
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        bench.manager.put(Startup(), None)
        bench.manager.put(BrokerChange(), None)
        await bench.runtime.sleep_ms(5)
        await bench.manager.close(None)

    bench.run(script)
    assert bench.handled == ["Startup"]


def test_every_event_is_queued_then_begun_then_done() -> None:
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        bench.manager.put(Startup(), None)
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert kinds(bench.log, *LIFE) == [(kind, "Startup") for kind in LIFE[:3]]


# --- when expiry does not clear the queue ----------------------------------------------------------------------------------


def test_what_is_held_is_begun_once_it_is_released_and_in_order() -> None:
    """The event in progress ends by itself; events that arrive meanwhile queue up behind the held ones."""
    bench = Bench()
    before_release: list[str] = []

    async def script() -> None:
        bench.manager.start()
        for event in (Startup(), BrokerChange()):
            bench.manager.put(event, None)
        await bench.runtime.sleep_ms(5)
        bench.manager.hold()
        bench.manager.put(TopicChange(), None)
        await bench.runtime.sleep_ms(100)
        before_release.extend(bench.handled)
        bench.manager.release()
        await bench.runtime.sleep_ms(100)

    bench.run(script)
    assert before_release == ["Startup"]
    assert bench.handled == ["Startup", "BrokerChange", "TopicChange"]


def test_a_thread_that_is_held_can_be_closed_and_begins_nothing_more() -> None:
    bench = Bench()

    async def script() -> None:
        bench.manager.start()
        bench.manager.hold()
        bench.manager.put(BrokerChange(), None)
        await bench.runtime.sleep_ms(5)
        await bench.manager.close(None)

    bench.run(script)
    assert bench.handled == []
