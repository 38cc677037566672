"""Requests between brokers and their results, as the brokers' state-change.log shows them: one event each."""

import pytest

from kcsim.brokers.apache_kafka.log_feed.log_events import LogEvent
from kcsim.eventlog.events import EventKind
from tests.brokers.apache_kafka.log_feed.recorded import CONTROLLER, STATE_CHANGE, of, parsed, recorded

AS_CONTROLLER = "[Controller id=1 epoch=1] "
STATE = "PartitionState(controllerEpoch=1, leader=2, leaderEpoch=4, isr={isr}, zkVersion=9, replicas=1,2,3, {rest})"
LAI = (
    "LeaderAndIsrPartitionState(topicName='orders', partitionIndex=0, controllerEpoch=7, leader=2, leaderEpoch=4, "
    "isr=[2, 3], {version}=9, replicas=[1, 2, 3], addingReplicas=[], removingReplicas=[], isNew=false)"
)


def requests(events: list[LogEvent], *columns: str) -> list[object]:
    return of(events, EventKind.REQUEST_SENT, "broker_id", "event", "count", *columns)


def test_a_returning_broker_is_sent_who_is_alive_and_then_its_partitions() -> None:
    """kill-controller: the last part is broker 1's return to controller 3."""
    events = recorded("kill-controller")
    to_it = of(events, EventKind.REQUEST_SENT, "event", "count", "detail", node="broker-3", broker_id=1)
    assert [(event, count) for event, count, _ in to_it] == [
        ("UpdateMetadata", 3),
        ("LeaderAndIsr", 3),
        ("UpdateMetadata", 3),
    ]
    assert to_it[0][2] == "3 partitions; 3 brokers are alive"
    assert to_it[1][2].startswith("orders-0: leader 2, leader epoch 2, ISR [2, 3]; ")


def test_a_partition_that_is_new_is_reported_as_new() -> None:
    first = of(recorded("kill-leader"), EventKind.REQUEST_SENT, "detail", event="LeaderAndIsr", broker_id=2)[0]
    assert first.startswith("orders-0: leader 1, leader epoch 0, ISR [1, 2, 3], new; ")


def test_every_request_is_answered_as_often_as_it_was_sent() -> None:
    """shutdown-leader: no broker dies, so no request is lost."""
    events = recorded("shutdown-leader")
    sent = sorted(of(events, EventKind.REQUEST_SENT, "broker_id", "event"))
    assert sorted(of(events, EventKind.RESPONSE_RECEIVED, "broker_id", "event")) == sent
    assert {event for _, event in sent} == {"LeaderAndIsr", "UpdateMetadata", "StopReplica"}


def test_an_answer_names_the_partitions_that_were_refused() -> None:
    """A broker that already leads under this epoch answers STALE_CONTROLLER_EPOCH. Source: docs/kafka/logging.md B10."""
    events = recorded("kill-controller")
    refused = of(events, EventKind.RESPONSE_RECEIVED, "broker_id", "count", "detail", event="LeaderAndIsr", count=3)
    every = "; ".join(f"orders-{partition}: STALE_CONTROLLER_EPOCH" for partition in range(3))
    assert sorted(refused) == [(2, 3, every), (3, 3, every)]


@pytest.mark.parametrize(("line", "alive"), [("New broker startup callback for 4", 3), ("Broker failure callback for 2", 1)])
def test_who_is_alive_changes_when_the_controller_takes_note_of_it(line: str, alive: int) -> None:
    events = parsed(
        ("[Controller id=1] Currently active brokers in the cluster: Set(1, 2)", CONTROLLER),
        (f"[Controller id=1] {line}", CONTROLLER),
        (f"{AS_CONTROLLER}Sending UpdateMetadata request to brokers HashSet(1) for 0 partitions", STATE_CHANGE),
    )
    assert requests(events, "detail") == [(1, "UpdateMetadata", 0, f"no partitions; {alive} brokers are alive")]


def test_up_to_2_5_the_lines_of_a_request_are_counted() -> None:
    """These versions log no summary of a request; answers, written by other threads, may stand between the lines.

    Source: docs/kafka/logging.md C6, C8, C12.
    """
    state = STATE.format(isr="2,3", rest="isNew=false")
    metadata = STATE.format(isr="[2, 3]", rest="offlineReplicas=[1]")
    lines = [
        f"Sending become-follower LeaderAndIsr request {state} to broker 1 for partition orders-0",
        "Received response {error_code=0} for request UPDATE_METADATA with correlation id 3 sent to broker "
        "127.0.0.1:9092 (id: 3 rack: null)",
        f"Sending become-follower LeaderAndIsr request {state} to broker 1 for partition orders-1",
        f"Sending become-leader LeaderAndIsr request {state} to broker 2 for partition orders-0",
        f"Sending UpdateMetadata request {metadata} to brokers Set(1, 2) for partition orders-0",
    ]
    events = parsed(*((AS_CONTROLLER + line, STATE_CHANGE) for line in lines))
    assert requests(events) == [
        (1, "LeaderAndIsr", 2),
        (2, "LeaderAndIsr", 1),
        (1, "UpdateMetadata", 1),
        (2, "UpdateMetadata", 1),
    ]
    assert of(events, EventKind.RESPONSE_RECEIVED, "broker_id", "event") == [(3, "UpdateMetadata")]


def test_an_answer_with_an_error_names_it() -> None:
    line = "Received response UpdateMetadataResponseData(errorCode=77) for request UPDATE_METADATA with correlation id 3 "
    events = parsed((f"{AS_CONTROLLER}{line}sent to broker 127.0.0.1:9092 (id: 3 rack: null)", STATE_CHANGE))
    assert of(events, EventKind.RESPONSE_RECEIVED, "broker_id", "error") == [(3, "STALE_BROKER_EPOCH")]


def test_a_broker_that_cannot_be_reached_is_a_request_that_failed() -> None:
    lost = "\njava.io.IOException: Connection to 127.0.0.1:9093 (id: 2 rack: null) failed."
    line = (
        f"[RequestSendThread controllerId=1] Controller 1's connection to broker 127.0.0.1:9093 (id: 2 rack: null) "
        f"was unsuccessful{lost}"
    )
    failed = of(parsed((line, "kafka.controller.RequestSendThread")), EventKind.REQUEST_FAILED, "node", "broker_id", "error")
    assert failed == [("broker-1", 2, "NETWORK_EXCEPTION")]


# --- state changes on a broker --------------------------------------------------------------------------------------------


def test_a_replica_is_what_the_request_asked_of_it() -> None:
    """kill-leader: broker 3 leads orders-1 after broker 2."""
    columns = ("leader", "leader_epoch", "controller_epoch", "isr", "replicas", "zk_version")
    found = of(recorded("kill-leader"), EventKind.BECAME_LEADER, *columns, node="broker-3", partition=1)
    assert found == [(3, 1, 1, [3, 1], [2, 3, 1], 1)]


def test_a_replica_without_a_living_leader_follows_nobody() -> None:
    """kill-controller: for a while orders-0 has no leader; the brokers still log that they have completed the request."""
    epochs = of(recorded("kill-controller"), EventKind.BECAME_FOLLOWER, "leader_epoch", node="broker-3", partition=0)
    assert epochs == [0, 2]


def test_what_a_broker_knows_already_changes_nothing() -> None:
    """kill-controller: the new controller first sends the old states once more."""
    assert of(recorded("kill-controller"), EventKind.BECAME_LEADER, "leader_epoch", node="broker-2", partition=1) == [0, 1]


WORDINGS = {
    "2.6 to 3.2": "Leader orders-0 starts at leader epoch 4 from offset 0 with high watermark 0 ISR [2,3] addingReplicas [] "
    "removingReplicas []. Previous leader epoch was 3.",
    "3.3 and newer": "Leader orders-0 with topic id Some(x) starts at leader epoch 4 from offset 0 with partition epoch 9, "
    "high watermark 0, ISR [2,3], adding replicas [] and removing replicas []. Previous leader epoch was 3.",
    "up to 2.5": "Completed LeaderAndIsr request correlationId 5 from controller 1 epoch 7 for the become-leader transition "
    "for partition orders-0",
}


@pytest.mark.parametrize("wording", WORDINGS.values(), ids=WORDINGS)
@pytest.mark.parametrize("version", ["zkVersion", "partitionEpoch"])
def test_a_leader_is_reported_once_in_the_wording_of_each_version(wording: str, version: str) -> None:
    lines = [
        f"Received LeaderAndIsr request {LAI.format(version=version)} correlation id 5 from controller 1 epoch 7",
        wording,
        WORDINGS["up to 2.5"],
    ]
    events = parsed(*((f"[Broker id=2] {line}", STATE_CHANGE) for line in lines), broker=2)
    found = of(events, EventKind.BECAME_LEADER, "node", "topic", "partition", "leader_epoch", "isr", "zk_version")
    assert found == [("broker-2", "orders", 0, 4, [2, 3], 9)]


def test_up_to_2_5_a_stop_is_reported_by_the_line_that_begins_it() -> None:
    line = "[Broker id=2] Handling stop replica (delete=true) for partition orders-0"
    assert of(parsed((line, STATE_CHANGE), broker=2), EventKind.REPLICA_STOPPED, "node", "partition", "detail") == [
        ("broker-2", 0, "deleted")
    ]
