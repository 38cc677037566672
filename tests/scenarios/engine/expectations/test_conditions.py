"""Each condition holds when it should, does not hold when it should not, and names the events that decided it."""

from typing import Any

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.value_types import KnownNames
from tests.scenarios.evaluated_log import EvaluatedLog

CONTROLLER = '{"version":1,"brokerid":2,"timestamp":"0"}'


def look(seen: EvaluationContext, **fields: Any) -> ConditionResult:
    """Evaluate the condition with these fields, named as in Python and written as in a file."""
    names = KnownNames(brokers=seen.brokers, aliases=tuple(seen.aliases))
    written = {name.replace("_", "-"): value for name, value in fields.items()}
    return evaluate(Condition.model_validate(written, context=names), seen)


def evidence(finding: ConditionResult) -> list[int]:
    return [event.seq for event in finding.evidence]


@pytest.fixture
def story() -> EvaluatedLog:
    """Return a log in which two brokers are registered and broker-2 is the controller of epoch 1."""
    story = EvaluatedLog()
    story.znode("/controller_epoch", "0")  # 0
    story.znode("/brokers/ids/1", "{}", zxid=11, ephemeral=True)  # 1
    story.znode("/brokers/ids/2", "{}", zxid=12, ephemeral=True)  # 2
    story.znode("/controller", CONTROLLER, ephemeral=True)  # 3
    story.changed("/controller_epoch", "1", zxid=13, zk_version=1)  # 4
    story.append("broker-2", EventKind.ELECTION_WON, controller_id=2, controller_epoch=1)  # 5
    return story


# --- who is controller -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ("any", True),
        ("none", False),
        ("broker-2", True),
        ("broker-1", False),
        ("old", False),
        ("new", True),
        ("not old", True),
        ("not new", False),
        ("not broker-1", True),
        ("not controller", False),
    ],
)
def test_the_controller_is_who_is_named_in_its_znode(story: EvaluatedLog, wanted: str, holds: bool) -> None:
    finding = look(story.seen(old="broker-1", new="broker-2"), controller=wanted)
    assert (finding.holds, finding.observed, evidence(finding)) == (holds, "broker-2 is the controller", [3])


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [("any", False), ("none", True), ("broker-2", False), ("not broker-1", False), ("controller", False)],
)
def test_without_its_znode_nobody_is_the_controller(story: EvaluatedLog, wanted: str, holds: bool) -> None:
    """`not broker-1` states that another broker is the controller: without a controller it does not hold."""
    gone = story.gone("/controller")
    finding = look(story.seen(), controller=wanted)
    assert (finding.holds, finding.observed, evidence(finding)) == (holds, "no broker is the controller", [gone])


@pytest.mark.parametrize(("process", "why"), [("dead", "dead"), ("stopped", "stopped"), ("paused", "frozen")])
@pytest.mark.parametrize("wanted", ["any", "none", "broker-2", "not broker-1"])
def test_a_controller_that_does_not_run_is_none_and_is_not_yet_gone(
    story: EvaluatedLog, process: str, why: str, wanted: str
) -> None:
    """/controller names it until its session expires: neither it nor another broker controls the cluster meanwhile."""
    story.append("broker-2", EventKind.PROCESS_STATE, state=process)
    finding = look(story.seen(), controller=wanted)
    assert (finding.holds, finding.observed) == (False, f"/controller names broker-2, which is {why}")
    assert look(story.seen(), controller=wanted, as_recorded=True).holds == (wanted != "none")


def test_a_broker_that_did_not_create_the_znode_is_not_the_controller(story: EvaluatedLog) -> None:
    """Somebody may have overwritten it by hand."""
    for node, session in (("broker-1", "0x1"), ("broker-2", "0x2")):
        story.append(node, EventKind.PROCESS_STATE, state="running")
        story.append(node, EventKind.SESSION_STATE, session_id=session, state="connected")
    story.gone("/controller")
    story.append(
        "zookeeper", EventKind.ZNODE_CREATED, path="/controller", data=CONTROLLER, zxid=14, ephemeral=True, session_id="0x1"
    )
    finding = look(story.seen(), controller="any")
    assert (finding.holds, finding.observed) == (False, "/controller names broker-2, but broker-1 has created it")
    assert look(story.seen(), controller="broker-2", as_recorded=True).holds


def test_it_is_observed_that_a_session_has_expired(story: EvaluatedLog) -> None:
    story.append("broker-2", EventKind.PROCESS_STATE, state="running")
    story.append("broker-2", EventKind.SESSION_STATE, session_id="0x2", state="connected")
    story.append("zookeeper", EventKind.SESSION_CLOSED, session_id="0x2")
    assert look(story.seen(), registered=["broker-2"]).observed == "broker-2, whose session has expired, is registered"


def test_the_controller_epoch_is_the_number_in_its_znode(story: EvaluatedLog) -> None:
    assert look(story.seen(), controller_epoch=1) == ConditionResult(True, "the controller epoch is 1", (story.events[4],))
    assert not look(story.seen(), controller_epoch=2).holds
    assert look(EvaluatedLog().seen(), controller_epoch=1).observed == "there is no controller epoch"


def test_controller_epochs_are_those_of_all_elections_and_no_others(story: EvaluatedLog) -> None:
    seen = story.seen()
    assert look(seen, controller_epochs=[1]).holds
    story.append("broker-1", EventKind.ELECTION_WON, controller_epoch=2)
    finding = look(seen, controller_epochs=[1])
    assert (finding.holds, finding.observed) == (False, "epochs won: 1 by broker-2, 2 by broker-1")
    assert look(seen, controller_epochs=[1, 2]).holds
    assert not look(seen, controller_epochs=[2, 1]).holds


# --- brokers ---------------------------------------------------------------------------------------------------------------


def test_registered_brokers_are_those_with_a_znode(story: EvaluatedLog) -> None:
    assert look(story.seen(), registered="all").holds
    assert not look(story.seen(), unregistered=["broker-1"]).holds
    gone = story.gone("/brokers/ids/1")
    finding = look(story.seen(lost="broker-1"), registered=["lost", "broker-2"])
    assert (finding.holds, finding.observed, evidence(finding)) == (False, "broker-1 is not registered", [gone])
    assert look(story.seen(), unregistered=["broker-1"]).holds
    assert not look(story.seen(), unregistered="all").holds


def test_a_dead_broker_is_not_registered_although_its_znode_is_still_there(story: EvaluatedLog) -> None:
    story.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    finding = look(story.seen(), registered=["broker-1"])
    assert (finding.holds, finding.observed) == (False, "broker-1, which is dead, is registered")
    assert not look(story.seen(), unregistered=["broker-1"]).holds
    assert look(story.seen(), registered=["broker-1"], as_recorded=True).holds


def test_nobody_is_not_registered_as_controller(story: EvaluatedLog) -> None:
    """`controller` stands for the controller at that moment, and for no broker when there is none."""
    assert look(story.seen(), registered="controller").holds
    story.gone("/controller")
    assert not look(story.seen(), registered="controller").holds


def test_re_registered_takes_a_higher_broker_epoch(story: EvaluatedLog) -> None:
    seen = story.seen()
    assert look(seen, re_registered="broker-1").observed == "broker-1 has the broker epoch it had at first, 11"
    story.gone("/brokers/ids/1")
    assert look(seen, re_registered="broker-1").observed == "broker-1 is not registered"
    again = story.znode("/brokers/ids/1", "{}", zxid=20, ephemeral=True)
    finding = look(seen, re_registered="broker-1")
    assert (finding.holds, finding.observed, evidence(finding)) == (
        True,
        "broker-1 has broker epoch 20, at first 11",
        [1, again],
    )


@pytest.mark.parametrize("state", ["running", "paused", "stopped", "dead"])
def test_a_process_is_in_the_state_it_was_last_in(story: EvaluatedLog, state: str) -> None:
    seen = story.seen()
    assert look(seen, **{state: "broker-1"}).observed == "broker-1 is not started"
    last = story.append("broker-1", EventKind.PROCESS_STATE, state=state)
    finding = look(seen, **{state: "broker-1"})
    assert (finding.holds, finding.observed, evidence(finding)) == (True, f"broker-1 is {state}", [last])
    story.append("broker-1", EventKind.PROCESS_STATE, state="other")
    assert not look(seen, **{state: "broker-1"}).holds


def test_a_session_has_expired_when_zookeeper_ended_it_and_not_its_client(story: EvaluatedLog) -> None:
    seen = story.seen()
    story.append("broker-1", EventKind.SESSION_STATE, state="connected", session_id="0x01")
    story.append("broker-2", EventKind.SESSION_STATE, state="connected", session_id="0x02")
    story.append("zookeeper", EventKind.SESSION_CLOSED, session_id="0x01")
    assert look(seen, session_expired="broker-1").observed == "no session of broker-1 has expired"
    expired = story.append("zookeeper", EventKind.SESSION_CLOSED, session_id="0x02", error="SESSIONEXPIRED")
    finding = look(seen, session_expired="broker-2")
    assert (finding.holds, evidence(finding)) == (True, [expired])
    assert not look(seen, session_expired="all").holds


# --- znodes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"path": "/controller"}, True),
        ({"path": "/controller", "exists": False}, False),
        ({"path": "/nothing"}, False),
        ({"path": "/nothing", "exists": False}, True),
        ({"path": "/controller", "data": {"brokerid": 2}}, True),
        ({"path": "/controller", "data": {"brokerid": 2, "version": 2}}, False),
        ({"path": "/controller", "data": {"broker": 2}}, False),
        ({"path": "/controller", "data": {"brokerid": True}}, False),
        ({"path": "/controller", "data": CONTROLLER}, True),
        ({"path": "/controller", "data": "something else"}, False),
        ({"path": "/controller_epoch", "data": 1}, True),
        ({"path": "/controller_epoch", "data": "1"}, True),
        ({"path": "/controller_epoch", "data": {"a": 1}}, False),
        ({"path": "/brokers/ids/1", "children": 0}, True),
        ({"path": "/brokers/ids/1", "children": 1}, False),
    ],
)
def test_a_znode_is_as_it_was_last_written(story: EvaluatedLog, wanted: dict[str, Any], holds: bool) -> None:
    assert look(story.seen(), znode=wanted).holds is holds


def test_the_dead_owner_of_an_ephemeral_znode_is_named(story: EvaluatedLog) -> None:
    """It is there until the session expires."""
    held = {"zxid": 20, "zk_version": 0, "ephemeral": True, "session_id": "0x2"}
    story.append("broker-2", EventKind.SESSION_STATE, session_id="0x2", state="connected")
    story.append("zookeeper", EventKind.ZNODE_CREATED, path="/held", data="x", **held)  # type: ignore[arg-type]
    story.znode("/kept", "x", zxid=21)
    assert look(story.seen(), znode={"path": "/held"}).observed == "/held has data x"
    story.append("broker-2", EventKind.PROCESS_STATE, state="dead")
    assert look(story.seen(), znode={"path": "/held"}).observed == "/held has data x; it belongs to broker-2, which is dead"
    assert look(story.seen(), znode={"path": "/kept"}).observed == "/kept has data x"


# --- events ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "holds"),
    [
        ({"kind": "ElectionWon"}, True),
        ({"kind": "ElectionLost"}, False),
        ({"kind": "ElectionWon", "node": "broker-2"}, True),
        ({"kind": "ElectionWon", "node": "winner"}, True),
        ({"kind": "ElectionWon", "node": "controller"}, True),
        ({"kind": "ElectionWon", "node": "broker-1"}, False),
        ({"kind": "ElectionWon", "controller-id": 2}, True),
        ({"kind": "ElectionWon", "controller-id": "winner"}, True),
        ({"kind": "ElectionWon", "controller-id": "broker-1"}, False),
        ({"kind": "ElectionWon", "controller-epoch": 2}, False),
        ({"kind": "ZnodeCreated", "zxid": 77}, False),
        ({"kind": "ZnodeCreated", "path": "/brokers/ids"}, True),
        ({"kind": "ZnodeCreated", "path": "/brokers/topics"}, False),
        ({"kind": "ZnodeCreated", "path": "/"}, True),
        ({"kind": "ZnodeCreated", "path": "/controller", "data": '"brokerid":2'}, True),
    ],
)
def test_a_pattern_is_a_kind_and_the_columns_it_names(story: EvaluatedLog, pattern: dict[str, Any], holds: bool) -> None:
    """A path matches that znode and those below it; a text must occur; a name given with `as` stands for its node."""
    seen = story.seen(winner="broker-2")
    assert look(seen, event=pattern).holds is holds
    assert look(seen, no_event=pattern).holds is not holds


@pytest.mark.parametrize(
    ("count", "holds"),
    [
        ({"exactly": 2}, True),
        ({"exactly": 1}, False),
        ({"at-least": 2}, True),
        ({"at-least": 3}, False),
        ({"at-most": 2}, True),
        ({"at-most": 1}, False),
        ({"at-least": 1, "at-most": 1}, False),
    ],
)
def test_events_are_counted(story: EvaluatedLog, count: dict[str, int], holds: bool) -> None:
    finding = look(story.seen(), events={"of": {"kind": "ZnodeCreated", "path": "/brokers"}, **count})
    assert (finding.holds, evidence(finding)) == (holds, [1, 2])


def test_an_order_is_kept_with_anything_in_between(story: EvaluatedLog) -> None:
    created, changed, won = ({"kind": kind} for kind in ("ZnodeCreated", "ZnodeChanged", "ElectionWon"))
    finding = look(story.seen(), order=[created, created, changed, won])
    assert (finding.holds, evidence(finding)) == (True, [0, 1, 4, 5])
    finding = look(story.seen(), order=[changed, created])
    assert (finding.holds, finding.observed, evidence(finding)) == (False, "no ZnodeCreated after #4", [4])


# --- several conditions at once --------------------------------------------------------------------------------------------


def test_every_claim_must_hold_and_the_one_that_does_not_is_reported(story: EvaluatedLog) -> None:
    finding = look(story.seen(), controller="broker-2", controller_epoch=2, registered="all")
    assert (finding.holds, finding.observed, evidence(finding)) == (False, "the controller epoch is 1", [4])


def test_a_growing_log_is_taken_in_as_it_grows(story: EvaluatedLog) -> None:
    """A wait evaluates the condition after every event: no event may be missed or counted twice."""
    seen = story.seen()
    for _ in range(3):
        before = look(seen, events={"of": {"kind": "WatchFired"}, "exactly": 0}).observed
        assert before == "WatchFired has not happened"
    for number in range(1, 4):
        story.append("broker-1", EventKind.WATCH_FIRED, path="/controller")
        assert look(seen, events={"of": {"kind": "WatchFired"}, "exactly": number}).holds


# --- durations -------------------------------------------------------------------------------------------------------------

FAULT, WON = {"kind": "Fault"}, {"kind": "ElectionWon"}


@pytest.fixture
def two_elections() -> EvaluatedLog:
    """Return a log with an election 200 ms after a fault, and another 700 ms after another fault."""
    story = EvaluatedLog()
    for between in (1, 6):
        story.append("broker-1", EventKind.FAULT)  # 0, 3
        for _ in range(between):
            story.append("broker-1", EventKind.WATCH_FIRED)
        story.append("broker-1", EventKind.ELECTION_WON)  # 2, 10
    return story


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ({"at-most": "200ms"}, True),
        ({"at-most": "199ms"}, False),
        ({"at-least": "200ms"}, True),
        ({"at-least": "201ms"}, False),
        ({"at-least": "100ms", "at-most": "300ms"}, True),
    ],
)
def test_the_time_is_that_from_the_first_to_the_one_that_follows(
    two_elections: EvaluatedLog, bounds: dict[str, str], holds: bool
) -> None:
    finding = look(two_elections.seen(), time_between={"from": FAULT, "to": WON, **bounds})
    assert (finding.holds, finding.observed, evidence(finding)) == (holds, "200ms from Fault to ElectionWon", [0, 2])


def test_of_each_it_is_the_time_to_the_one_that_follows_it(two_elections: EvaluatedLog) -> None:
    between = {"from": FAULT, "to": WON, "each": True}
    finding = look(two_elections.seen(), time_between={**between, "at-most": "500ms"})
    assert (finding.holds, finding.observed, evidence(finding)) == (False, "700ms from Fault to ElectionWon", [3, 10])
    assert look(two_elections.seen(), time_between={**between, "at-most": "700ms"}).holds


def test_no_time_has_passed_between_what_has_not_happened(two_elections: EvaluatedLog) -> None:
    seen = two_elections.seen()
    finding = look(seen, time_between={"from": {"kind": "Metrics"}, "to": WON, "at-least": "0s"})
    assert (finding.holds, finding.observed) == (False, "Metrics has not happened")
    finding = look(seen, time_between={"from": {"kind": "ElectionWon"}, "to": {"kind": "Metrics"}, "at-least": "0s"})
    assert (finding.holds, finding.observed, evidence(finding)) == (False, "no Metrics after #2", [2])
    last = two_elections.append("broker-1", EventKind.FAULT)
    finding = look(seen, time_between={"from": FAULT, "to": WON, "at-most": "60s", "each": True})
    assert (finding.holds, finding.observed, evidence(finding)) == (False, f"no ElectionWon after #{last}", [last])


# --- metrics ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def measured() -> EvaluatedLog:
    """Return a log in which two brokers consider themselves controller for a while; then the first one dies."""
    story = EvaluatedLog()
    story.append("broker-1", EventKind.METRICS, data='{"ActiveControllerCount":1,"OfflinePartitionsCount":3}')  # 0
    story.append("broker-2", EventKind.METRICS, data='{"ActiveControllerCount":1,"GlobalTopicCount":2}')  # 1
    story.append("broker-1", EventKind.METRICS, data='{"OfflinePartitionsCount":1}')  # 2
    return story


@pytest.mark.parametrize(
    ("wanted", "holds", "seen", "seq"),
    [
        ({"ActiveControllerCount": 2}, True, "ActiveControllerCount is 2", [1]),
        ({"ActiveControllerCount": "<= 1"}, False, "ActiveControllerCount is 2", [1]),
        ({"OfflinePartitionsCount": 1}, True, "OfflinePartitionsCount is 1", [2]),
        ({"OfflinePartitionsCount": {"highest": 3}}, True, "OfflinePartitionsCount was 3 at most", [0]),
        ({"OfflinePartitionsCount": {"highest": "< 3"}}, False, "OfflinePartitionsCount was 3 at most", [0]),
        ({"TopicsToDeleteCount": 0}, True, "TopicsToDeleteCount is 0", []),
        ({"TopicsToDeleteCount": {"highest": "> 0"}}, False, "TopicsToDeleteCount was 0 at most", []),
    ],
)
def test_metrics_are_summed_over_the_brokers(
    measured: EvaluatedLog, wanted: dict[str, Any], holds: bool, seen: str, seq: list[int]
) -> None:
    finding = look(measured.seen(), metrics=wanted)
    assert (finding.holds, finding.observed, evidence(finding)) == (holds, seen, seq)


def test_the_metrics_of_a_frozen_broker_do_not_count(measured: EvaluatedLog) -> None:
    """Nobody can read them; it still considers itself the controller."""
    measured.append("broker-1", EventKind.PROCESS_STATE, state="running")
    measured.append("broker-2", EventKind.PROCESS_STATE, state="paused")
    finding = look(measured.seen(), metrics={"ActiveControllerCount": 2})
    assert (finding.holds, finding.observed) == (False, "ActiveControllerCount is 2, also of broker-2, which is frozen")
    assert look(measured.seen(), metrics={"ActiveControllerCount": 2}, as_recorded=True).holds


def test_a_broker_that_is_gone_counts_no_more(measured: EvaluatedLog) -> None:
    measured.append("broker-2", EventKind.PROCESS_STATE, state="running")
    dead = measured.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    finding = look(measured.seen(), metrics={"ActiveControllerCount": 1, "OfflinePartitionsCount": 0})
    assert (finding.holds, evidence(finding)) == (True, [dead])
    assert look(measured.seen(), metrics={"ActiveControllerCount": {"highest": 2}, "GlobalTopicCount": 2}).holds
    measured.append("broker-1", EventKind.PROCESS_STATE, state="running")
    measured.append("broker-1", EventKind.METRICS, data='{"ActiveControllerCount":1}')
    assert look(measured.seen(), metrics={"ActiveControllerCount": 2, "OfflinePartitionsCount": 0}).holds
