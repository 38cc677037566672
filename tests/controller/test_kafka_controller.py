"""The end of a controller's term: its session expires, another takes over, or the broker shuts down."""

import pytest

from kcsim.controller.errors import NotControllerError
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import BrokerId
from tests.controller.controller_harness import ControllerHarness, configured, on_model

FIRST, OTHER = BrokerId(1), BrokerId(2)


def test_a_controller_whose_session_expired_is_active_no_more_before_it_has_a_new_session() -> None:
    seen = []

    async def script(harness: ControllerHarness) -> None:
        controller = await harness.start_module(FIRST)
        await harness.settle()

        def look(event: Event) -> None:
            if event.kind is EventKind.CONTROLLER_EVENT_DONE and event.event == "Expire":
                gauge = controller.read_metrics()["kafka.controller:type=KafkaController,name=ActiveControllerCount"]
                seen.append((controller.is_active, gauge))

        harness.log.subscribe(look)
        await harness.sessions[FIRST].expire()
        await harness.settle()
        assert controller.is_active

    on_model(script)
    assert seen == [(False, {"Value": 0})]


def test_a_controller_that_was_replaced_looks_for_imbalance_no_more() -> None:
    async def script(harness: ControllerHarness) -> None:
        settings = configured({"auto.leader.rebalance.enable": "true", "leader.imbalance.check.interval.seconds": "10"})
        former = await harness.start_module(FIRST, settings)
        await harness.settle()
        await harness.runtime.sleep_ms(11_000)
        assert _looks_for_imbalance(harness, FIRST) == 1
        await harness.start_module(OTHER, settings)
        await harness.settle()
        await harness.sessions[FIRST].expire()
        await harness.settle()
        assert (former.is_active, harness.modules[OTHER].controller.is_active) == (False, True)
        before = _looks_for_imbalance(harness, FIRST)
        await harness.runtime.sleep_ms(24_000)
        assert _looks_for_imbalance(harness, FIRST) == before
        assert _looks_for_imbalance(harness, OTHER) == 2

    on_model(script)


def _looks_for_imbalance(harness: ControllerHarness, broker: BrokerId) -> int:
    return sum(
        event.kind is EventKind.CONTROLLER_EVENT_QUEUED
        and event.node == f"broker-{broker}"
        and event.event == "AutoPreferredReplicaLeaderElection"
        for event in harness.log.events
    )


def test_a_module_that_was_shut_down_does_not_stand_for_election_when_its_session_expires() -> None:
    async def script(harness: ControllerHarness) -> None:
        controller = await harness.start_module(FIRST)
        await harness.settle()
        await controller.shutdown(None)
        queued = _queued(harness)
        await harness.sessions[FIRST].expire()
        await harness.runtime.sleep_ms(60_000)
        assert _queued(harness) == queued

    on_model(script)


def _queued(harness: ControllerHarness) -> int:
    return sum(event.kind is EventKind.CONTROLLER_EVENT_QUEUED for event in harness.log.events)


def test_requests_to_a_controller_that_resigned_are_refused() -> None:
    async def script(harness: ControllerHarness) -> None:
        controller = await harness.start_module(FIRST)
        await harness.settle()
        await harness.start_module(OTHER)
        await harness.settle()
        await harness.sessions[FIRST].expire()
        await harness.settle()
        assert harness.active is harness.modules[OTHER].controller
        with pytest.raises(NotControllerError):
            await controller.list_partition_reassignments(None, None)

    on_model(script)
