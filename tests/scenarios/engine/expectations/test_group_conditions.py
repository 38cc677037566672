"""Conditions on consumer groups are evaluated on the events of coordinators and consumers."""

from typing import Any

import pytest

from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext
from kcsim.scenarios.language.conditions_model import Condition
from tests.scenarios.evaluated_log import EvaluatedLog

BILLING = "billing"
C1, C2 = "consumer-c1", "consumer-c2"


@pytest.fixture
def story() -> EvaluatedLog:
    """Return a log in which c1 has orders-0 and is killed. c2 has orders-1 all the time, and orders-0 300 ms after that."""
    story = EvaluatedLog()
    story.append("broker-1", EventKind.GROUP_STABLE, group=BILLING, generation=1)  # 0
    story.append(C1, EventKind.PARTITIONS_ASSIGNED, group=BILLING, generation=1, partitions=["orders-0"])  # 1
    story.append(C2, EventKind.PARTITIONS_ASSIGNED, group=BILLING, generation=1, partitions=["orders-1"])  # 2
    story.append(C1, EventKind.PROCESS_STATE, state="dead")  # 3
    story.append("broker-1", EventKind.GROUP_REBALANCE, group=BILLING, generation=1, state="PreparingRebalance")  # 4
    story.append("broker-1", EventKind.GROUP_STABLE, group=BILLING, generation=2)  # 5
    story.append(C2, EventKind.PARTITIONS_ASSIGNED, group=BILLING, generation=2, partitions=["orders-0"])  # 6
    return story


def judged(story: EvaluatedLog, **fields: Any) -> ConditionResult:
    condition = Condition.model_validate({name.replace("_", "-"): value for name, value in fields.items()})
    return evaluate(condition, EvaluationContext(story.events, story.state, (), {}))


def evidence(finding: ConditionResult) -> list[int]:
    return [event.seq for event in finding.evidence]


def test_an_assignment_is_what_a_consumer_has_and_no_more(story: EvaluatedLog) -> None:
    story.append(C2, EventKind.PROCESS_STATE, state="running")
    assert judged(story, assignment={"c1": "none", "c2": ["orders-0", "orders-1"]}).holds
    finding = judged(story, assignment={"c2": "orders-1"})
    assert (finding.holds, finding.observed) == (False, "consumer-c2 consumes orders-0, orders-1")
    assert evidence(finding) == [6]


def test_a_consumer_that_does_not_run_consumes_nothing(story: EvaluatedLog) -> None:
    """It may still believe to own partitions; as-recorded takes its word for it."""
    story.append(C2, EventKind.PROCESS_STATE, state="paused")
    owned = {"c2": ["orders-0", "orders-1"]}
    finding = judged(story, assignment=owned)
    assert (finding.holds, finding.observed) == (False, "consumer-c2, which is frozen, consumes orders-0, orders-1")
    assert judged(story, assignment=owned, as_recorded=True).holds
    assert judged(story, assignment={"c1": "none"}).holds, "it is dead, and nothing is expected of it"


def test_a_group_is_in_no_state_that_a_dead_coordinator_reported(story: EvaluatedLog) -> None:
    story.append("broker-1", EventKind.PROCESS_STATE, state="dead")
    stable = {BILLING: {"state": "Stable", "generation": 2}}
    finding = judged(story, groups=stable)
    assert not finding.holds
    assert finding.observed == "group billing is Stable in generation 2, as reported last by broker-1, which is dead"
    assert judged(story, groups=stable, as_recorded=True).holds


def test_a_group_is_in_a_state_and_a_generation(story: EvaluatedLog) -> None:
    story.append("broker-1", EventKind.PROCESS_STATE, state="running")
    assert judged(story, groups={BILLING: {"state": "Stable", "generation": 2}}).holds
    finding = judged(story, groups={BILLING: {"generation": 3}})
    assert (finding.holds, finding.observed) == (False, "group billing is Stable in generation 2")
    assert evidence(finding) == [5]


def test_a_group_that_nobody_has_joined_is_empty(story: EvaluatedLog) -> None:
    assert judged(story, groups={"audit": {"state": "Empty", "generation": 0}}).holds


def test_what_has_moved_are_these_and_no_others(story: EvaluatedLog) -> None:
    assert judged(story, moved={BILLING: "orders-0"}).holds
    finding = judged(story, moved={BILLING: "none"})
    assert (finding.holds, finding.observed) == (
        False,
        "of group billing, orders-0 from consumer-c1 to consumer-c2 has moved",
    )
    assert evidence(finding) == [6]


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [
        ({"exactly": "300ms"}, True),
        ({"exactly": "301ms"}, False),
        ({"at-least": "300ms", "at-most": "300ms"}, True),
        ({"at-least": "1s"}, False),
        ({"at-most": "299ms"}, False),
    ],
)
def test_how_long_nobody_consumed_is_counted_from_the_crash(
    story: EvaluatedLog, bounds: dict[str, str], holds: bool
) -> None:
    finding = judged(story, unconsumed={BILLING: {"orders-0": bounds}})
    assert (finding.holds, finding.observed) == (holds, "no member of billing consumed orders-0 for 300 ms")


def test_what_was_always_consumed_was_unconsumed_for_no_time(story: EvaluatedLog) -> None:
    assert judged(story, unconsumed={BILLING: {"orders-1": {"exactly": "0ms"}}}).holds


def test_of_what_nobody_ever_consumed_nothing_is_true(story: EvaluatedLog) -> None:
    finding = judged(story, unconsumed={BILLING: {"orders-7": {"at-most": "1m"}}})
    assert (finding.holds, finding.observed) == (False, "no member of billing has ever consumed orders-7")
