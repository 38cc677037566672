"""Sentences about partitions (elections, ISR changes, reassignments, deletions, requests), and events that are a detail."""

import io

import pytest

from kcsim.eventlog.events import Event, EventFields, EventKind
from kcsim.scenarios.views.narration.event_description import action_text
from kcsim.scenarios.views.narration.timeline import LIKE_EVENTS_SHOWN, ConsoleTimeline, console_on
from kcsim.scenarios.views.narration.topic_sentences import TOPIC_SENTENCES, is_detail
from tests.scenarios.evaluated_log import EvaluatedLog

ORDERS = EventFields(topic="orders", partition=0)

CASES: list[tuple[EventKind, EventFields, str]] = [
    (
        EventKind.LEADER_ELECTION,
        {**ORDERS, "leader": 2, "leader_epoch": 4, "isr": [2, 1], "detail": "leader 2: first of the assignment [3, 2, 1] …"},
        "elects for orders-0: leader 2: first of the assignment [3, 2, 1] …; leader epoch 4, ISR [2, 1]",
    ),
    (
        EventKind.LEADER_ELECTION,
        {**ORDERS, "rule": "Offline", "detail": "no leader: no replica of the assignment [3] is alive and in the ISR [3]"},
        "elects for orders-0: no leader: no replica of the assignment [3] is alive and in the ISR [3]",
    ),
    (
        EventKind.STATE_CHANGE_FAILED,
        {**ORDERS, "error": "StateChangeFailedError", "detail": "no leader under OfflinePartitionLeaderElectionStrategy"},
        "cannot change the state: orders-0: no leader under OfflinePartitionLeaderElectionStrategy",
    ),
    (
        EventKind.STATE_CHANGE_FAILED,
        {**ORDERS, "error": "IllegalStateException", "detail": "orders-0 should be in one of … before moving to …"},
        "cannot change the state: orders-0 should be in one of … before moving to …",
    ),
    (
        EventKind.REPLICA_REMOVED_FROM_ISR,
        {**ORDERS, "broker_id": 3, "leader": -1, "leader_epoch": 5, "isr": [2], "rule": "a replica that goes offline …"},
        "takes broker-3 out of the ISR of orders-0: leader nobody, leader epoch 5, ISR [2] (a replica that goes offline …)",
    ),
    (
        EventKind.LEADER_EPOCH_BUMPED,
        {**ORDERS, "leader": 2, "leader_epoch": 6, "rule": "a changed replica list needs a new leader epoch"},
        "raises the leader epoch of orders-0 to 6: a changed replica list needs a new leader epoch",
    ),
    (
        EventKind.PARTITION_REASSIGNMENT,
        {**ORDERS, "step": "started", "detail": "reassignment of orders-0 to [4, 5] started: …"},
        "reassignment of orders-0 to [4, 5] started: …",
    ),
    (
        EventKind.TOPIC_DELETION,
        {"topic": "orders", "step": "completed", "detail": "deletion of topic orders completed: its name is free again"},
        "deletion of topic orders completed: its name is free again",
    ),
    (
        EventKind.CONTROLLED_SHUTDOWN,
        {"broker_id": 2, "step": "answered", "detail": "broker 2 still leads orders-0"},
        "controlled shutdown of broker-2: answered: broker 2 still leads orders-0",
    ),
    (
        EventKind.LEADER_REBALANCE,
        {"broker_id": 2, "rule": "more than 10 % …", "inputs": "1 of 4", "detail": "elect the preferred leader of orders-0"},
        "checks whether broker-2 leads its share: more than 10 % … (1 of 4): elect the preferred leader of orders-0",
    ),
    (
        EventKind.REQUEST_SENT,
        {"broker_id": 2, "event": "StopReplica", "count": 1, "detail": "orders-0: leader epoch 4, delete"},
        "sends broker-2 StopReplica: orders-0: leader epoch 4, delete",
    ),
    (EventKind.REQUEST_RECEIVED, {"broker_id": 1, "event": "StopReplica"}, "receives StopReplica from broker-1"),
    (
        EventKind.REQUEST_FAILED,
        {
            "broker_id": 2,
            "event": "LeaderAndIsr",
            "error": "NETWORK_EXCEPTION",
            "detail": "no connection; tried again in 100 ms",
        },
        "gets no LeaderAndIsr through to broker-2 (NETWORK_EXCEPTION): no connection; tried again in 100 ms",
    ),
    (
        EventKind.REQUEST_FAILED,
        {"broker_id": 2, "error": "NETWORK_EXCEPTION", "detail": "connection refused"},
        "does not reach broker-2 (NETWORK_EXCEPTION): connection refused",
    ),
    (
        EventKind.REQUEST_ABANDONED,
        {"broker_id": 2, "count": 3, "rule": "broker 2 is removed: its queue goes with it", "detail": "never sent: …"},
        "gives up 3 requests to broker-2: broker 2 is removed: its queue goes with it",
    ),
    (
        EventKind.REQUEST_REFUSED,
        {
            "event": "LeaderAndIsr",
            "error": "STALE_CONTROLLER_EPOCH",
            "controller_epoch": 1,
            "detail": "the highest known controller epoch is 2",
        },
        "refuses LeaderAndIsr (STALE_CONTROLLER_EPOCH): the highest known controller epoch is 2",
    ),
    (
        EventKind.REQUEST_REFUSED,
        {"event": "Fetch", "broker_id": 4, "error": "FENCED_LEADER_EPOCH", "detail": "no longer fetched: orders-0"},
        "is refused by broker-4 as a follower (FENCED_LEADER_EPOCH): no longer fetched: orders-0",
    ),
    (
        EventKind.BECAME_LEADER,
        {**ORDERS, "leader_epoch": 4, "isr": [2, 1]},
        "leads orders-0 from leader epoch 4 on, ISR [2, 1]",
    ),
    (EventKind.BECAME_LEADER, {"count": 4000, "detail": "leads 4000 partitions"}, "leads 4000 partitions"),
    (EventKind.REPLICA_STOPPED, {**ORDERS, "detail": "deleted"}, "stops its replica of orders-0: deleted"),
    (
        EventKind.REPLICA_STOPPED,
        {"count": 300, "detail": "300 replicas, 0 of them deleted"},
        "stops 300 replicas, 0 of them deleted",
    ),
    (
        EventKind.ISR_EXPANDED,
        {**ORDERS, "broker_id": 3, "isr": [2, 1, 3]},
        "takes broker-3, which has caught up, back into the ISR of orders-0: ISR [2, 1, 3]",
    ),
    (
        EventKind.ISR_CHANGE_FAILED,
        {**ORDERS, "error": "BADVERSION", "detail": "ISR stays [2] until the controller decides"},
        "cannot change the ISR of orders-0 (BADVERSION): ISR stays [2] until the controller decides",
    ),
    (
        EventKind.LOG_DIR_FAILED,
        {"count": 4, "detail": "4 replicas are offline"},
        "loses a log directory: 4 replicas are offline",
    ),
]

DETAILS: list[tuple[EventKind, EventFields, str]] = [
    (EventKind.REQUEST_SENT, {"broker_id": 2, "event": "UpdateMetadata"}, "sends broker-2 UpdateMetadata"),
    (EventKind.RESPONSE_RECEIVED, {"broker_id": 2, "event": "LeaderAndIsr"}, "gets an answer from broker-2 to LeaderAndIsr"),
    (
        EventKind.RESPONSE_RECEIVED,
        {"broker_id": 2, "event": "StopReplica", "error": "STALE_BROKER_EPOCH"},
        "gets an answer from broker-2 to StopReplica: STALE_BROKER_EPOCH",
    ),
    (
        EventKind.REQUEST_REFUSED,
        {"event": "LeaderAndIsr", "error": "STALE_CONTROLLER_EPOCH", "detail": "orders-0: STALE_CONTROLLER_EPOCH"},
        "ignores the part of LeaderAndIsr with leader epochs that it already has: orders-0: STALE_CONTROLLER_EPOCH",
    ),
    (EventKind.BECAME_FOLLOWER, {**ORDERS, "leader": 2, "leader_epoch": 4}, "follows broker-2 in orders-0, leader epoch 4"),
    (EventKind.BECAME_FOLLOWER, {"count": 300, "detail": "follows in 300 partitions"}, "follows in 300 partitions"),
    (EventKind.PARTITION_STATE_CHANGE, {"detail": "orders-0 to OnlinePartition"}, "moves orders-0 to OnlinePartition"),
    (
        EventKind.REPLICA_STATE_CHANGE,
        {"detail": "replicas of orders-0 on 5 to NewReplica"},
        "moves replicas of orders-0 on 5 to NewReplica",
    ),
    (EventKind.METRICS, {"data": '{"OfflinePartitionsCount":3}'}, 'metrics: {"OfflinePartitionsCount":3}'),
]


def event_of(kind: EventKind, fields: EventFields) -> Event:
    return Event(seq=0, t_ms=0, node="broker-1", kind=kind, **fields)


@pytest.mark.parametrize(("kind", "fields", "sentence"), CASES)
def test_it_is_described_in_a_sentence(kind: EventKind, fields: EventFields, sentence: str) -> None:
    event = event_of(kind, fields)
    assert (TOPIC_SENTENCES[kind](event), is_detail(event)) == (sentence, False)


@pytest.mark.parametrize(("kind", "fields", "sentence"), DETAILS)
def test_it_is_described_where_every_detail_is_wanted(kind: EventKind, fields: EventFields, sentence: str) -> None:
    event = event_of(kind, fields)
    assert (TOPIC_SENTENCES[kind](event), is_detail(event)) == (sentence, True)


@pytest.mark.parametrize("kind", TOPIC_SENTENCES)
def test_an_event_with_nothing_filled_in_is_described_all_the_same(kind: EventKind) -> None:
    """A trace of an older kcsim may lack columns."""
    assert TOPIC_SENTENCES[kind](event_of(kind, {}))


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (EventKind.ADMIN_ACT, {"op": "start", "target": "broker-1"}, "starts broker-1"),
        (EventKind.ADMIN_ACT, {"op": "reconnect", "target": "broker-1"}, "lets broker-1 reach ZooKeeper again"),
        (EventKind.ADMIN_ACT, {"op": "create", "path": "/controller"}, "creates /controller"),
        (
            EventKind.ADMIN_ACT,
            {"op": "create-topic", "topic": "orders", "detail": "12 partitions, replication factor 3"},
            "creates topic orders: 12 partitions, replication factor 3",
        ),
        (EventKind.ADMIN_ACT, {"op": "delete-topic", "topic": "orders"}, "asks for the deletion of orders"),
        (
            EventKind.ADMIN_ACT,
            {"op": "reassign", **ORDERS, "count": 1, "detail": "orders-0 to [3, 4]"},
            "asks for reassignment: orders-0 to [3, 4]",
        ),
        (
            EventKind.ADMIN_ACT,
            {"op": "list-partition-reassignments"},
            "asks the controller for the reassignments in progress",
        ),
        (EventKind.FAULT, {"fault": "fail-log-dir", "target": "broker-1"}, "breaks a log directory of broker-1"),
    ],
)
def test_what_is_done_from_outside_is_described(kind: EventKind, fields: EventFields, sentence: str) -> None:
    assert action_text(event_of(kind, fields)) == sentence


# --- in the timeline -------------------------------------------------------------------------------------------------------


def shown(story: EvaluatedLog, every_detail: bool) -> list[str]:
    file = io.StringIO()
    timeline = ConsoleTimeline(console_on(file), ("broker-1",), every_detail)
    for event in story.events:
        timeline(event)
    return file.getvalue().splitlines()


@pytest.mark.parametrize(("every_detail", "lines"), [(False, 0), (True, 1)])
def test_a_timeline_leaves_details_out_unless_they_are_wanted(every_detail: bool, lines: int) -> None:
    story = EvaluatedLog()
    story.append("broker-1", EventKind.REQUEST_SENT, event="UpdateMetadata", broker_id=2)
    assert len(shown(story, every_detail)) == lines


def elections(partitions: int) -> EvaluatedLog:
    story = EvaluatedLog()
    cause = story.append("scenario", EventKind.ADMIN_ACT, op="create-topic", topic="orders")
    for partition in range(partitions):
        story.append("broker-1", EventKind.LEADER_ELECTION, cause, topic="orders", partition=partition, detail="leader 1: …")
    return story


def test_of_very_many_like_decisions_the_first_ones_are_shown() -> None:
    """A topic may have 10,000 partitions."""
    lines = shown(elections(10_000), every_detail=False)
    assert len(lines) == 1 + LIKE_EVENTS_SHOWN + 1
    assert lines[-1].endswith("… and so on, for more of them")
    assert len(shown(elections(LIKE_EVENTS_SHOWN), every_detail=False)) == 1 + LIKE_EVENTS_SHOWN
    assert len(shown(elections(100), every_detail=True)) == 1 + 100
