"""Which event explains an error that a broker answers to a client."""

import pytest

from kcsim.brokers.cluster.error_causes import ErrorCauses
from kcsim.brokers.groups.offsets_topic import partition_for
from kcsim.brokers.wire.answered_errors import ErrorSubject
from kcsim.eventlog.events import EventFields, EventKind
from kcsim.vocabulary import OFFSETS_TOPIC
from tests.eventlog.synthetic_log import SyntheticLog

OFFSETS_PARTITIONS = 50
NODE, OTHER = "broker-1", "broker-2"
ORDERS_0, TOPIC, GROUP = ErrorSubject("orders", 0), ErrorSubject("orders"), ErrorSubject(group="readers")
OF_ORDERS_0 = EventFields(topic="orders", partition=0)
OF_GROUP = EventFields(group="readers")
OF_ITS_PARTITION = EventFields(topic=OFFSETS_TOPIC, partition=partition_for("readers", OFFSETS_PARTITIONS))
NONE = EventFields()

Happened = tuple[str, EventKind, EventFields]


@pytest.mark.parametrize(
    ("error", "subject", "explains", "later"),
    [
        (
            "NOT_LEADER_OR_FOLLOWER",
            ORDERS_0,
            (NODE, EventKind.BECAME_FOLLOWER, OF_ORDERS_0),
            [(OTHER, EventKind.BECAME_FOLLOWER, OF_ORDERS_0), ("broker-3", EventKind.LEADER_ELECTION, OF_ORDERS_0)],
        ),
        ("NOT_LEADER_OR_FOLLOWER", ORDERS_0, (NODE, EventKind.REPLICA_STOPPED, OF_ORDERS_0), []),
        # The broker has not become a follower yet, but another leader is elected: so it soon will.
        (
            "NOT_LEADER_OR_FOLLOWER",
            ORDERS_0,
            ("broker-3", EventKind.LEADER_ELECTION, OF_ORDERS_0),
            [(NODE, EventKind.BECAME_LEADER, EventFields(topic="orders", partition=1))],
        ),
        # One event for thousands of partitions.
        ("NOT_LEADER_OR_FOLLOWER", ORDERS_0, (NODE, EventKind.BECAME_FOLLOWER, EventFields(count=4_000)), []),
        ("FENCED_LEADER_EPOCH", ORDERS_0, (NODE, EventKind.BECAME_LEADER, OF_ORDERS_0), []),
        ("UNKNOWN_LEADER_EPOCH", ORDERS_0, ("broker-3", EventKind.LEADER_ELECTION, OF_ORDERS_0), []),
        ("NOT_ENOUGH_REPLICAS", ORDERS_0, (NODE, EventKind.ISR_SHRUNK, OF_ORDERS_0), []),
        ("LEADER_NOT_AVAILABLE", ORDERS_0, ("broker-3", EventKind.LEADER_ELECTION, OF_ORDERS_0), []),
        (
            "UNKNOWN_TOPIC_OR_PARTITION",
            ORDERS_0,
            ("broker-3", EventKind.TOPIC_DELETION, EventFields(topic="orders")),
            [("broker-3", EventKind.TOPIC_DELETION, EventFields(topic="payments"))],
        ),
        (
            "UNKNOWN_TOPIC_OR_PARTITION",
            TOPIC,
            ("zookeeper", EventKind.ZNODE_CREATED, EventFields(path="/brokers/topics/orders")),
            [("zookeeper", EventKind.ZNODE_CREATED, EventFields(path="/brokers/topics/orders/partitions"))],
        ),
        (
            "UNKNOWN_TOPIC_OR_PARTITION",
            TOPIC,
            (NODE, EventKind.PROCESS_STATE, EventFields(state="running")),
            [(OTHER, EventKind.PROCESS_STATE, EventFields(state="running"))],
        ),
        ("NOT_CONTROLLER", TOPIC, (NODE, EventKind.CONTROLLER_RESIGNED, NONE), [(OTHER, EventKind.ELECTION_LOST, NONE)]),
        ("KAFKA_STORAGE_ERROR", ORDERS_0, (NODE, EventKind.LOG_DIR_FAILED, NONE), []),
        ("OFFSET_OUT_OF_RANGE", ORDERS_0, (OTHER, EventKind.RECORDS_TRUNCATED, OF_ORDERS_0), []),
        ("NOT_COORDINATOR", GROUP, (NODE, EventKind.BECAME_FOLLOWER, OF_ITS_PARTITION), []),
        ("COORDINATOR_LOAD_IN_PROGRESS", GROUP, (NODE, EventKind.BECAME_LEADER, OF_ITS_PARTITION), []),
        ("REBALANCE_IN_PROGRESS", GROUP, (NODE, EventKind.GROUP_REBALANCE, OF_GROUP), []),
        ("UNKNOWN_MEMBER_ID", GROUP, (NODE, EventKind.GROUP_MEMBER_REMOVED, OF_GROUP), []),
        ("INVALID_PARTITIONS", TOPIC, (NODE, EventKind.PROCESS_STATE, EventFields(state="running")), []),
    ],
)
def test_the_latest_event_that_made_the_brokers_view_explains_an_error(
    error: str, subject: ErrorSubject, explains: Happened, later: list[Happened]
) -> None:
    log, causes = SyntheticLog(), ErrorCauses(OFFSETS_PARTITIONS)
    log.append("scenario", EventKind.RUN_STARTED)
    log.append(NODE, EventKind.PROCESS_STATE, state="running")
    log.append(NODE, EventKind.BECAME_LEADER, **OF_ORDERS_0)
    log.append(NODE, EventKind.ELECTION_LOST)
    for node, kind, fields in (explains, *later):
        log.append(node, kind, **fields)
    for event in log.events:
        causes(event)
    assert causes.of(NODE, error, subject) == len(log.events) - 1 - len(later)


def test_what_a_broker_has_not_done_is_explained_by_the_start_of_the_run() -> None:
    causes = ErrorCauses(OFFSETS_PARTITIONS)
    assert causes.of(NODE, "NOT_CONTROLLER", TOPIC) == 0
    assert causes.of_process(NODE) == 0


def test_a_broker_that_is_stopped_closes_its_port_because_of_that() -> None:
    log, causes = SyntheticLog(), ErrorCauses(OFFSETS_PARTITIONS)
    log.append("scenario", EventKind.RUN_STARTED)
    log.append(NODE, EventKind.PROCESS_STATE, state="running")
    stop = log.append("scenario", EventKind.ADMIN_ACT, op="stop", target=NODE)
    log.append("scenario", EventKind.ADMIN_ACT, op="stop", target=OTHER)
    for event in log.events:
        causes(event)
    assert causes.of_process(NODE) == stop
