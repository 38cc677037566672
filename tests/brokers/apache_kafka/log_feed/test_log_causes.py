"""Every event that is read from a log has a cause: the nearest earlier event that can have caused it."""

from typing import Unpack

import pytest

from kcsim.brokers.apache_kafka.log_feed.log_causes import CAUSES, LogCauses
from kcsim.brokers.apache_kafka.log_feed.log_events import LogEvent
from kcsim.eventlog.events import Event, EventFields, EventKind
from tests.brokers.apache_kafka.log_feed.recorded import RECORDINGS, recorded
from tests.brokers.apache_kafka.log_feed.test_log_events import TAKE_OVER

BEGAN = 0
STATE = "/brokers/topics/orders/partitions/0/state"


class Log:
    """An event log, reduced to what the inference of causes reads."""

    def __init__(self) -> None:
        self.causes = LogCauses(BEGAN)
        self.seq = BEGAN

    def has(self, kind: EventKind, node: str = "zookeeper", **fields: Unpack[EventFields]) -> int:
        self.seq += 1
        self.causes.notice(Event(self.seq, 0, node, kind, **fields))
        return self.seq

    def cause_of(self, kind: EventKind, node: str = "broker-1", **fields: Unpack[EventFields]) -> int:
        return self.causes.of(LogEvent(0, node, kind, fields))


def test_a_replica_changes_with_the_state_that_was_written() -> None:
    log = Log()
    log.has(EventKind.ZNODE_CREATED, path=STATE)
    changed = log.has(EventKind.ZNODE_CHANGED, path=STATE)
    log.has(EventKind.ZNODE_CHANGED, path="/brokers/topics/orders/partitions/1/state")
    assert log.cause_of(EventKind.BECAME_LEADER, topic="orders", partition=0) == changed


def test_a_change_of_brokers_follows_a_registration_that_came_or_went() -> None:
    log = Log()
    gone = log.has(EventKind.ZNODE_DELETED, path="/brokers/ids/2")
    log.has(EventKind.ZNODE_CREATED, path="/brokers/topics/orders")
    assert log.cause_of(EventKind.BROKER_CHANGE) == gone


def test_a_failover_follows_the_brokers_own_election() -> None:
    log = Log()
    won = log.has(EventKind.ELECTION_WON, "broker-1")
    log.has(EventKind.ELECTION_WON, "broker-2")
    assert log.cause_of(EventKind.CONTROLLER_FAILOVER, "broker-1", step="Registering handlers") == won


def test_leaders_are_balanced_since_the_scheduler_was_started() -> None:
    """The start of the scheduler is the last step of a failover."""
    log = Log()
    for step in TAKE_OVER:
        last = log.has(EventKind.CONTROLLER_FAILOVER, "broker-1", step=step)
    log.has(EventKind.CONTROLLER_FAILOVER, "broker-2", step=TAKE_OVER[0])
    assert log.cause_of(EventKind.LEADER_REBALANCE, "broker-1", broker_id=2, count=1) == last


def test_answers_follow_their_requests_in_turn() -> None:
    log = Log()
    first, second = (log.has(EventKind.REQUEST_SENT, "broker-1", broker_id=2, event="LeaderAndIsr") for _ in range(2))
    log.has(EventKind.REQUEST_SENT, "broker-1", broker_id=3, event="LeaderAndIsr")
    answers = [log.cause_of(EventKind.RESPONSE_RECEIVED, "broker-1", broker_id=2, event="LeaderAndIsr") for _ in range(2)]
    assert answers == [first, second]


@pytest.mark.parametrize(
    ("brokers", "bounced"),
    [([1], []), ([1, 2], [2])],
    ids=["stopped", "bounced"],
)
def test_what_was_sent_to_a_brokers_former_life_is_never_answered(brokers: list[int], bounced: list[int]) -> None:
    log = Log()
    log.has(EventKind.REQUEST_SENT, "broker-1", broker_id=2, event="LeaderAndIsr")
    log.has(EventKind.BROKER_CHANGE, "broker-1", brokers=brokers, bounced=bounced)
    sent = log.has(EventKind.REQUEST_SENT, "broker-1", broker_id=2, event="LeaderAndIsr")
    assert log.cause_of(EventKind.RESPONSE_RECEIVED, "broker-1", broker_id=2, event="LeaderAndIsr") == sent


def test_a_session_is_suspended_by_what_was_done_last() -> None:
    log = Log()
    log.has(EventKind.FAULT, "scenario", fault="disconnect", target="broker-1")
    server = log.has(EventKind.FAULT, "scenario", fault="kill", target="member-1")
    log.has(EventKind.FAULT, "scenario", fault="kill", target="broker-2")
    assert log.cause_of(EventKind.SESSION_STATE, "broker-1", state="suspended", session_id="0x01") == server


def test_a_session_expires_because_the_server_ended_it() -> None:
    log = Log()
    closed = log.has(EventKind.SESSION_CLOSED, session_id="0x01", error="SESSIONEXPIRED")
    log.has(EventKind.SESSION_CLOSED, session_id="0x02")
    assert log.cause_of(EventKind.SESSION_STATE, state="expired", session_id="0x01") == closed


def test_a_controller_whose_session_expired_resigns_for_that() -> None:
    log = Log()
    log.has(EventKind.ZNODE_DELETED, path="/controller")
    expired = log.has(EventKind.SESSION_STATE, "broker-1", state="expired", session_id="0x01")
    assert log.cause_of(EventKind.CONTROLLER_RESIGNED, controller_id=1, controller_epoch=1) == expired


def test_a_controller_hears_of_a_lost_directory_by_a_notification_or_an_answer() -> None:
    log = Log()
    notified = log.has(EventKind.ZNODE_CREATED, path="/log_dir_event_notification/log_dir_event_0000000000")
    assert log.cause_of(EventKind.LOG_DIR_FAILED, "broker-1", broker_id=2, count=1) == notified
    answered = log.has(EventKind.RESPONSE_RECEIVED, "broker-1", broker_id=2, event="LeaderAndIsr", count=1)
    assert log.cause_of(EventKind.LOG_DIR_FAILED, "broker-1", broker_id=2, count=1) == answered


def test_several_brokers_started_at_once_all_have_their_act() -> None:
    log = Log()
    act = log.has(EventKind.ADMIN_ACT, "scenario", op="stop", target="broker-2, broker-3")
    assert log.cause_of(EventKind.CONTROLLED_SHUTDOWN, step="answered", broker_id=3) == act


def test_what_follows_from_nothing_known_follows_from_the_brokers_start() -> None:
    log = Log()
    assert log.cause_of(EventKind.BROKER_CHANGE, "broker-1") == BEGAN
    started = log.has(EventKind.PROCESS_STATE, "broker-1", state="running")
    log.has(EventKind.PROCESS_STATE, "broker-2", state="running")
    assert log.cause_of(EventKind.BROKER_CHANGE, "broker-1") == started


def test_every_kind_that_logs_show_has_a_cause() -> None:
    shown = {event.kind for recording in RECORDINGS.iterdir() if recording.is_dir() for event in recorded(recording.name)}
    assert shown <= CAUSES.keys()
