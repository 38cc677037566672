"""Writes read from an event log: the writer, its role, whether the write was fenced, and the sessions that ended."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcsim.eventlog.events import Event, EventKind
from kcsim.zk.capture.write_comparison.write_log import WriteLog
from kcsim.zk.capture.write_comparison.writes import StepWrites, ZnodeWrite, is_final
from tests.brokers.cluster.histories import imported, random_run

BROKER_1, BROKER_2, ADMIN = "0x0000000000000001", "0x0000000000000002", "0x0000000000000003"
STATE = "/brokers/topics/orders/partitions/0/state"
CONTROLLER_DATA = '{"version":1,"brokerid":1,"timestamp":"17"}'


class Log:
    """An event log made by hand. Brokers 1 and 2 have a session each, with events about it; broker 1 is the controller."""

    def __init__(self, brokers_report: bool = True) -> None:
        self.events: list[Event] = []
        for broker, session_id in ((1, BROKER_1), (2, BROKER_2)) if brokers_report else ():
            self.add(EventKind.SESSION_STATE, node=f"broker-{broker}", session_id=session_id, state="connected")
        self.created("/controller", CONTROLLER_DATA, session=BROKER_1)
        self.start = len(self.events)

    def add(self, kind: EventKind, node: str = "zookeeper", **fields: Any) -> int:
        self.events.append(Event(seq=len(self.events), t_ms=0, node=node, kind=kind, **fields))
        return len(self.events) - 1

    def created(self, path: str, data: str | None = None, session: str = BROKER_1, **fields: Any) -> int:
        return self.add(EventKind.ZNODE_CREATED, path=path, data=data, session_id=session, **fields)

    def changed(self, path: str, data: str | None = None, session: str = BROKER_1, **fields: Any) -> int:
        return self.add(EventKind.ZNODE_CHANGED, path=path, data=data, session_id=session, **fields)

    def deleted(self, path: str, session: str = BROKER_1, **fields: Any) -> int:
        return self.add(EventKind.ZNODE_DELETED, path=path, session_id=session, **fields)

    def request(self, node: str, fence: int | None = None) -> int:
        return self.add(EventKind.ZK_WRITE, node, controller_epoch_zk_version=fence)

    def writes(self) -> tuple[ZnodeWrite, ...]:
        return self.step().writes or ()

    def step(self) -> StepWrites:
        return WriteLog(self.events).step(self.start, len(self.events))


def test_a_fenced_write_of_who_holds_the_role_is_the_controllers() -> None:
    log = Log()
    log.created(STATE, "{}", cause=log.request("broker-1", fence=1))
    assert log.writes() == (ZnodeWrite("controller", "create", STATE, "{}", fenced=True),)


def test_the_same_broker_writes_as_a_broker_without_a_fence() -> None:
    log = Log()
    log.changed(STATE, "{}", cause=log.request("broker-1"))
    assert log.writes() == (ZnodeWrite("broker-1", "set", STATE, "{}"),)


def test_a_fenced_write_of_somebody_else_is_not_the_controllers() -> None:
    """The write can only be applied while there is no later election; in no case is it a write of the present controller."""
    log = Log()
    log.changed(STATE, "{}", session=BROKER_2, cause=log.request("broker-2", fence=1))
    assert log.writes() == (ZnodeWrite("broker-2", "set", STATE, "{}", fenced=True),)


def test_winning_an_election_is_done_in_the_role() -> None:
    log = Log()
    won = log.request("broker-2")
    data = CONTROLLER_DATA.replace("1,", "2,").replace('"version":2', '"version":1')
    log.created("/controller", data, session=BROKER_2, cause=won)
    log.changed("/controller_epoch", "2", session=BROKER_2, cause=won)
    assert log.writes() == (
        ZnodeWrite("controller", "create", "/controller", data),
        ZnodeWrite("controller", "set", "/controller_epoch", "2"),
    )


def test_a_session_that_is_no_brokers_is_ours() -> None:
    log = Log()
    log.deleted("/controller", session=ADMIN)
    assert log.writes() == (ZnodeWrite("admin", "delete", "/controller"),)


def test_a_registration_is_one_write_without_its_data() -> None:
    log = Log()
    cause = log.request("broker-2")
    log.created("/brokers/ids/2", session=BROKER_2, zxid=7, cause=cause)
    log.changed("/brokers/ids/2", "{}", session=BROKER_2, zxid=7, cause=cause)
    assert log.writes() == (ZnodeWrite("broker-2", "register", "/brokers/ids/2"),)


def test_a_registration_touched_later_is_a_write_of_its_own() -> None:
    log = Log()
    log.created("/brokers/ids/2", session=BROKER_2, zxid=7)
    log.changed("/brokers/ids/2", "{}", session=ADMIN, zxid=8)
    assert log.writes()[1] == ZnodeWrite("admin", "set", "/brokers/ids/2", "{}")


def test_what_goes_with_a_session_is_no_write_but_the_end_of_a_session() -> None:
    log = Log()
    closed = log.add(EventKind.SESSION_CLOSED, session_id=BROKER_2)
    log.deleted("/brokers/ids/2", session=BROKER_2, cause=closed)
    log.add(EventKind.SESSION_CLOSED, session_id=ADMIN)
    assert log.step() == StepWrites(controller=1, writes=(), sessions_closed=("broker-2",))


def test_the_numbers_of_notifications_are_left_out() -> None:
    log = Log()
    log.created("/isr_change_notification/isr_change_0000000012", "{}", session=BROKER_2)
    log.created("/log_dir_event_notification/log_dir_event_0000000003", "{}", session=BROKER_2)
    assert [write.path for write in log.writes()] == [
        "/isr_change_notification/isr_change_N",
        "/log_dir_event_notification/log_dir_event_N",
    ]


@pytest.mark.parametrize("path", ["/config/topics/orders", "/cluster/id", "/controllers", "/zookeeper"])
def test_other_places_are_not_recorded(path: str) -> None:
    log = Log()
    log.created(path)
    assert log.writes() == ()


def test_each_step_has_its_own_writes() -> None:
    log = Log()
    first, second = log.created("/admin/a", session=ADMIN), log.created("/admin/b", session=ADMIN)
    writes = WriteLog(log.events)
    assert writes.step(first, second).writes == (ZnodeWrite("admin", "create", "/admin/a"),)
    assert writes.step(second, second + 1).writes == (ZnodeWrite("admin", "create", "/admin/b"),)


def test_who_held_the_role_last_is_its_holder_until_another_wins() -> None:
    log = Log()
    gone = log.deleted("/controller", session=ADMIN)
    won = log.created("/controller", CONTROLLER_DATA.replace('"brokerid":1', '"brokerid":2'), session=BROKER_2)
    spoilt = log.changed("/controller", "?", session=ADMIN)
    writes = WriteLog(log.events)
    assert [writes.step(0, after + 1).controller for after in (gone, won, spoilt)] == [1, 2, 2]
    assert writes.step(0, log.start - 1).controller is None


# --- a log that was made of transactions -----------------------------------------------------------------------------------


def test_without_the_brokers_word_a_session_is_that_of_who_registered_in_it() -> None:
    log = Log(brokers_report=False)
    log.deleted("/controller", session=BROKER_2)
    log.created("/brokers/ids/2", session=BROKER_2, zxid=7, ephemeral=True)
    log.changed("/brokers/ids/2", "{}", session=BROKER_2, zxid=7)
    log.deleted("/controller", session=ADMIN)
    assert log.writes() == (
        ZnodeWrite("broker-2", "delete", "/controller"),
        ZnodeWrite("broker-2", "register", "/brokers/ids/2"),
        ZnodeWrite("admin", "delete", "/controller"),
    )


def test_a_registration_made_anew_by_hand_makes_nobody_a_broker() -> None:
    """A registration created by hand has data at once; brokers set the data afterwards."""
    log = Log(brokers_report=False)
    log.created("/brokers/ids/2", "{}", session=ADMIN, zxid=7, ephemeral=True)
    assert log.writes() == (ZnodeWrite("admin", "create", "/brokers/ids/2", "{}"),)


def test_a_write_that_carries_the_version_of_its_check_is_fenced() -> None:
    log = Log()
    log.changed(STATE, "{}", controller_epoch_zk_version=0)
    assert log.writes() == (ZnodeWrite("controller", "set", STATE, "{}", fenced=True),)


@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_a_run_and_its_zookeepers_files_show_the_same_writes(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    directory = tmp_path_factory.mktemp("zk")
    run, found = random_run(directory, seed).events, imported(directory)
    assert WriteLog(found).step(0, len(found)) == WriteLog(run).step(0, len(run))


# --- the end ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "is_recorded"),
    [
        ("/controller", True),
        ("/controller_epoch", True),
        ("/brokers/topics", True),
        (STATE, True),
        ("/admin/delete_topics", True),
        ("/admin", False),
        ("/brokers/ids/1", False),
        ("/isr_change_notification", False),
        ("/config/topics/orders", False),
    ],
)
def test_what_is_recorded_of_the_end(path: str, is_recorded: bool) -> None:
    assert is_final(path) is is_recorded
