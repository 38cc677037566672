"""Conditions on topics and partitions hold when their znodes have that state, and the deciding znode is named."""

from typing import Any

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.value_types import KnownNames
from tests.scenarios.evaluated_log import EvaluatedLog

BROKERS = ("broker-1", "broker-2", "broker-3", "broker-4")
TOPIC = '{"partitions":{"0":[1,2,3],"1":[2,3]},"adding_replicas":{},"removing_replicas":{},"version":3}'
MOVING = '{"partitions":{"0":[1,2,3],"1":[4,2,3]},"adding_replicas":{"1":[4]},"removing_replicas":{"1":[3]},"version":3}'


def state_of(partition: int) -> str:
    return f"/brokers/topics/orders/partitions/{partition}/state"


def state(leader: int, epoch: int, isr: list[int]) -> str:
    return f'{{"controller_epoch":1,"leader":{leader},"version":1,"leader_epoch":{epoch},"isr":{isr}}}'


@pytest.fixture
def story() -> EvaluatedLog:
    """Return a log with orders-0 on [1, 2, 3], led by its preferred leader 1, all in sync; orders-1 on [2, 3], ISR [3]."""
    story = EvaluatedLog()
    story.znode("/brokers/ids/1", "{}", ephemeral=True)  # 0
    story.znode("/brokers/ids/3", "{}", ephemeral=True)  # 1
    story.znode("/brokers/topics/orders", TOPIC)  # 2
    story.znode(state_of(0), state(1, 0, [1, 2, 3]))  # 3
    story.znode(state_of(1), state(2, 0, [2, 3]))  # 4
    story.changed(state_of(1), state(3, 1, [3]), zxid=2, zk_version=1)  # 5
    return story


def look(seen: EvaluationContext, **fields: Any) -> ConditionResult:
    """Evaluate the condition with these fields, named as in Python and written as in a file."""
    names = KnownNames(
        brokers=seen.brokers, aliases=tuple(seen.aliases), topics={"orders": range(2), "clicks": range(1), "audit": None}
    )
    written = {name.replace("_", "-"): value for name, value in fields.items()}
    return evaluate(Condition.model_validate(written, context=names), seen)


def fields_of(finding: ConditionResult) -> tuple[bool, str, list[int]]:
    return finding.holds, finding.observed, [event.seq for event in finding.evidence]


# --- leaders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ("broker-3", True),
        ("broker-2", False),
        ("any", True),
        ("none", False),
        ("lost", False),
        ("not lost", True),
        ("not broker-3", False),
        (["broker-2", "broker-3"], True),
        (["broker-2", "lost"], False),
        ("preferred-of orders-0", False),
        ("leader-of orders-1", True),
    ],
)
def test_a_partition_is_led_by_the_broker_its_state_names(story: EvaluatedLog, wanted: object, holds: bool) -> None:
    finding = look(story.seen(BROKERS, lost="broker-2"), leader={"orders-1": wanted})
    assert fields_of(finding) == (holds, "orders-1 is led by broker-3 (leader epoch 1, ISR [3])", [5])


@pytest.mark.parametrize(("wanted", "holds"), [("none", True), ("any", False), ("broker-3", False), ("not broker-2", False)])
def test_a_state_can_name_nobody(story: EvaluatedLog, wanted: str, holds: bool) -> None:
    """`not broker-2` states that another broker leads: without a leader it does not hold."""
    gone = story.changed(state_of(1), state(-1, 2, [3]), zxid=3, zk_version=2)
    finding = look(story.seen(BROKERS), leader={"orders-1": wanted})
    assert fields_of(finding) == (holds, "orders-1 has no leader (leader epoch 2, ISR [3])", [gone])


@pytest.mark.parametrize(("wanted", "holds"), [("none", True), ("any", False), ("broker-1", False)])
def test_a_partition_without_a_state_has_no_leader(story: EvaluatedLog, wanted: str, holds: bool) -> None:
    assert fields_of(look(story.seen(BROKERS), leader={"clicks-0": wanted})) == (holds, "clicks-0 has no state", [])


def test_of_several_partitions_those_are_reported_for_which_it_does_not_hold(story: EvaluatedLog) -> None:
    finding = look(story.seen(BROKERS), leader={"orders-0": "broker-1", "orders-1": "broker-2"})
    assert fields_of(finding) == (False, "orders-1 is led by broker-3 (leader epoch 1, ISR [3])", [5])


def test_a_leader_epoch_is_the_number_in_the_state(story: EvaluatedLog) -> None:
    seen = story.seen(BROKERS)
    assert fields_of(look(seen, leader_epoch={"orders-1": 1})) == (True, "orders-1 has leader epoch 1", [5])
    assert not look(seen, leader_epoch={"orders-1": 2}).holds
    assert look(seen, leader_epoch={"clicks-0": 0}).observed == "clicks-0 has no state"


@pytest.mark.parametrize(("partition", "holds"), [("orders-0", True), ("orders-1", False), ("clicks-0", False)])
def test_leaders_are_preferred_where_the_first_replica_leads(story: EvaluatedLog, partition: str, holds: bool) -> None:
    assert look(story.seen(BROKERS), leaders_preferred=partition).holds is holds


def test_all_leaders_are_preferred_when_none_is_not(story: EvaluatedLog) -> None:
    finding = look(story.seen(BROKERS), leaders_preferred="all")
    assert fields_of(finding) == (False, "orders-1 is led by broker-3, not by broker-2", [5])
    back = story.changed(state_of(1), state(2, 2, [3, 2]), zxid=3, zk_version=2)
    finding = look(story.seen(BROKERS), leaders_preferred="all")
    assert fields_of(finding) == (True, "2 partitions led by the first of their replicas", [3, back])


# --- replicas --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "holds"), [([1, 2, 3], True), ([3, 1, 2], True), ([1, 2], False), ([1, 2, 3, 4], False)])
def test_an_isr_is_a_set(story: EvaluatedLog, wanted: list[int], holds: bool) -> None:
    finding = look(story.seen(BROKERS), isr={"orders-0": wanted})
    assert fields_of(finding) == (holds, "orders-0 has ISR [1, 2, 3]", [3])


@pytest.mark.parametrize(("wanted", "holds"), [([1, 2, 3], True), ([3, 1, 2], False), ([1, 2], False)])
def test_replicas_are_a_list_for_the_first_is_preferred(story: EvaluatedLog, wanted: list[int], holds: bool) -> None:
    finding = look(story.seen(BROKERS), replicas={"orders-0": wanted})
    assert fields_of(finding) == (holds, "orders-0 has replicas [1, 2, 3]", [2])
    assert look(story.seen(BROKERS), replicas={"clicks-0": wanted}).observed == "clicks-0 does not exist"


def test_a_partition_is_in_sync_when_every_replica_is_in_the_isr(story: EvaluatedLog) -> None:
    seen = story.seen(BROKERS)
    assert fields_of(look(seen, in_sync="orders-0")) == (True, "1 partition with every replica in the ISR", [3])
    assert fields_of(look(seen, in_sync="all")) == (False, "orders-1 has ISR [3] of [2, 3]", [5])
    assert look(seen, in_sync="clicks-0").observed == "clicks-0 does not exist"
    story.changed(state_of(1), state(3, 1, [3, 2]), zxid=3, zk_version=2)
    assert look(seen, in_sync="all").holds


def test_where_there_are_no_partitions_nothing_is_in_sync(story: EvaluatedLog) -> None:
    """Otherwise a scenario whose topic was never created would hold."""
    assert fields_of(look(EvaluatedLog().seen(BROKERS), in_sync="all", leaders_preferred="all")) == (
        False,
        "there are no partitions; there are no partitions",
        [],
    )


@pytest.mark.parametrize(
    ("wanted", "before", "while_moving"),
    [("none", True, False), ("any", False, True), ("orders-1", False, True), (["orders-0", "orders-1"], False, False)],
)
def test_partitions_are_being_reassigned_while_replicas_are_added_or_removed(
    story: EvaluatedLog, wanted: object, before: bool, while_moving: bool
) -> None:
    seen = story.seen(BROKERS)
    assert fields_of(look(seen, reassigning=wanted)) == (before, "nothing is being reassigned", [2])
    moving = story.changed("/brokers/topics/orders", MOVING, zxid=3, zk_version=1)
    assert fields_of(look(seen, reassigning=wanted)) == (while_moving, "orders-1 being reassigned", [moving])


def test_a_requested_reassignment_counts_before_the_controller_begins_it(story: EvaluatedLog) -> None:
    """Else a scenario that waits for `none` right after its request would not wait at all."""
    requested = story.znode(
        "/admin/reassign_partitions",
        '{"version":1,"partitions":[{"topic":"orders","partition":1,"replicas":[4,2]},'
        '{"topic":"unknown","partition":0,"replicas":[1]},{"topic":"orders","partition":7,"replicas":[1]}]}',
    )
    seen = story.seen(BROKERS)
    assert fields_of(look(seen, reassigning="none")) == (False, "orders-1 being reassigned", [2, requested])
    assert look(seen, reassigning="orders-1").holds
    story.gone("/admin/reassign_partitions")
    assert look(story.seen(BROKERS), reassigning="none").holds


@pytest.mark.parametrize("data", ["", "no JSON", "null", '{"version":1}'])
def test_a_request_that_cannot_be_read_is_none(story: EvaluatedLog, data: str) -> None:
    story.znode("/admin/reassign_partitions", data)
    assert look(story.seen(BROKERS), reassigning="none").holds


# --- counts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "holds"), [(1, True), (0, False), (2, False)])
def test_a_partition_is_under_replicated_when_its_isr_lacks_a_replica(story: EvaluatedLog, wanted: int, holds: bool) -> None:
    finding = look(story.seen(BROKERS), under_replicated=wanted)
    assert fields_of(finding) == (holds, "1 partition under-replicated: orders-1", [5])


def test_a_replica_that_is_only_being_added_is_not_missed(story: EvaluatedLog) -> None:
    """Source: Kafka 2.8, Partition.isUnderReplicated, which counts the replicas from before the reassignment."""
    story.changed("/brokers/topics/orders", MOVING, zxid=3, zk_version=1)
    story.changed(state_of(1), state(3, 2, [3, 2]), zxid=4, zk_version=2)
    assert look(story.seen(BROKERS), under_replicated=0).holds


def test_a_partition_is_offline_when_its_leader_is_nobody_or_not_registered(story: EvaluatedLog) -> None:
    seen = story.seen(BROKERS)
    assert look(seen, offline_partitions=0).holds
    story.gone("/brokers/ids/1")
    finding = look(seen, offline_partitions=1)
    assert fields_of(finding) == (True, "1 partition without a leader that is registered: orders-0", [3])
    story.changed(state_of(1), state(-1, 2, [3]), zxid=3, zk_version=2)
    assert look(seen, offline_partitions=2).holds


def test_topics_to_be_deleted_do_not_count(story: EvaluatedLog) -> None:
    """Kafka excludes these topics from its own counts, too."""
    story.gone("/brokers/ids/1")
    story.znode("/admin/delete_topics/orders")
    assert look(story.seen(BROKERS), offline_partitions=0, under_replicated=0).holds
    story.gone("/admin/delete_topics/orders")
    assert look(story.seen(BROKERS), offline_partitions=1, under_replicated=1).holds


def test_many_partitions_are_counted_and_the_first_ones_named(story: EvaluatedLog) -> None:
    partitions = ",".join(f'"{number}":[1]' for number in range(12))
    story.znode("/brokers/topics/audit", f'{{"version":1,"partitions":{{{partitions}}}}}')
    seen = look(story.seen(BROKERS), offline_partitions=0).observed
    assert seen.startswith("12 partitions without a leader that is registered: audit-0, audit-1, audit-2, ")
    assert seen.endswith(", audit-9 and 2 more")


# --- topics ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "holds"), [("orders", True), (["orders", "clicks"], False), ("none", False)])
def test_topics_are_those_and_no_others(story: EvaluatedLog, wanted: object, holds: bool) -> None:
    assert fields_of(look(story.seen(BROKERS), topics=wanted)) == (holds, "topics are orders", [2])


def test_when_the_last_topic_is_gone_there_is_none(story: EvaluatedLog) -> None:
    for path in (state_of(0), state_of(1), "/brokers/topics/orders"):
        story.gone(path)
    assert fields_of(look(story.seen(BROKERS), topics="none"))[:2] == (True, "there are no topics")
    assert fields_of(look(story.seen(BROKERS), topics="orders")) == (False, "there are no topics", [8])
    assert not look(story.seen(BROKERS), leader={"orders-0": "any"}).holds


@pytest.mark.parametrize("data", ["", "no JSON", "[]", '{"partitions":{"0":"x"}}', '{"version":1,"partitions":{"x":[1]}}'])
def test_a_topic_that_cannot_be_read_has_no_partitions(story: EvaluatedLog, data: str) -> None:
    story.changed("/brokers/topics/orders", data, zxid=9, zk_version=1)
    assert look(story.seen(BROKERS), offline_partitions=0, topics="orders").holds


@pytest.mark.parametrize("data", ["", "no JSON", '{"leader":1}'])
def test_a_state_that_cannot_be_read_is_none(story: EvaluatedLog, data: str) -> None:
    story.changed(state_of(0), data, zxid=9, zk_version=1)
    assert look(story.seen(BROKERS), leader={"orders-0": "none"}, offline_partitions=1).holds


# --- brokers by their role -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("leader-of orders-0", "broker-1"),
        ("leader-of orders-1", "broker-3"),
        ("preferred-of orders-1", "broker-2"),
        ("follower-of orders-0", "broker-2"),
        ("follower-of orders-1", "broker-2"),
        ("leader-of clicks-0", "leader-of clicks-0"),
        ("follower-of clicks-0", "follower-of clicks-0"),
    ],
)
def test_a_broker_can_be_named_by_its_part_in_a_partition(story: EvaluatedLog, name: str, node: str) -> None:
    assert story.seen(BROKERS).node(name) == node


def test_the_broker_that_has_the_role_now_is_judged(story: EvaluatedLog) -> None:
    seen = story.seen(BROKERS)
    assert look(seen, registered="leader-of orders-1").holds
    story.changed(state_of(1), state(2, 2, [2]), zxid=3, zk_version=2)
    assert look(seen, registered="leader-of orders-1").observed == "broker-2 is not registered"


# --- brokers that do not run -----------------------------------------------------------------------------------------------


@pytest.fixture
def bereft(story: EvaluatedLog) -> EvaluatedLog:
    """Return the log of `story`, continued: brokers 1 and 2 run; broker-3, which leads orders-1, has just been killed."""
    for broker in BROKERS[:3]:
        story.append(broker, EventKind.PROCESS_STATE, state="running")
    story.append("broker-3", EventKind.PROCESS_STATE, state="dead")
    return story


@pytest.mark.parametrize(
    ("condition", "observed"),
    [
        (
            {"leader": {"orders-1": "any"}},
            "orders-1 is led by broker-3, which is dead (leader epoch 1, ISR [3])",
        ),
        (
            {"leader": {"orders-1": "not broker-2"}},
            "orders-1 is led by broker-3, which is dead (leader epoch 1, ISR [3])",
        ),
        ({"isr": {"orders-1": [3]}}, "orders-1 has ISR [3], of which broker-3 is dead"),
        ({"in_sync": ["orders-0"]}, "orders-0 has ISR [1, 2, 3] of [1, 2, 3], of which broker-3 is dead"),
        (
            {"offline_partitions": 0},
            "0 partitions without a leader that is registered; 1 partition led by a broker that does not run: orders-1",
        ),
        (
            {"under_replicated": 1},
            "1 partition under-replicated: orders-1; 1 partition with a broker in the ISR that does not run: orders-0",
        ),
    ],
)
def test_what_a_dead_broker_has_left_behind_does_not_count(
    bereft: EvaluatedLog, condition: dict[str, Any], observed: str
) -> None:
    """ZooKeeper goes on naming it until the controller has dealt with it: nothing of it may pass for what is expected."""
    finding = look(bereft.seen(BROKERS), **condition)
    assert (finding.holds, finding.observed) == (False, observed)
    assert look(bereft.seen(BROKERS), **condition, as_recorded=True).holds
    bereft.append("broker-3", EventKind.PROCESS_STATE, state="running")
    assert look(bereft.seen(BROKERS), **condition).holds


def test_a_preferred_leader_that_is_frozen_does_not_lead(bereft: EvaluatedLog) -> None:
    bereft.append("broker-1", EventKind.PROCESS_STATE, state="paused")
    finding = look(bereft.seen(BROKERS), leaders_preferred=["orders-0"])
    assert (finding.holds, finding.observed) == (False, "orders-0 is led by broker-1, which is frozen")
    assert look(bereft.seen(BROKERS), leaders_preferred=["orders-0"], as_recorded=True).holds


def test_no_leader_is_what_the_controller_has_decided(bereft: EvaluatedLog) -> None:
    """A dead leader is not yet none: the controller may elect another one."""
    assert not look(bereft.seen(BROKERS), leader={"orders-1": "none"}).holds
    bereft.changed(state_of(1), state(-1, 2, [3]), zxid=3, zk_version=2)
    assert look(bereft.seen(BROKERS), leader={"orders-1": "none"}).holds


def test_a_broker_that_was_never_started_leads_nothing(story: EvaluatedLog) -> None:
    story.append("broker-1", EventKind.PROCESS_STATE, state="running")
    finding = look(story.seen(BROKERS), leader={"orders-1": "broker-3"})
    assert not finding.holds
    assert "broker-3, which is not running" in finding.observed
