"""Each message is parsed as the version that prints it writes it; unknown values stay unknown and are never guessed."""

import pickle

import pytest

from kcsim.brokers.apache_kafka.log_import.record_parsing import ParsedRecord, read_lines
from kcsim.brokers.apache_kafka.log_lines.log_value_parsers import LoggedState
from kcsim.brokers.apache_kafka.log_lines.messages import (
    AssignmentUpdated,
    BecameFollower,
    BecameLeader,
    BrokerEpochs,
    BrokerNamed,
    BrokersAlive,
    BrokersChanged,
    BrokerSessionEnded,
    ClockRead,
    ControllerAtWork,
    ControllerElected,
    ElectionTriggered,
    IsrChangeTried,
    IsrUpdated,
    LeaderAndIsrReceived,
    LeaderAndIsrSent,
    LeaderEpochRaised,
    Message,
    NoMessage,
    PartitionElected,
    PartitionNew,
    PartitionsAdded,
    ReassignmentElects,
    Registered,
    ReplicaRemoved,
    StateChangeFailed,
    StateSeen,
    TopicDeleted,
    TopicsChanged,
)
from kcsim.vocabulary import BrokerId, ControllerEpoch, ReplicaAssignment, TopicPartition
from tests.brokers.apache_kafka.log_import.lines import CONTROLLER, DELETION, PARTITION, ZK, says
from tests.brokers.apache_kafka.log_import.recordings import RECORDINGS

ORDERS_0, CLICKS_4 = TopicPartition("orders", 0), TopicPartition("clicks", 4)
B1, B2, B3, B4 = BrokerId(1), BrokerId(2), BrokerId(3), BrokerId(4)
E7 = ControllerEpoch(7)
PRE = "[Controller id=1 epoch=7] "
BY_3 = "[Broker id=3] "
STATE = LoggedState(2, 4, (B2, B3), 9, None)
STORED = LoggedState(2, 4, (B2, B3), 9, 7)
SERVER = "kafka.server.KafkaServer"


# --- the controller's decisions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rendering",
    [
        "LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 3), zkVersion=9)",
        "LeaderAndIsr(leader=2, leaderEpoch=4, isr=ArraySeq(2, 3), zkVersion=9)",
        "LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 3), leaderRecoveryState=RECOVERED, zkVersion=9)",
        "LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 3), leaderRecoveryState=RECOVERED, partitionEpoch=9)",
        "LeaderAndIsr(leader=2, leaderEpoch=4, isrWithBrokerEpoch=List(BrokerState(brokerId=2, brokerEpoch=-1), "
        "BrokerState(brokerId=3, brokerEpoch=41)), leaderRecoveryState=RECOVERED, partitionEpoch=9)",
    ],
    ids=["up to 3.1", "another collection", "3.2", "3.3", "3.5"],
)
def test_an_election_in_every_version_s_rendering(rendering: str) -> None:
    message = f"{PRE}Changed partition orders-0 from OfflinePartition to OnlinePartition with state {rendering}"
    assert says(message) == PartitionElected(B1, E7, ORDERS_0, "OfflinePartition", STATE)


@pytest.mark.parametrize(
    ("rendering", "version"),
    [
        ("(Leader:2,ISR:2,3,LeaderEpoch:4,ControllerEpoch:7)", None),
        ("(Leader:2,ISR:2,3,LeaderEpoch:4,ZkVersion:9,ControllerEpoch:7)", 9),
        ("(Leader:2,ISR:2,3,LeaderRecoveryState:RECOVERED,LeaderEpoch:4,ZkVersion:9,ControllerEpoch:7)", 9),
    ],
    ids=["up to 2.6", "2.7", "3.2"],
)
def test_a_removal_from_the_isr_in_every_version_s_rendering(rendering: str, version: int | None) -> None:
    message = (
        f"{PRE}Partition orders-0 state changed to {rendering} after removing replica 1 from the ISR as part of transition "
        "to OfflineReplica"
    )
    assert says(message) == ReplicaRemoved(B1, E7, ORDERS_0, B1, LoggedState(2, 4, (B2, B3), version, 7))


def test_nobody_leads_is_minus_one_and_an_empty_isr_is_none() -> None:
    message = (
        f"{PRE}Partition a-b.c_d-12 state changed to (Leader:-1,ISR:,LeaderEpoch:4,ZkVersion:9,ControllerEpoch:7) after "
        "removing replica 1 from the ISR as part of transition to OfflineReplica"
    )
    assert says(message) == ReplicaRemoved(B1, E7, TopicPartition("a-b.c_d", 12), B1, LoggedState(-1, 4, (), 9, 7))


@pytest.mark.parametrize(
    ("state", "assignment"),
    [
        (
            "PartitionState(controllerEpoch=7, leader=2, leaderEpoch=4, isr=2,3, zkVersion=9, replicas=1,2,3, isNew=false)",
            None,
        ),
        (
            "LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, controllerEpoch=7, leader=2, leaderEpoch=4, "
            "isr=[2, 3], zkVersion=9, replicas=[1, 2, 3], addingReplicas=[3], removingReplicas=[], isNew=false)",
            ReplicaAssignment((B1, B2, B3), (B3,)),
        ),
        (
            "LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, controllerEpoch=7, leader=2, leaderEpoch=4, "
            "isr=[2, 3], partitionEpoch=9, replicas=[1, 2, 3], addingReplicas=[], removingReplicas=[], isNew=false, "
            "leaderRecoveryState=0)",
            ReplicaAssignment((B1, B2, B3)),
        ),
    ],
    ids=["up to 2.3", "2.4", "3.3"],
)
def test_a_request_carries_a_state_in_every_version_s_rendering(state: str, assignment: ReplicaAssignment | None) -> None:
    sent = says(f"{PRE}Sending become-leader LeaderAndIsr request {state} to broker 2 for partition orders-0", level="TRACE")
    assert sent == LeaderAndIsrSent(B1, E7, ORDERS_0, STORED, assignment, receiver=B2, is_new=False)
    received = says(
        f"{BY_3}Received LeaderAndIsr request {state} correlation id 5 from controller 1 epoch 7 for partition orders-0",
        level="TRACE",
    )
    assert received == LeaderAndIsrReceived(B1, E7, ORDERS_0, STORED, assignment, B3)


def test_a_request_of_newer_versions_names_its_partition_itself() -> None:
    state = (
        "LeaderAndIsrPartitionState(topicName='clicks', partitionIndex=4, controllerEpoch=7, leader=2, leaderEpoch=4, "
        "isr=[2, 3], zkVersion=9, replicas=[1, 2, 3], addingReplicas=[], removingReplicas=[], isNew=false)"
    )
    found = says(f"{BY_3}Received LeaderAndIsr request {state} correlation id 5 from controller 1 epoch 7", level="TRACE")
    assert isinstance(found, LeaderAndIsrReceived)
    assert found.tp == CLICKS_4


@pytest.mark.parametrize(
    "state",
    [
        "PartitionState(controllerEpoch=7, leader=2, leaderEpoch=4, isr=[2, 3], zkVersion=9, replicas=[1, 2, 3], "
        "offlineReplicas=[1])",
        "UpdateMetadataPartitionState(topicName='orders', partitionIndex=0, controllerEpoch=7, leader=2, leaderEpoch=4, "
        "isr=[2, 3], zkVersion=9, replicas=[1, 2, 3], offlineReplicas=[1])",
    ],
    ids=["up to 2.3", "2.4"],
)
def test_what_brokers_cache_of_a_state(state: str) -> None:
    message = (
        f"{BY_3}Cached leader info {state} for partition orders-0 in response to UpdateMetadata request sent by controller "
        "1 epoch 7 with correlation id 13"
    )
    assert says(message, level="TRACE") == StateSeen(B1, E7, ORDERS_0, STORED, None, B3)
    old = says(f"{PRE}Sending UpdateMetadata request {state} to brokers Set(1, 3) for partition orders-0", level="TRACE")
    assert old == StateSeen(B1, E7, ORDERS_0, STORED, None)


@pytest.mark.parametrize(
    ("assignment_text", "assignment"),
    [
        (
            "replica assignment ReplicaAssignment(replicas=4,1,2, addingReplicas=4, removingReplicas=1)",
            ReplicaAssignment((B4, B1, B2), (B4,), (B1,)),
        ),
        ("assigned replica list 1,2", ReplicaAssignment((B1, B2))),
    ],
    ids=["2.4", "up to 2.3"],
)
def test_the_request_after_a_reassignment(assignment_text: str, assignment: ReplicaAssignment) -> None:
    state = "(Leader:2,ISR:2,3,LeaderEpoch:4,ZkVersion:9,ControllerEpoch:7)"
    sent = (
        f"Sent LeaderAndIsr request {state} with new {assignment_text} to leader -1 for partition being reassigned orders-0"
    )
    assert says(f"{PRE}{sent}") == StateSeen(B1, E7, ORDERS_0, STORED, assignment)


def test_a_change_that_failed_has_its_reason_on_the_next_line() -> None:
    (found,) = read_lines(
        [
            f"[2021-05-04 11:02:10,541] ERROR {PRE}Controller 1 epoch 7 failed to change state for partition audit-2 from "
            "OfflinePartition to OnlinePartition (state.change.logger)\n",
            "kafka.common.StateChangeFailedException: Failed to elect leader for partition audit-2\n",
            "\tat kafka.controller.ZkPartitionStateMachine.doElect(PartitionStateMachine.scala:424)\n",
        ]
    )
    assert isinstance(found, ParsedRecord)
    error = "kafka.common.StateChangeFailedException: Failed to elect leader for partition audit-2"
    tp = TopicPartition("audit", 2)
    assert found.message == StateChangeFailed(B1, E7, tp, "OfflinePartition", "OnlinePartition", error)


@pytest.mark.parametrize(
    ("message", "logger", "expected"),
    [
        (
            f"{PRE}Changed partition orders-0 state from NonExistentPartition to NewPartition with assigned replicas 1,2,3",
            "state.change.logger",
            PartitionNew(B1, E7, ORDERS_0, (B1, B2, B3)),
        ),
        (
            "Controller 1 epoch 7 changed partition [orders,0] state from NonExistentPartition to NewPartition with "
            "assigned replicas 1,2",
            "state.change.logger",
            PartitionNew(B1, E7, ORDERS_0, (B1, B2)),
        ),
        (
            "Controller 1 epoch 7 changed partition orders-0 state from OnlinePartition to OfflinePartition",
            "state.change.logger",
            ControllerAtWork(B1, E7),
        ),
        (
            f"{PRE}Changed state of replica 1 for partition orders-0 from OnlineReplica to OfflineReplica",
            "state.change.logger",
            ControllerAtWork(B1, E7),
        ),
        ("[Controller id=1] Mark replicas orders-0 on broker 2 as offline", "state.change.logger", NoMessage.IGNORED),
        (
            "[Controller id=1] 1 successfully elected as the controller. Epoch incremented to 42 and epoch zk version is "
            "now 3",
            CONTROLLER,
            ControllerElected(B1, ControllerEpoch(42), 3),
        ),
        ("[Controller id=1] 1 successfully elected as the controller", CONTROLLER, BrokerNamed(B1)),
        ("[Controller id=1] Epoch incremented to 42", CONTROLLER, ControllerElected(B1, ControllerEpoch(42), None)),
        (
            "[Controller id=1] Newly added brokers: 4, deleted brokers: 2,3, bounced brokers: , all live brokers: 1,4",
            CONTROLLER,
            BrokersChanged(B1, (B4,), (B2, B3), (), (B1, B4)),
        ),
        (
            "[Controller id=1] Newly added brokers: , deleted brokers: 2, all live brokers: 1,3",
            CONTROLLER,
            BrokersChanged(B1, (), (B2,), (), (B1, B3)),
        ),
        (
            "[Controller id=1] Updated broker epochs cache: HashMap(1 -> 26, 3 -> 62)",
            CONTROLLER,
            BrokerEpochs(B1, {B1: 26, B3: 62}, False),
        ),
        (
            "[Controller id=1] Initialized broker epochs cache: Map(1 -> 26)",
            CONTROLLER,
            BrokerEpochs(B1, {B1: 26}, True),
        ),
        (
            "[Controller id=1] Currently active brokers in the cluster: Set(1, 2)",
            CONTROLLER,
            BrokersAlive(B1, (B1, B2)),
        ),
        (
            "[Controller id=1] New topics: [Set(orders)], deleted topics: [HashSet(a, b)], new partition replica assignment "
            "[Set(TopicIdReplicaAssignment(orders,Some(4Wm0xXHvQp2Bc3yR1dZxAA),Map(orders-0 -> ReplicaAssignment("
            "replicas=1,2, addingReplicas=, removingReplicas=))))]",
            CONTROLLER,
            TopicsChanged(B1, {ORDERS_0: ReplicaAssignment((B1, B2))}, ("a", "b"), ("orders",)),
        ),
        (
            "[Controller id=1] New topics: [Set(orders)], deleted topics: [Set()], new partition replica assignment "
            "[Map(orders-0 -> Vector(1, 2))]",
            CONTROLLER,
            TopicsChanged(B1, {ORDERS_0: ReplicaAssignment((B1, B2))}, (), ("orders",)),
        ),
        (
            "[Controller id=1] New partitions to be added Map(clicks-4 -> ReplicaAssignment(replicas=2, addingReplicas=, "
            "removingReplicas=))",
            CONTROLLER,
            PartitionsAdded(B1, {CLICKS_4: ReplicaAssignment((B2,))}),
        ),
        (
            "[Controller id=1] Successfully updated assignment of partition orders-0 to ReplicaAssignment(replicas=4,1, "
            "addingReplicas=4, removingReplicas=1)",
            CONTROLLER,
            AssignmentUpdated(B1, ORDERS_0, ReplicaAssignment((B4, B1), (B4,), (B1,))),
        ),
        (
            "[Controller id=1] Updated leader epoch for partition orders-0 to 5, zkVersion=10",
            CONTROLLER,
            LeaderEpochRaised(B1, ORDERS_0, 5, 10),
        ),
        (
            "[Controller id=1] Updated leader epoch for partition orders-0 to 5",
            CONTROLLER,
            LeaderEpochRaised(B1, ORDERS_0, 5, None),
        ),
        (
            "[Controller id=1] Starting replica leader election (PREFERRED) for partitions clicks-4,orders-0 triggered by "
            "AutoTriggered",
            CONTROLLER,
            ElectionTriggered(B1, "PREFERRED", "AutoTriggered", (CLICKS_4, ORDERS_0)),
        ),
        (
            "[Controller id=1] Leader 1 for partition orders-0 being reassigned, is not in the new list of replicas 4,2. "
            "Re-electing leader",
            CONTROLLER,
            ReassignmentElects(B1, ORDERS_0, B1),
        ),
        (
            "[Controller id=1] Leader 1 for partition orders-0 being reassigned, is already in the new list of replicas 1,2 "
            "and is alive",
            CONTROLLER,
            BrokerNamed(B1),
        ),
        ("[Topic Deletion Manager 1] Deletion of topic a-b successfully completed", DELETION, TopicDeleted(B1, "a-b")),
        ("[Topic Deletion Manager 1], Deletion of topic a successfully completed", DELETION, TopicDeleted(B1, "a")),
        ("[Topic Deletion Manager 1] Deletion of topic a (re)started", DELETION, BrokerNamed(B1)),
        ("[Controller id=1] Error while moving some replicas to OfflineReplica state", CONTROLLER, BrokerNamed(B1)),
        ("[Controller id=1] A sentence of a version to come", CONTROLLER, NoMessage.UNKNOWN),
        (f"{PRE}Changed partition orders to OnlinePartition with a new word", "state.change.logger", NoMessage.UNKNOWN),
        (f"{PRE}Partition orders-0 state changed to something else", "state.change.logger", NoMessage.UNKNOWN),
        ("[Broker id=3] A sentence of a version to come", "state.change.logger", NoMessage.UNKNOWN),
        ("no prefix at all", "state.change.logger", NoMessage.UNKNOWN),
    ],
)
def test_what_the_controller_says(message: str, logger: str, expected: Message | NoMessage) -> None:
    assert says(message, logger) == expected


# --- brokers ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        "starts at leader epoch 4 from offset 12 with high watermark 10 ISR [2,3] addingReplicas [] removingReplicas []. "
        "Previous leader epoch was 3.",
        "with topic id Some(4Wm0xXHvQp2Bc3yR1dZxAA) starts at leader epoch 4 from offset 12 with partition epoch 9, high "
        "watermark 10, ISR [2,3], adding replicas [] and removing replicas []. Previous leader epoch was 3.",
        "with topic id Some(4Wm0xXHvQp2Bc3yR1dZxAA) starts at leader epoch 4 from offset 12 with partition epoch 9, high "
        "watermark 10, ISR [2,3], adding replicas [] and removing replicas [] . Previous leader None and previous leader "
        "epoch was 3.",
    ],
    ids=["2.6", "3.3", "3.6"],
)
def test_a_leader_s_beginning(rest: str) -> None:
    assert says(f"{BY_3}Leader orders-0 {rest}") == BecameLeader(B3, ORDERS_0, 4, 12, 10)


@pytest.mark.parametrize(
    "rest",
    [
        "starts at leader epoch 4 from offset 12 with high watermark 10. Previous leader epoch was 3.",
        "starts at leader epoch 4 from offset 12 with partition epoch 9 and high watermark 10. Current leader is 2. "
        "Previous leader epoch was 3.",
        "starts at leader epoch 4 from offset 12 with partition epoch 9 and high watermark 10. Current leader is 2. "
        "Previous leader Some(1) and previous leader epoch was 3.",
    ],
    ids=["2.6", "3.4", "3.6"],
)
def test_a_follower_s_beginning(rest: str) -> None:
    assert says(f"{BY_3}Follower orders-0 {rest}") == BecameFollower(B3, ORDERS_0, 4, 12, 10)


@pytest.mark.parametrize(
    ("rest", "mark"),
    [
        ("orders-0 starts at leader epoch 4 from offset 12 with high watermark 10. Previous leader epoch was 3.", 10),
        ("orders-0 starts at Leader Epoch 4 from offset 12. Previous Leader Epoch was: -1", None),
    ],
    ids=["2.4", "up to 2.3"],
)
def test_a_leader_s_beginning_in_server_log_before_2_6(rest: str, mark: int | None) -> None:
    assert says(f"[Partition orders-0 broker=3] {rest}", PARTITION) == BecameLeader(B3, ORDERS_0, 4, 12, mark)


@pytest.mark.parametrize(
    "rest",
    [
        "ISR updated to [1,2] and zkVersion updated to [10]",
        "ISR updated to 1,2 and version updated to [10]",
        "ISR updated to 1,2 and version updated to 10",
        "ISR updated to 1,2 (under-min-isr) and version updated to 10",
        "ISR updated to 1,2  and version updated to 10",
    ],
    ids=["up to 2.7", "2.8", "3.1", "3.5 under min", "3.5"],
)
def test_a_leader_s_own_change_in_every_version_s_words(rest: str) -> None:
    assert says(f"[Partition orders-0 broker=1] {rest}", PARTITION) == IsrUpdated(B1, ORDERS_0, (B1, B2), 10)


@pytest.mark.parametrize(
    "rest",
    [
        "Shrinking ISR from 1,2,3 to 1,2",
        "Shrinking ISR from 1,2,3 to 1,2. Leader: (highWatermark: 10, endOffset: 12). Out of sync replicas: (brokerId: 3, "
        "endOffset: 9).",
    ],
    ids=["up to 2.2", "2.3"],
)
def test_an_attempt_to_change_the_isr_is_not_yet_a_change(rest: str) -> None:
    assert says(f"[Partition orders-0 broker=1] {rest}", PARTITION) == IsrChangeTried(B1, ORDERS_0, (B1, B2, B3), (B1, B2))


@pytest.mark.parametrize(
    ("message", "logger", "expected"),
    [
        (
            "Registered broker 2 at path /brokers/ids/2 with addresses: PLAINTEXT://h:9092,SSL://h:9093, czxid (broker "
            "epoch): 25",
            ZK,
            Registered(B2, 25, ("PLAINTEXT://h:9092", "SSL://h:9093")),
        ),
        (
            "Registered broker 2 at path /brokers/ids/2 with addresses: ArrayBuffer(EndPoint(h,9092,ListenerName(PLAINTEXT),"
            "PLAINTEXT))",
            ZK,
            Registered(B2, None, ()),
        ),
        ("[ZooKeeperClient Kafka server] Closed.", "kafka.zookeeper.ZooKeeperClient", BrokerSessionEnded(False)),
        ("[ZooKeeperClient] Closed.", "kafka.zookeeper.ZooKeeperClient", BrokerSessionEnded(False)),
        ("[ZooKeeperClient Kafka server] Session expired.", "kafka.zookeeper.ZooKeeperClient", BrokerSessionEnded(True)),
        ("[ZooKeeperClient Kafka server] Closing.", "kafka.zookeeper.ZooKeeperClient", NoMessage.IGNORED),
        ("[KafkaServer id=2] started", SERVER, BrokerNamed(B2)),
        ("starting", SERVER, NoMessage.IGNORED),
        ("Kafka startTimeMs: 1795236091329", "org.apache.kafka.common.utils.AppInfoParser", ClockRead(1_795_236_091_329)),
        ("[Partition orders-0 broker=1] Cached zkVersion 9 not equal to that in zookeeper", PARTITION, BrokerNamed(B1)),
        ("[Partition orders-0 broker=1] A sentence of a version to come", PARTITION, NoMessage.UNKNOWN),
        ("[Partition orders broker=1] ISR updated to 1 and version updated to 3", PARTITION, NoMessage.UNKNOWN),
        ("Started socket server acceptors", "kafka.network.SocketServer", NoMessage.UNKNOWN),
    ],
)
def test_what_a_server_says(message: str, logger: str, expected: Message | NoMessage) -> None:
    assert says(message, logger) == expected


def test_what_was_read_can_be_sent_to_another_process() -> None:
    """Spark workers read with the same functions."""
    path = RECORDINGS / "reassign-leader-out" / "broker-1" / "controller.log"
    found = list(read_lines(path.read_text().splitlines()))
    assert pickle.loads(pickle.dumps(found)) == found
