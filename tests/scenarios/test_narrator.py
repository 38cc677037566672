"""The story of a run in plain words: what is worth a line, and what that line says."""

import pytest

from kcsim.scenarios.telling.narrator import CROWD, REFUSED_REMEMBERED, Narrator, describe
from kcsim.zk.events import EventKind
from tests.scenarios.made_up import Story

ISR = "/isr_change_notification"
NOTIFICATION = f"{ISR}/isr_change_0000000000"
SESSION = "0x010000aaaa000001"


def told(story: Story, brokers: int = 2) -> list[str]:
    narrator = Narrator(brokers)
    return [f"{event.node}: {line}" for event in story.events if (line := narrator.tell(event)) is not None]


def frozen_in_a_write(story: Story) -> int:
    """broker-1, controller of epoch 1, freezes in the middle of a fenced write; returns the seq of that write."""
    story.tell("broker-1", EventKind.SESSION_STATE, state="connected", session_id=SESSION)
    story.znode("/controller_epoch", "0")
    story.changed("/controller_epoch", "1", zxid=2, zk_version=1)
    story.tell("broker-1", EventKind.BROKER_REGISTERED, broker_epoch=3)
    story.tell("broker-1", EventKind.ELECTION_WON, controller_id=1, controller_epoch=1)
    write = story.tell(
        "broker-1", EventKind.ZK_WRITE, op="delete", path=NOTIFICATION, count=1, controller_epoch_zk_version=1
    )
    fault = story.tell(
        "scenario", EventKind.FAULT, fault="pause", target="broker-1", detail=f"armed: before a write to {ISR}"
    )
    story.tell("broker-1", EventKind.PROCESS_STATE, fault, state="paused", detail=f"before a write to {ISR}")
    return write


def test_a_zombie_whose_session_is_gone() -> None:
    """The fence is told as well: it would have held even if the session had lived."""
    story = Story()
    write = frozen_in_a_write(story)
    story.tell("zookeeper", EventKind.SESSION_CLOSED, session_id=SESSION, error="SESSIONEXPIRED")
    story.znode("/controller", "{}")
    story.gone("/controller")
    story.gone("/brokers/ids/1")
    story.changed("/controller_epoch", "2", zxid=9, zk_version=2)
    act = story.tell("scenario", EventKind.ADMIN_ACT, op="resume", target="broker-1")
    story.tell("broker-1", EventKind.PROCESS_STATE, act, state="running")
    story.tell("broker-1", EventKind.SESSION_STATE, state="suspended", session_id=SESSION)
    lost = story.tell(
        "broker-1",
        EventKind.ZK_WRITE_REFUSED,
        write,
        op="delete",
        path=NOTIFICATION,
        error="CONNECTIONLOSS",
        outcome="unknown",
    )
    story.tell("broker-1", EventKind.SESSION_STATE, state="expired", session_id=SESSION)
    story.tell("broker-1", EventKind.CONTROLLER_EVENT_PREEMPTED, event="BrokerChange", rule="Expire clears the queue")
    story.tell(
        "broker-1",
        EventKind.ZK_WRITE_REFUSED,
        lost,
        op="delete",
        path=NOTIFICATION,
        error="SESSIONEXPIRED",
        outcome="unknown",
    )
    story.tell("broker-1", EventKind.CONTROLLER_RESIGNED, controller_epoch=1)
    story.tell("broker-1", EventKind.SESSION_STATE, state="connected", session_id="0x010000aaaa000002")
    story.tell("broker-1", EventKind.BROKER_REGISTERED, broker_epoch=12)
    assert told(story) == [
        "broker-1: registers, with broker epoch 3",
        "broker-1: wins the election: controller epoch 1 (it created /controller first)",
        f"scenario: sees to it that broker-1 freezes in the middle of a write to {ISR} (begun, not yet sent)",
        f"broker-1: freezes in the middle of a write to {ISR} (begun, not yet sent): no heartbeat leaves it any more",
        "zookeeper: expires broker-1's session 0x10000aaaa000001; its ephemeral znodes go with it",
        "zookeeper: /controller is gone: nobody is the controller",
        "zookeeper: /brokers/ids/1 is gone: broker 1 is no longer registered",
        "broker-1: wakes up and goes on as if nothing had happened",
        "broker-1: loses its connection to ZooKeeper; its session may or may not live on",
        f"broker-1: its write (delete {NOTIFICATION}) gets no answer, the connection is gone: "
        "it will ask again on the next one",
        "broker-1: learns that its session 0x10000aaaa000001 has expired",
        "broker-1: drops BrokerChange without having begun it: Expire clears the queue",
        f"broker-1: its write (delete {NOTIFICATION}) is refused for good, its session has expired "
        "(its fence was /controller_epoch at version 1, which is at version 2 by now)",
        "broker-1: resigns as controller of epoch 1",
        "broker-1: opens a new session, 0x10000aaaa000002",
        "broker-1: registers anew, with broker epoch 12 (at first 3)",
    ]


def test_every_operation_of_a_refused_write_is_told_with_its_fence_and_answered_writes_are_forgotten() -> None:
    """A run may be longer than memory."""
    story, narrator = Story(), Narrator()
    write = frozen_in_a_write(story)
    refusals = [
        story.tell("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="delete", path=NOTIFICATION, error="SESSIONEXPIRED")
        for _ in range(2)
    ]
    lines = {event.seq: narrator.tell(event) for event in story.events}
    assert len({lines[seq] for seq in refusals}) == 1
    assert "(its fence: /controller_epoch at version 1)" in (lines[refusals[0]] or "")
    for _ in range(REFUSED_REMEMBERED + 1):
        begun = story.tell("broker-2", EventKind.ZK_WRITE, op="create", path="/consumers", count=1)
        refused = story.tell(
            "broker-2", EventKind.ZK_WRITE_REFUSED, begun, op="create", path="/consumers", error="NODEEXISTS"
        )
        for seq in (begun, refused):
            narrator.tell(story.events[seq])
    late = story.tell("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="delete", path=NOTIFICATION, error="SESSIONEXPIRED")
    assert "fence" not in (narrator.tell(story.events[late]) or "")


def test_a_zombie_that_only_its_fence_stops() -> None:
    story = Story()
    write = frozen_in_a_write(story)
    before = len(told(story))
    story.tell("scenario", EventKind.ADMIN_ACT, op="delete", path="/controller")
    story.changed("/controller_epoch", "2", zxid=9, zk_version=2)
    story.tell("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="check", path="/controller_epoch", error="BADVERSION")
    story.tell("broker-1", EventKind.CONTROLLER_MOVED, detail="Expected zkVersion = 1")
    assert told(story)[before:] == [
        "scenario: deletes /controller by hand",
        f"broker-1: its write (delete {NOTIFICATION}) is refused: nothing was changed "
        "(its fence was /controller_epoch at version 1, which is at version 2 by now)",
        "broker-1: finds that the controller role has moved on: Expected zkVersion = 1",
    ]


def test_the_sessions_of_an_operators_tools_are_not_worth_a_line() -> None:
    story = Story()
    for number in range(2):
        story.tell("scenario", EventKind.ADMIN_ACT, op="delete-topic", topic="orders")
        story.tell("scenario", EventKind.SESSION_STATE, state="connected", session_id=f"0x0{number}")
        story.tell("scenario", EventKind.SESSION_STATE, state="closed", session_id=f"0x0{number}")
    assert len(told(story)) == 2


def test_a_race_and_its_losers() -> None:
    story = Story()
    story.tell("scenario", EventKind.RUN_STARTED, scenario="race", seed=7, detail="on ZooKeeper: embedded")
    story.tell("scenario", EventKind.ADMIN_ACT, op="start", target="broker-1, broker-2")
    story.tell("broker-1", EventKind.ELECTION_LOST, controller_id=2)
    story.tell("broker-1", EventKind.ELECTION_LOST, controller_id=-1)
    story.tell("broker-1", EventKind.ELECTION_LOST, controller_id=1)
    story.tell("broker-2", EventKind.CONTROLLER_FAILOVER, step="Registering handlers")
    story.tell("broker-2", EventKind.CONTROLLER_FAILOVER, controller_id=2, detail="2 live brokers")
    story.tell("broker-2", EventKind.BROKER_CHANGE, detail="started [4], stopped [], bounced []")
    story.tell("broker-2", EventKind.BROKER_CHANGE, detail="started [], stopped [], bounced []")
    story.tell("broker-3", EventKind.BROKER_START_FAILED, detail="the id is taken")
    assert told(story) == [
        "scenario: the run of race begins, seed 7, on ZooKeeper: embedded",
        "scenario: starts broker-1, broker-2",
        "broker-1: comes too late for the election: broker-2 is the controller",
        "broker-1: loses the election; who won is not to be seen yet",
        "broker-1: finds itself named in /controller already",
        "broker-2: is ready as controller: 2 live brokers",
        "broker-2: takes note, as controller: started [4]",
        "broker-3: does not start: the id is taken",
    ]


def test_in_a_crowd_the_latecomers_are_not_told_one_by_one() -> None:
    story = Story()
    story.tell("broker-1", EventKind.ELECTION_LOST, controller_id=2)
    assert len(told(story, brokers=CROWD)) == 1
    assert told(story, brokers=CROWD + 1) == []


def test_faults_and_what_comes_of_them() -> None:
    story = Story()
    for fault, target in (("expire", "broker-1"), ("disconnect", "broker-1"), ("kill", "member-2"), ("kill", "broker-1")):
        story.tell("scenario", EventKind.FAULT, fault=fault, target=target)
    story.tell("broker-1", EventKind.PROCESS_STATE, state="dead")
    story.tell("broker-2", EventKind.PROCESS_STATE, state="dead", detail="after a write")
    story.tell("broker-3", EventKind.PROCESS_STATE, state="paused", detail="between two steps")
    story.tell("broker-4", EventKind.PROCESS_STATE, state="stopped")
    story.tell("broker-5", EventKind.PROCESS_STATE, state="running")
    story.tell("scenario", EventKind.ADMIN_ACT, op="reconnect", target="broker-1")
    assert told(story) == [
        "scenario: has ZooKeeper expire broker-1's session, although broker-1 lives",
        "scenario: cuts broker-1 off from ZooKeeper",
        "scenario: kills member-2, a server of ZooKeeper",
        "broker-1: is killed: no goodbye, its session is left to expire",
        "broker-2: is killed in the middle of a write (applied, the answer not yet seen): "
        "no goodbye, its session is left to expire",
        "broker-3: freezes between two steps: no heartbeat leaves it any more",
        "broker-4: has stopped",
        "scenario: lets broker-1 reach ZooKeeper again",
    ]


def test_a_connection_lost_and_found() -> None:
    story = Story()
    for state in ("connected", "suspended", "connected"):
        story.tell("broker-1", EventKind.SESSION_STATE, state=state, session_id=SESSION)
    assert told(story) == [
        "broker-1: loses its connection to ZooKeeper; its session may or may not live on",
        "broker-1: is connected to ZooKeeper again, its session 0x10000aaaa000001 intact",
    ]


@pytest.mark.parametrize("kind", [EventKind.WATCH_FIRED, EventKind.CONTROLLER_EVENT_BEGUN, EventKind.SESSION_CREATED])
def test_not_everything_is_worth_a_line(kind: EventKind) -> None:
    story = Story()
    story.tell("broker-1", kind)
    assert told(story) == []


def test_refusals_that_are_everyday_are_not_told() -> None:
    """Every broker creates the same top-level znodes; all but the first find them there."""
    story = Story()
    write = story.tell("broker-1", EventKind.ZK_WRITE, op="create", path="/consumers")
    story.tell("broker-1", EventKind.ZK_WRITE_REFUSED, write, op="create", path="/consumers", error="NODEEXISTS")
    assert told(story) == []


def test_the_story_ends_with_the_run() -> None:
    """Closing the sessions afterwards is no part of it."""
    story = Story()
    story.tell("scenario", EventKind.RUN_ENDED)
    story.znode("/controller")
    story.gone("/controller")
    assert told(story) == ["scenario: the run is over"]


def test_any_event_can_be_described() -> None:
    story = Story()
    story.znode("/controller_epoch", "0")
    story.changed("/controller_epoch", "1", zxid=2, zk_version=1)
    story.gone("/controller_epoch")
    story.tell("scenario", EventKind.FAULT_CONFIRMED, detail="broker-1 is dead")
    story.tell("scenario", EventKind.FAULT, fault="kill", target="broker-1")
    story.tell("broker-1", EventKind.WATCH_FIRED, event="NodeDeleted", path="/controller")
    story.tell("broker-1", EventKind.CONTROLLER_EVENT_BEGUN, event="Reelect")
    story.tell("broker-1", EventKind.SESSION_STATE, state="connected")
    assert [describe(event) for event in story.events] == [
        "/controller_epoch was created",
        "/controller_epoch was set to 1",
        "/controller_epoch was deleted",
        "confirmed: broker-1 is dead",
        "scenario kills broker-1",
        "broker-1 hears from its watch on /controller: NodeDeleted",
        "broker-1 processes Reelect",
        "broker-1 SessionState connected",
    ]
