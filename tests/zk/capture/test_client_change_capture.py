"""Knowledge of a ZooKeeper that is not ours: from the replies to our clients, from their watches, and from reads."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kcsim.eventlog.event_log import EventLog
from kcsim.eventlog.events import Event, EventFields, EventKind, TransactionRef
from kcsim.vocabulary import SessionId, ZkVersion, Zxid
from kcsim.zk.capture.client_change_capture import KNOWN_AT_ONCE, ClientChangeCapture
from kcsim.zk.errors import NoNodeError
from kcsim.zk.operations import (
    ChildrenRead,
    Create,
    Created,
    DataRead,
    Delete,
    Deleted,
    GetChildren,
    GetData,
    ReplyOrError,
    Request,
    SessionState,
    SessionStateChanged,
    Stat,
    Sync,
    Synced,
    WatchEvent,
    WatchKind,
)
from kcsim.zk.ports import Session

OURS = SessionId(0xA1)
OTHER = SessionId(0xB2)
FAULT = 1
ACT = 2
CONTROLLER = "/controller"
REGISTRATION = "/brokers/ids/1"


class Znodes:
    """A session on a ZooKeeper that holds some ephemeral znodes: path -> owner, zxid of creation.

    Args:
        is_behind: whether the member that serves the session has not applied their creation before the session syncs.
    """

    def __init__(self, znodes: Mapping[str, tuple[SessionId, int]], is_behind: bool = False) -> None:
        self._present = znodes
        self._znodes = {} if is_behind else znodes

    async def call(self, requests: list[Request], cause: object = None) -> list[ReplyOrError]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Any) -> ReplyOrError:
        if isinstance(request, Sync):
            self._znodes = self._present
            return Synced(request.path, Zxid(99))
        if isinstance(request, GetChildren):
            children = tuple(path.rpartition("/")[2] for path in self._znodes if path.startswith(f"{request.path}/"))
            return ChildrenRead(request.path, children, None, Zxid(99))
        if request.path not in self._znodes:
            return NoNodeError(request.path)
        return data_read(request.path, *self._znodes[request.path])


def data_read(path: str, owner: SessionId, zxid: int) -> DataRead:
    """Return the reply to a read of an ephemeral znode that was created in transaction `zxid`."""
    stat = Stat(Zxid(zxid), Zxid(zxid), 0, 0, ZkVersion(0), 0, 0, owner, 0, 0, Zxid(zxid))
    return DataRead(path, None, stat, Zxid(99))


@pytest.fixture
def log() -> EventLog:
    log = EventLog(lambda: 0)
    log.append("scenario", EventKind.RUN_STARTED, None, EventFields())
    log.append("scenario", EventKind.FAULT, None, EventFields(fault="pause", target="broker-1"))
    log.append("scenario", EventKind.ADMIN_ACT, None, EventFields(op="delete", path=CONTROLLER))
    return log


@pytest.fixture
def feed(log: EventLog) -> ClientChangeCapture:
    """Return a capture that has received a session of ours and its two ephemeral znodes, created in transactions 5 and 6."""
    feed = ClientChangeCapture(log)
    feed.heard(OURS, Create(REGISTRATION, None, ephemeral=True), Created(REGISTRATION, None, Zxid(5)), 0)
    feed.heard(OURS, Create(CONTROLLER, None, ephemeral=True), Created(CONTROLLER, None, Zxid(6)), 0)
    return feed


def look(feed: ClientChangeCapture, *, is_behind: bool = False, **znodes: tuple[SessionId, int]) -> None:
    """Read a ZooKeeper that holds `controller` and `registration`, as far as they are given."""
    named = {"controller": CONTROLLER, "registration": REGISTRATION}
    looking = feed.look(cast(Session, Znodes({named[name]: znode for name, znode in znodes.items()}, is_behind)))
    with pytest.raises(StopIteration):
        looking.send(None)


def appended(log: EventLog) -> list[tuple[EventKind, str | None, int | None]]:
    """Return the events appended after the fixtures: kind, path, cause."""
    return [(event.kind, event.path, event.cause) for event in log.events[5:]]


def closed(log: EventLog) -> Event:
    (event,) = [event for event in log.events if event.kind is EventKind.SESSION_CLOSED]
    return event


# --- sessions that end -----------------------------------------------------------------------------------------------------


def test_a_session_whose_ephemeral_znodes_are_all_gone_has_expired(log: EventLog, feed: ClientChangeCapture) -> None:
    look(feed)
    assert appended(log) == [
        (EventKind.SESSION_CLOSED, None, None),
        (EventKind.ZNODE_DELETED, CONTROLLER, 5),
        (EventKind.ZNODE_DELETED, REGISTRATION, 5),
    ]
    assert (closed(log).session_id, closed(log).error) == ("0x00000000000000a1", "SESSIONEXPIRED")


def test_after_a_fault_the_first_znode_that_goes_ends_the_session_with_all_of_its_znodes(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    """The watch on /controller fires before the registration has been read. The fault is the cause."""
    feed.ledger.record_session_fault(OURS, FAULT)
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(9)))
    ended = [
        (EventKind.SESSION_CLOSED, None, FAULT),
        (EventKind.ZNODE_DELETED, CONTROLLER, 5),
        (EventKind.ZNODE_DELETED, REGISTRATION, 5),
    ]
    assert appended(log) == ended
    look(feed)
    assert appended(log) == ended


def test_a_session_that_holds_others_still_lives_on(log: EventLog, feed: ClientChangeCapture) -> None:
    """An operator has deleted /controller by hand."""
    look(feed, registration=(OURS, 5))
    assert appended(log) == [(EventKind.ZNODE_DELETED, CONTROLLER, None)]


def test_a_fault_that_the_session_came_through_is_no_sign_of_its_end(log: EventLog, feed: ClientChangeCapture) -> None:
    feed.ledger.record_session_fault(OURS, FAULT)
    feed.noticed(OURS, SessionStateChanged(SessionState.CONNECTED))
    look(feed, registration=(OURS, 5))
    assert appended(log) == [(EventKind.ZNODE_DELETED, CONTROLLER, None)]


def test_a_session_that_its_owner_closed_has_not_expired(log: EventLog, feed: ClientChangeCapture) -> None:
    feed.ledger.record_close(OURS, ACT)
    look(feed)
    assert (closed(log).cause, closed(log).error) == (ACT, None)


def test_a_successor_that_created_the_znode_shows_that_it_was_gone(log: EventLog, feed: ClientChangeCapture) -> None:
    """Between two reads the session ended and another broker was elected."""
    feed.ledger.record_session_fault(OURS, FAULT)
    feed.heard(OTHER, Create(CONTROLLER, None, ephemeral=True), Created(CONTROLLER, None, Zxid(9)), 0)
    assert appended(log) == [
        (EventKind.SESSION_CLOSED, None, FAULT),
        (EventKind.ZNODE_DELETED, CONTROLLER, 5),
        (EventKind.ZNODE_DELETED, REGISTRATION, 5),
        (EventKind.ZNODE_CREATED, CONTROLLER, 0),
    ]


def test_a_successor_that_a_look_finds_shows_it_too(log: EventLog, feed: ClientChangeCapture) -> None:
    feed.ledger.record_session_fault(OURS, FAULT)
    look(feed, controller=(OTHER, 9))
    assert [(kind, path) for kind, path, _ in appended(log)] == [
        (EventKind.SESSION_CLOSED, None),
        (EventKind.ZNODE_DELETED, CONTROLLER),
        (EventKind.ZNODE_DELETED, REGISTRATION),
        (EventKind.ZNODE_CREATED, CONTROLLER),
    ]


def test_a_look_reads_a_bounded_number_of_known_znodes_and_several_looks_read_all(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    """The ZooKeeper of a large cluster has other clients to serve. What has changed is found when its turn comes."""
    others = [f"/brokers/topics/orders/partitions/{number}/state" for number in range(2 * KNOWN_AT_ONCE)]
    for path in others:
        feed.heard(OURS, Create(path, None), Created(path, None, Zxid(7)), 0)
    before = len(log.events)
    for looks in range(1, 4):
        look(feed, controller=(OURS, 6), registration=(OURS, 5))
        assert len(log.events) - before <= looks * KNOWN_AT_ONCE
    assert [(event.kind, event.path) for event in log.events[before:]] == [
        (EventKind.ZNODE_DELETED, path) for path in others
    ]


def test_a_registration_that_is_new_or_gone_does_not_wait_for_its_turn(log: EventLog, feed: ClientChangeCapture) -> None:
    for number in range(2 * KNOWN_AT_ONCE):
        feed.heard(OURS, Create(f"/a/{number}", None), Created(f"/a/{number}", None, Zxid(4)), 0)
    feed.heard(OTHER, Create("/brokers/ids/2", None, ephemeral=True), Created("/brokers/ids/2", None, Zxid(8)), 0)
    look(feed, controller=(OURS, 6), registration=(OURS, 5))
    gone = {event.path for event in log.events if event.kind is EventKind.ZNODE_DELETED}
    assert closed(log).session_id == "0x00000000000000b2"
    assert "/brokers/ids/2" in gone
    assert f"/a/{2 * KNOWN_AT_ONCE - 1}" not in gone


# --- our own writes --------------------------------------------------------------------------------------------------------


def test_a_deletion_of_ours_that_a_watch_reports_before_the_reply_keeps_its_cause(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    deletion = Delete(CONTROLLER)
    feed.sent([deletion], ACT)
    feed.noticed(OURS, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(9)))
    feed.heard(OTHER, deletion, Deleted(CONTROLLER, Zxid(9)), ACT)
    feed.answered([deletion], ACT)
    assert appended(log) == [(EventKind.ZNODE_DELETED, CONTROLLER, ACT)]


def test_a_look_leaves_a_write_under_way_to_its_reply(log: EventLog, feed: ClientChangeCapture) -> None:
    deletion = Delete(CONTROLLER)
    feed.sent([deletion], ACT)
    look(feed, registration=(OURS, 5))
    assert appended(log) == []
    feed.heard(OTHER, deletion, Deleted(CONTROLLER, Zxid(9)), ACT)
    assert appended(log) == [(EventKind.ZNODE_DELETED, CONTROLLER, ACT)]


def test_the_next_look_waits_no_longer(log: EventLog, feed: ClientChangeCapture) -> None:
    """A client that froze after its write was applied does not process a reply."""
    feed.sent([Delete(CONTROLLER)], ACT)
    look(feed, registration=(OURS, 5))
    look(feed, registration=(OURS, 5))
    assert appended(log) == [(EventKind.ZNODE_DELETED, CONTROLLER, None)]


def test_what_a_look_has_reported_is_not_reported_again_by_a_late_reply(log: EventLog, feed: ClientChangeCapture) -> None:
    look(feed, controller=(OTHER, 9), registration=(OURS, 5))
    before = len(log.events)
    feed.heard(OTHER, Create(CONTROLLER, None, ephemeral=True), Created(CONTROLLER, None, Zxid(9)), ACT)
    assert log.events[before:] == []


def test_a_member_that_is_behind_does_not_take_away_what_another_member_has_answered(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    look(feed, is_behind=True, controller=(OURS, 6), registration=(OURS, 5))
    assert appended(log) == []


# --- what is left out ------------------------------------------------------------------------------------------------------


def test_a_late_watch_does_not_take_away_what_came_after_it(log: EventLog, feed: ClientChangeCapture) -> None:
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(4)))
    assert appended(log) == []


def test_a_late_watch_of_an_older_server_does_not_take_away_the_znode_that_replaced_the_watched_one(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    """Servers before 3.9 send no zxid with a watch."""
    feed.heard(OTHER, GetData(CONTROLLER, watch=True), data_read(CONTROLLER, OURS, 6), 0)
    deletion, creation = Delete(CONTROLLER), Create(CONTROLLER, None, ephemeral=True)
    feed.heard(OURS, deletion, Deleted(CONTROLLER, Zxid(9)), ACT)
    feed.heard(OURS, creation, Created(CONTROLLER, None, Zxid(10)), ACT)
    before = len(log.events)
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(-1)))
    assert log.events[before:] == []
    feed.heard(OTHER, GetData(CONTROLLER, watch=True), data_read(CONTROLLER, OURS, 10), 0)
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(-1)))
    assert [(event.kind, event.path) for event in log.events[before:]] == [(EventKind.ZNODE_DELETED, CONTROLLER)]


def test_a_late_read_does_not_take_away_the_znode_that_replaced_the_one_it_found(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    """The creation of the new one was reported between the read and its reply."""
    creation = Create(CONTROLLER, None, ephemeral=True)
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(9)))
    feed.heard(OTHER, creation, Created(CONTROLLER, None, Zxid(10)), ACT)
    before = len(log.events)
    look(feed, controller=(OURS, 6), registration=(OURS, 5))
    assert log.events[before:] == []


def test_what_is_cleaned_up_after_the_run_is_no_part_of_it(log: EventLog, feed: ClientChangeCapture) -> None:
    log.append("scenario", EventKind.RUN_ENDED, 0, EventFields())
    feed.noticed(OTHER, WatchEvent(WatchKind.NODE_DELETED, CONTROLLER, Zxid(9)))
    assert log.events[-1].kind is EventKind.RUN_ENDED


def test_a_watch_on_a_change_that_nobody_has_reported_has_no_cause_rather_than_a_wrong_one(
    log: EventLog, feed: ClientChangeCapture
) -> None:
    log.sink("broker-2").emit(EventKind.WATCH_FIRED, TransactionRef(Zxid(9), CONTROLLER), path=CONTROLLER)
    assert log.events[-1].cause is None
