"""The end of a controller's term: its session expires, another takes over, or the broker shuts down."""

import pytest

from kcsim import znodes
from kcsim.controller.errors import NotControllerError
from kcsim.controller.kafka_controller import KafkaController
from kcsim.eventlog.events import Event, EventKind
from kcsim.vocabulary import BrokerId, ControllerNode, FailureReason, TopicPartition
from kcsim.znodes import paths
from tests.controller.controller_harness import ControllerHarness, configured, on_model
from tests.controller.transcript_commands import Commands

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


@pytest.mark.parametrize(
    "command",
    [
        "topic u 0:3",
        "partitions t 0:3,4 1:4,3",
        "delete-topic t",
        "brokers 5",
        "listen-at 3 elsewhere",
        "isr t-0 3 notified",
        "isr moving-0 3",
        "fail-dir 3 t-0",
        "reassign t-0:4,3",
        "preferred t-0",
    ],
)
def test_a_controller_that_was_replaced_watches_what_is_the_controllers_business_no_more(command: str) -> None:
    """Its session is the same as before, and so are the watches that ZooKeeper still has of it."""

    def is_queued_by(controller: KafkaController, event: Event) -> bool:
        return event.kind is EventKind.CONTROLLER_EVENT_QUEUED and event.node == f"broker-{controller.broker_id}"

    async def script(harness: ControllerHarness) -> None:
        commands = Commands(harness)
        await commands.carry_out("brokers 3,4")
        await commands.carry_out("controller 1")
        await commands.carry_out("controller 2")
        for line in ("topic t 0:3,4", "topic moving 0:3", "api-reassign moving-0:4"):
            await commands.carry_out(line)
        former = harness.active
        queued = set[str | None]()
        harness.log.subscribe(lambda event: queued.add(event.event) if is_queued_by(former, event) else None)
        while harness.active is former:
            queued.clear()
            await commands.carry_out("delete /controller")
        await commands.carry_out(command)
        assert queued == {"Reelect", "ControllerChange"}

    on_model(script)


def test_a_broker_that_finds_its_own_id_in_the_controller_znode_says_that_it_never_took_over() -> None:
    """Source: KAFKA-13407. The controller that wins its election loses none."""

    async def script(harness: ControllerHarness) -> None:
        await harness.put(paths.CONTROLLER, znodes.encode_controller(ControllerNode(FIRST, 0)))
        await harness.start_module(FIRST)
        await harness.settle()

    lost = [event for event in on_model(script).log.events if event.kind is EventKind.ELECTION_LOST]
    assert [(event.controller_id, event.reason) for event in lost] == [(FIRST, FailureReason.NEVER_TOOK_OVER)]


def test_a_broker_that_finds_another_in_the_controller_znode_has_lost_for_no_other_reason() -> None:
    async def script(harness: ControllerHarness) -> None:
        await harness.start_module(FIRST)
        await harness.settle()
        await harness.start_module(OTHER)
        await harness.settle()

    lost = [event for event in on_model(script).log.events if event.kind is EventKind.ELECTION_LOST]
    assert [(event.node, event.controller_id, event.reason) for event in lost] == [(f"broker-{OTHER}", FIRST, None)]


def test_a_cluster_that_forbids_unclean_elections_again_elects_uncleanly_no_more() -> None:
    async def script(harness: ControllerHarness) -> None:
        commands = Commands(harness)
        for line in ("brokers 3,4", "controller 1", "topic t 0:3,4", "isr t-0 3 notified", "unclean default"):
            await commands.carry_out(line)
        harness.active.disable_default_unclean_leader_election()
        await commands.carry_out("die 3")
        leadership = harness.active.context.leadership[TopicPartition("t", 0)]
        assert leadership.leader_and_isr.leader is None

    on_model(script)


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
