"""What is said of numbers of records is judged on what producers reported, and on the ledger at the end."""

import json
from typing import Any

import pytest

from kcsim.scenarios.judging.conditions import judge
from kcsim.scenarios.judging.seen import Finding, Seen
from kcsim.scenarios.language.claims import Condition
from kcsim.scenarios.language.words import KnownNames
from kcsim.scenarios.workload.ledger import RecordCounts
from kcsim.zk.events import EventKind
from tests.scenarios.made_up import Story


@pytest.fixture
def story() -> Story:
    """150 records of orders acknowledged and 5 given up, 20 of clicks; no ledger was taken yet."""
    story = Story()
    acknowledged(story, "orders", 0, 100)  # 0
    acknowledged(story, "orders", 1, 30)  # 1
    acknowledged(story, "clicks", 0, 20)  # 2
    acknowledged(story, "orders", 0, 20)  # 3
    story.tell("producer-w", EventKind.RECORDS_GIVEN_UP, topic="orders", partition=1, count=5)  # 4
    return story


@pytest.fixture
def counted(story: Story) -> Story:
    """The same with its ledger: of orders-0 12 are lost, of orders-1 3; clicks has 2 duplicates."""
    ledger(story, "clicks", 0, RecordCounts(sent=20, acknowledged=20, duplicated=2))  # 5
    ledger(story, "orders", 0, RecordCounts(sent=120, acknowledged=120, lost=12, lost_everywhere=10))  # 6
    ledger(story, "orders", 1, RecordCounts(sent=35, acknowledged=30, given_up=5, lost=3))  # 7
    return story


def acknowledged(story: Story, topic: str, partition: int, count: int) -> None:
    story.tell("producer-w", EventKind.RECORDS_ACKNOWLEDGED, topic=topic, partition=partition, count=count)


def ledger(story: Story, topic: str, partition: int, counts: RecordCounts) -> None:
    data = json.dumps({name: getattr(counts, name) for name in RecordCounts.__slots__})
    story.tell("scenario", EventKind.LEDGER, topic=topic, partition=partition, data=data)


def look(seen: Seen, **said: Any) -> Finding:
    """Judge what is said, written as in a file."""
    names = KnownNames(topics={"orders": range(2), "clicks": range(1)})
    return judge(Condition.model_validate({k.replace("_", "-"): v for k, v in said.items()}, context=names), seen)


def told(finding: Finding) -> tuple[bool, str, list[int]]:
    return finding.holds, finding.seen, [event.seq for event in finding.evidence]


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
    story: Story, wanted: Any, expected: tuple[bool, str, list[int]]
) -> None:
    assert told(look(story.seen(), acknowledged=wanted)) == expected


def test_what_was_given_up_is_added_up_too(story: Story) -> None:
    assert told(look(story.seen(), given_up={"orders": 5})) == (True, "5 records of orders given up", [4])


def test_where_nobody_wrote_nothing_was_acknowledged() -> None:
    assert told(look(Story().seen(), acknowledged=0)) == (True, "0 records acknowledged", [])


def test_without_a_ledger_nothing_is_known_of_any_loss(story: Story) -> None:
    """That nothing was lost must not be true because nobody looked."""
    assert told(look(story.seen(), lost=0)) == (False, "no records were counted", [])


@pytest.mark.parametrize(
    ("said", "expected"),
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
    counted: Story, said: dict[str, Any], expected: tuple[bool, str, list[int]]
) -> None:
    assert told(look(counted.seen(), **said)) == expected


def test_the_last_ledger_counts(counted: Story) -> None:
    ledger(counted, "orders", 0, RecordCounts(sent=120, acknowledged=120))  # 8
    assert told(look(counted.seen(), lost={"orders-0": 0})) == (True, "0 records of orders-0 lost", [8])


def test_a_topic_that_nobody_wrote_to_was_not_counted(story: Story) -> None:
    ledger(story, "orders", 0, RecordCounts(sent=1))
    assert told(look(story.seen(), lost={"clicks": 0})) == (False, "no records of clicks were counted", [])
