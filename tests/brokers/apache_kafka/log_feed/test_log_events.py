"""Events that the logs of real brokers yield, in the words and columns that our own controller and brokers use.

The recordings are of Kafka 2.8.2. Wordings of other versions: docs/kafka/logging.md.
"""

from collections import Counter

import pytest

from kcsim.brokers.apache_kafka.log_feed.controller_lines import READY
from kcsim.eventlog.events import EventKind
from tests.brokers.apache_kafka.log_feed.recorded import CONTROLLER, STATE_CHANGE, of, parsed, recorded

TAKE_OVER = [
    "Registering handlers",
    "Deleting log dir event and isr change notifications",
    "Initializing controller context",
    "Fetching topic deletions in progress",
    "Sending update metadata request",
    "Starting replica state machine",
    "Starting partition state machine",
    READY,
    "Starting preferred replica leader election",
    "Starting the controller scheduler",
]

STOPPED = "TopicDeletionStopReplicaResponseReceived"
RESIGNED_MEANWHILE = "A controller has been elected but just resigned, this will result in another round of election"

# --- the controller -------------------------------------------------------------------------------------------------------


def test_a_failover_goes_through_its_steps_in_kafkas_order() -> None:
    """kill-controller: broker 1 becomes controller of an empty cluster; broker 3 takes over after broker 1's death."""
    events = recorded("kill-controller")
    assert of(events, EventKind.CONTROLLER_FAILOVER, "step", node="broker-1", controller_epoch=1) == TAKE_OVER
    assert of(events, EventKind.CONTROLLER_FAILOVER, "step", node="broker-3", controller_epoch=2) == TAKE_OVER


def test_a_controller_that_is_ready_reports_the_brokers_and_partitions_it_found() -> None:
    columns = ("controller_id", "brokers", "count", "detail")
    ready = of(recorded("kill-controller"), EventKind.CONTROLLER_FAILOVER, *columns, step=READY)
    assert ready == [(1, [1], 0, "1 live brokers, 0 partitions"), (3, [2, 3], 3, "2 live brokers, 3 partitions")]


def test_who_does_not_become_controller_knows_who_has() -> None:
    """Each election is lost by every broker but the winner: at its start, and whenever /controller has a new owner."""
    lost = of(recorded("kill-controller"), EventKind.ELECTION_LOST, "node", "controller_id")
    assert lost == [("broker-2", 1), ("broker-3", 1), ("broker-2", 3), ("broker-1", 3)]


def test_a_lost_race_and_a_role_that_was_taken_are_distinguished() -> None:
    moved = (
        "\nkafka.common.ControllerMovedException: Controller moved to another broker. Aborting controller startup procedure"
    )
    events = parsed(
        (f"[Controller id=1] Broker 2 was elected as controller instead of broker 1{moved}", CONTROLLER),
        ("[Controller id=1] Broker 2 has been elected as the controller, so stopping the election process.", CONTROLLER),
        (f"[Controller id=1] {RESIGNED_MEANWHILE}", CONTROLLER),
    )
    refused = "/controller or /controller_epoch changed first: the multi was refused"
    exists = "/controller exists: stop"
    assert of(events, EventKind.ELECTION_LOST, "controller_id", "rule") == [(2, refused), (2, exists), (-1, refused)]


def test_a_change_of_brokers_names_who_is_there_and_what_was_different() -> None:
    columns = ("brokers", "started", "stopped", "detail")
    assert of(recorded("shutdown-leader"), EventKind.BROKER_CHANGE, *columns, node="broker-1") == [
        ([1, 2], [2], [], "started [2], stopped [], bounced []"),
        ([1, 2, 3], [3], [], "started [3], stopped [], bounced []"),
        ([1, 3], [], [2], "started [], stopped [2], bounced []"),
        ([1, 2, 3], [2], [], "started [2], stopped [], bounced []"),
    ]


def test_a_bounced_broker_is_named() -> None:
    line = "[Controller id=1] Newly added brokers: , deleted brokers: , bounced brokers: 2, all live brokers: 1,2,3"
    found = of(parsed((line, CONTROLLER)), EventKind.BROKER_CHANGE, "bounced", "detail")
    assert found == [([2], "started [], stopped [], bounced [2]")]


def test_new_topics_are_counted_by_their_partitions() -> None:
    found = of(recorded("kill-leader"), EventKind.TOPIC_CHANGE, "count", "new_topics", "deleted_topics", "detail")
    assert found == [(3, ["orders"], [], "new topics ['orders'], gone []")]


def test_only_who_was_controller_resigns() -> None:
    """Every broker logs that it resigns when its session has expired. Source: docs/kafka/logging.md 5, "resign"."""
    elected = (
        "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 7 and epoch zk version is now 7"
    )
    resigns = ("[Controller id=1] Resigning", CONTROLLER)
    resigned = ("[Controller id=1] Resigned", CONTROLLER)
    assert of(parsed(resigns, resigned), EventKind.CONTROLLER_RESIGNED, "controller_id") == []
    events = parsed((elected, CONTROLLER), resigns, resigned, resigns, resigned)
    assert of(events, EventKind.CONTROLLER_RESIGNED, "node", "controller_id", "controller_epoch") == [("broker-1", 1, 7)]


def test_a_controller_that_has_moved_names_the_event_that_found_out() -> None:
    fence = "\nkafka.common.ControllerMovedException: Controller epoch zkVersion check fails. Expected zkVersion = 1"
    line = f"[Controller id=1] Controller moved to another broker when processing IsrChangeNotification.{fence}"
    events = parsed((line, CONTROLLER))
    why = "Controller epoch zkVersion check fails. Expected zkVersion = 1"
    assert of(events, EventKind.CONTROLLER_MOVED, "event", "detail") == [("IsrChangeNotification", why)]
    assert of(events, EventKind.ZK_WRITE_REFUSED, "node", "path", "error") == [
        ("broker-1", "/controller_epoch", "BADVERSION")
    ]


@pytest.mark.parametrize(
    ("printed", "named"),
    [
        ("BrokerChange", "BrokerChange"),
        ("PartitionModifications(orders)", "PartitionModifications(orders)"),
        ("TopicDeletionStopReplicaResponseReceived(3,NONE,HashMap(orders-0 -> NONE))", f"{STOPPED}(3)"),
        ("UpdateMetadataResponseReceived(UpdateMetadataResponseData(errorCode=0),3)", "UpdateMetadataResponseReceived(3)"),
        ("ReplicaLeaderElection(None,PREFERRED,AutoTriggered,kafka.controller.X$$Lambda$1@2f)", "ReplicaLeaderElection"),
    ],
)
def test_an_event_of_the_controller_has_the_name_that_it_has_with_us(printed: str, named: str) -> None:
    line = f"[Controller id=1] Controller moved to another broker when processing {printed}."
    assert of(parsed((line, CONTROLLER)), EventKind.CONTROLLER_MOVED, "event") == [named]


def test_an_event_that_failed_is_named_with_the_exception() -> None:
    why = "\njava.lang.IllegalStateException: no such thing\n\tat kafka.controller.Some.thing(Some.scala:1)"
    line = f"[Controller id=1] Error processing event PartitionModifications(orders){why}"
    found = of(parsed((line, CONTROLLER)), EventKind.CONTROLLER_EVENT_FAILED, "event", "error", "detail")
    assert found == [
        (
            "PartitionModifications(orders)",
            "IllegalStateException",
            "Error processing event PartitionModifications(orders): no such thing",
        )
    ]


def test_a_controller_that_cannot_take_over_says_why() -> None:
    why = "\njava.util.NoSuchElementException: None.get\n\tat scala.None$.get(Option.scala:627)"
    message = "Error while electing or becoming controller on broker 1. Trigger controller movement immediately"
    line = f"[Controller id=1] {message}{why}"
    found = of(parsed((line, CONTROLLER)), EventKind.CONTROLLER_EVENT_FAILED, "event", "error", "detail")
    assert found == [
        (None, "NoSuchElementException", "Error while electing or becoming controller on broker 1: None.get"),
    ]


def test_moves_that_fail_all_at_once_are_reported_with_the_state_they_were_to_reach() -> None:
    why = "\njava.lang.IllegalStateException: batch is not empty\n\tat kafka.controller.Some.thing(Some.scala:1)"
    line = f"[ReplicaStateMachine controllerId=1] Error while moving some replicas to OfflineReplica state{why}"
    found = of(parsed((line, CONTROLLER)), EventKind.STATE_CHANGE_FAILED, "node", "state", "topic", "detail")
    assert found == [("broker-1", "OfflineReplica", None, "moving replicas to OfflineReplica failed: batch is not empty")]


# --- controlled shutdown, deletion, balance -------------------------------------------------------------------------------


def test_a_controlled_shutdown_is_answered_with_what_is_left_to_the_broker() -> None:
    answered = of(recorded("shutdown-leader"), EventKind.CONTROLLED_SHUTDOWN, "node", "step", "broker_id", "error", "count")
    assert answered == [("broker-1", "answered", 2, "NONE", 0)]


@pytest.mark.parametrize(("replicas", "left"), [("[2]", 0), ("[2, 3]", 1)])
def test_a_partition_without_other_replicas_is_not_left_to_anybody(replicas: str, left: int) -> None:
    """Source: KafkaController.doControlledShutdown moves, and counts, only partitions that have a second replica."""
    state = (
        "LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, controllerEpoch=1, leader=2, leaderEpoch=0, "
        f"isr=[2], zkVersion=0, replicas={replicas}, addingReplicas=[], removingReplicas=[], isNew=true)"
    )
    sending = (
        f"[Controller id=1 epoch=1] Sending become-leader LeaderAndIsr request {state} to broker 2 for partition orders-0"
    )
    events = parsed(
        (sending, STATE_CHANGE),
        ("[Controller id=1] Shutting down broker 2", CONTROLLER),
        (
            "[Controller id=1] All leaders = orders-0 -> (Leader:2,ISR:2,LeaderEpoch:0,ZkVersion:0,ControllerEpoch:1)",
            CONTROLLER,
        ),
    )
    assert of(events, EventKind.CONTROLLED_SHUTDOWN, "count") == [left]


def test_a_deletion_waits_for_a_dead_replica_and_ends_with_it() -> None:
    """delete-dead-replica: broker 2 is dead when orders is deleted, and comes back."""
    steps = of(recorded("delete-dead-replica"), EventKind.TOPIC_DELETION, "step", topic="orders")
    assert steps == ["started", "ineligible", "started", "completing", "completed"]


def test_every_replica_of_a_deleted_topic_is_stopped_and_then_deleted() -> None:
    stopped = of(recorded("delete-dead-replica"), EventKind.REPLICA_STOPPED, "node", "detail", topic="orders")
    nodes = ("broker-1", "broker-2", "broker-3")
    assert Counter(stopped) == Counter(
        {(node, detail): 3 for node in nodes for detail in ("deleted", "no longer fetched; its log stays")}
    )


def test_replicas_are_stopped_when_that_was_asked_and_not_when_the_next_line_comes() -> None:
    """Broker 2's log ends with the request; the deletion has continued and is complete 42 ms later."""
    events = recorded("delete-dead-replica")
    last = max(e.time_ms for e in events if e.kind is EventKind.REPLICA_STOPPED and e.node == "broker-2")
    (completing,) = (e.time_ms for e in events if e.fields.get("step") == "completing")
    assert 0 < completing - last < 100


def test_a_refused_stop_stops_nothing() -> None:
    """shutdown-leader: broker 2 is asked to stop the replicas that it follows, under an epoch older than its current one."""
    assert of(recorded("shutdown-leader"), EventKind.REPLICA_STOPPED, "node") == []


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_leader_without_another_leader_to_follow_goes_on_leading(is_stopped: bool) -> None:
    """Recorded: Kafka 2.8.2 in the scenario fault-leader-without-a-successor. A replica that was stopped leads no more."""
    role = "[Broker id=2] Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, "
    lists = "replicas=[2, 3], addingReplicas=[], removingReplicas=[], isNew=false) correlation id"
    stop = (
        "[Broker id=2] Received StopReplica request StopReplicaPartitionState(partitionIndex=0, leaderEpoch=0, "
        "deletePartition=false) correlation id 2 from controller 1 epoch 1 for partition orders-0"
    )
    lines = (
        f"{role}controllerEpoch=1, leader=2, leaderEpoch=0, isr=[2, 3], zkVersion=0, {lists} 1 from controller 1 epoch 1",
        "[Broker id=2] Leader orders-0 starts at leader epoch 0 from offset 0 with high watermark 0 ISR [2,3] "
        "addingReplicas [] removingReplicas []. Previous leader epoch was -1.",
        *([stop] if is_stopped else []),
        f"{role}controllerEpoch=3, leader=-1, leaderEpoch=3, isr=[3], zkVersion=3, {lists} 3 from controller 2 epoch 3",
        "[Broker id=2] Received LeaderAndIsrRequest with correlation id 3 from controller 2 epoch 3 for partition orders-0 "
        "(last update controller epoch 3) but cannot become follower since the new leader -1 is unavailable.",
        "[Broker id=2] Completed LeaderAndIsr request correlationId 3 from controller 2 epoch 3 for the become-follower "
        "transition for partition orders-0 with leader -1",
    )
    events = parsed(*((line, STATE_CHANGE) for line in lines), broker=2)
    stayed = of(events, EventKind.STAYED_LEADER, "topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch")
    assert stayed == ([] if is_stopped else [("orders", 0, 2, 0, [2, 3], 3)])
    assert of(events, EventKind.BECAME_FOLLOWER, "topic") == []


def test_a_rebalance_names_the_broker_and_how_much_it_gets_back() -> None:
    """auto-balance: broker 2 is down, then back and not in sync, then in sync."""
    found = of(recorded("auto-balance"), EventKind.LEADER_REBALANCE, "node", "broker_id", "count", "detail")
    assert set(found) == {
        ("broker-1", 2, 0, "none of them can be led by it"),
        ("broker-1", 2, 1, "elect the preferred leader of orders-1"),
    }
    assert found[-1][2] == 1


def test_an_election_that_somebody_has_requested_is_no_rebalance() -> None:
    """Even if the controller has just looked for imbalance."""
    starting = "[Controller id=1] Starting replica leader election (PREFERRED) for partitions orders-1 triggered by "
    lines = ("[Controller id=1] Leader imbalance ratio for broker 2 is 0.0", f"{starting}AdminClientTriggered")
    assert of(parsed(*((line, CONTROLLER) for line in lines)), EventKind.LEADER_REBALANCE, "broker_id") == []


def test_a_line_of_neither_a_controller_nor_a_broker_is_passed_over() -> None:
    assert parsed(("[Observer id=1] Changed partition orders-0", STATE_CHANGE)) == []


def test_an_election_that_finds_nobody_is_a_failed_state_change() -> None:
    failed = of(recorded("kill-one-by-one-unclean"), EventKind.STATE_CHANGE_FAILED, "topic", "partition", "state", "error")
    assert failed == [("orders", 0, "OnlinePartition", "StateChangeFailedError")]
