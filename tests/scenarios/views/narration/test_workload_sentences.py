"""Sentences about what producers observe, and about the fate of their records."""

from typing import Any

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.narrator import Narrator
from kcsim.scenarios.views.narration.workload_sentences import WORKLOAD_SENTENCES

ORDERS: dict[str, Any] = {"topic": "orders", "partition": 0}


def event_of(kind: EventKind, fields: dict[str, Any]) -> Event:
    return Event(seq=5, t_ms=0, node="producer-w", kind=kind, cause=1, **fields)


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        (EventKind.WORKLOAD_STOPPED, {"detail": "1 record acknowledged"}, "is done: 1 record acknowledged"),
        (
            EventKind.RECORDS_ACKNOWLEDGED,
            {**ORDERS, "count": 120, "leader": 2},
            "gets from broker-2 the acknowledgement of 120 records of orders-0",
        ),
        (
            EventKind.RECORDS_REFUSED,
            {**ORDERS, "count": 1, "leader": 2, "error": "NOT_ENOUGH_REPLICAS"},
            "fails to write to orders-0 at broker-2 (1 record, attempts added up): NOT_ENOUGH_REPLICAS",
        ),
        (
            EventKind.RECORDS_GIVEN_UP,
            {**ORDERS, "count": 7, "error": "NOT_ENOUGH_REPLICAS", "outcome": "not applied"},
            "gives up 7 records of orders-0, after NOT_ENOUGH_REPLICAS",
        ),
        (
            EventKind.RECORDS_GIVEN_UP,
            {**ORDERS, "count": 7, "error": "NETWORK_EXCEPTION", "outcome": "unknown"},
            "gives up 7 records of orders-0, after NETWORK_EXCEPTION; whether they are there, it cannot know",
        ),
        (
            EventKind.RECORDS_TRUNCATED,
            {**ORDERS, "count": 20, "leader": 3, "detail": "w 80..99 of epoch 0"},
            "truncates 20 records of orders-0 that its leader, broker-3, does not have: w 80..99 of epoch 0",
        ),
        (
            EventKind.LEDGER,
            {**ORDERS, "detail": "120 sent, 120 acknowledged, 0 lost"},
            "counts the records of orders-0: 120 sent, 120 acknowledged, 0 lost",
        ),
    ],
)
def test_each_is_described_in_a_sentence(kind: EventKind, fields: dict[str, Any], sentence: str) -> None:
    assert Narrator().narrate(event_of(kind, fields)) == sentence


@pytest.mark.parametrize("kind", WORKLOAD_SENTENCES)
def test_none_needs_more_than_there_is(kind: EventKind) -> None:
    assert Narrator().narrate(event_of(kind, {}))


@pytest.mark.parametrize(
    ("op", "sentence"),
    [
        ("produce", "has records written by producer-w: 120 records to orders"),
        ("start-workload", "starts producer-w: 120 records to orders"),
    ],
)
def test_the_step_that_sets_them_to_work_is_described(op: str, sentence: str) -> None:
    asked = Event(0, 0, "scenario", EventKind.ADMIN_ACT, op=op, target="producer-w", detail="120 records to orders")
    assert Narrator().narrate(asked) == sentence
