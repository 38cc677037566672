"""Conditions on numbers of records are evaluated on the reports of producers, and on the ledger at the end."""

import json
from typing import Any

import pytest

from kcsim.brokers.clients.ledger import RecordCounts
from kcsim.eventlog.events import EventKind
from kcsim.scenarios.engine.expectations.conditions import evaluate
from kcsim.scenarios.engine.expectations.evaluation_context import ConditionResult, EvaluationContext
from kcsim.scenarios.language.conditions_model import Condition
from kcsim.scenarios.language.value_types import KnownNames
from tests.scenarios.evaluated_log import EvaluatedLog


@pytest.fixture
def story() -> EvaluatedLog:
    """Return a log with 150 records of orders acknowledged and 5 given up, 20 of clicks acknowledged, and no ledger yet."""
    story = EvaluatedLog()
    acknowledged(story, "orders", 0, 100)  # 0
    acknowledged(story, "orders", 1, 30)  # 1
    acknowledged(story, "clicks", 0, 20)  # 2
    acknowledged(story, "orders", 0, 20)  # 3
    story.append("producer-w", EventKind.RECORDS_GIVEN_UP, topic="orders", partition=1, count=5)  # 4
    return story


@pytest.fixture
def counted(story: EvaluatedLog) -> EvaluatedLog:
    """Return the same log with its ledger: 12 records of orders-0 are lost, 3 of orders-1; clicks has 2 duplicates."""
    ledger(story, "clicks", 0, RecordCounts(sent=20, acknowledged=20, duplicated=2))  # 5
    ledger(story, "orders", 0, RecordCounts(sent=120, acknowledged=120, lost=12, lost_everywhere=10))  # 6
    ledger(story, "orders", 1, RecordCounts(sent=35, acknowledged=30, given_up=5, lost=3))  # 7
    return story


def acknowledged(story: EvaluatedLog, topic: str, partition: int, count: int) -> None:
    story.append("producer-w", EventKind.RECORDS_ACKNOWLEDGED, topic=topic, partition=partition, count=count)


def ledger(story: EvaluatedLog, topic: str, partition: int, counts: RecordCounts) -> None:
    data = json.dumps({name: getattr(counts, name) for name in RecordCounts.__slots__})
    story.append("scenario", EventKind.LEDGER, topic=topic, partition=partition, data=data)


def look(seen: EvaluationContext, **fields: Any) -> ConditionResult:
    """Evaluate the condition with these fields, named as in Python and written as in a file."""
    names = KnownNames(topics={"orders": range(2), "clicks": range(1)})
    return evaluate(Condition.model_validate({k.replace("_", "-"): v for k, v in fields.items()}, context=names), seen)


def fields_of(finding: ConditionResult) -> tuple[bool, str, list[int]]:
    return finding.holds, finding.observed, [event.seq for event in finding.evidence]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (170, (True, "170 records acknowledged", [3])),
        (171, (False, "170 records acknowledged", [3])),
        (">= 170", (True, "170 records acknowledged", [3])),
        ("> 170", (False, "170 records acknowledged", [3])),
        ("<= 169", (False, "170 records acknowledged", [3])),
        ("<171", (True, "170 records acknowledged", [3])),
        ({"orders": 150}, (True, "150 records of orders acknowledged", [3])),
        ({"orders-1": 30}, (True, "30 records of orders-1 acknowledged", [1])),
        ({"orders": 150, "clicks-0": 21}, (False, "20 records of clicks-0 acknowledged", [2])),
    ],
)
def test_acknowledgements_are_added_up_as_they_come(
    story: EvaluatedLog, wanted: Any, expected: tuple[bool, str, list[int]]
) -> None:
    assert fields_of(look(story.seen(), acknowledged=wanted)) == expected


def test_what_was_given_up_is_added_up_too(story: EvaluatedLog) -> None:
    assert fields_of(look(story.seen(), given_up={"orders": 5})) == (True, "5 records of orders given up", [4])


def test_where_nobody_wrote_nothing_was_acknowledged() -> None:
    assert fields_of(look(EvaluatedLog().seen(), acknowledged=0)) == (True, "0 records acknowledged", [])


def test_without_a_ledger_nothing_is_known_of_any_loss(story: EvaluatedLog) -> None:
    """The claim that nothing was lost must not hold only because no ledger was taken."""
    assert fields_of(look(story.seen(), lost=0)) == (False, "no records were counted", [])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"lost": 15}, (True, "15 records lost", [6, 7])),
        ({"lost": 0}, (False, "15 records lost", [6, 7])),
        ({"lost": {"orders-0": 12}}, (True, "12 records of orders-0 lost", [6])),
        ({"lost": {"clicks": 0}}, (True, "0 records of clicks lost", [5])),
        ({"lost_everywhere": "< 11"}, (True, "10 records lost everywhere", [6])),
        ({"duplicated": 1}, (False, "2 records duplicated", [5])),
        ({"divergent": 0}, (True, "0 records divergent", [5, 6, 7])),
    ],
)
def test_what_was_lost_is_what_the_ledger_says(
    counted: EvaluatedLog, condition: dict[str, Any], expected: tuple[bool, str, list[int]]
) -> None:
    assert fields_of(look(counted.seen(), **condition)) == expected


def test_the_last_ledger_counts(counted: EvaluatedLog) -> None:
    ledger(counted, "orders", 0, RecordCounts(sent=120, acknowledged=120))  # 8
    assert fields_of(look(counted.seen(), lost={"orders-0": 0})) == (True, "0 records of orders-0 lost", [8])


def test_a_topic_that_nobody_wrote_to_was_not_counted(story: EvaluatedLog) -> None:
    ledger(story, "orders", 0, RecordCounts(sent=1))
    assert fields_of(look(story.seen(), lost={"clicks": 0})) == (False, "no records of clicks were counted", [])
