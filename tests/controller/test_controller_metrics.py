"""The controller's metrics, each at least once, as read and as recorded in the event log.

Source: docs/kafka/controller.md 2.1 and 3.4; Kafka 2.8, KafkaController, ControllerStats, ControllerEventManager,
ControllerChannelManager.
"""

import json
from collections.abc import Mapping

import pytest

from kcsim.controller.events import ControllerState
from kcsim.controller.metrics import CHANNEL_MANAGER, CONTROLLER, EVENT_MANAGER, STATS, UNCLEAN, Reading
from kcsim.eventlog.events import EventKind
from kcsim.vocabulary import TopicPartition
from kcsim.znodes import paths
from tests.controller.controller_harness import ControllerHarness, on_model
from tests.controller.transcript_commands import Commands


def gauges_after(*commands: str) -> dict[str, int]:
    """Return the gauges of the controller after these commands, without those that are 0."""
    seen: dict[str, int] = {}

    async def script(harness: ControllerHarness) -> None:
        play = Commands(harness)
        for command in commands:
            await play.carry_out(command)
        seen.update({name: value for name, value in harness.active.metrics.gauges().items() if value})

    on_model(script)
    return seen


ACTIVE = {"ActiveControllerCount": 1}
ONE_TOPIC = {**ACTIVE, "GlobalTopicCount": 1, "GlobalPartitionCount": 1}
START = ("brokers 2,3", "controller 1")


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ((), ACTIVE),
        (("topic t 0:2,3 1:3,2", "topic u 0:2"), {**ACTIVE, "GlobalTopicCount": 2, "GlobalPartitionCount": 3}),
        # a partition without state counts for the topic only
        (("topic t 0:8",), {**ACTIVE, "GlobalTopicCount": 1}),
        (("topic t 0:2,3", "die 2"), {**ONE_TOPIC, "PreferredReplicaImbalanceCount": 1}),
        (("topic t 0:2", "die 2"), {**ONE_TOPIC, "OfflinePartitionsCount": 1, "PreferredReplicaImbalanceCount": 1}),
        (("topic t 0:2", "die 2", "brokers 2"), ONE_TOPIC),
        # queued for deletion: no imbalance; deletion started: not offline, although it has no leader
        (
            ("topic t 0:2,3", "die 2", "delete-topic t"),
            {**ONE_TOPIC, "TopicsToDeleteCount": 1, "ReplicasToDeleteCount": 1, "TopicsIneligibleToDeleteCount": 1},
        ),
        # the other broker is restarted, and so is deletion: the dead replica is ineligible until deletion is retried
        (
            ("topic t 0:2,3", "topic u 0:2", "die 3", "delete-topic t", "bounce 2"),
            {
                **ACTIVE,
                "GlobalTopicCount": 2,
                "GlobalPartitionCount": 2,
                "TopicsToDeleteCount": 1,
                "ReplicasToDeleteCount": 1,
                "TopicsIneligibleToDeleteCount": 1,
                "ReplicasIneligibleToDeleteCount": 1,
            },
        ),
        (("topic t 0:2", "delete-topic t"), ACTIVE),
    ],
)
def test_the_gauges_follow_from_the_context(commands: tuple[str, ...], expected: Mapping[str, int]) -> None:
    assert gauges_after(*START, *commands) == expected


def test_a_preferred_leader_that_is_being_added_counts_once_it_is_in_the_isr() -> None:
    """docs/kafka/controller.md 3.4: until then it cannot be expected to lead."""
    moving = (*START, "brokers 4,5", "topic t 0:2,3", "api-reassign t-0:4,5,3")
    assert "PreferredReplicaImbalanceCount" not in gauges_after(*moving)
    assert gauges_after(*moving, "isr t-0 2,3,4 notified")["PreferredReplicaImbalanceCount"] == 1


def test_who_is_not_active_shows_nothing() -> None:
    assert gauges_after(*START, "topic t 0:2", "die 2", "set /controller junk") == {}


def test_unclean_elections_are_counted_for_good() -> None:
    unclean = ("topic t 0:2,3", "isr t-0 2", "die 2", "elect unclean t-0")
    assert gauges_after(*START, *unclean)[UNCLEAN] == 1
    assert gauges_after(*START, *unclean, "delete /controller")[UNCLEAN] == 1


def test_an_unclean_choice_counts_even_if_its_write_is_refused() -> None:
    """The election is counted when it is computed; here once with a refused write, and once more.

    Source: docs/kafka/controller.md 2.1.
    """
    race = ("topic t 0:2,3", "isr t-0 2", "die 2", "before-write-of t-0 isr t-0 2", "elect unclean t-0")
    assert gauges_after(*START, *race)[UNCLEAN] == 2


def test_the_event_log_reports_each_change_of_a_gauge_and_nothing_else() -> None:
    async def script(harness: ControllerHarness) -> None:
        play = Commands(harness)
        for command in (*START, "topic t 0:2,3", "isr t-0 2", "die 2", "unclean t", "brokers 2", "delete-topic t", "die 1"):
            await play.carry_out(command)

    reported = [json.loads(e.data or "") for e in on_model(script).log.events if e.kind is EventKind.METRICS]
    assert reported == [
        {"ActiveControllerCount": 1},
        {"GlobalTopicCount": 1, "GlobalPartitionCount": 1},
        {"OfflinePartitionsCount": 1, "PreferredReplicaImbalanceCount": 1},
        {"OfflinePartitionsCount": 0, UNCLEAN: 1},
        {"PreferredReplicaImbalanceCount": 0, "TopicsToDeleteCount": 1, "ReplicasToDeleteCount": 2},
        {"ReplicasToDeleteCount": 1},
        {"GlobalTopicCount": 0, "GlobalPartitionCount": 0, "TopicsToDeleteCount": 0, "ReplicasToDeleteCount": 0},
    ]


# --- timers

OCCASIONS = {
    ControllerState.CONTROLLER_CHANGE: ("delete /controller",),
    ControllerState.BROKER_CHANGE: ("brokers 4",),
    ControllerState.TOPIC_CHANGE: ("topic t 0:2,3",),
    ControllerState.TOPIC_DELETION: ("topic t 0:2,3", "delete-topic t"),
    ControllerState.ALTER_PARTITION_REASSIGNMENT: ("topic t 0:2,3", "api-reassign t-0:3,2"),
    ControllerState.AUTO_LEADER_BALANCE: ("auto-rebalance",),
    ControllerState.MANUAL_LEADER_BALANCE: ("elect preferred",),
    ControllerState.CONTROLLED_SHUTDOWN: ("controlled-shutdown 2",),
    ControllerState.ISR_CHANGE: ("topic t 0:2,3", "notify t-0"),
    ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED: ("topic t 0:2,3",),
    ControllerState.LOG_DIR_CHANGE: ("fail-dir 2 t-0",),
    ControllerState.UNCLEAN_LEADER_ELECTION_ENABLE: ("unclean default",),
    ControllerState.TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE: ("unclean t",),
    ControllerState.LIST_PARTITION_REASSIGNMENT: ("list-reassignments",),
}
"""The commands and events that make the controller enter each state."""
UNTIMED = {ControllerState.IDLE, ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED}
NEVER_PROCESSED = {ControllerState.CONTROLLER_SHUTDOWN}
"""Its event ends the thread: the timer exists, and stays at 0."""


def test_every_state_has_an_occasion_or_a_reason() -> None:
    assert {*OCCASIONS, *UNTIMED, *NEVER_PROCESSED} == set(ControllerState)
    assert {state for state in ControllerState if state.timer is None} == UNTIMED


@pytest.mark.parametrize("state", OCCASIONS, ids=lambda state: state.kafka_name)
def test_the_timer_of_a_state_counts_its_events(state: ControllerState) -> None:
    counts: list[float] = []

    async def script(harness: ControllerHarness) -> None:
        play = Commands(harness)
        for command in START:
            await play.carry_out(command)
        counts.append(harness.active.read_metrics()[f"{STATS}{state.timer}"]["Count"])
        for command in OCCASIONS[state]:
            await play.carry_out(command)
        counts.append(harness.active.read_metrics()[f"{STATS}{state.timer}"]["Count"])

    on_model(script)
    assert counts[1] > counts[0]


def test_two_timers_have_a_name_of_their_own() -> None:
    """docs/kafka/controller.md 2.1."""
    assert ControllerState.BROKER_CHANGE.timer == "LeaderElectionRateAndTimeMs"
    assert ControllerState.ALTER_PARTITION_REASSIGNMENT.timer == "PartitionReassignmentRateAndTimeMs"


# --- in the middle of an event


def seen_during(command: str, at: str, *meanwhile: str) -> Mapping[str, Reading]:
    """Return the metrics when the controller, carrying out a command, is about to write `at`."""
    seen: dict[str, Reading] = {}

    async def script(harness: ControllerHarness) -> None:
        play = Commands(harness)
        for setup in (*START, "topic t 0:2,3"):
            await play.carry_out(setup)

        async def look() -> None:
            for other_command in meanwhile:
                await play.carry_out_meanwhile(other_command)
            seen.update(harness.active.read_metrics())

        harness.before_write_of(at, look)
        await play.carry_out(command)

    on_model(script)
    return seen


STATE = paths.topic_partition_state(TopicPartition("t", 0))


def test_the_state_gauge_shows_what_the_controller_is_at() -> None:
    assert seen_during("die 2", STATE)[f"{CONTROLLER}ControllerState"] == {"Value": 2}
    assert seen_during("controlled-shutdown 2", STATE)[f"{CONTROLLER}ControllerState"] == {"Value": 8}


def test_events_that_come_meanwhile_wait_in_the_queue_and_their_wait_is_measured() -> None:
    seen = seen_during("die 2", STATE, "unclean default", "auto-rebalance")
    assert seen[f"{EVENT_MANAGER}EventQueueSize"] == {"Value": 2}
    assert seen[f"{EVENT_MANAGER}EventQueueTimeMs"]["Count"] > 0


def test_requests_to_a_broker_that_does_not_answer_wait_in_its_queue() -> None:
    """One request is in flight and not counted; the others wait, and no other broker's requests wait."""
    seen: dict[str, Reading] = {}

    async def script(harness: ControllerHarness) -> None:
        play = Commands(harness)
        for command in (*START, "hang 3", "topic t 0:2,3", "topic u 0:2,3"):
            await play.carry_out(command)
        seen.update(harness.active.read_metrics())
        await play.carry_out("answer 3")

    on_model(script)
    assert seen[f"{CHANNEL_MANAGER}TotalQueueSize"] == {"Value": 3}
    assert seen[f"{CHANNEL_MANAGER}QueueSize,broker-id=3"] == {"Value": 3}
    assert seen[f"{CHANNEL_MANAGER}QueueSize,broker-id=2"] == {"Value": 0}
    assert seen[f"{CHANNEL_MANAGER}RequestRateAndQueueTimeMs,broker-id=2"]["Count"] > 0


def test_idle_and_with_nobody_waiting_the_gauges_of_the_queues_are_0() -> None:
    seen: dict[str, Reading] = {}

    async def script(harness: ControllerHarness) -> None:
        for command in START:
            await Commands(harness).carry_out(command)
        seen.update(harness.active.read_metrics())

    on_model(script)
    assert seen[f"{CONTROLLER}ControllerState"] == {"Value": 0}
    assert seen[f"{EVENT_MANAGER}EventQueueSize"] == {"Value": 0}
    assert seen[f"{CHANNEL_MANAGER}TotalQueueSize"] == {"Value": 0}
    assert seen[f"{STATS}ControllerShutdownRateAndTimeMs"] == {"Count": 0}
