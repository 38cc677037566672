"""Sentences about the events of consumer groups."""

from typing import Any

import pytest

from kcsim.eventlog.events import Event, EventKind
from kcsim.scenarios.views.narration.consumer_sentences import CONSUMER_SENTENCES
from kcsim.scenarios.views.narration.narrator import Narrator

MEMBER = "consumer-c1-3f144b55-b04d-27fd-63d9-62ea8e4264c4"
BILLING: dict[str, Any] = {"group": "billing", "generation": 2}

CASES = [
    (EventKind.GROUP_MEMBER_JOINED, {"member": MEMBER}, "takes consumer-c1 into group billing"),
    (EventKind.GROUP_MEMBER_REMOVED, {"member": MEMBER, "rule": "left"}, "takes consumer-c1 out of group billing: it left"),
    (
        EventKind.GROUP_REBALANCE,
        {"rule": f"member {MEMBER} joined"},
        "begins a rebalance of group billing: member consumer-c1 joined",
    ),
    (
        EventKind.GROUP_GENERATION,
        {"count": 3, "member": MEMBER, "rule": "range"},
        "begins generation 2 of group billing: 3 members, consumer-c1 assigns by range",
    ),
    (EventKind.GROUP_GENERATION, {"count": 0}, "closes generation 2 of group billing: no member is left"),
    (
        EventKind.GROUP_ASSIGNMENT,
        {"rule": "range", "detail": f"{MEMBER}: orders-0"},
        "assigns, as leader of group billing, by range: consumer-c1: orders-0",
    ),
    (
        EventKind.OFFSETS_DELETED,
        {"state": "Stable", "detail": "orders-0"},
        "deletes offsets of group billing, which an administrator asked for: orders-0",
    ),
    (EventKind.OFFSETS_DELETED, {"state": "Dead"}, "deletes group billing, which an administrator asked for"),
    (EventKind.GROUP_STABLE, {}, "hands out the assignment of generation 2 of group billing"),
    (
        EventKind.GROUP_COORDINATION,
        {"topic": "__consumer_offsets", "partition": 7, "state": "loaded", "detail": "billing"},
        "takes over the groups of __consumer_offsets-7: billing",
    ),
    (
        EventKind.GROUP_COORDINATION,
        {"topic": "__consumer_offsets", "partition": 7, "state": "given up", "detail": "billing"},
        "gives up the groups of __consumer_offsets-7: billing",
    ),
    (EventKind.PARTITIONS_ASSIGNED, {"partitions": ["orders-0", "orders-1"]}, "consumes orders-0, orders-1 from now on"),
    (EventKind.PARTITIONS_ASSIGNED, {"partitions": []}, "consumes nothing from now on"),
    (EventKind.PARTITIONS_REVOKED, {"partitions": ["orders-0"]}, "gives up orders-0"),
    (EventKind.PARTITIONS_LOST, {"partitions": ["orders-0"]}, "finds that it has lost orders-0"),
]


@pytest.mark.parametrize(("kind", "fields", "sentence"), CASES)
def test_each_kind_has_its_sentence(kind: EventKind, fields: dict[str, Any], sentence: str) -> None:
    event = Event(seq=5, t_ms=0, node="broker-1", kind=kind, cause=1, **{**BILLING, **fields})
    assert Narrator(3).narrate(event) == sentence


def test_those_are_all() -> None:
    assert {kind for kind, _, _ in CASES} == CONSUMER_SENTENCES.keys()


def test_an_application_that_is_busy_is_described() -> None:
    event = Event(
        seq=5,
        t_ms=0,
        node="scenario",
        kind=EventKind.FAULT,
        fault="stall",
        target="consumer-c1",
        detail="does not poll for 5 ms",
    )
    assert Narrator(3).narrate(event) == "keeps consumer-c1's application busy: it does not poll for 5 ms"


def test_commits_and_fetches_are_not_described() -> None:
    for kind in (EventKind.OFFSETS_COMMITTED, EventKind.RECORDS_CONSUMED):
        assert (
            Narrator(3).narrate(Event(seq=5, t_ms=0, node="broker-1", kind=kind, cause=1, group="billing", count=3)) is None
        )
