"""Runs written by hand, one idea each; test_handwritten_runs.py works out what the analyses compute from them."""

from kcsim.controller.decisions.election import ElectionRule, PartitionLeaderElectionStrategy
from kcsim.eventlog.cluster_state import READY_STEP
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.analysis.analyses.scope import HOUR_MS
from kcsim.scenarios.analysis.folding.trigger import Trigger
from tests.scenarios.analysis.analyses.stories import Story


def leader_dies() -> Story:
    """The leader is killed at 100, another leader is elected at 160, and the first leader is back in the ISR at 400."""
    story = Story("leader-dies")
    story.registers(0, 1, rack="a")
    story.registers(0, 2, 3, rack="b")
    story.state(10, "orders", 0, 1, [1, 2, 3], rule=ElectionRule.NEW_PARTITION, trigger=Trigger.TOPIC_CREATED)
    kill = story.fault(100, "kill", "broker-1")
    story.process(100, 1, "dead", kill)
    closed = story.event(150, EventKind.SESSION_CLOSED, cause=kill, error="SESSIONEXPIRED")
    story.unregisters(150, 1, closed)
    facts = {
        "strategy": PartitionLeaderElectionStrategy.OFFLINE,
        "rule": ElectionRule.ALIVE_AND_IN_ISR,
        "trigger": Trigger.BROKER_FAILED,
    }
    story.state(160, "orders", 0, 2, [2, 3], **facts)
    story.process(250, 1, "running")
    story.registers(300, 1, rack="a")
    story.state(400, "orders", 0, 2, [2, 3, 1], kind=EventKind.ISR_EXPANDED, trigger=Trigger.LEADER)
    story.ends(1_000)
    return story


def nobody_left() -> Story:
    """The last member of the ISR dies at 50 and loses the leadership at 60. min.insync.replicas is 2 from 20 on."""
    story = Story("nobody-left")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1], replicas=[1, 2])
    story.topic_config(20, "orders", 2)
    story.unregisters(50, 1)
    story.state(60, "orders", 0, -1, [1], kind=EventKind.REPLICA_REMOVED_FROM_ISR)
    story.state(70, "orders", 0, None, [1], kind=EventKind.LEADER_ELECTION, rule=ElectionRule.ALIVE_AND_IN_ISR)
    story.ends(100)
    return story


def within_a_millisecond() -> Story:
    """A leader fails at 50 and another is elected in the same millisecond; at 70 a broker bounces within one millisecond."""
    story = Story("within-a-millisecond")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1, 2])
    story.unregisters(50, 1)
    story.state(50, "orders", 0, -1, [1, 2])
    story.state(50, "orders", 0, 2, [2], replicas=[1, 2])
    story.unregisters(70, 2)
    story.registers(70, 2)
    story.ends(100)
    return story


def deleted_while_offline() -> Story:
    """The leader fails at 50, the topic's deletion is requested at 60, its state is gone at 80. Another topic stays."""
    story = Story("deleted-while-offline")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1], replicas=[1, 2])
    story.state(10, "logs", 0, 2, [2])
    story.unregisters(50, 1)
    story.deletion(60, "orders")
    story.gone(80, "orders", 0)
    story.deletion(81, "orders", asked=False)
    story.ends(100)
    return story


def created_again() -> Story:
    """A partition is deleted at 40 and created again at 60, with another ISR."""
    story = Story("created-again")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1])
    story.gone(40, "orders", 0)
    story.state(60, "orders", 0, 2, [2], replicas=[2])
    story.ends(100)
    return story


def never_led() -> Story:
    """No leader can be elected when the partition is created, at 10; at 30 one can."""
    story = Story("never-led")
    story.registers(20, 1)
    story.state(10, "orders", 0, None, [], replicas=[1, 2], rule=ElectionRule.NEW_PARTITION)
    story.state(30, "orders", 0, 1, [1])
    story.ends(100)
    return story


def reassigned() -> Story:
    """From [1, 2] to [1, 3], while 2 is out of sync since 20: 3 is added at 40 and joins at 50; 2 is removed at 60."""
    story = Story("reassigned")
    story.registers(0, 1, 2, 3)
    story.state(10, "orders", 0, 1, [1, 2])
    story.state(20, "orders", 0, 1, [1], kind=EventKind.ISR_SHRUNK, trigger=Trigger.LEADER)
    moving = {"kind": EventKind.PARTITION_REASSIGNMENT, "trigger": Trigger.REASSIGNMENT}
    story.state(40, "orders", 0, 1, [1], replicas=[3, 1, 2], adding=[3], removing=[2], **moving)
    story.state(50, "orders", 0, 1, [1, 3], kind=EventKind.ISR_EXPANDED, trigger=Trigger.LEADER)
    story.state(60, "orders", 0, 1, [1, 3], replicas=[3, 1], adding=[], removing=[], **moving)
    story.ends(100)
    return story


def unassigned() -> Story:
    """From [1, 2] to [1] in one step at 50: broker 2 leaves the ISR without ever being out of sync."""
    story = Story("unassigned")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1, 2])
    story.state(50, "orders", 0, 1, [1], replicas=[1])
    story.ends(100)
    return story


def controllers() -> Story:
    """Broker 1 is controller until its session expires at 100, broker 2 from 130 until its znode is deleted at 200."""
    story = Story("controllers")
    story.event(0, EventKind.RUN_STARTED, "scenario")
    story.controller(10, 1, zxid=5, epoch=1)
    story.event(100, EventKind.SESSION_CLOSED, zxid=9, error="SESSIONEXPIRED")
    story.controller(100, None, zxid=9)
    story.controller(130, 2, zxid=12, epoch=2)
    story.controller(200, None, zxid=20)
    story.ends(300)
    return story


def controller_dies() -> Story:
    """Controller 1 dies at 100, is named until 130, and 2 is ready at 160; 2 is frozen from 200 on."""
    story = Story("controller-dies")
    story.event(0, EventKind.RUN_STARTED, "scenario")
    for broker, t_ms in ((1, 10), (2, 140)):
        story.controller(t_ms, broker, zxid=t_ms, epoch=broker)
        won = {"controller_id": broker, "controller_epoch": broker}
        story.event(t_ms, EventKind.ELECTION_WON, f"broker-{broker}", **won)
        story.event(t_ms + 20, EventKind.CONTROLLER_FAILOVER, f"broker-{broker}", step=READY_STEP)
        if broker == 1:
            story.process(100, 1, "dead")
            story.controller(130, None, zxid=130)
    story.process(200, 2, "paused")
    story.ends(300)
    return story


def controller_from_before() -> Story:
    """The znode /controller exists when the history begins; the event of the next controller carries its epoch itself."""
    story = Story("controller-from-before")
    story.event(0, EventKind.RUN_STARTED, "scenario")
    story.controller(40, None, zxid=3)
    story.controller(45, 7, zxid=4)
    story.event(47, EventKind.ELECTION_WON, "broker-7", controller_id=7, controller_epoch=12)
    story.ends(100)
    return story


def unclean() -> Story:
    """Two unclean elections of one partition, whose lost records are counted in the end; one of another, whose are not."""
    story = Story("unclean")
    rule = {"rule": ElectionRule.UNCLEAN, "clean": False, "strategy": PartitionLeaderElectionStrategy.OFFLINE}
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1], replicas=[1, 2])
    story.state(10, "orders", 1, 1, [1], replicas=[1, 2])
    story.state(50, "orders", 0, 2, [2], **rule)
    cut = {"topic": "orders", "partition": 0}
    story.event(60, EventKind.RECORDS_TRUNCATED, "broker-1", count=40, offset=100, end_offset=140, **cut)
    story.event(61, EventKind.RECORDS_TRUNCATED, "broker-3", count=10, offset=100, end_offset=110, **cut)
    story.state(70, "orders", 0, 1, [1], **rule)
    story.state(80, "orders", 1, 2, [2], **rule)
    lost = '{"sent":200,"acknowledged":190,"lost":30,"lost_everywhere":25}'
    story.event(90, EventKind.LEDGER, "scenario", count=200, data=lost, **cut)
    story.ends(100)
    return story


def flapping() -> Story:
    """Broker 2 leaves the ISR of orders-0 at 0:00:01, 0:30:00 and an hour after the first; that of orders-1 1 ms earlier."""
    story = Story("flapping")
    story.registers(0, 1, 2)
    for partition, third in ((0, 1_000 + HOUR_MS), (1, 1_000 + HOUR_MS - 1)):
        story.state(10, "orders", partition, 1, [1, 2])
        for left_ms in (1_000, 1_800_000, third):
            story.state(left_ms, "orders", partition, 1, [1], kind=EventKind.ISR_SHRUNK, trigger=Trigger.LEADER)
            story.state(left_ms + 500, "orders", partition, 1, [1, 2], kind=EventKind.ISR_EXPANDED, trigger=Trigger.LEADER)
    story.ends(4_000_000)
    return story


def racks() -> Story:
    """Three racks of two: orders-0 is on all racks, orders-1 on one; orders-2 has one replica in sync, logs-0 has one."""
    story = Story("racks")
    for rack, brokers in (("a", (1, 2)), ("b", (3, 4)), ("c", (5, 6))):
        story.registers(0, *brokers, rack=rack)
    story.topic_config(5, "orders", 2)
    story.state(10, "orders", 0, 1, [1, 3, 5])
    story.state(10, "orders", 1, 1, [1, 2])
    story.state(10, "orders", 2, 3, [3], replicas=[3, 5])
    story.state(10, "logs", 0, 6, [6])
    story.ends(100)
    return story


def stopped_together() -> Story:
    """One admin action stops two leaders at 20; one partition has a leader again at 30, the other never."""
    story = Story("stopped-together")
    story.registers(0, 1, 2, 3)
    story.state(10, "orders", 0, 1, [1, 3])
    story.state(10, "orders", 1, 2, [2])
    act = story.event(20, EventKind.ADMIN_ACT, "scenario", op="stop", target="broker-1, broker-2")
    story.process(25, 1, "stopped", act)
    story.process(26, 2, "stopped", act)
    story.unregisters(26, 1, story.event(26, EventKind.SESSION_CLOSED, cause=act))
    story.state(30, "orders", 0, 3, [3], replicas=[1, 3])
    story.ends(100)
    return story


def changed_at_the_end() -> Story:
    """Each partition is without a live leader when its state changes once more, in the millisecond in which the run ends.

    Broker 1 dies at 50. At 100, orders-0 loses the leadership, orders-1 gets a leader that died at 60, and orders-2 one that
    is live.
    """
    story = Story("changed-at-the-end")
    story.registers(0, 1, 2, 3)
    for partition in range(3):
        story.state(10, "orders", partition, 1, [1, 2, 3])
    story.unregisters(50, 1)
    story.unregisters(60, 2)
    story.topic_config(70, "orders", 4)
    for partition, leader in enumerate((-1, 2, 3)):
        story.state(100, "orders", partition, leader, [2, 3])
    story.ends(100)
    return story


def away_twice() -> Story:
    """One fault takes broker 2 away twice, at 20 and at 40, and the replica on it is out of sync from 30 to the end."""
    story = Story("away-twice")
    story.registers(0, 1, 2)
    story.state(10, "orders", 0, 1, [1, 2])
    pause = story.fault(20, "pause", "broker-2")
    story.process(20, 2, "paused", pause)
    story.state(30, "orders", 0, 1, [1], kind=EventKind.ISR_SHRUNK, trigger=Trigger.LEADER)
    story.process(35, 2, "running")
    story.unregisters(40, 2, story.event(40, EventKind.SESSION_CLOSED, cause=pause, error="SESSIONEXPIRED"))
    story.ends(100)
    return story


def restarted_too_soon() -> Story:
    """Broker 1 is killed at 20 and started at 30, before its session has expired: it fails to start, and stops at 40."""
    story = Story("restarted-too-soon")
    story.registers(0, 1)
    story.process(20, 1, "dead", story.fault(20, "kill", "broker-1"))
    running = story.process(
        30, 1, "running", story.event(30, EventKind.ADMIN_ACT, "scenario", op="start", target="broker-1")
    )
    failed = story.event(40, EventKind.BROKER_START_FAILED, "broker-1", broker_id=1, cause=running)
    story.process(40, 1, "stopped", failed)
    story.ends(100)
    return story


def deleted_without_a_state() -> Story:
    """No leader can be elected for a topic that is created at 10, deleted at 40, created again at 60 and deleted at 80.

    Its deletion is asked for at 30, but not the second time: its znode is deleted by hand.
    """
    story = Story("deleted-without-a-state")
    vain = {"replicas": [1, 2], "rule": ElectionRule.NEW_PARTITION, "leader_epoch": None}
    story.state(10, "orders", 0, None, [], **vain)
    story.state(20, "orders", 0, None, [], **vain)
    story.deletion(30, "orders")
    story.event(40, EventKind.ZNODE_DELETED, path="/brokers/topics/orders")
    story.deletion(41, "orders", asked=False)
    story.state(60, "orders", 0, None, [], **vain)
    story.event(80, EventKind.ZNODE_DELETED, path="/brokers/topics/orders")
    story.ends(100)
    return story


def uneven() -> Story:
    """Broker 1 leads three partitions; from 8 on, 2 leads one of them. 3 is registered and has nothing."""
    story = Story("uneven")
    story.registers(0, 1, 2, 3)
    for partition in range(3):
        story.state(0, "orders", partition, 1, [1, 2])
    story.state(8, "orders", 0, 2, [1, 2])
    story.ends(16)
    return story


ALL_BY_HAND = [
    *(leader_dies(), nobody_left(), within_a_millisecond(), deleted_while_offline(), created_again(), never_led()),
    *(
        reassigned(),
        unassigned(),
        controllers(),
        controller_dies(),
        controller_from_before(),
        unclean(),
        racks(),
        stopped_together(),
        changed_at_the_end(),
        away_twice(),
        restarted_too_soon(),
        deleted_without_a_state(),
        uneven(),
    ),
]
