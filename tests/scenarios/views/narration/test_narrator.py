"""The narration of a run in plain sentences: which events get a line, and its text."""

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.event_description import describe
from kcsim.scenarios.views.narration.narrator import MANY_BROKERS, REFUSED_REMEMBERED, Narrator
from tests.brokers.apache_kafka.log_feed.recorded import recorded
from tests.scenarios.evaluated_log import EvaluatedLog

ISR = "/isr_change_notification"
NOTIFICATION = f"{ISR}/isr_change_0000000000"
SESSION = "0x010000aaaa000001"


def narrated(story: EvaluatedLog, brokers: int = 2) -> list[str]:
    narrator = Narrator(brokers)
    return [f"{event.node}: {line}" for event in story.events if (line := narrator.narrate(event)) is not None]


def frozen_in_a_write(story: EvaluatedLog) -> int:
    """Freeze broker-1, controller of epoch 1, in the middle of a fenced write; return the seq of that write."""
    story.append("broker-1", EventKind.SESSION_STATE, state="connected", session_id=SESSION)
    story.znode("/controller_epoch", "0")
    story.changed("/controller_epoch", "1", zxid=2, zk_version=1)
    story.append("broker-1", EventKind.BROKER_REGISTERED, broker_epoch=3)
    story.append("broker-1", EventKind.ELECTION_WON, controller_id=1, controller_epoch=1)
    write = story.append(
        "broker-1", EventKind.ZK_WRITE, op="delete", path=NOTIFICATION, count=1, controller_epoch_zk_version=1
    )
    fault = story.append(
        "scenario", EventKind.FAULT, fault="pause", target="broker-1", breakpoint="before", breakpoint_path=ISR
    )
    story.append("broker-1", EventKind.PROCESS_STATE, fault, state="paused", breakpoint="before", breakpoint_path=ISR)
    return write


def test_a_zombie_whose_session_is_gone() -> None:
    """The fence is reported as well: it would have refused the write even if the session had lived."""
    story = EvaluatedLog()
    write = frozen_in_a_write(story)
    story.append("zookeeper", EventKind.SESSION_CLOSED, session_id=SESSION, error="SESSIONEXPIRED")
    story.znode("/controller", "{}")
    story.gone("/controller")
    story.gone("/brokers/ids/1")
    story.changed("/controller_epoch", "2", zxid=9, zk_version=2)
    act = story.append("scenario", EventKind.ADMIN_ACT, op="resume", target="broker-1")
    story.append("broker-1", EventKind.PROCESS_STATE, act, state="running")
    story.append("broker-1", EventKind.SESSION_STATE, state="suspended", session_id=SESSION)
    lost = story.append(
        "broker-1",
        EventKind.ZK_WRITE_REFUSED,
        write,
        op="delete",
        path=NOTIFICATION,
        error="CONNECTIONLOSS",
        outcome="unknown",
    )
    story.append("broker-1", EventKind.SESSION_STATE, state="expired", session_id=SESSION)
    story.append("broker-1", EventKind.CONTROLLER_EVENT_PREEMPTED, event="BrokerChange", rule="Expire clears the queue")
    story.append(
        "broker-1",
        EventKind.ZK_WRITE_REFUSED,
        lost,
        op="delete",
        path=NOTIFICATION,
        error="SESSIONEXPIRED",
        outcome="unknown",
    )
    story.append("broker-1", EventKind.CONTROLLER_RESIGNED, controller_epoch=1)
    story.append("broker-1", EventKind.SESSION_STATE, state="connected", session_id="0x010000aaaa000002")
    story.append("broker-1", EventKind.BROKER_REGISTERED, broker_epoch=12)
    assert narrated(story) == [
        "broker-1: registers, with broker epoch 3",
        "broker-1: wins the election: controller epoch 1 (it created /controller first)",
        f"scenario: sees to it that broker-1 freezes in the middle of a write to {ISR} (begun, not yet sent)",
        f"broker-1: freezes in the middle of a write to {ISR} (begun, not yet sent): it sends no heartbeats",
        "zookeeper: expires broker-1's session 0x10000aaaa000001; its ephemeral znodes go with it",
        "zookeeper: /controller is gone: no broker is the controller",
        "zookeeper: /brokers/ids/1 is gone: broker 1 is no longer registered",
        "broker-1: resumes where it was frozen",
        "broker-1: loses its connection to ZooKeeper; its session may or may not live on",
        f"broker-1: its write (delete {NOTIFICATION}) gets no answer, the connection is gone: "
        "it will be sent again on the next one",
        "broker-1: learns that its session 0x10000aaaa000001 has expired",
        "broker-1: drops BrokerChange without having begun it: Expire clears the queue",
        f"broker-1: its write (delete {NOTIFICATION}) is refused for good, its session has expired "
        "(its fence was /controller_epoch at version 1, which is at version 2 by now)",
        "broker-1: resigns as controller of epoch 1",
        "broker-1: opens a new session, 0x10000aaaa000002",
        "broker-1: registers anew, with broker epoch 12 (at first 3)",
    ]


def test_every_operation_of_a_refused_write_is_described_with_its_fence_and_answered_writes_are_forgotten() -> None:
    """The log of a run may be larger than the memory."""
    story, narrator = EvaluatedLog(), Narrator()
    write = frozen_in_a_write(story)
    refusals = [
        story.append("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="delete", path=NOTIFICATION, error="SESSIONEXPIRED")
        for _ in range(2)
    ]
    lines = {event.seq: narrator.narrate(event) for event in story.events}
    assert len({lines[seq] for seq in refusals}) == 1
    assert "(its fence: /controller_epoch at version 1)" in (lines[refusals[0]] or "")
    for _ in range(REFUSED_REMEMBERED + 1):
        begun = story.append("broker-2", EventKind.ZK_WRITE, op="create", path="/consumers", count=1)
        refused = story.append(
            "broker-2", EventKind.ZK_WRITE_REFUSED, begun, op="create", path="/consumers", error="NODEEXISTS"
        )
        for seq in (begun, refused):
            narrator.narrate(story.events[seq])
    late = story.append(
        "broker-1", EventKind.ZK_WRITE_REFUSED, write, op="delete", path=NOTIFICATION, error="SESSIONEXPIRED"
    )
    assert "fence" not in (narrator.narrate(story.events[late]) or "")


def test_a_zombie_that_only_its_fence_stops() -> None:
    story = EvaluatedLog()
    write = frozen_in_a_write(story)
    before = len(narrated(story))
    story.append("scenario", EventKind.ADMIN_ACT, op="delete", path="/controller")
    story.changed("/controller_epoch", "2", zxid=9, zk_version=2)
    story.append("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="check", path="/controller_epoch", error="BADVERSION")
    story.append("broker-1", EventKind.CONTROLLER_MOVED, detail="Expected zkVersion = 1")
    assert narrated(story)[before:] == [
        "scenario: deletes /controller by hand",
        f"broker-1: its write (delete {NOTIFICATION}) is refused: nothing was changed "
        "(its fence was /controller_epoch at version 1, which is at version 2 by now)",
        "broker-1: finds that the controller has moved: Expected zkVersion = 1",
    ]


def test_the_sessions_of_an_operators_tools_are_not_worth_a_line() -> None:
    story = EvaluatedLog()
    for number in range(2):
        story.append("scenario", EventKind.ADMIN_ACT, op="delete-topic", topic="orders")
        story.append("scenario", EventKind.SESSION_STATE, state="connected", session_id=f"0x0{number}")
        story.append("scenario", EventKind.SESSION_STATE, state="closed", session_id=f"0x0{number}")
    assert len(narrated(story)) == 2


def test_a_race_and_its_losers() -> None:
    story = EvaluatedLog()
    story.append("scenario", EventKind.RUN_STARTED, scenario="race", seed=7, detail="on ZooKeeper: embedded")
    story.append("scenario", EventKind.ADMIN_ACT, op="start", target="broker-1, broker-2")
    story.append("broker-1", EventKind.ELECTION_LOST, controller_id=2)
    story.append("broker-1", EventKind.ELECTION_LOST, controller_id=-1)
    story.append("broker-1", EventKind.ELECTION_LOST, controller_id=1)
    story.append("broker-2", EventKind.CONTROLLER_FAILOVER, step="Registering handlers")
    story.append("broker-2", EventKind.CONTROLLER_FAILOVER, controller_id=2, detail="2 live brokers")
    story.append("broker-2", EventKind.BROKER_CHANGE, started=[4], stopped=[], bounced=[])
    story.append("broker-2", EventKind.BROKER_CHANGE, started=[], stopped=[], bounced=[])
    story.append("broker-3", EventKind.BROKER_START_FAILED, detail="the id is taken")
    assert narrated(story) == [
        "scenario: the run of race begins, seed 7, on ZooKeeper: embedded",
        "scenario: starts broker-1, broker-2",
        "broker-1: loses the election: broker-2 is the controller",
        "broker-1: loses the election; the winner is not known yet",
        "broker-1: finds itself named in /controller already",
        "broker-2: is ready as controller: 2 live brokers",
        "broker-2: sees a change, as controller: started [4]",
        "broker-3: does not start: the id is taken",
    ]


def test_in_a_crowd_the_latecomers_are_not_described_one_by_one() -> None:
    story = EvaluatedLog()
    story.append("broker-1", EventKind.ELECTION_LOST, controller_id=2)
    assert len(narrated(story, brokers=MANY_BROKERS)) == 1
    assert narrated(story, brokers=MANY_BROKERS + 1) == []


def test_faults_and_what_comes_of_them() -> None:
    story = EvaluatedLog()
    for fault, target in (("expire", "broker-1"), ("disconnect", "broker-1"), ("kill", "member-2"), ("kill", "broker-1")):
        story.append("scenario", EventKind.FAULT, fault=fault, target=target)
    story.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    story.append("broker-2", EventKind.PROCESS_STATE, state="dead", breakpoint="after")
    story.append("broker-3", EventKind.PROCESS_STATE, state="paused", detail="between two steps")
    story.append("broker-4", EventKind.PROCESS_STATE, state="stopped")
    story.append("broker-5", EventKind.PROCESS_STATE, state="running")
    story.append("scenario", EventKind.ADMIN_ACT, op="reconnect", target="broker-1")
    assert narrated(story) == [
        "scenario: has ZooKeeper expire broker-1's session, although broker-1 lives",
        "scenario: cuts broker-1 off from ZooKeeper",
        "scenario: kills member-2, a server of ZooKeeper",
        "broker-1: is killed: its session is not closed and will expire",
        "broker-2: is killed in the middle of a write (applied, the answer not yet seen): "
        "its session is not closed and will expire",
        "broker-3: freezes between two steps: it sends no heartbeats",
        "broker-4: has stopped",
        "scenario: lets broker-1 reach ZooKeeper again",
    ]


def test_a_connection_lost_and_found() -> None:
    story = EvaluatedLog()
    for state in ("connected", "suspended", "connected"):
        story.append("broker-1", EventKind.SESSION_STATE, state=state, session_id=SESSION)
    assert narrated(story) == [
        "broker-1: loses its connection to ZooKeeper; its session may or may not live on",
        "broker-1: is connected to ZooKeeper again, its session 0x10000aaaa000001 intact",
    ]


@pytest.mark.parametrize("kind", [EventKind.WATCH_FIRED, EventKind.CONTROLLER_EVENT_BEGUN, EventKind.SESSION_CREATED])
def test_not_everything_is_worth_a_line(kind: EventKind) -> None:
    story = EvaluatedLog()
    story.append("broker-1", kind)
    assert narrated(story) == []


def test_refusals_that_are_everyday_are_not_described() -> None:
    """Every broker creates the same top-level znodes; all but the first broker find them there."""
    story = EvaluatedLog()
    write = story.append("broker-1", EventKind.ZK_WRITE, op="create", path="/consumers")
    story.append("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="create", path="/consumers", error="NODEEXISTS")
    assert narrated(story) == []


def test_the_story_ends_with_the_run() -> None:
    """The sessions that are closed afterwards are not part of the narration."""
    story = EvaluatedLog()
    story.append("scenario", EventKind.RUN_ENDED)
    story.znode("/controller")
    story.gone("/controller")
    assert narrated(story) == ["scenario: the run is over"]


def test_any_event_can_be_described() -> None:
    story = EvaluatedLog()
    story.znode("/controller_epoch", "0")
    story.changed("/controller_epoch", "1", zxid=2, zk_version=1)
    story.gone("/controller_epoch")
    story.append("scenario", EventKind.FAULT_CONFIRMED, detail="broker-1 is dead")
    story.append("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    story.append("broker-1", EventKind.WATCH_FIRED, event="NodeDeleted", path="/controller")
    story.append("broker-1", EventKind.CONTROLLER_EVENT_BEGUN, event="Reelect")
    story.append("broker-1", EventKind.SESSION_STATE, state="connected")
    story.append("broker-1", EventKind.RECORDS_APPENDED, topic="orders", partition=0, offset=7, count=2, writer="producer-p")
    story.append("broker-1", EventKind.ELECTION_STARTED)
    story.append("broker-1", EventKind.BROKER_CHANGE, step="bounced", detail="back")
    assert [describe(event) for event in story.events] == [
        "/controller_epoch was created",
        "/controller_epoch was set to 1",
        "/controller_epoch was deleted",
        "confirmed: broker-1 is dead",
        "scenario kills broker-1",
        "broker-1 is notified by its watch on /controller: NodeDeleted",
        "broker-1 processes Reelect",
        "broker-1 sees its session as connected",
        "broker-1 appends 2 records of producer-p to orders-0, from offset 7 on",
        "broker-1 stands for election",
        "broker-1 looks for changes, as controller: back",
    ]


def test_a_controller_that_is_ready_is_worth_one_line_of_the_story() -> None:
    steps = [event for event in recorded("kill-controller") if event.kind is EventKind.CONTROLLER_FAILOVER]
    narrator = Narrator(3)
    lines = [narrator.narrate(Event(seq, 0, step.node, step.kind, **step.fields)) for seq, step in enumerate(steps)]
    assert [line for line in lines if line is not None] == [
        "is ready as controller: 1 live brokers, 0 partitions",
        "is ready as controller: 2 live brokers, 3 partitions",
    ]
